"""Sign-ins in the system's keyring, where the `keyring` package is installed and has a real place to keep them.

Rules
* One secret an entry, named by a digest of its key; one more lists the names. Neither is in any file of ours.
* Calls may wait for a person who unlocks the keyring: they run in a thread, one at a time.
* Whether there is a keyring is found out with the first token that is asked for, in a thread too: looking loads what
  serves keyrings on every kind of system, and may start programs. No host waits for it at its start.
"""

import asyncio
import hashlib
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from innkeeper.mcp.oauth.files import FileTokens
from innkeeper.mcp.oauth.store import Key, TokenStore, decode, encode
from innkeeper.mcp.oauth.values import Credentials

SERVICE: Final = "innkeeper"
INDEX: Final = "mcp-tokens"


class Keyring(Protocol):
    """What the package offers."""

    def get_password(self, service_name: str, username: str) -> str | None: ...

    def set_password(self, service_name: str, username: str, password: str) -> None: ...

    def delete_password(self, service_name: str, username: str) -> None: ...


class KeyringTokens:
    """The store in a keyring. Failures of the keyring are raised as OSError by `put` and `remove`."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._lock = asyncio.Lock()

    async def all(self) -> Sequence[Credentials]:
        async with self._lock:
            return await asyncio.to_thread(self._read)

    async def put(self, credentials: Credentials) -> None:
        async with self._lock:
            await asyncio.to_thread(self._put, credentials)

    async def remove(self, key: Key) -> None:
        async with self._lock:
            await asyncio.to_thread(self._remove, key)

    def _read(self) -> Sequence[Credentials]:
        try:
            found = [decode(_parsed(self._keyring.get_password(SERVICE, name))) for name in self._names()]
        except Exception:
            return ()
        return tuple(entry for entry in found if entry is not None)

    def _put(self, credentials: Credentials) -> None:
        name = _name(credentials.key)
        try:
            self._keyring.set_password(SERVICE, name, json.dumps(encode(credentials)))
            names = self._names()
            if name not in names:
                self._keyring.set_password(SERVICE, INDEX, json.dumps([*names, name]))
        except Exception as error:
            raise OSError(f"the keyring failed ({type(error).__name__})") from None

    def _remove(self, key: Key) -> None:
        name = _name(key)
        try:
            names = self._names()
            if name in names:
                self._keyring.delete_password(SERVICE, name)
                self._keyring.set_password(SERVICE, INDEX, json.dumps([other for other in names if other != name]))
        except Exception as error:
            raise OSError(f"the keyring failed ({type(error).__name__})") from None

    def _names(self) -> list[str]:
        found = _parsed(self._keyring.get_password(SERVICE, INDEX))
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


class StandardTokens:
    """The store in the keyring where it can be used, else in the file `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = asyncio.Lock()
        self._found: TokenStore | None = None

    async def all(self) -> Sequence[Credentials]:
        return await (await self._store()).all()

    async def put(self, credentials: Credentials) -> None:
        await (await self._store()).put(credentials)

    async def remove(self, key: Key) -> None:
        await (await self._store()).remove(key)

    async def _store(self) -> TokenStore:
        async with self._lock:
            if self._found is None:
                keyring = await asyncio.to_thread(_system_keyring)
                self._found = FileTokens(self._path) if keyring is None else KeyringTokens(keyring)
            return self._found


def standard_store(path: Path) -> TokenStore:
    """Where a host keeps its sign-ins."""
    return StandardTokens(path)


def _system_keyring() -> Keyring | None:
    """None where the package is missing, or where all it has is a place that keeps nothing."""
    try:
        package = importlib.import_module("keyring")
        backend = package.get_keyring()
        usable = backend.priority >= 1
    except Exception:
        return None
    found: Keyring | None = backend if usable else None
    return found


def _name(key: Key) -> str:
    return hashlib.sha256("\0".join(key).encode()).hexdigest()


def _parsed(value: str | None) -> object:
    try:
        return None if value is None else json.loads(value)
    except ValueError:
        return None
