"""Repositories, status and branches on real repositories (`ports.git.GitRepositories`)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.repositories import RealRepository
from innkeeper.ports.git import GitError, Repository
from innkeeper.workspace.git import LocalGit

pytestmark = pytest.mark.anyio
Make = Callable[..., RealRepository]


async def test_a_repository_with_a_commit_is_found_from_any_folder_in_it(
    git: LocalGit, repository: RealRepository
) -> None:
    below = repository.root / "a" / "b"
    below.mkdir(parents=True)
    head = repository.git("rev-parse", "HEAD")
    found = await git.discover(str(below))
    assert found == Repository(repository.path, str(repository.root / ".git"), head, "main", "main")


async def test_a_repository_without_a_commit_has_a_branch_and_no_head(git: LocalGit, make: Make) -> None:
    repository = make(commit=False)
    found = await git.discover(repository.path)
    assert found == Repository(repository.path, str(repository.root / ".git"), None, "main", None)


async def test_a_detached_head_has_a_commit_and_no_branch(git: LocalGit, repository: RealRepository) -> None:
    repository.git("checkout", "--quiet", "--detach")
    found = await git.discover(repository.path)
    assert found is not None
    assert (found.branch, found.head, found.base) == (None, repository.git("rev-parse", "HEAD"), "main")


async def test_no_repository_a_bare_one_its_git_folder_and_no_folder_are_none(
    git: LocalGit, repository: RealRepository, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    repository.git("clone", "--quiet", "--bare", repository.path, str(bare))
    for directory in (tmp_path / "home", bare, repository.root / ".git", tmp_path / "gone", repository.root / "README"):
        assert await git.discover(str(directory)) is None, directory


async def test_a_worktree_shares_the_repository_and_a_worktree_of_a_bare_one_works_too(
    git: LocalGit, repository: RealRepository, tmp_path: Path
) -> None:
    repository.git("worktree", "add", "--quiet", "-b", "topic", str(tmp_path / "beside"))
    beside = await git.discover(str(tmp_path / "beside"))
    assert beside is not None
    assert (beside.root, beside.common, beside.branch, beside.linked) == (
        str(tmp_path / "beside"), str(repository.root / ".git"), "topic", True,
    )  # fmt: skip
    bare = tmp_path / "bare.git"
    repository.git("clone", "--quiet", "--bare", repository.path, str(bare))
    RealRepository(bare, repository.variables).git("worktree", "add", "--quiet", "-b", "x", str(tmp_path / "of bare"))
    of_bare = await git.discover(str(tmp_path / "of bare"))
    assert of_bare is not None
    assert (of_bare.common, of_bare.linked, of_bare.branch) == (str(bare), True, "x")


async def test_a_worktree_whose_repository_is_gone_is_no_repository(
    git: LocalGit, repository: RealRepository, tmp_path: Path
) -> None:
    repository.git("worktree", "add", "--quiet", str(tmp_path / "beside"))
    (tmp_path / "beside" / ".git").write_text("gitdir: /nowhere/.git/worktrees/beside\n")
    assert await git.discover(str(tmp_path / "beside")) is None


async def test_a_submodule_names_the_repository_that_it_is_in(git: LocalGit, make: Make) -> None:
    outer, inner = make("outer"), make("inner")
    outer.git("submodule", "--quiet", "add", inner.path, "part")
    outer.commit("with a part")
    found = await git.discover(str(outer.root / "part"))
    assert found is not None
    assert (found.root, found.superproject, found.linked) == (str(outer.root / "part"), outer.path, False)


async def test_the_base_is_where_origin_points_else_main_else_master(git: LocalGit, make: Make, tmp_path: Path) -> None:
    origin = make("origin")
    origin.git("branch", "--move", "main", "trunk")
    clone = RealRepository(tmp_path / "clone", origin.variables)
    clone.git("clone", "--quiet", origin.path, ".")
    clone.git("checkout", "--quiet", "-b", "main")
    found = await git.discover(clone.path)
    assert found is not None and found.base == "trunk"
    clone.git("branch", "--quiet", "-D", "trunk")
    found = await git.discover(clone.path)
    assert found is not None and found.base == "origin/trunk"
    old = make("old")
    old.git("branch", "--move", "main", "master")
    found = await git.discover(old.path)
    assert found is not None and found.base == "master"


async def test_a_folder_whose_name_has_a_line_end_and_no_utf_8_is_found(git: LocalGit, make: Make) -> None:
    repository = make(os.fsdecode(b"line\nend \xff"))
    found = await git.discover(repository.path)
    assert found is not None and found.root == repository.path


async def test_the_status_names_every_change_ignored_files_never(git: LocalGit, repository: RealRepository) -> None:
    for name in ("edited", "deleted", "moved", "staged"):
        repository.write(name, f"{name} content, long enough to be found again\n" * 5)
    repository.write(".gitignore", "*.log\n")
    repository.commit()
    repository.write("edited", "other")
    (repository.root / "deleted").unlink()
    repository.git("mv", "moved", "ümlaut\nline")
    repository.write("staged", "now")
    repository.git("add", "staged")
    repository.write("new/one", "1")
    repository.write("x.log", "1")
    before = repository.untouched()
    status = await git.status(repository.path)
    told = {entry.path: (entry.old_path, entry.staged, entry.unstaged, entry.untracked) for entry in status.entries}
    assert told == {
        "edited": (None, None, "edited", False),
        "deleted": (None, None, "deleted", False),
        "ümlaut\nline": ("moved", "renamed", None, False),
        "staged": (None, "edited", None, False),
        "new/one": (None, None, None, True),
    }
    assert repository.untouched() == before
    few = await git.status(repository.path, limit=2)
    assert (len(few.entries), few.left_out, few.clean) == (2, 3, False)


async def test_an_unfinished_merge_shows_in_the_status(git: LocalGit, repository: RealRepository) -> None:
    assert (await git.status(repository.path)).clean
    _conflict(repository)
    status = await git.status(repository.path)
    assert (status.unmerged, status.underway, [entry.path for entry in status.entries]) == (True, "merge", ["README"])


async def test_unpushed_commits_are_counted_against_the_upstream(git: LocalGit, make: Make, tmp_path: Path) -> None:
    origin = make("origin")
    clone = RealRepository(tmp_path / "clone", origin.variables)
    clone.git("clone", "--quiet", origin.path, ".")
    clone.write("a", "1")
    clone.commit()
    status = await git.status(clone.path)
    branch = await git.branch(clone.path, "main")
    assert branch is not None
    assert (status.upstream, status.ahead, status.behind) == ("origin/main", 1, 0)
    assert (branch.upstream, branch.ahead, branch.behind, branch.current) == ("origin/main", 1, 0, True)
    clone.git("update-ref", "-d", "refs/remotes/origin/main")
    gone = await git.branch(clone.path, "main")
    assert gone is not None and gone.upstream is None
    assert await git.branch(clone.path, "mai") is None
    assert await git.branch(clone.path, "m*") is None


async def test_branches_are_completed_by_prefix_local_ones_first_at_most_25(
    git: LocalGit, make: Make, tmp_path: Path
) -> None:
    origin = make("origin")
    origin.git("branch", "feature/remote")
    clone = RealRepository(tmp_path / "clone", origin.variables)
    clone.git("clone", "--quiet", origin.path, ".")
    for name in ("feature/Login", "login-page", "über", *(f"many{number:02}" for number in range(40))):
        clone.git("branch", name)
    clone.git("worktree", "add", "--quiet", str(tmp_path / "beside"), "über")
    assert [branch.name for branch in await git.branches(clone.path, "log")] in (
        ["feature/Login", "login-page"], ["login-page", "feature/Login"],
    )  # fmt: skip
    features = await git.branches(clone.path, "feature")
    assert [(branch.name, branch.remote) for branch in features] == [
        ("feature/Login", False),
        ("origin/feature/remote", True),
    ]
    assert len(await git.branches(clone.path)) == 25
    assert [branch.worktree for branch in await git.branches(clone.path, "ÜB")] == [str(tmp_path / "beside")]
    assert "origin/HEAD" not in {branch.name for branch in await git.branches(clone.path, "origin", limit=99)}
    assert await git.branches(clone.path, "nothing") == []


async def test_a_revision_is_never_an_option(git: LocalGit, repository: RealRepository) -> None:
    head = repository.git("rev-parse", "HEAD")
    repository.git("tag", "-a", "-m", "one", "v1")
    for revision in ("HEAD", "main", "v1", head, head[:10]):
        assert await git.resolve(repository.path, revision) == head
    for revision in ("--all", "-h", "", "a\0b", "HEAD..main", "nothing", "0" * 40, "README"):
        assert await git.resolve(repository.path, revision) is None, revision


async def test_the_merge_base_of_unrelated_histories_is_none(git: LocalGit, repository: RealRepository) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.write("a", "1")
    repository.commit()
    assert await git.merge_base(repository.path, "main", "topic") == first
    repository.git("checkout", "--quiet", "--orphan", "alone")
    repository.commit()
    assert await git.merge_base(repository.path, "main", "alone") is None
    with pytest.raises(GitError) as caught:
        await git.merge_base(repository.path, "main", "nothing")
    assert caught.value.code == "GIT_REVISION_UNKNOWN"


async def test_ignored_files_are_found_by_globs(git: LocalGit, repository: RealRepository) -> None:
    repository.write(".gitignore", ".env\n*.key\nbuild/\n")
    repository.commit()
    for path in (".env", "deep/er/.env", "a.key", "build/x/y.js", "tracked.txt", "other.key"):
        repository.write(path, path)
    ignored = git.ignored
    assert await ignored(repository.path, ["**/.env"]) == [".env", "deep/er/.env"]
    assert await ignored(repository.path, [".env", "a.*"]) == [".env", "a.key"]
    assert await ignored(repository.path, ["build/**"]) == ["build/x/y.js"]
    assert await ignored(repository.path, ["tracked.txt"]) == []
    assert await ignored(repository.path, []) == ()
    assert len(await ignored(repository.path, ["**"], limit=2)) == 2
    with pytest.raises(GitError):
        await ignored(repository.path, ["../*"])


async def test_a_sparse_checkout_with_a_split_index_is_read_as_any_other(git: LocalGit, make: Make) -> None:
    repository = make()
    repository.write("in/a", "1")
    repository.write("out/b", "1")
    repository.commit()
    repository.git("sparse-checkout", "set", "in")
    assert not (repository.root / "out").exists()
    assert (await git.status(repository.path)).clean


def _conflict(repository: RealRepository) -> None:
    repository.git("checkout", "--quiet", "-b", "theirs")
    repository.write("README", "theirs\n")
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    repository.write("README", "ours\n")
    repository.commit()
    repository.git("merge", "theirs", check=False)


async def test_submodules_that_are_checked_out_are_found_however_deep(git: LocalGit, make: Make) -> None:
    repository, middle, inner = make(), make("middle"), make("inner")
    middle.git("submodule", "--quiet", "add", inner.path, "deep")
    middle.commit()
    for name in ("b \N{SNOWMAN}", "a"):
        repository.git("submodule", "--quiet", "add", middle.path, name)
    repository.commit()
    repository.git("submodule", "--quiet", "update", "--init", "--recursive")
    repository.git("submodule", "--quiet", "deinit", "--force", "a")
    part = f"{repository.path}/b \N{SNOWMAN}"
    assert await git.submodules(repository.path, limit=20) == [part, f"{part}/deep"]
    assert await git.submodules(repository.path, limit=1) == [part]
    assert await git.submodules(inner.path, limit=20) == []
