"""Reading and replacing a file under a version guard (M8.4, M8.5).

Rules
* A version token names a content; an edit names the token it was made for, and is refused when the file has another.
* One writer at a time among all processes of ours: a lock on the file's folder, held for the length of one change.
* A write is a temporary file beside it, synced, renamed over it, the folder synced: readers see the old content or the
  new one. Mode, owner and group stay; where they cannot, nothing is written. A link stays a link.
* What is not a regular file, or what its owner made read-only, is not replaced.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from innkeeper.editing.refusals import EditConflict, EditUnwritable
from innkeeper.editing.replacing import Content, Replacement, locked, read_descriptor, read_in

NEW_FILE_MODE: Final = 0o600


def read_content(path: Path) -> Content:
    """The content now. Raises OSError where it cannot be read, is no regular file or has more than `MAX_BYTES`."""
    try:
        return read_descriptor(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except FileNotFoundError:
        return Content(None)


def change_file(path: Path, change: Callable[[Content], bytes], *, expected: str | None = None) -> Content:
    """Replace the content by what `change` makes of it, if the file still is `expected` (None: whatever it is).

    Returns the new content. What `change` raises leaves the file as it is. Raises `EditConflict`, `EditUnwritable`.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with locked(folder):
                return _changed(folder, target.name, change, expected)
        finally:
            os.close(folder)
    except OSError as error:
        raise EditUnwritable(path, error.strerror or type(error).__name__) from error


def _changed(folder: int, name: str, change: Callable[[Content], bytes], expected: str | None) -> Content:
    known = read_in(folder, name)
    if expected is not None and expected != known.version:
        raise EditConflict(known.version)
    wanted = change(known)
    if wanted != known.data:
        replacement = Replacement(folder, name, known, wanted, NEW_FILE_MODE)
        replacement.prepare()
        replacement.commit()
    return Content(wanted)
