"""Listening sockets, opened before anything is served, with an error a person can act on (issue 2, "Bad input").

Rules
* A Unix socket is created with mode 0600; folders that are missing are created with 0700 (issue 2, section 5).
* A socket file is removed only if it is a socket and nobody answers on it. Other files are never touched.
"""

import contextlib
import errno
import os
import socket
import stat
import sys
from pathlib import Path
from typing import Final

from innkeeper.errors import HostError

ANSWER_SECONDS: Final = 1.0
BACKLOG: Final = 256
LONGEST_PATH: Final = 107 if sys.platform == "linux" else 103
"""Bytes of a socket path without the final NUL (`sun_path`)."""


def open_tcp(host: str, port: int) -> socket.socket:
    """A listening socket on the first address of `host`, IPv4 preferred; port 0 is a free one.

    Raises `HostError`: PORT_IN_USE, PORT_FORBIDDEN, ADDRESS_UNAVAILABLE.
    """
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise HostError("ADDRESS_UNAVAILABLE", host=host) from error
    family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    # With the protocol named asyncio turns Nagle's delay off; else an answer may wait 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise HostError("PORT_IN_USE", host=host, port=port) from error
        if error.errno in (errno.EACCES, errno.EPERM):
            raise HostError("PORT_FORBIDDEN", host=host, port=port) from error
        raise HostError("ADDRESS_UNAVAILABLE", host=host) from error
    listener.setblocking(False)
    return listener


def open_unix(path: Path) -> socket.socket:
    """A listening Unix socket at `path`, mode 0600.

    Raises `HostError`: SOCKET_PATH_TOO_LONG, SOCKET_IN_USE, SOCKET_PATH_TAKEN, DATA_DIR_UNWRITABLE.
    """
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise HostError("SOCKET_PATH_TOO_LONG", path=path, limit=LONGEST_PATH)
    _make_room(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    previous = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise HostError("SOCKET_IN_USE", path=path) from error
        raise HostError("DATA_DIR_UNWRITABLE", path=path.parent) from error
    finally:
        os.umask(previous)
    listener.setblocking(False)
    return listener


def remove_unix(path: Path, inode: int) -> None:
    """Removes the socket file, if it is still the one with that inode."""
    with contextlib.suppress(OSError):  # gone already, or not ours any more
        if path.lstat().st_ino == inode:
            path.unlink()


def _make_room(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise HostError("DATA_DIR_UNWRITABLE", path=path.parent) from error
    if not stat.S_ISSOCK(mode):
        raise HostError("SOCKET_PATH_TAKEN", path=path)
    if _answers(path):
        raise HostError("SOCKET_IN_USE", path=path)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise HostError("DATA_DIR_UNWRITABLE", path=path.parent) from error


def _answers(path: Path) -> bool:
    """Only a refused connection proves that nobody listens; a full queue or a missing permission does not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(ANSWER_SECONDS)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True
