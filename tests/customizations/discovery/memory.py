"""The ports `files` and `watches` in memory, with the faults that a real file system shows only to other users."""

import asyncio
import contextlib
import posixpath
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from innkeeper.ports.files import Entry, FileFault, FileKind, Stat
from innkeeper.ports.watches import WatchTarget

LINKS = 40


@dataclass(frozen=True)
class Link:
    """Leads to a path, absolute or relative to the link's directory."""

    target: str


@dataclass(frozen=True)
class Pipe:
    """Neither file nor directory."""


Node = bytes | Link | Pipe | None
"""None is a directory."""


class MemoryFiles:
    """A tree of nodes by absolute path. `denied` paths cannot be read, `fresh` ones were changed just now."""

    def __init__(self, tree: Mapping[str, Node | str] | None = None) -> None:
        self.nodes: dict[str, Node] = {"/": None}
        self._below: dict[str, set[str]] = {}
        self.versions: dict[str, int] = {}
        self.denied: set[str] = set()
        self.fresh: set[str] = set()
        self.read_only: set[str] = set()
        self.reads: list[str] = []
        self._version = 0
        for path, node in (tree or {}).items():
            self.put(path, node)

    def put(self, path: str, node: Node | str) -> None:
        """Write a node, with the directories above it."""
        above = posixpath.dirname(path)
        if above not in self.nodes:
            self.put(above, None)
        if path not in self.nodes:
            self._touch(above)
            self._below.setdefault(above, set()).add(path)
        self.nodes[path] = node.encode() if isinstance(node, str) else node
        self._touch(path)

    def drop(self, path: str) -> None:
        for below in [p for p in self.nodes if p == path or p.startswith(f"{path}/")]:
            del self.nodes[below]
            self._below[posixpath.dirname(below)].discard(below)
        self._touch(posixpath.dirname(path))

    def allow(self, path: str) -> None:
        self.denied.discard(path)
        self._touch(path)

    def stat(self, path: str) -> Stat:
        real = self.real(path)
        node = self.nodes[real]
        kind: FileKind = "directory" if node is None else "file" if isinstance(node, bytes) else "other"
        return Stat(kind, (self.versions.get(real, 0), hash(real)), real in self.fresh)

    def entries(self, path: str, limit: int) -> tuple[Entry, ...]:
        real = self._readable(path)
        if self.nodes[real] is not None:
            raise FileFault("notADirectory")
        names = sorted(self._below.get(real, ()))
        if len(names) > limit:
            raise FileFault("tooLarge")
        return tuple(Entry(posixpath.basename(p), self._kind(self.nodes[p])) for p in names)

    def read(self, path: str, limit: int) -> bytes:
        real = self._readable(path)
        node = self.nodes[real]
        if not isinstance(node, bytes):
            raise FileFault("notAFile")
        if len(node) > limit:
            raise FileFault("tooLarge")
        return node

    def real(self, path: str) -> str:
        left = [part for part in path.split("/") if part]
        found, links = "/", 0
        while left:
            part = left.pop(0)
            if part == ".":
                continue
            found = posixpath.dirname(found) if part == ".." else posixpath.join(found, part)
            if found not in self.nodes:
                raise FileFault("missing")
            node = self.nodes[found]
            if isinstance(node, Link):
                links += 1
                if links > LINKS:
                    raise FileFault("loop")
                left = [part for part in node.target.split("/") if part] + left
                found = "/" if node.target.startswith("/") else posixpath.dirname(found)
            elif node is not None and left:
                raise FileFault("notADirectory")
        return found

    def writable(self, path: str) -> bool:
        while path not in self.nodes:
            path = posixpath.dirname(path)
        return self.nodes[path] is None and path not in self.read_only

    def _readable(self, path: str) -> str:
        real = self.real(path)
        self.reads.append(path)
        if real in self.denied:
            raise FileFault("denied")
        return real

    def _kind(self, node: Node) -> FileKind | None:
        if node is None:
            return "directory"
        return "file" if isinstance(node, bytes) else None if isinstance(node, Link) else "other"

    def _touch(self, path: str) -> None:
        self._version += 1
        self.versions[path] = self._version


class MemoryWatches:
    """Reports what `change` is told of. `armed` is how many watches were entered."""

    def __init__(self) -> None:
        self.targets: tuple[WatchTarget, ...] = ()
        self.armed = 0
        self._waiting: set[str] = set()
        self._some = asyncio.Event()
        self._entered = asyncio.Event()

    async def until_watched(self, path: str) -> None:
        """Wait until a directory is watched."""
        async with asyncio.timeout(5):
            while not any(target.path == path for target in self.targets):
                self._entered.clear()
                await self._entered.wait()

    @contextlib.asynccontextmanager
    async def watch(self, targets: tuple[WatchTarget, ...]) -> AsyncIterator[AsyncIterator[frozenset[str]]]:
        self.targets = targets
        self.armed += 1
        self._waiting = set()
        self._some = asyncio.Event()
        self._entered.set()
        try:
            yield self._reports()
        finally:
            self.targets = ()

    def change(self, path: str) -> bool:
        """A path changed; whether that wakes anybody."""
        wanted = any(target.allows(path) for target in self.targets)
        if wanted:
            self._waiting.add(path)
            self._some.set()
        return wanted

    async def _reports(self) -> AsyncIterator[frozenset[str]]:
        while True:
            await self._some.wait()
            self._some.clear()
            taken, self._waiting = frozenset(self._waiting), set()
            yield taken
