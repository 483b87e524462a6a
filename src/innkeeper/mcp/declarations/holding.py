"""Nobody reads a workspace's declarations while an edit of them is half done (M8.5, M8.8).

Rules
* An edit holds the workspace's directory alone, readers share it: an advisory lock of the system, so that it works
  between processes and ends with the process that has it.
* Nobody waits for ever: a reader reads after `READER_SECONDS` all the same, a writer gives up after `WRITER_SECONDS`.
* A lock writes nothing (M5.1); where there are none, everything goes on without.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from typing import Final

READER_SECONDS: Final = 2.0
WRITER_SECONDS: Final = 10.0
_PAUSE: Final = 0.005


@contextlib.contextmanager
def reading(workspace: str) -> Iterator[None]:
    """No edit of ours is half done while this lasts. Blocks; meant for a thread. Raises nothing."""
    with _held(workspace, fcntl.LOCK_SH, READER_SECONDS):
        yield


@contextlib.contextmanager
def writing(workspace: str) -> Iterator[None]:
    """No loader of ours reads, and no other edit of ours runs, while this lasts. Blocks; meant for a thread. Raises
    OSError when others hold the workspace for too long."""
    with _held(workspace, fcntl.LOCK_EX, WRITER_SECONDS) as held:
        if not held:
            raise OSError(errno.EAGAIN, "another edit of this workspace does not end")
        yield


@contextlib.contextmanager
def _held(workspace: str, kind: int, seconds: float) -> Iterator[bool]:
    try:
        descriptor = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield True
        return
    try:
        yield _locked(descriptor, kind, seconds)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, kind: int, seconds: float) -> bool:
    """Whether the lock was had in time, or there is no such thing here."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EINTR):
                return True
        else:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE)
