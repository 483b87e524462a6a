"""Files of one workspace, and of nothing else (M1.6, M1.7, M2.6).

Rules
* A path is taken in POSIX and Windows spelling, relative or absolute, and must lead into the workspace with every link
  followed. What leads out is PATH_ESCAPE, whatever it is.
* The file that is checked is the file that is read: it is opened step by step below the workspace's directory, and no
  step follows a link. A link that is swapped in meanwhile is refused.
* Only regular files are read, at most `limit` bytes, and reading never blocks.
* A file that did not change is not read again: device, inode, size and times are its signature. One that changed just
  now may change again within the clock's grain, so it is compared by its bytes.
"""

import errno
import os
import re
import stat
import time
from dataclasses import dataclass, field
from typing import Final

Signature = tuple[object, ...]

GRAIN_NANOSECONDS: Final = 2_000_000_000
"""The coarsest clock of a file system in use."""

_DRIVE = re.compile(r"[A-Za-z]:")
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(Exception):
    """A file that is not read, or not taken. `line` is one-based, 0 for the whole file."""

    def __init__(self, code: str, line: int = 0, detail: str = "", hint: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.line = line
        self.detail = detail
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Content:
    """What was read. `fresh` says that the signature alone does not yet prove the file unchanged."""

    signature: Signature
    fresh: bool
    content: bytes = field(repr=False)


def inside(workspace: str, path: str) -> str:
    """The path relative to the workspace, normalised. Raises Refused PATH_ESCAPE for what leads out in any spelling;
    links are looked at when it is opened."""
    root = os.path.normpath(workspace)
    if path == root or path.startswith((root.rstrip("/") + "/", root + "\\")):
        path = path[len(root) :].lstrip("/\\") or "."
    spelled = path.replace("\\", "/")
    if spelled.startswith("/") or _DRIVE.match(spelled) or "\0" in spelled:
        raise Refused("PATH_ESCAPE")
    normal = os.path.normpath(spelled)
    if normal == ".." or normal.startswith("../"):
        raise Refused("PATH_ESCAPE")
    return normal


def signature(workspace: str, relative: str) -> Signature | None:
    """What tells whether the file may have changed; None when it is not there. Links on the way are part of it."""
    return _look(workspace, relative)[0]


def read(workspace: str, relative: str, limit: int) -> Content | None:
    """The file's bytes, or None when it is not there. Raises Refused."""
    before, linked = _look(workspace, relative)
    if before is None and not linked:
        return None
    try:
        descriptor = _open(workspace, _followed(workspace, relative) if linked else relative)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        raise Refused("FILE_UNREADABLE") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Refused("FILE_UNREADABLE")
        with open(descriptor, "rb", closefd=False) as opened:
            content = opened.read(limit + 1)
    except OSError:
        raise Refused("FILE_UNREADABLE") from None
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise Refused("FILE_TOO_LARGE")
    # The file system's clock is the wall clock: the two are compared.
    fresh = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < GRAIN_NANOSECONDS
    return Content(before or (), fresh or before is None, content)


def decode(content: bytes) -> str:
    """The text of a file. Raises Refused FILE_ENCODING; nothing is replaced."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("FILE_ENCODING") from None


def _look(workspace: str, relative: str) -> tuple[Signature | None, bool]:
    """The signature, and whether a link is on the way."""
    linked = False
    try:
        found = os.lstat(f"{workspace}/{relative}")
        linked = stat.S_ISLNK(found.st_mode) or any(
            stat.S_ISLNK(os.lstat(f"{workspace}/{parent}").st_mode) for parent in _parents(relative)
        )
        if not linked:
            return _signature(found), False
        real = os.path.realpath(f"{workspace}/{relative}", strict=True)
        return (real, *_signature(os.stat(real))), True
    except (FileNotFoundError, NotADirectoryError):
        return None, False
    except (OSError, ValueError):
        return None, True


def _followed(workspace: str, relative: str) -> str:
    """Where links lead, relative to the workspace. Raises OSError, Refused."""
    root = os.path.realpath(workspace)
    real = os.path.realpath(os.path.join(root, relative), strict=True)
    if os.path.commonpath([real, root]) != root:
        raise Refused("PATH_ESCAPE")
    return os.path.relpath(real, root)


def _open(workspace: str, relative: str) -> int:
    """A descriptor of the file below the workspace; no link is followed on the way. Raises OSError, Refused."""
    *folders, name = relative.split("/")
    directory = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = os.open(folder, _DIRECTORY, dir_fd=directory)
            os.close(directory)
            directory = below
        return os.open(name, _FILE, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refused("PATH_ESCAPE") from None  # a link now stands where none stood a moment ago
        raise
    finally:
        os.close(directory)


def _parents(relative: str) -> list[str]:
    parts = relative.split("/")[:-1]
    return ["/".join(parts[: length + 1]) for length in range(len(parts))]


def _signature(found: os.stat_result) -> Signature:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode
