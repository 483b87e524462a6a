"""Replacing one file in an open folder, so that it can be taken back exactly (M8.5, M8.6).

Rules
* Everything goes through the folder's descriptor and follows no link: a folder or file that is swapped for a link
  meanwhile is not written through.
* A write is a temporary file beside it, synced, renamed over it, the folder synced: readers see the old content or the
  new one, also after a sudden end. Mode, owner, group and access list stay; where they cannot, nothing is written.
  Other extended attributes stay where the system lets them.
* Taking back renames the old file itself back, so that it needs no space and restores everything about it.
* What a sudden end left beside the file is removed by the next writer. The caller holds the lock of the folder.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from innkeeper.editing.engine import version_of
from innkeeper.editing.refusals import EditConflict
from innkeeper.limits import MIB

MAX_BYTES: Final = 8 * MIB
ACCESS_LIST: Final = "system.posix_acl_access"
_LEFTOVER: Final = r"\.[0-9a-f]{12}"


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds; `data` is None where there is none."""

    data: bytes | None

    @property
    def version(self) -> str:
        return version_of(self.data)


def read_descriptor(descriptor: int) -> Content:
    """The content of an open file, which is closed. Raises OSError for what is no regular file or has more than
    `MAX_BYTES`."""
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return Content(data)


def read_in(folder: int, name: str) -> Content:
    """The content of a file of an open folder; no link is followed. Raises OSError."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return read_descriptor(os.open(name, flags, dir_fd=folder))
    except FileNotFoundError:
        return Content(None)


@contextlib.contextmanager
def locked(folder: int) -> Iterator[None]:
    """One writer at a time among all processes of ours, by another descriptor of the folder."""
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class Replacement:
    """The content of file `name` in the open folder becomes `data`: `prepare`, `commit`, then `finish` or `undo`.

    `known` is what was read; when the file is another one at the time of the commit, `EditConflict` is raised. `data`
    None removes the file. `mode` is that of a new file, less what the process masks out. Methods raise OSError.
    """

    def __init__(self, folder: int, name: str, known: Content, data: bytes | None, mode: int) -> None:
        self._folder = folder
        self._name = name
        self._known = known
        self._data = data
        self._mode = mode
        self._signature: tuple[int, ...] | None = None
        self._temporary: str | None = None
        self._kept: str | None = None
        self._committed = False

    def prepare(self) -> None:
        """The new content is written and synced beside the file, which is untouched."""
        self._remove_leftovers()
        found = self._stat()
        self._signature = _signature(found)
        effective = os.access in os.supports_effective_ids
        if found is not None and not os.access(self._name, os.W_OK, dir_fd=self._folder, effective_ids=effective):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if self._data is None:
            return
        temporary = self._beside()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, self._mode if found is None else 0o600, dir_fd=self._folder)
        self._temporary = temporary
        try:
            with open(descriptor, "wb") as file:
                file.write(self._data)
                file.flush()
                if found is not None:
                    _give(file.fileno(), found)
                    _give_attributes(file.fileno(), self._folder, self._name)
                os.fsync(file.fileno())
        except BaseException:
            self.discard()
            raise

    def commit(self, *, keep: bool = False) -> None:
        """The new content is in force. `keep` keeps the old file for `undo`, until `finish`."""
        found = self._stat()
        if _signature(found) != self._signature or read_in(self._folder, self._name) != self._known:
            current = read_in(self._folder, self._name)
            self.discard()
            raise EditConflict(current.version)
        try:
            if keep and found is not None:
                self._keep()
            if self._temporary is None:
                os.unlink(self._name, dir_fd=self._folder)
            else:
                os.replace(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except BaseException:
            self.discard()
            raise
        self._temporary = None
        self._committed = True
        os.fsync(self._folder)

    def undo(self) -> None:
        """The file is what it was before `commit`; nothing if that did not happen."""
        self.discard()
        if not self._committed:
            return
        if self._known.data is None:
            os.unlink(self._name, dir_fd=self._folder)
        else:
            assert self._kept is not None, "nothing was kept"
            os.replace(self._kept, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            self._kept = None
        self._committed = False
        os.fsync(self._folder)

    def finish(self) -> None:
        """What was kept is let go."""
        if self._kept is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._kept, dir_fd=self._folder)
            self._kept = None

    def discard(self) -> None:
        """The prepared content is let go, and what was kept unless it may be needed still."""
        if self._temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._temporary, dir_fd=self._folder)
            self._temporary = None
        if not self._committed:
            self.finish()

    def _keep(self) -> None:
        """A second name for the old file; a copy where the file system has no such names."""
        kept = self._beside()
        try:
            os.link(self._name, kept, src_dir_fd=self._folder, dst_dir_fd=self._folder, follow_symlinks=False)
        except OSError:
            copy = Replacement(self._folder, kept, Content(None), self._known.data, 0o600)
            copy.prepare()
            found = self._stat()
            assert found is not None and copy._temporary is not None
            descriptor = os.open(copy._temporary, os.O_WRONLY | os.O_CLOEXEC, dir_fd=self._folder)
            try:
                _give(descriptor, found)
            finally:
                os.close(descriptor)
            copy.commit()
        self._kept = kept

    def _beside(self) -> str:
        return f".{self._name}.{secrets.token_hex(6)}"

    def _stat(self) -> os.stat_result | None:
        try:
            return os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _remove_leftovers(self) -> None:
        pattern = re.compile(rf"\.{re.escape(self._name)}{_LEFTOVER}")
        for name in os.listdir(self._folder):
            if pattern.fullmatch(name):
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=self._folder)


def _signature(found: os.stat_result | None) -> tuple[int, ...] | None:
    return None if found is None else (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)


def _give(descriptor: int, known: os.stat_result) -> None:
    """Owner, group and mode of the file that is replaced."""
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (known.st_uid, known.st_gid):
        os.fchown(descriptor, known.st_uid, known.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(known.st_mode))


def _give_attributes(descriptor: int, folder: int, name: str) -> None:
    """Extended attributes of the file that is replaced. Raises OSError when its access list cannot be kept: the mode
    alone would let in others than before."""
    if not hasattr(os, "listxattr"):
        return
    old = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        for attribute in _attributes(old):
            _give_attribute(descriptor, old, attribute)
    finally:
        os.close(old)


def _give_attribute(descriptor: int, old: int, attribute: str) -> None:
    try:
        os.setxattr(descriptor, attribute, os.getxattr(old, attribute))
    except OSError:
        if attribute == ACCESS_LIST:
            raise


def _attributes(descriptor: int) -> list[str]:
    """None on a file system that has no such thing."""
    try:
        return os.listxattr(descriptor)
    except OSError:
        return []
