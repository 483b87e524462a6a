"""The access token: the whole power of the person who runs the host (architecture §8).

Rules
* Without any wish it is random, 256 bits, new at every start, and found by the CLI through endpoint discovery.
* A token file that does not exist is created with a random token, so that the token outlives a restart. One that others
  can read is refused: the token in it may be known.
* No token at all is possible on a loopback address, for tests and single-user machines; elsewhere only by force.
"""

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from innkeeper.edge.access import is_loopback
from innkeeper.errors import HostError

RANDOM_BYTES: Final = 32
LONGEST: Final = 4096
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def resolve_token(
    *, token: str | None = None, token_file: Path | None = None, no_token: bool = False, host: str, force: bool = False
) -> str | None:
    """The token that clients must show, or None when none is needed.

    The first of `no_token`, `token`, `token_file` that is given decides. Raises `HostError`: TOKEN_REQUIRED,
    TOKEN_INVALID, TOKEN_FILE_UNREADABLE, TOKEN_FILE_EXPOSED.
    """
    if no_token:
        if not is_loopback(host) and not force:
            raise HostError("TOKEN_REQUIRED", host=host)
        return None
    if token is not None:
        return _checked(token)
    if token_file is not None:
        return _checked(_read(token_file))
    return new_token()


def new_token() -> str:
    """A random token that is safe in a URL."""
    return secrets.token_urlsafe(RANDOM_BYTES)


def _checked(token: str) -> str:
    if not token or len(token) > LONGEST or not token.isascii() or not token.isprintable() or " " in token:
        raise HostError("TOKEN_INVALID")
    return token


def _read(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return _read_existing(path)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_existing(path)
    except OSError as error:
        raise HostError("TOKEN_FILE_UNREADABLE", path=path) from error
    with open(descriptor, "w", encoding="ascii") as file:
        token = new_token()
        file.write(token + "\n")
    return token


def _read_existing(path: Path) -> str:
    """Raises FileNotFoundError when there is no such file."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(LONGEST + 2)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise HostError("TOKEN_FILE_UNREADABLE", path=path) from error
    if status.st_mode & _OTHERS or status.st_uid not in (0, os.geteuid()):
        raise HostError("TOKEN_FILE_EXPOSED", path=path, mode=f"{stat.S_IMODE(status.st_mode):04o}")
    token = data.decode("utf-8", "replace").strip()
    if not token:
        raise HostError("TOKEN_FILE_UNREADABLE", path=path)
    return token
