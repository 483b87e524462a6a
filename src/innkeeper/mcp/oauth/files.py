"""`tokens.json` in the data folder: sign-ins by this host, for its user alone (issue 3.8; M7.7).

Rules
* Mode 0600 from the first byte; written whole beside itself, flushed, and moved into place.
* A file that others can read or own, or that is a link, is not believed: what is in it may be known or planted. It is
  passed over with a line in the log, and replaced by the next write.
* Disk work runs in a thread, one at a time.
"""

import asyncio
import contextlib
import json
import logging
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from innkeeper.limits import MIB
from innkeeper.mcp.oauth.store import Key, decode, encode
from innkeeper.mcp.oauth.values import Credentials

logger = logging.getLogger(__name__)

FILE_NAME: Final = "tokens.json"
VERSION: Final = 1
LIMIT: Final = 4 * MIB

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class FileTokens:
    """The store on disk. `path` need not exist; its folder must."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = asyncio.Lock()

    async def all(self) -> Sequence[Credentials]:
        async with self._lock:
            return tuple((await asyncio.to_thread(self._read)).values())

    async def put(self, credentials: Credentials) -> None:
        async with self._lock:
            await asyncio.to_thread(self._change, credentials.key, credentials)

    async def remove(self, key: Key) -> None:
        async with self._lock:
            await asyncio.to_thread(self._change, key, None)

    def _change(self, key: Key, credentials: Credentials | None) -> None:
        entries = self._read()
        if credentials is not None:
            entries[key] = credentials
        elif entries.pop(key, None) is None:
            return
        self._write(entries)

    def _read(self) -> dict[Key, Credentials]:
        try:
            content = self._content()
        except FileNotFoundError:
            return {}
        except OSError as error:
            logger.warning("%s is passed over: %s", self._path, type(error).__name__)
            return {}
        try:
            found = json.loads(content)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("version") != VERSION or not isinstance(found.get("tokens"), list):
            logger.warning("%s is passed over: it is no list of tokens of this version", self._path)
            return {}
        entries = [entry for item in found["tokens"] if (entry := decode(item)) is not None]
        return {entry.key: entry for entry in entries}

    def _content(self) -> bytes:
        """Raises OSError, also for a file that is not ours alone."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
                raise PermissionError
            return file.read(LIMIT)

    def _write(self, entries: dict[Key, Credentials]) -> None:
        content = {"version": VERSION, "tokens": [encode(entry) for entry in entries.values()]}
        beside = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(json.dumps(content, indent=1).encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside)
            raise
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
