"""Private refs and differences on real repositories (`ports.git.GitTrees`)."""

import os
import shutil
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.repositories import RealRepository
from innkeeper.ports.git import Changes, GitError, Side
from innkeeper.workspace.git import LocalGit
from innkeeper.workspace.git.parsing import parse_raw_and_lines, parse_status, parse_worktrees

pytestmark = pytest.mark.anyio
Make = Callable[..., RealRepository]
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12345\n"
REF = "refs/innkeeper/session/1"


async def differing(git: LocalGit, repository: RealRepository) -> Changes:
    return await git.diff(repository.path, "HEAD", (await git.snapshot(repository.path)).tree)


async def test_every_kind_of_change_has_its_kind_sides_and_lines(git: LocalGit, repository: RealRepository) -> None:
    repository.write("edited", "one\ntwo\n")
    repository.write("deleted", "one\n")
    repository.write("from", "".join(f"line {number}\n" for number in range(20)))
    repository.write("type", "plain\n")
    repository.write("mode", "same\n")
    repository.commit()
    repository.write("edited", "one\nthree\nfour\n")
    (repository.root / "deleted").unlink()
    shutil.move(repository.root / "from", repository.root / "tö\nother")
    repository.write("tö\nother", "".join(f"line {number}\n" for number in range(21)))
    (repository.root / "type").unlink()
    os.symlink("README", repository.root / "type")
    (repository.root / "mode").chmod(0o755)
    repository.write("binary", b"\0\1\2")
    repository.write("added", "x\n")
    changes = await differing(git, repository)
    told = {
        change.path: (
            change.kind, change.old_path, change.before and change.before.type, change.after and change.after.type,
            change.added, change.removed, change.binary,
        )
        for change in changes.files
    }  # fmt: skip
    assert told == {
        "added": ("added", None, None, "file", 1, 0, False),
        "binary": ("added", None, None, "file", None, None, True),
        "deleted": ("deleted", None, "file", None, 0, 1, False),
        "edited": ("edited", None, "file", "file", 2, 1, False),
        "mode": ("edited", None, "file", "executable", 0, 0, False),
        "type": ("edited", None, "file", "symlink", 1, 1, False),
        "tö\nother": ("renamed", "from", "file", "file", 1, 0, False),
    }
    assert [os.fsencode(change.path) for change in changes.files] == sorted(map(os.fsencode, told))


async def test_an_lfs_pointer_is_marked_and_its_size_is_that_of_the_pointer(
    git: LocalGit, repository: RealRepository
) -> None:
    repository.write("big.bin", POINTER)
    repository.write("same size", "x" * len(POINTER))
    repository.write("short", POINTER[:20])
    sides = {change.path: change.after for change in (await differing(git, repository)).files}
    assert {path: side and side.lfs for path, side in sides.items()} == {
        "big.bin": True, "same size": False, "short": False,
    }  # fmt: skip
    assert sides["big.bin"] is not None and sides["big.bin"].size == len(POINTER)


async def test_a_submodule_that_moved_names_its_commits_and_counts_no_lines(git: LocalGit, make: Make) -> None:
    outer, inner = make("outer"), make("inner")
    first = inner.git("rev-parse", "HEAD")
    outer.git("submodule", "--quiet", "add", inner.path, "part")
    outer.commit("with a part")
    part = RealRepository(outer.root / "part", outer.variables)
    moved = part.commit()
    (change,) = (await differing(git, outer)).files
    assert (change.path, change.kind, change.binary, change.added) == ("part", "edited", False, 0)
    assert (change.before, change.after) == (Side("submodule", first, None), Side("submodule", moved, None))


async def test_none_is_the_empty_tree_on_either_side(git: LocalGit, repository: RealRepository) -> None:
    (added,) = (await git.diff(repository.path, None, "HEAD")).files
    (deleted,) = (await git.diff(repository.path, "HEAD", None)).files
    assert (added.kind, deleted.kind, added.path, deleted.path) == ("added", "deleted", "README", "README")
    assert (await git.diff(repository.path, "HEAD", "main")).files == ()
    for revision in ("nothing", "--stat", "README"):
        with pytest.raises(GitError) as caught:
            await git.diff(repository.path, revision, "HEAD")
        assert caught.value.code == "GIT_REVISION_UNKNOWN"


async def test_files_beyond_the_limit_are_counted(git: LocalGit, repository: RealRepository) -> None:
    for number in range(7):
        repository.write(f"f{number}", "1")
    changes = await git.diff(repository.path, "HEAD", (await git.snapshot(repository.path)).tree, limit=3)
    assert ([change.path for change in changes.files], changes.left_out) == (["f0", "f1", "f2"], 4)


async def test_the_users_diff_settings_do_not_count(git: LocalGit, repository: RealRepository) -> None:
    for name, value in (("diff.external", "false"), ("diff.renames", "false"), ("diff.orderFile", "nothing")):
        repository.git("config", name, value)
    repository.write(".gitattributes", "* diff=odd\n")
    repository.git("config", "diff.odd.textconv", "false")
    repository.git("config", "diff.odd.command", "false")
    repository.git("mv", "README", "READ")
    paths = [(change.kind, change.path) for change in (await differing(git, repository)).files]
    assert paths == [("added", ".gitattributes"), ("renamed", "READ")]


async def test_content_is_whole_or_refused(git: LocalGit, repository: RealRepository) -> None:
    side = await git.entry(repository.path, "HEAD", "README")
    assert side is not None and side.size == 6
    assert await git.content(repository.path, side.id, 6) == b"hello\n"
    with pytest.raises(GitError) as caught:
        await git.content(repository.path, side.id, 5)
    assert (caught.value.code, caught.value.values) == ("GIT_TOO_LARGE", {"size": 6, "limit": 5})
    for blob in ("0" * 40, "HEAD", "-p", repository.git("rev-parse", "HEAD")):
        with pytest.raises(GitError) as caught:
            await git.content(repository.path, blob, 100)
        assert caught.value.code == "GIT_REVISION_UNKNOWN"


async def test_an_entry_is_a_file_and_never_a_folder_or_pattern(git: LocalGit, repository: RealRepository) -> None:
    repository.write("a/*", "star")
    repository.write("a/b", "b")
    repository.commit()
    star = await git.entry(repository.path, "HEAD", "a/*")
    assert star is not None and await git.content(repository.path, star.id, 100) == b"star"
    for path in ("a", "", "a/", "nothing", "../README"):
        try:
            assert await git.entry(repository.path, "HEAD", path) is None, path
        except GitError as error:
            assert error.code == "GIT_FAILED", path


async def test_a_private_commit_is_innkeepers_and_survives_as_long_as_its_ref(
    git: LocalGit, repository: RealRepository
) -> None:
    repository.git("config", "commit.gpgSign", "true")
    repository.git("config", "gpg.program", "false")
    head = repository.git("rev-parse", "HEAD")
    snapshot = await git.snapshot(repository.path)
    commit = await git.commit_tree(repository.path, snapshot.tree, [head], "turn 1\n\n# not a comment ü")
    assert repository.git("log", "-1", "--format=%an <%ae> %P", commit) == f"Innkeeper <innkeeper@localhost> {head}"
    assert "# not a comment ü" in repository.git("log", "-1", "--format=%B", commit)
    await git.set_refs(repository.path, {REF: commit})
    repository.git("gc", "--quiet", "--prune=now")
    assert await git.refs(repository.path) == {REF: commit}
    assert await git.resolve(repository.path, REF) == commit
    for tree, parents in (("HEAD", []), (snapshot.tree, ["HEAD"]), ("0" * 40, [])):
        with pytest.raises(GitError) as caught:
            await git.commit_tree(repository.path, tree, parents, "x")
        assert caught.value.code == "GIT_REVISION_UNKNOWN"


async def test_refs_change_together_or_not_at_all_and_only_from_what_is_expected(
    git: LocalGit, repository: RealRepository
) -> None:
    head = repository.git("rev-parse", "HEAD")
    other = repository.commit()
    a, b = "refs/innkeeper/x/a", "refs/innkeeper/x/b"
    await git.set_refs(repository.path, {a: head}, expected={a: None})
    for expected in ({a: None}, {a: other}, {a: head, b: head}, {a: head, "refs/innkeeper/x/c": head}):
        with pytest.raises(GitError) as caught:
            await git.set_refs(repository.path, {b: other, a: other}, expected=expected)
        assert caught.value.code == "GIT_REF_MOVED", expected
        assert await git.refs(repository.path, "refs/innkeeper/x") == {a: head}
    await git.set_refs(repository.path, {a: other, b: head}, expected={a: head, b: None})
    assert await git.refs(repository.path, "refs/innkeeper/x/") == {a: other, b: head}
    await git.set_refs(repository.path, {a: None, "refs/innkeeper/never": None}, expected={a: other})
    assert await git.refs(repository.path) == {b: head}
    with pytest.raises(GitError) as caught:
        await git.set_refs(repository.path, {a: "0" * 39 + "1"})
    assert caught.value.code == "GIT_REVISION_UNKNOWN"


async def test_no_ref_outside_is_ever_written(git: LocalGit, repository: RealRepository) -> None:
    head = repository.git("rev-parse", "HEAD")
    for ref in ("refs/heads/main", "HEAD", "refs/innkeeperx/a"):
        with pytest.raises(ValueError, match="not below"):
            await git.set_refs(repository.path, {ref: head})
        with pytest.raises(ValueError, match="not below"):
            await git.delete_refs(repository.path, ref)
    assert repository.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


async def test_deleting_below_a_prefix_leaves_its_neighbours(git: LocalGit, repository: RealRepository) -> None:
    head = repository.git("rev-parse", "HEAD")
    refs = {f"refs/innkeeper/s1/{number}": head for number in range(50)}
    await git.set_refs(repository.path, {**refs, "refs/innkeeper/s10/0": head})
    assert await git.delete_refs(repository.path, "refs/innkeeper/s1") == 50
    assert await git.delete_refs(repository.path, "refs/innkeeper/s1/") == 0
    assert list(await git.refs(repository.path)) == ["refs/innkeeper/s10/0"]


async def test_a_repository_with_sha_256_works_alike(git: LocalGit, make: Make) -> None:
    repository = RealRepository(make().root.parent / "sha256", make("other").variables)
    repository.git("init", "--quiet", "--object-format=sha256")
    repository.write("a", "1\n")
    snapshot = await git.snapshot(repository.path)
    commit = await git.commit_tree(repository.path, snapshot.tree, [], "one")
    await git.set_refs(repository.path, {REF: commit}, expected={REF: None})
    (change,) = (await git.diff(repository.path, None, commit)).files
    assert (change.path, len(commit)) == ("a", 64)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(
        st.binary(min_size=1, max_size=20).filter(
            lambda name: not set(name) & {0, 0x2F} and name not in (b".", b"..") and name.lower() != b".git"
            and not name.startswith(b".git") and b"~" not in name and b"\\" not in name
        ),
        min_size=1, max_size=12, unique=True,
    )
)  # fmt: skip
async def test_any_name_that_a_file_can_have_comes_through(
    git: LocalGit, repository: RealRepository, names: list[bytes]
) -> None:
    for entry in repository.root.iterdir():
        if entry.name not in (".git", "README"):
            entry.unlink()
    written = {os.fsdecode(name) for name in names} - {"README"}
    for name in written:
        repository.write(name, name.encode("utf-8", "surrogateescape") + b" is here")
    changes = await differing(git, repository)
    status = await git.status(repository.path)
    added = {change.path for change in changes.files}
    assert added == written
    assert {entry.path for entry in status.entries} == written
    for name in written:
        assert await git.entry(repository.path, (await git.snapshot(repository.path)).tree, name) is not None


async def test_what_a_newer_git_says_besides_is_passed_over() -> None:
    zero, one = b"0" * 40, b"1" * 40
    raw = b":000000 100644 " + zero + b" " + one + b" A\0x\0" + b"1\t0\tx\0"
    changes, lines = parse_raw_and_lines(raw)
    assert [change.path for change in changes] == ["x"] and lines["x"].added == 1
    status = parse_status(b"# stash 3\0# branch.unheard of\0! ignored\0? new\0", 10)
    assert [entry.path for entry in status.entries] == ["new"]
    trees = parse_worktrees(b"worktree /a\0HEAD " + one + b"\0novel thing\0\0worktree /b\0bare\0\0")
    assert [(tree.path, tree.main) for tree in trees] == [("/a", True), ("/b", False)]
