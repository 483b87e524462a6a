"""Trees of files and the refs that keep them (`ports.git.GitTrees`).

Rules
* A snapshot is `git add` on a copy of the index, outside the repository. The copy has the time stamp of the original:
  git reads a file again that changed within the same instant as the index, and knows it by that stamp.
* A difference is one `diff-tree`, sizes and LFS pointers one `cat-file`, however many files there are.
"""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from innkeeper.ports.git import PRIVATE_REFS, Changes, FileChange, FileType, GitError, Side, Snapshot
from innkeeper.workspace.git.base import OBJECT, Part, unknown
from innkeeper.workspace.git.parsing import TYPES, Lines, RawChange, parse_raw_and_lines
from innkeeper.workspace.git.program import OURS, Running

POINTER_BYTES: Final = 1024
"""The specification of LFS pointers ends them below this."""
POINTERS: Final = (b"version https://git-lfs.github.com/spec/v1\n", b"version https://hawser.github.com/spec/v1\n")
SNAPSHOT_CONFIG: Final = ("core.splitIndex=false", "core.safecrlf=false", "add.ignoreErrors=true")


class Trees(Part):
    """Writes objects and refs of the host's own, nothing else."""

    async def snapshot(self, root: str, *, seconds: float | None = None) -> Snapshot:
        index = (await self._git(root, "rev-parse", "--path-format=absolute", "--git-path", "index")).line
        folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="innkeeper-git-")
        try:
            copy = os.path.join(folder, "index")
            await asyncio.to_thread(_copy, index, copy)
            # Writing the index may read files again, so that is said to both commands.
            safe = await self._safe(root, seconds, submodules=True)
            running = Running(environment={**safe, "GIT_INDEX_FILE": copy}, config=SNAPSHOT_CONFIG)
            added = await self._git(
                root, "add", "--all", "--sparse", "--ignore-errors", seconds=seconds, running=running, good=(0, 1)
            )
            tree = (await self._git(root, "write-tree", seconds=seconds, running=running)).line
            return Snapshot(tree, complete=added.code == 0)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def empty_tree(self, root: str, *, seconds: float | None = None) -> str:
        return await self._tree(root, None, seconds)

    async def tree_of(self, root: str, revision: str, *, seconds: float | None = None) -> str | None:
        return await self._object(root, revision, "tree", seconds)

    async def commit_tree(
        self, root: str, tree: str, parents: Sequence[str], message: str, *, seconds: float | None = None
    ) -> str:
        given = [part for parent in parents for part in ("-p", _checked(parent))]
        running = Running(stdin=message.encode("utf-8", "surrogateescape"), environment=OURS)
        outcome = await self._git(
            root, "commit-tree", "--no-gpg-sign", *given, "-F", "-", _checked(tree), seconds=seconds, running=running
        )
        return outcome.line

    async def set_refs(
        self,
        root: str,
        changes: Mapping[str, str | None],
        *,
        expected: Mapping[str, str | None] | None = None,
        seconds: float | None = None,
    ) -> None:
        before = expected or {}
        for ref in (*changes, *before):
            if not ref.startswith(PRIVATE_REFS):
                raise ValueError(f"{ref} is not below {PRIVATE_REFS}")
        if not changes and not before:
            return
        async with await self._writer(root):
            nothing = "0" * len((await self._git(root, "hash-object", "--stdin", seconds=seconds)).line)
            lines = [_instruction(ref, new, before, nothing) for ref, new in changes.items()]
            lines += [f"verify {ref}\0{old or nothing}\0" for ref, old in before.items() if ref not in changes]
            running = Running(stdin="".join(lines).encode("utf-8"), config=("core.logAllRefUpdates=false",))
            await self._git(root, "update-ref", "--no-deref", "--stdin", "-z", seconds=seconds, running=running)

    async def delete_refs(self, root: str, prefix: str, *, seconds: float | None = None) -> int:
        found = await self.refs(root, prefix, seconds=seconds)
        await self.set_refs(root, dict.fromkeys(found), seconds=seconds)
        return len(found)

    async def refs(self, root: str, prefix: str = PRIVATE_REFS, *, seconds: float | None = None) -> Mapping[str, str]:
        if not prefix.startswith(PRIVATE_REFS):
            raise ValueError(f"{prefix} is not below {PRIVATE_REFS}")
        below = prefix.removesuffix("/") + "/"
        listed = await self._git(root, "for-each-ref", "--format=%(objectname) %(refname)", below, seconds=seconds)
        rows = (line.partition(" ") for line in listed.out.decode("utf-8", "surrogateescape").splitlines())
        return {ref: identity for identity, _, ref in rows}

    async def diff(
        self, root: str, before: str | None, after: str | None, *, limit: int = 5_000, seconds: float | None = None
    ) -> Changes:
        old, new = [await self._tree(root, revision, seconds) for revision in (before, after)]
        if old == new:
            return Changes(())
        outcome = await self._safely(
            root, "diff-tree", "-r", "-z", "-M", "-l1000", "--raw", "--numstat", "--no-abbrev", "--no-ext-diff",
            "--no-textconv", "--ignore-submodules=none", old, new, "--",
            seconds=seconds,
        )  # fmt: skip
        raw, lines = parse_raw_and_lines(outcome.out)
        raw.sort(key=lambda change: os.fsencode(change.path))
        shown = raw[:limit]
        sides = (side for change in shown for side in (change.before, change.after) if side is not None)
        blobs = {identity for kind, identity in sides if kind != "submodule"}
        sizes = await self._sizes(root, blobs, seconds)
        files = [_change(change, lines.get(change.path), sizes) for change in shown]
        return Changes(files, len(raw) - len(shown))

    async def content(self, root: str, blob: str, limit: int, *, seconds: float | None = None) -> bytes:
        if not OBJECT.fullmatch(blob):
            raise unknown(blob)
        size, _ = (await self._sizes(root, {blob}, seconds)).get(blob, (None, False))
        if size is None:
            raise unknown(blob)
        if size > limit:
            raise GitError("GIT_TOO_LARGE", size=size, limit=limit)
        return (await self._safely(root, "cat-file", "blob", blob, seconds=seconds)).out

    async def entry(self, root: str, revision: str, path: str, *, seconds: float | None = None) -> Side | None:
        tree = await self._tree(root, revision, seconds)
        outcome = await self._git(root, "ls-tree", "-z", "--full-tree", tree, "--", path, seconds=seconds)
        for record in outcome.out.split(b"\0"):
            about, _, name = record.partition(b"\t")
            if name and os.fsdecode(name) == path:
                mode, kind, identity = about.decode("ascii").split(" ")
                if kind == "tree":
                    return None
                sizes = await self._sizes(root, {identity} if kind == "blob" else (), seconds)
                return _side((TYPES.get(mode, "file"), identity), sizes)
        return None

    # -- inside --------------------------------------------------------------------------------------------------

    async def _sizes(self, root: str, blobs: Iterable[str], seconds: float | None) -> dict[str, tuple[int, bool]]:
        """Bytes of each blob that is here, and whether it is an LFS pointer."""
        asked = "".join(f"{blob}\n" for blob in blobs).encode("ascii")
        if not asked:
            return {}
        running = Running(stdin=asked, environment={"GIT_NO_LAZY_FETCH": "1"})
        told = await self._git(root, "cat-file", "--batch-check", seconds=seconds, running=running)
        rows = (line.split() for line in told.out.decode("ascii").splitlines())
        sizes = {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[1] == "blob"}
        small = [blob for blob, size in sizes.items() if len(POINTERS[1]) <= size < POINTER_BYTES]
        pointers = await self._pointers(root, small, seconds)
        return {blob: (size, blob in pointers) for blob, size in sizes.items()}

    async def _pointers(self, root: str, blobs: Sequence[str], seconds: float | None) -> set[str]:
        if not blobs:
            return set()
        running = Running(stdin="".join(f"{blob}\n" for blob in blobs).encode("ascii"))
        out = (await self._git(root, "cat-file", "--batch", seconds=seconds, running=running)).out
        found: set[str] = set()
        position = 0
        while position < len(out):
            end = out.index(b"\n", position)
            blob, _, size = out[position:end].decode("ascii").split(" ")
            if out.startswith(POINTERS, end + 1):
                found.add(blob)
            position = end + 1 + int(size) + 1
        return found


def _copy(index: str, copy: str) -> None:
    """Without an index there is none to copy: nothing was ever added."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(index, copy)
        stat = os.stat(index)
        os.utime(copy, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _checked(revision: str) -> str:
    if not OBJECT.fullmatch(revision):
        raise unknown(revision)
    return revision


def _instruction(ref: str, new: str | None, before: Mapping[str, str | None], nothing: str) -> str:
    """One line for `update-ref --stdin -z`; an empty old value is not compared."""
    old = (before[ref] or nothing) if ref in before else ""
    if new is not None:
        return f"update {ref}\0{_checked(new)}\0{old}\0"
    return f"verify {ref}\0{nothing}\0" if old == nothing else f"delete {ref}\0{old}\0"


def _side(side: tuple[FileType, str] | None, sizes: Mapping[str, tuple[int, bool]]) -> Side | None:
    if side is None:
        return None
    kind, identity = side
    size, lfs = sizes.get(identity, (None, False))
    return Side(kind, identity, size, lfs)


def _change(change: RawChange, lines: Lines | None, sizes: Mapping[str, tuple[int, bool]]) -> FileChange:
    counted = lines or Lines(0, 0)
    if "submodule" in {side[0] for side in (change.before, change.after) if side is not None}:
        counted = Lines(0, 0)
    return FileChange(
        kind=change.kind,
        path=change.path,
        old_path=change.old_path,
        before=_side(change.before, sizes),
        after=_side(change.after, sizes),
        added=counted.added,
        removed=counted.removed,
    )
