"""Commit, discard and checkout on real repositories (`ports.git.GitWork`)."""

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.repositories import RealRepository
from innkeeper.ports.git import GitError
from innkeeper.workspace.git import LocalGit

pytestmark = pytest.mark.anyio
Make = Callable[..., RealRepository]


def hook(repository: RealRepository, name: str, script: str) -> None:
    repository.write(f".git/hooks/{name}", f"#!/bin/sh\n{script}\n").chmod(0o755)


def nobody(repository: RealRepository) -> None:
    """From now on git does not know who commits."""
    (Path(repository.variables["HOME"]) / ".gitconfig").write_text("[user]\n useConfigOnly = true\n")


async def refused(code: str, repository: RealRepository, git: LocalGit, paths: Sequence[str] | None = None) -> None:
    head = await git.resolve(repository.path, "HEAD")
    with pytest.raises(GitError) as caught:
        await git.commit(repository.path, "refused", paths)
    assert caught.value.code == code
    assert await git.resolve(repository.path, "HEAD") == head


async def test_everything_is_committed_by_the_user_with_the_message_as_it_is(
    git: LocalGit, repository: RealRepository
) -> None:
    repository.write("new", "1")
    repository.write("README", "edited\n")
    commit = await git.commit(repository.path, "Title ü\n\n#12 is closed")
    assert commit == repository.git("rev-parse", "main")
    assert repository.git("log", "-1", "--format=%an%n%B") == "Ada\nTitle ü\n\n#12 is closed\n"
    assert (await git.status(repository.path)).clean


async def test_chosen_files_alone_are_committed_and_what_else_is_staged_stays_staged(
    git: LocalGit, repository: RealRepository
) -> None:
    for name in ("a*", "ab", "moved", "deleted", "staged away"):
        repository.write(name, f"{name} with content that is found again\n")
    repository.commit()
    repository.write("a*", "2")
    repository.write("ab", "2")
    shutil.move(repository.root / "moved", repository.root / "to")
    (repository.root / "deleted").unlink()
    repository.git("rm", "--quiet", "--cached", "staged away")
    (repository.root / "staged away").unlink()
    repository.write("other", "staged")
    repository.git("add", "other", "ab")
    chosen = ["a*", "moved", "to", "deleted", "staged away", "never was"]
    await git.commit(repository.path, "chosen", chosen)
    committed = repository.git("-c", "core.quotePath=false", "show", "--format=", "--name-status", "-M").split("\n")
    assert sorted(committed) == ["D\tdeleted", "D\tstaged away", "M\ta*", "R100\tmoved\tto"]
    assert repository.git("status", "--porcelain").split("\n") == ["M  ab", "A  other"]


async def test_many_chosen_files_with_odd_names_are_one_commit(git: LocalGit, repository: RealRepository) -> None:
    names = [f"{'long' * 20}/{number} ü\n" for number in range(1500)]
    for name in names:
        repository.write(name, name)
    repository.write("not this", "1")
    await git.commit(repository.path, "many", names)
    assert repository.git("rev-list", "--count", "HEAD") == "2"
    assert [entry.path for entry in (await git.status(repository.path)).entries] == ["not this"]


async def test_the_first_commit_of_a_repository(git: LocalGit, make: Make) -> None:
    for name, paths in (("all", None), ("chosen", ["a"])):
        repository = make(name, commit=False)
        repository.write("a", "1")
        assert await git.commit(repository.path, "one", paths) == repository.git("rev-parse", "HEAD")


async def test_nothing_to_commit_an_unmerged_tree_and_no_identity_are_said_by_code(
    git: LocalGit, repository: RealRepository
) -> None:
    before = repository.git("log", "--format=%s", "-1").strip()
    await refused("GIT_NOTHING_TO_COMMIT", repository, git)
    await refused("GIT_NOTHING_TO_COMMIT", repository, git, ["README"])
    await refused("GIT_NOTHING_TO_COMMIT", repository, git, ["never was"])
    repository.write("a", "1")
    nobody(repository)
    await refused("GIT_IDENTITY", repository, git)
    assert repository.git("log", "--format=%s", "-1").strip() == before, "nothing was committed on the way"


async def test_during_a_merge_with_conflicts_nothing_is_committed(git: LocalGit, repository: RealRepository) -> None:
    repository.git("checkout", "--quiet", "-b", "theirs")
    repository.write("README", "theirs\n")
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    repository.write("README", "ours\n")
    repository.commit()
    repository.git("merge", "theirs", check=False)
    await refused("GIT_UNMERGED", repository, git)
    with pytest.raises(GitError) as caught:
        await git.checkout(repository.path, "theirs")
    assert caught.value.code == "GIT_UNMERGED"
    repository.write("README", "both\n")
    repository.git("add", "README")
    repository.write("other", "1")
    await refused("GIT_UNMERGED", repository, git, ["other"])
    await git.commit(repository.path, "the merge")
    assert repository.git("log", "-1", "--format=%P").count(" ") == 1


async def test_the_users_hooks_decide_about_their_commits_and_about_no_others(
    git: LocalGit, repository: RealRepository
) -> None:
    hook(repository, "pre-commit", "echo 'no, because' >&2; exit 1")
    hook(repository, "post-commit", "touch ran")
    hook(repository, "post-checkout", "touch ran")
    hook(repository, "reference-transaction", "touch ran")
    repository.write("a", "1")
    with pytest.raises(GitError) as caught:
        await git.commit(repository.path, "one")
    assert (caught.value.code, caught.value.values["reason"]) == ("GIT_FAILED", "no, because")
    repository.git("config", "commit.gpgSign", "true")
    repository.git("config", "gpg.program", "false")
    (repository.root / "ran").unlink(missing_ok=True)
    await git.commit(repository.path, "unattended", unattended=True)
    await git.checkout(repository.path, "topic", create_at="HEAD")
    await git.set_refs(repository.path, {"refs/innkeeper/x": repository.git("rev-parse", "HEAD")})
    assert not (repository.root / "ran").exists()


async def test_an_unattended_commit_is_innkeepers_where_nobody_is_configured(
    git: LocalGit, repository: RealRepository
) -> None:
    repository.write("a", "1")
    await git.commit(repository.path, "known", unattended=True)
    nobody(repository)
    repository.write("b", "1")
    await git.commit(repository.path, "unknown", unattended=True)
    assert repository.git("log", "-2", "--format=%an").split("\n") == ["Innkeeper", "Ada"]


async def test_another_git_at_work_is_said(git: LocalGit, repository: RealRepository) -> None:
    repository.write("a", "1")
    repository.write(".git/index.lock", "")
    await refused("GIT_LOCKED", repository, git)
    assert (await git.snapshot(repository.path)).complete


async def test_discarded_files_are_as_in_head_in_index_and_folder(git: LocalGit, repository: RealRepository) -> None:
    repository.write("dir/deleted", "1")
    repository.write("staged", "1")
    repository.write(".gitignore", "*.log\n")
    repository.commit()
    repository.write("README", "edited\n")
    shutil.rmtree(repository.root / "dir")
    repository.write("dir", "a file now")
    repository.write("staged", "2")
    repository.write("new/added", "1")
    repository.write("new/untracked", "1")
    repository.write("kept", "1")
    repository.write("x.log", "1")
    repository.git("add", "staged", "new/added")
    await git.discard(
        repository.path, ["README", "dir/deleted", "staged", "new/added", "new/untracked", "x.log", "never was"]
    )
    assert [entry.path for entry in (await git.status(repository.path)).entries] == ["kept"]
    assert (repository.root / "dir" / "deleted").read_text() == "1"
    assert (repository.root / "README").read_text() == "hello\n"
    assert not (repository.root / "new" / "untracked").exists()
    assert (repository.root / "x.log").exists()


async def test_discarding_a_rename_and_a_conflict(git: LocalGit, repository: RealRepository) -> None:
    repository.git("mv", "README", "READ")
    await git.discard(repository.path, ["README", "READ"])
    assert (await git.status(repository.path)).clean
    repository.git("checkout", "--quiet", "-b", "theirs")
    repository.write("README", "theirs\n")
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    repository.write("README", "ours\n")
    repository.commit()
    repository.git("merge", "theirs", check=False)
    await git.discard(repository.path, ["README"])
    assert (repository.root / "README").read_text() == "ours\n"


async def test_discarding_follows_no_link_and_matches_no_pattern(git: LocalGit, repository: RealRepository) -> None:
    outside = repository.root.parent / "outside"
    outside.mkdir()
    (outside / "precious").write_text("1")
    os.symlink(outside, repository.root / "link")
    repository.write("a", "1")
    for path in ("link/precious", "../outside/precious", str(outside / "precious"), "*"):
        try:
            await git.discard(repository.path, [path])
        except GitError as error:
            assert error.code == "GIT_FAILED", path
    assert (outside / "precious").read_text() == "1"
    assert (repository.root / "a").exists()


async def test_discarding_to_an_earlier_tree_and_without_a_commit(git: LocalGit, make: Make) -> None:
    repository = make()
    earlier = (await git.snapshot(repository.path)).tree
    repository.write("README", "later\n")
    repository.write("added", "1")
    repository.commit()
    await git.discard(repository.path, ["README", "added"], to=earlier)
    assert (repository.root / "README").read_text() == "hello\n"
    assert not (repository.root / "added").exists()
    empty = make("empty", commit=False)
    empty.write("a", "1")
    empty.git("add", "a")
    await git.discard(empty.path, ["a"])
    assert (await git.status(empty.path)).clean
    with pytest.raises(GitError) as caught:
        await git.discard(repository.path, ["README"], to="nothing")
    assert caught.value.code == "GIT_REVISION_UNKNOWN"


async def test_switching_carries_changes_and_never_loses_one(git: LocalGit, repository: RealRepository) -> None:
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.write("README", "topic\n")
    repository.commit()
    repository.write("other", "1")
    await git.checkout(repository.path, "main")
    assert (repository.root / "other").exists()
    repository.write("README", "mine\n")
    with pytest.raises(GitError) as caught:
        await git.checkout(repository.path, "topic")
    assert caught.value.code == "GIT_WOULD_OVERWRITE"
    assert (repository.root / "README").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("branch", "create_at", "code"),
    [
        ("beside", None, "GIT_BRANCH_IN_USE"),
        ("main", "HEAD", "GIT_BRANCH_EXISTS"),
        ("nothing", None, "GIT_REVISION_UNKNOWN"),
        ("new", "nothing", "GIT_REVISION_UNKNOWN"),
        ("--detach", None, "GIT_BRANCH_NAME"),
        ("a..b", "HEAD", "GIT_BRANCH_NAME"),
        ("HEAD", "HEAD", "GIT_BRANCH_NAME"),
        ("", "HEAD", "GIT_BRANCH_NAME"),
    ],
)
async def test_a_branch_that_cannot_be_had_is_said_by_code(
    git: LocalGit, repository: RealRepository, branch: str, create_at: str | None, code: str
) -> None:
    repository.git("worktree", "add", "--quiet", "-b", "beside", str(repository.root.parent / "beside"))
    with pytest.raises(GitError) as caught:
        await git.checkout(repository.path, branch, create_at=create_at)
    assert caught.value.code == code
    assert repository.git("symbolic-ref", "HEAD") == "refs/heads/main"


async def test_writers_of_one_repository_wait_for_each_other_worktrees_included(
    git: LocalGit, repository: RealRepository
) -> None:
    beside = RealRepository(repository.root.parent / "beside", repository.variables)
    repository.git("worktree", "add", "--quiet", beside.path)
    for where in (repository, beside):
        for number in range(8):
            where.write(f"f{number}", "1")
    commits = [
        git.commit(where.path, f"commit {number}", [f"f{number}"])
        for where in (repository, beside)
        for number in range(8)
    ]
    assert len(set(await asyncio.gather(*commits))) == 16
    assert (await git.status(repository.path)).clean and (await git.status(beside.path)).clean
