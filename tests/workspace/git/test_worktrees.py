"""Worktrees on real repositories, made, removed and left half-made (`ports.git.GitWorktrees`)."""

# ruff: noqa: ASYNC240, ASYNC110 - small files of a test, which nothing announces

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.repositories import RealRepository
from innkeeper.ports.git import GitError, Worktree
from innkeeper.workspace.git import LocalGit
from innkeeper.workspace.git.parsing import parse_worktrees

pytestmark = pytest.mark.anyio
Make = Callable[..., RealRepository]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "repo.worktrees" / "nämé\nline")


async def test_a_worktree_is_made_listed_and_removed_its_branch_stays(
    git: LocalGit, repository: RealRepository, path: str
) -> None:
    head = repository.git("rev-parse", "HEAD")
    await git.add_worktree(repository.path, path, "agents/topic", create_at="main")
    assert Path(path, "README").read_text() == "hello\n"
    assert await git.worktrees(repository.path) == [
        Worktree(repository.path, head, "main", main=True), Worktree(path, head, "agents/topic"),
    ]  # fmt: skip
    Path(path, "untracked").write_text("1")
    await git.remove_worktree(repository.path, path)
    assert not os.path.exists(path)
    assert len(await git.worktrees(repository.path)) == 1
    assert await git.resolve(repository.path, "agents/topic") == head
    await git.add_worktree(repository.path, path, "agents/topic")
    assert Path(path, "README").exists()
    await git.remove_worktree(repository.path, path)
    await git.remove_worktree(repository.path, path)


async def test_no_upstream_is_set_whatever_the_user_configured(
    git: LocalGit, make: Make, tmp_path: Path, path: str
) -> None:
    clone = RealRepository(tmp_path / "clone", make("origin").variables)
    clone.git("clone", "--quiet", str(tmp_path / "origin"), ".")
    clone.git("config", "branch.autoSetupMerge", "always")
    before = (clone.root / ".git" / "config").read_bytes()
    await git.add_worktree(clone.path, path, "topic", create_at="origin/main")
    branch = await git.branch(clone.path, "topic")
    assert branch is not None and (branch.upstream, branch.worktree) == (None, path)
    assert (clone.root / ".git" / "config").read_bytes() == before


async def test_a_new_branch_follows_another_where_that_is_asked_for_and_is_forgotten_whole(
    git: LocalGit, make: Make, tmp_path: Path, path: str
) -> None:
    """Reference §5.6, track-branch."""
    clone = RealRepository(tmp_path / "clone", make("origin").variables)
    clone.git("clone", "--quiet", str(tmp_path / "origin"), ".")
    before = (clone.root / ".git" / "config").read_bytes()
    for base, upstream in (("main", "main"), ("origin/main", "origin/main"), (clone.git("rev-parse", "HEAD"), None)):
        await git.add_worktree(clone.path, path, "topic", create_at=base, follow=base)
        branch = await git.branch(clone.path, "topic")
        assert branch is not None and branch.upstream == upstream
        await git.remove_worktree(clone.path, path)
        assert await git.delete_branch(clone.path, "topic", branch.commit)
        assert (clone.root / ".git" / "config").read_bytes() == before


async def test_what_stands_in_the_way_is_said_by_code_and_left_alone(
    git: LocalGit, repository: RealRepository, path: str, tmp_path: Path
) -> None:
    repository.git("branch", "there")
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "precious").write_text("1")
    cases = (
        (path, "there", "HEAD", "GIT_BRANCH_EXISTS"),
        (path, "main", None, "GIT_BRANCH_IN_USE"),
        (path, "nothing", None, "GIT_REVISION_UNKNOWN"),
        (path, "new", "nothing", "GIT_REVISION_UNKNOWN"),
        (path, "-b", "HEAD", "GIT_BRANCH_NAME"),
        (str(taken), "new", "HEAD", "GIT_PATH_TAKEN"),
        (str(taken / "precious"), "new", "HEAD", "GIT_PATH_TAKEN"),
        (path, "there/below", "HEAD", "GIT_FAILED"),
    )
    for place, branch, create_at, code in cases:
        with pytest.raises(GitError) as caught:
            await git.add_worktree(repository.path, place, branch, create_at=create_at)
        assert caught.value.code == code, (place, branch)
    for place in (str(taken), repository.path):
        with pytest.raises(GitError) as caught:
            await git.remove_worktree(repository.path, place)
        assert caught.value.code == "GIT_PATH_TAKEN"
    assert (taken / "precious").exists()
    assert len(await git.worktrees(repository.path)) == 1
    assert sorted(branch.name for branch in await git.branches(repository.path)) == ["main", "there"]
    assert not os.path.lexists(path)


async def test_cancelled_in_the_middle_nothing_is_left(git: LocalGit, repository: RealRepository, path: str) -> None:
    repository.write(".gitattributes", "slow filter=slow\n")
    repository.write("slow", "1")
    repository.commit()
    started = repository.root.parent / "started"
    repository.git("config", "--global", "filter.slow.smudge", f"touch '{started}'; sleep 60")
    making = asyncio.create_task(git.add_worktree(repository.path, path, "topic", create_at="HEAD"))
    async with asyncio.timeout(20):
        while not started.exists():
            await asyncio.sleep(0.01)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    await _nothing_left(git, repository, path)


async def test_past_the_time_limit_nothing_is_left_and_the_code_says_so(
    git: LocalGit, repository: RealRepository, path: str
) -> None:
    repository.write(".gitattributes", "slow filter=slow\n")
    repository.write("slow", "1")
    repository.commit()
    repository.git("config", "--global", "filter.slow.smudge", "sleep 60")
    with pytest.raises(GitError) as caught:
        await git.add_worktree(repository.path, path, "topic", create_at="HEAD", seconds=1)
    assert caught.value.code == "GIT_TIMEOUT"
    await _nothing_left(git, repository, path)


@pytest.mark.parametrize("state", ["gone", "empty", "no record", "no .git", "locked", "no gitdir", "dirty submodule"])
async def test_whatever_a_killed_host_left_is_removed(git: LocalGit, make: Make, path: str, state: str) -> None:
    repository = make()
    if state == "dirty submodule":
        inner = make("inner")
        repository.git("submodule", "--quiet", "add", inner.path, "part")
        repository.commit()
    await git.add_worktree(repository.path, path, "topic", create_at="HEAD")
    record = repository.root / ".git" / "worktrees" / os.path.basename(path)
    if not record.exists():
        (record,) = (repository.root / ".git" / "worktrees").iterdir()
    if state == "gone":
        shutil.rmtree(path)
    elif state == "empty":
        shutil.rmtree(path)
        os.mkdir(path)
        shutil.rmtree(record)
    elif state == "no record":
        (record / "HEAD").unlink()
    elif state == "no .git":
        Path(path, ".git").unlink()
    elif state == "locked":
        (record / "locked").write_text("initializing")
    elif state == "no gitdir":
        (record / "gitdir").unlink()
    else:
        RealRepository(Path(path), repository.variables).git("submodule", "--quiet", "update", "--init")
        Path(path, "part", "new").write_text("1")
    await git.remove_worktree(repository.path, path)
    assert not os.path.lexists(path)
    assert await git.delete_branch(repository.path, "topic", repository.git("rev-parse", "HEAD"))
    assert not (repository.root / ".git" / "worktrees").exists() or not record.exists()


async def test_what_git_forgot_is_removed_only_if_it_has_nothing_but_files_of_the_commit(
    git: LocalGit, repository: RealRepository, path: str
) -> None:
    """Git that is ended while it makes a worktree drops its record first, then its files, and may be killed there."""
    repository.write("deep/er/file", "1")
    os.symlink("deep", repository.root / "link")
    head = repository.commit()

    async def left(*more: str) -> None:
        await git.add_worktree(repository.path, path, "topic", create_at="HEAD")
        shutil.rmtree(repository.root / ".git" / "worktrees")
        Path(path, ".git").unlink()
        Path(path, "README").unlink()
        for name in more:
            Path(path, name).write_text("mine")

    await left()
    with pytest.raises(GitError):
        await git.remove_worktree(repository.path, path)
    await git.remove_worktree(repository.path, path, of=head)
    assert not os.path.lexists(path)
    assert await git.delete_branch(repository.path, "topic", head)
    await left("deep/mine")
    with pytest.raises(GitError) as caught:
        await git.remove_worktree(repository.path, path, of=head)
    assert caught.value.code == "GIT_PATH_TAKEN" and Path(path, "deep", "mine").exists()


async def test_a_worktree_of_another_repository_is_not_removed(
    git: LocalGit, repository: RealRepository, make: Make, path: str
) -> None:
    other = make("other")
    other.git("worktree", "add", "--quiet", "-b", "x", path)
    with pytest.raises(GitError) as caught:
        await git.remove_worktree(repository.path, path)
    assert caught.value.code == "GIT_PATH_TAKEN"
    assert Path(path, "README").exists()


async def test_a_branch_is_deleted_only_where_it_was_left(git: LocalGit, repository: RealRepository, path: str) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.git("branch", "idle")
    second = repository.commit()
    assert not await git.delete_branch(repository.path, "main", second)
    assert not await git.delete_branch(repository.path, "idle", second)
    assert not await git.delete_branch(repository.path, "never", second)
    await git.add_worktree(repository.path, path, "idle")
    assert not await git.delete_branch(repository.path, "idle", first)
    await git.remove_worktree(repository.path, path)
    assert await git.delete_branch(repository.path, "idle", first)
    assert [branch.name for branch in await git.branches(repository.path)] == ["main"]


async def test_a_worktree_of_a_repository_in_a_worktree(git: LocalGit, repository: RealRepository, path: str) -> None:
    beside = str(repository.root.parent / "beside")
    await git.add_worktree(repository.path, beside, "one", create_at="HEAD")
    await git.add_worktree(beside, path, "two", create_at="one")
    await git.remove_worktree(path, beside)
    assert [tree.branch for tree in await git.worktrees(path)] == ["main", "two"]


def test_the_list_of_an_older_git_is_read_by_lines() -> None:
    """Before 2.36 there is no `-z`."""
    out = b"worktree /a b\nHEAD " + b"1" * 40 + b"\nbranch refs/heads/x/y\n\nworktree /c\nHEAD " + b"0" * 40
    out += b"\ndetached\nlocked why\nprunable gone\n\n"
    assert parse_worktrees(out, b"\n") == [
        Worktree("/a b", "1" * 40, "x/y", main=True),
        Worktree("/c", None, None, locked=True, prunable=True),
    ]


async def _nothing_left(git: LocalGit, repository: RealRepository, path: str) -> None:
    assert not os.path.lexists(path)
    assert len(await git.worktrees(repository.path)) == 1
    assert [branch.name for branch in await git.branches(repository.path)] == ["main"]
    assert list((repository.root / ".git").rglob("*.lock")) == []
