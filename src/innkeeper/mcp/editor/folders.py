"""The folder that a declaration file is in, opened so that nothing leads out of the workspace (M8.6).

Rules
* Links are followed once, to where they lead now; what leads out is PATH_ESCAPE. The way there is then opened step by
  step, following none: a folder that is swapped for a link in between is refused.
* Missing folders are made on the way when they are wanted, and go again when the edit is taken back.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from innkeeper.mcp.declarations.files import Refused, inside

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(slots=True)
class OpenFolder:
    """`descriptor` is the folder of the file `name`. `is_root` says that it is the workspace itself."""

    descriptor: int
    name: str
    is_root: bool
    made: list[tuple[int, str]] = field(default_factory=list)

    def remove_made(self) -> None:
        """Folders that were made for this edit go, the inner ones first, as far as they are empty."""
        for parent, name in reversed(self.made):
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=parent)


def real_path(workspace: str, file: str) -> str:
    """Where the file is, or would be made, with every link followed. Raises Refused PATH_ESCAPE."""
    root = os.path.realpath(workspace)
    try:
        real = os.path.realpath(os.path.join(root, inside(workspace, file)))
        within = os.path.commonpath([real, root]) == root
    except (OSError, ValueError):
        raise Refused("PATH_ESCAPE") from None
    if not within or real == root:
        raise Refused("PATH_ESCAPE")
    return real


@contextlib.contextmanager
def open_folder(workspace: str, file: str) -> Iterator[OpenFolder]:
    """The folder of a file, made where it is missing. Raises Refused PATH_ESCAPE, OSError."""
    root = os.path.realpath(workspace)
    *parts, name = os.path.relpath(real_path(workspace, file), root).split("/")
    opened = [os.open(root, _ROOT)]
    made: list[tuple[int, str]] = []
    try:
        try:
            for part in parts:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=opened[-1])
                    made.append((opened[-1], part))
                opened.append(_step(part, opened[-1]))
        except BaseException:
            OpenFolder(opened[-1], name, False, made).remove_made()
            raise
        yield OpenFolder(opened[-1], name, not parts, made)
    finally:
        for descriptor in reversed(opened):
            os.close(descriptor)


def _step(part: str, parent: int) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        linked = stat.S_ISLNK(os.stat(part, dir_fd=parent, follow_symlinks=False).st_mode)
        if linked and error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refused("PATH_ESCAPE") from None  # a link now stands where none stood a moment ago
        raise
