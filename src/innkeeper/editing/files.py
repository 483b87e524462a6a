"""Reading and replacing a file under a version guard (M8.4, M8.5).

Rules
* A version token names a content; an edit names the token it was made for, and is refused when the file has another.
* One writer at a time among all processes of ours: a lock on the file's folder, held for the length of one change.
* A write is a temporary file beside it, synced, renamed over it, the folder synced: readers see the old content or the
  new one. Mode, owner and group stay; where they cannot, nothing is written. A link stays a link.
* What is not a regular file, or what its owner made read-only, is not replaced.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from innkeeper.editing.engine import version_of
from innkeeper.editing.refusals import EditConflict, EditUnwritable
from innkeeper.limits import MIB

NEW_FILE_MODE = 0o600
MAX_BYTES = 8 * MIB


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds; `data` is None where there is none."""

    data: bytes | None

    @property
    def version(self) -> str:
        return version_of(self.data)


def read_content(path: Path) -> Content:
    """The content now. Raises OSError where it cannot be read, is no regular file or has more than `MAX_BYTES`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Content(None)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return Content(data)


def change_file(path: Path, change: Callable[[Content], bytes], *, expected: str | None = None) -> Content:
    """Replace the content by what `change` makes of it, if the file still is `expected` (None: whatever it is).

    Returns the new content. What `change` raises leaves the file as it is. Raises `EditConflict`, `EditUnwritable`.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(target.parent):
            known = read_content(target)
            if expected is not None and expected != known.version:
                raise EditConflict(known.version)
            wanted = change(known)
            if wanted != known.data:
                _replace(target, wanted)
            return Content(wanted)
    except OSError as error:
        raise EditUnwritable(path, error.strerror or type(error).__name__) from error


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(target: Path, data: bytes) -> None:
    try:
        known = target.stat()
    except FileNotFoundError:
        known = None
    effective = os.access in os.supports_effective_ids
    if known is not None and not os.access(target, os.W_OK, effective_ids=effective):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, NEW_FILE_MODE)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if known is not None:
                _give(file.fileno(), known)
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _give(descriptor: int, known: os.stat_result) -> None:
    """Owner, group and mode of the file that is replaced."""
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (known.st_uid, known.st_gid):
        os.fchown(descriptor, known.st_uid, known.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(known.st_mode))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
