"""The servers of one session: what is declared, what runs, and what people did about it (M4.2, M5.1-M5.6).

Rules
* Everything that changes a session runs under its lock, one after the other; waiting for a start does not hold it.
* A server keeps its process as long as its fingerprint, its enablement and its permission hold.
* Nothing here decides: `trust` and `enablement` do.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from innkeeper.customizations.enablement import Place
from innkeeper.mcp.connections.connection import Connection
from innkeeper.mcp.connections.values import ConnectionState
from innkeeper.mcp.declarations.model import DeclaredServer, Diagnostic
from innkeeper.mcp.publishing import server_id
from innkeeper.mcp.trust import SessionTrust
from innkeeper.protocol.session.state import McpServerCustomization


@dataclass(eq=False, slots=True)
class Mount:
    """One declared server of one session. `connection` is the last one that was tried."""

    declared: DeclaredServer
    connection: Connection | None = None
    blocked: bool = False
    """Its old process could not be confirmed dead: no other one is started in this session (M7.3)."""

    @property
    def live(self) -> bool:
        return self.connection is not None and self.connection.state.kind in ("starting", "ready")

    @property
    def state(self) -> ConnectionState | None:
        if self.blocked:
            return ConnectionState("error", "CLOSE_UNCONFIRMED")
        return None if self.connection is None else self.connection.state

    async def disconnect(self) -> None:
        connection = self.connection
        if connection is None:
            return
        await connection.close()
        self.blocked = self.blocked or not connection.confirmed_dead
        if self.connection is connection:
            self.connection = None


@dataclass(eq=False, slots=True)
class MountedSession:
    """A session's servers by name, in file order."""

    uri: str
    place: Place
    path: str | None
    """The primary directory as a local path; None when it is not local or there is none."""
    mounts: dict[str, Mount] = field(default_factory=dict)
    diagnostics: Sequence[Diagnostic] = ()
    trust: SessionTrust = field(default_factory=SessionTrust)
    published: Sequence[McpServerCustomization] = ()
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    starts: set["asyncio.Task[None]"] = field(default_factory=set)
    closed: bool = False

    @property
    def workspace(self) -> str:
        """The key under which grants of this session's directory stand."""
        return self.place.workspace or ""

    def find(self, server: str) -> Mount | None:
        """By customization id, declared name or safe name, in this order."""
        for mount in self.mounts.values():
            if server_id(mount.declared) == server:
                return mount
        if server in self.mounts:
            return self.mounts[server]
        return next((mount for mount in self.mounts.values() if mount.declared.safe_name == server), None)

    def take(self, servers: Sequence[DeclaredServer]) -> list[Mount]:
        """Adopt what was read: unchanged servers keep their mount. Gives the mounts that are no longer wanted."""
        before, self.mounts = self.mounts, {}
        for declared in servers:
            known = before.pop(declared.name, None)
            if known is not None and known.declared.fingerprint == declared.fingerprint:
                known.declared = declared
                self.mounts[declared.name] = known
            else:
                self.mounts[declared.name] = Mount(declared, blocked=known is not None and known.blocked)
                if known is not None:
                    before[declared.name] = known
        return list(before.values())


def local_path(directory: str | None) -> str | None:
    """The absolute local path of a `file:` URI, or of a path; None for anything else (M1.6)."""
    if directory is None:
        return None
    if directory.startswith("/"):
        return os.path.normpath(directory)
    parts = urlsplit(directory)
    if parts.scheme.lower() != "file" or parts.netloc.lower() not in ("", "localhost") or parts.query:
        return None
    path = unquote(parts.path, errors="surrogateescape")
    return os.path.normpath(path) if path.startswith("/") and "\0" not in path else None
