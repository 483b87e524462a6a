"""Snapshots of the working tree: everything that git could hold, nothing touched (reference §5.8)."""

import asyncio
import os
from collections.abc import Callable

import pytest

from harness.repositories import RealRepository
from innkeeper.workspace.git import LocalGit

pytestmark = pytest.mark.anyio
Make = Callable[..., RealRepository]


async def test_edits_new_files_deletions_links_and_modes_are_in_it_ignored_files_are_not(
    git: LocalGit, repository: RealRepository
) -> None:
    repository.write("kept", "kept")
    repository.write("deleted", "deleted")
    repository.write(".gitignore", "*.log\n")
    repository.commit()
    (repository.root / "deleted").unlink()
    repository.write("README", "edited\n")
    repository.write("new/ümlaut", "new")
    repository.write("line\nend", "odd")
    repository.write(os.fsdecode(b"not utf-8 \xff"), "odd")
    repository.write("x.log", "ignored")
    os.symlink("../outside", repository.root / "link")
    repository.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    before = repository.untouched()
    snapshot = await git.snapshot(repository.path)
    files = repository.files(snapshot.tree)
    assert snapshot.complete
    assert {path: mode for path, (mode, _) in files.items()} == {
        ".gitignore": "100644", "README": "100644", "kept": "100644", "new/ümlaut": "100644", "line\nend": "100644",
        os.fsdecode(b"not utf-8 \xff"): "100644", "link": "120000", "run.sh": "100755",
    }  # fmt: skip
    assert repository.text(files["README"][1]) == "edited"
    assert repository.text(files["link"][1]) == "../outside"
    assert repository.untouched() == before


async def test_an_unchanged_tree_has_the_same_snapshot_which_is_that_of_head(
    git: LocalGit, repository: RealRepository
) -> None:
    first, second = await asyncio.gather(git.snapshot(repository.path), git.snapshot(repository.path))
    assert first == second
    assert first.tree == await git.tree_of(repository.path, "HEAD")


async def test_without_a_commit_without_an_index_and_empty(git: LocalGit, make: Make) -> None:
    repository = make(commit=False)
    assert (await git.snapshot(repository.path)).tree == await git.empty_tree(repository.path)
    repository.write("a", "1")
    snapshot = await git.snapshot(repository.path)
    assert set(repository.files(snapshot.tree)) == {"a"}
    assert not (repository.root / ".git" / "index").exists()


async def test_what_is_staged_otherwise_than_the_file_is_stays_staged(
    git: LocalGit, repository: RealRepository
) -> None:
    repository.write("README", "staged\n")
    repository.git("add", "README")
    repository.write("README", "file\n")
    before = repository.untouched()
    snapshot = await git.snapshot(repository.path)
    assert repository.text(f"{snapshot.tree}:README") == "file"
    assert repository.text(":README") == "staged"
    assert repository.untouched() == before


async def test_a_change_in_the_same_instant_as_the_index_is_seen(git: LocalGit, repository: RealRepository) -> None:
    """The index of the copy keeps its time stamp, or git would trust a file of equal size and time."""
    for number in range(20):
        repository.write("README", f"hell{number % 10}\n")
        repository.git("add", "README")
        repository.write("README", f"HELL{number % 10}\n")
        stamp = (repository.root / ".git" / "index").stat().st_mtime_ns
        os.utime(repository.root / "README", ns=(stamp, stamp))
        snapshot = await git.snapshot(repository.path)
        assert repository.text(f"{snapshot.tree}:README") == f"HELL{number % 10}"


async def test_an_unmerged_tree_is_taken_as_it_is_with_its_markers(git: LocalGit, repository: RealRepository) -> None:
    repository.git("checkout", "--quiet", "-b", "theirs")
    repository.write("README", "theirs\n")
    repository.write("gone", "theirs")
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    repository.write("README", "ours\n")
    repository.commit()
    repository.git("merge", "theirs", check=False)
    before = repository.untouched()
    snapshot = await git.snapshot(repository.path)
    assert "<<<<<<<" in repository.text(f"{snapshot.tree}:README")
    assert repository.untouched() == before


async def test_in_a_sparse_checkout_what_is_not_there_stays_as_committed(git: LocalGit, make: Make) -> None:
    repository = make()
    repository.write("in/a", "1")
    repository.write("out/b", "1")
    repository.commit()
    repository.git("sparse-checkout", "set", "in")
    repository.write("in/a", "2")
    repository.write("in/new", "2")
    snapshot = await git.snapshot(repository.path)
    assert set(repository.files(snapshot.tree)) == {"README", "in/a", "in/new", "out/b"}
    assert repository.text(f"{snapshot.tree}:in/a") == "2"


async def test_a_file_outside_the_sparse_part_that_is_there_all_the_same_is_in_it(git: LocalGit, make: Make) -> None:
    repository = make()
    repository.write("in/a", "1")
    repository.write("out/b", "1")
    repository.commit()
    repository.git("sparse-checkout", "set", "in")
    repository.write("out/new", "2")
    snapshot = await git.snapshot(repository.path)
    assert "out/new" in repository.files(snapshot.tree)


async def test_a_split_index_is_left_alone(git: LocalGit, repository: RealRepository) -> None:
    repository.git("update-index", "--split-index")
    repository.write("a", "1")
    before = repository.untouched()
    shared = sorted(path.name for path in (repository.root / ".git").glob("sharedindex.*"))
    snapshot = await git.snapshot(repository.path)
    assert "a" in repository.files(snapshot.tree)
    assert repository.untouched() == before
    assert sorted(path.name for path in (repository.root / ".git").glob("sharedindex.*")) == shared


async def test_a_submodule_is_the_commit_that_is_checked_out_in_it(git: LocalGit, make: Make) -> None:
    outer, inner = make("outer"), make("inner")
    outer.git("submodule", "--quiet", "add", inner.path, "part")
    outer.commit("with a part")
    part = RealRepository(outer.root / "part", outer.variables)
    part.write("more", "1")
    moved = part.commit()
    snapshot = await git.snapshot(outer.path)
    assert outer.files(snapshot.tree)["part"] == ("160000", moved)


async def test_what_cannot_be_read_makes_it_incomplete_and_stops_nothing(
    git: LocalGit, repository: RealRepository
) -> None:
    nested = RealRepository(repository.root / "nested", repository.variables)
    nested.git("init", "--quiet")
    nested.write("inside", "1")
    repository.write("z", "1")
    snapshot = await git.snapshot(repository.path)
    assert not snapshot.complete
    assert set(repository.files(snapshot.tree)) == {"README", "z"}


async def test_line_end_conversion_that_git_warns_of_does_not_refuse_it(
    git: LocalGit, repository: RealRepository
) -> None:
    repository.git("config", "core.autocrlf", "input")
    repository.git("config", "core.safecrlf", "true")
    repository.write("windows", "a\r\nb\r\n")
    snapshot = await git.snapshot(repository.path)
    assert snapshot.complete
    assert repository.git("cat-file", "-s", f"{snapshot.tree}:windows") == "4"


async def test_a_worktree_has_its_own(git: LocalGit, repository: RealRepository) -> None:
    beside = RealRepository(repository.root.parent / "beside", repository.variables)
    repository.git("worktree", "add", "--quiet", beside.path)
    beside.write("only here", "1")
    assert set(repository.files((await git.snapshot(beside.path)).tree)) == {"README", "only here"}
    assert set(repository.files((await git.snapshot(repository.path)).tree)) == {"README"}
