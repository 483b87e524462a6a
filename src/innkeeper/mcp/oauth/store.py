"""Where sign-ins by this host are kept: the port, its twin in memory, and the codec that the real ones share.

Rules
* One entry a resource and OAuth client. `put` is durable when it returns; `remove` leaves no trace of the entry.
* What cannot be read counts as not there: a person then signs in again. Nothing that is read raises.
* Tokens of AHP clients are in no store.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from innkeeper.mcp.oauth.values import Credentials

Key = tuple[str, str]
"""Resource and OAuth client id."""


class TokenStore(Protocol):
    async def all(self) -> Sequence[Credentials]:
        """Everything that is kept."""
        ...

    async def put(self, credentials: Credentials) -> None:
        """Replaces the entry of the same key. Raises OSError when it cannot be kept."""
        ...

    async def remove(self, key: Key) -> None:
        """Idempotent. Raises OSError when it could not be removed."""
        ...


class MemoryTokens:
    """Forgets with the process."""

    def __init__(self) -> None:
        self._entries: dict[Key, Credentials] = {}

    async def all(self) -> Sequence[Credentials]:
        return tuple(self._entries.values())

    async def put(self, credentials: Credentials) -> None:
        self._entries[credentials.key] = credentials

    async def remove(self, key: Key) -> None:
        self._entries.pop(key, None)


_TEXTS: Final = ("resource", "client_id", "access_token")
_TABLES: Final = ("client", "server", "metadata")


def encode(credentials: Credentials) -> dict[str, object]:
    """The JSON form."""
    return {
        "resource": credentials.resource,
        "client_id": credentials.client_id,
        "access_token": credentials.access_token,
        "refresh_token": credentials.refresh_token,
        "expires_at": credentials.expires_at,
        "scopes": list(credentials.scopes),
        "client": dict(credentials.client),
        "server": dict(credentials.server),
        "metadata": dict(credentials.metadata),
    }


def decode(found: object) -> Credentials | None:
    """None for what is no entry."""
    if not isinstance(found, dict):
        return None
    entry: Mapping[str, Any] = found
    refresh, expires, scopes = entry.get("refresh_token"), entry.get("expires_at"), entry.get("scopes", [])
    right = (
        all(isinstance(entry.get(name), str) and entry[name] for name in _TEXTS)
        and all(isinstance(entry.get(name, {}), dict) for name in _TABLES)
        and (refresh is None or isinstance(refresh, str))
        and (expires is None or (isinstance(expires, (int, float)) and not isinstance(expires, bool)))
        and isinstance(scopes, list)
        and all(isinstance(scope, str) for scope in scopes)
    )
    if not right:
        return None
    return Credentials(
        **{name: entry[name] for name in _TEXTS},
        refresh_token=refresh,
        expires_at=None if expires is None else float(expires),
        scopes=tuple(scopes),
        **{name: entry.get(name, {}) for name in _TABLES},
    )
