"""Files of this machine: the adapter of `ports.files` (C7.1, C7.3).

Rules
* A file is opened without blocking and looked at before it is read, so that a pipe in a workspace hangs nobody.
* Freshness goes by the time of the last status change, which the system sets by itself at every write; a file's own
  time may lie in the future for ever.
* Status changes count for the stamp: a file that became readable is a changed file.
"""

import errno
import os
import stat as modes
import time
from collections.abc import Callable, Mapping
from typing import Final

from innkeeper.ports.files import Entry, FaultReason, FileFault, FileKind, Stat

FRESH_NANOSECONDS: Final = 100_000_000
"""Several ticks of the coarsest clock that file systems of our platforms stamp with."""

_REASONS: Final[Mapping[int, FaultReason]] = {
    errno.ENOENT: "missing",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.ELOOP: "loop",
    errno.ENOTDIR: "notADirectory",
    errno.EISDIR: "notAFile",
    errno.ENXIO: "notAFile",
}


class LocalFiles:
    """Reads this machine's file system with the rights of the process."""

    def stat(self, path: str) -> Stat:
        try:
            found = os.stat(path)
        except (OSError, ValueError) as error:
            raise _fault(error) from None
        stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)
        return Stat(_kind(found.st_mode), stamp, time.time_ns() - found.st_ctime_ns < FRESH_NANOSECONDS)

    def entries(self, path: str, limit: int) -> tuple[Entry, ...]:
        found: list[Entry] = []
        try:
            with os.scandir(path) as listing:
                for item in listing:
                    found.append(Entry(item.name, _entry_kind(item)))
                    if len(found) > limit:
                        raise FileFault("tooLarge")
        except (OSError, ValueError) as error:
            raise _fault(error) from None
        return tuple(sorted(found, key=lambda entry: entry.name))

    def read(self, path: str, limit: int) -> bytes:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb", buffering=0) as file:
                if not modes.S_ISREG(os.fstat(descriptor).st_mode):
                    raise FileFault("notAFile")
                return _read(file.read, limit)
        except (OSError, ValueError) as error:
            raise _fault(error) from None

    def real(self, path: str) -> str:
        try:
            return os.path.realpath(path, strict=True)
        except (OSError, ValueError) as error:
            raise _fault(error) from None

    def writable(self, path: str) -> bool:
        while not os.path.lexists(path) and path != os.path.dirname(path):
            path = os.path.dirname(path)
        return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


def _read(read: Callable[[int], bytes], limit: int) -> bytes:
    """Until the end, or one byte more than the limit, whatever size the file was said to have."""
    parts: list[bytes] = []
    size = 0
    while part := read(limit + 1 - size):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise FileFault("tooLarge")
    return b"".join(parts)


def _kind(mode: int) -> FileKind:
    if modes.S_ISREG(mode):
        return "file"
    return "directory" if modes.S_ISDIR(mode) else "other"


def _entry_kind(item: "os.DirEntry[str]") -> FileKind | None:
    if item.is_symlink():
        return None
    if item.is_file(follow_symlinks=False):
        return "file"
    return "directory" if item.is_dir(follow_symlinks=False) else "other"


def _fault(error: OSError | ValueError) -> FileFault:
    number = error.errno if isinstance(error, OSError) else None
    return FileFault(_REASONS.get(number or 0, "failed"))
