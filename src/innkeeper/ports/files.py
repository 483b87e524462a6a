"""Files as the inside sees them: stat, list, read, where a path really leads (C7.1, C7.3).

Rules
* Paths are absolute POSIX paths in the system's spelling; names that are not UTF-8 carry surrogate escapes.
* Every method raises `FileFault` and nothing else; its text names the fault, never a path or what a file holds.
* Nothing blocks on what is no regular file: pipes and devices are not opened.
* Methods are synchronous and meant for a thread; a port may be shared by threads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

FileKind: TypeAlias = Literal["file", "directory", "other"]
FaultReason: TypeAlias = Literal["missing", "denied", "loop", "tooLarge", "notAFile", "notADirectory", "failed"]
Stamp: TypeAlias = tuple[int, ...]
"""Changes whenever what is behind a path does: times of modification and status, size, inode, device."""

FAULTS: Final[Mapping[FaultReason, str]] = {
    "missing": "it does not exist",
    "denied": "it may not be read",
    "loop": "its links lead in a circle",
    "tooLarge": "it is too large",
    "notAFile": "it is not a regular file",
    "notADirectory": "it is not a directory",
    "failed": "it cannot be read",
}


class FileFault(Exception):
    """Why a file or directory cannot be had; the text is fit to be shown."""

    def __init__(self, reason: FaultReason) -> None:
        super().__init__(FAULTS[reason])
        self.reason: FaultReason = reason


@dataclass(frozen=True, slots=True)
class Stat:
    """What a path leads to, links followed. `fresh`: changed so short a time ago that a further change might leave the
    stamp as it is; content that was read then must be read again."""

    kind: FileKind
    stamp: Stamp
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a directory. `kind` is None for a link, which only `stat` and `real` look behind."""

    name: str
    kind: FileKind | None

    @property
    def link(self) -> bool:
        return self.kind is None


class NoFiles:
    """Nothing is there."""

    def stat(self, path: str) -> Stat:
        raise FileFault("missing")

    def entries(self, path: str, limit: int) -> Sequence[Entry]:
        raise FileFault("missing")

    def read(self, path: str, limit: int) -> bytes:
        raise FileFault("missing")

    def real(self, path: str) -> str:
        raise FileFault("missing")

    def writable(self, path: str) -> bool:
        return False


class Files(Protocol):
    """Files of this machine, read within limits."""

    def stat(self, path: str) -> Stat: ...

    def entries(self, path: str, limit: int) -> Sequence[Entry]:
        """The directory's names, sorted; FileFault `tooLarge` when there are more than `limit`."""
        ...

    def read(self, path: str, limit: int) -> bytes:
        """A regular file, whole; FileFault `tooLarge` when it has more than `limit` bytes."""
        ...

    def real(self, path: str) -> str:
        """The path without links and dot segments; what it leads to exists."""
        ...

    def writable(self, path: str) -> bool:
        """Whether files may be created in the directory, or in the nearest one above that exists."""
        ...
