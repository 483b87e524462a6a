"""The servers of one session: what is declared, what runs, and what people did about it (M4.2, M5.1-M5.8).

Rules
* Everything that changes a session runs under its lock, one after the other; waiting for a start does not hold it.
* A server keeps its process as long as its fingerprint, its enablement and its permission hold.
* A change or a removal never cuts a running call: it waits until none of the server's calls runs, and until then the
  server takes no new ones (M5.3).
* Nothing here decides: `trust` and `enablement` do.
"""

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from innkeeper.customizations.enablement import Place
from innkeeper.mcp.connections.connection import Connection
from innkeeper.mcp.connections.values import ConnectionState
from innkeeper.mcp.declarations.model import DeclaredServer, Diagnostic
from innkeeper.mcp.publishing import server_id
from innkeeper.mcp.supervision.supervisor import Supervisor
from innkeeper.mcp.trust import SessionTrust, TrustPlace
from innkeeper.protocol.session.state import McpServerCustomization

STARTS_AT_ONCE = 6


@dataclass(eq=False, slots=True)
class Mount:
    """One declared server of one session. `supervisor` is None while nothing has tried to connect it."""

    declared: DeclaredServer
    supervisor: Supervisor | None = None
    blocked: bool = False
    """Its old process could not be confirmed dead: no other one is started in this session (M7.3)."""
    leaving: bool = False
    """The file no longer says this, or policy no longer allows it; it ends with the last of its running calls."""
    project: bool = True
    """False: a server of the whole host, which no rule for project servers touches (M5.2)."""

    @property
    def connection(self) -> Connection | None:
        """The last one that was tried."""
        return None if self.supervisor is None else self.supervisor.connection

    @property
    def live(self) -> bool:
        return self.supervisor is not None and self.supervisor.live

    @property
    def ready(self) -> bool:
        connection = self.connection
        return connection is not None and connection.state.kind == "ready"

    @property
    def busy(self) -> bool:
        """Whether one of its calls runs."""
        connection = self.connection
        return connection is not None and connection.running > 0

    @property
    def state(self) -> ConnectionState | None:
        if self.blocked:
            return ConnectionState("error", "CLOSE_UNCONFIRMED")
        return None if self.supervisor is None else self.supervisor.state

    async def disconnect(self) -> None:
        """End the process tree and the supervision."""
        supervisor = self.supervisor
        if supervisor is None:
            return
        await supervisor.close()
        self.blocked = self.blocked or supervisor.blocked
        self.leaving = False
        if self.supervisor is supervisor:
            self.supervisor = None


@dataclass(eq=False, slots=True)
class MountedSession:
    """A session's servers by name, in file order."""

    uri: str
    place: Place
    path: str | None
    """The primary directory as a local path; None when it is not local or there is none."""
    mounts: dict[str, Mount] = field(default_factory=dict)
    declared: Sequence[DeclaredServer] = ()
    """What the files said when they were last read; `mounts` follows as running calls allow."""
    diagnostics: Sequence[Diagnostic] = ()
    lost: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Required servers of files that cannot be read now: name to file and code."""
    trust: SessionTrust = field(default_factory=SessionTrust)
    origin: str | None = None
    """Key of the directory that the user opened, when this one is a worktree that the host made of it (M4.1c)."""
    origin_fingerprints: Mapping[str, str] = field(default_factory=dict)
    published: Sequence[McpServerCustomization] = ()
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    starts: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(STARTS_AT_ONCE))
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    requested: bool = False
    """A request counts on the servers that policy allows: one that becomes startable later in it is started."""
    closed: bool = False

    @property
    def workspace(self) -> str:
        """The key of this session's own directory, also in a worktree of another one."""
        return self.place.own or ""

    @property
    def trust_place(self) -> TrustPlace:
        return TrustPlace(self.workspace, self.origin, self.origin_fingerprints)

    @property
    def trust_directory(self) -> str | None:
        """The key of the directory that trust belongs to: of a worktree of this host the one that it was made from
        (M4.1c); None for one that is not local."""
        return None if self.path is None else self.origin or self.workspace

    def grant_key(self, declared: DeclaredServer) -> str:
        """The key under which a grant for the server, or for one of its tools, is stored and looked for (M4.1c)."""
        return self.trust_place.keys(declared)[0]

    def find(self, server: str) -> Mount | None:
        """By customization id, declared name or safe name, in this order."""
        for mount in self.mounts.values():
            if server_id(mount.declared) == server:
                return mount
        if server in self.mounts:
            return self.mounts[server]
        return next((mount for mount in self.mounts.values() if mount.declared.safe_name == server), None)

    def adopt(self, presets: Collection[str]) -> list[Mount]:
        """Make `mounts` what `declared` says: unchanged servers keep their mount, changed and removed ones that have
        running calls wait, unless their preset is not among `presets` any more. Gives the mounts to be ended."""
        before, self.mounts = self.mounts, {}
        ended: list[Mount] = []
        for declared in self.declared:
            known = before.pop(declared.name, None)
            if known is None:
                self.mounts[declared.name] = Mount(declared)
            elif known.declared.fingerprint == declared.fingerprint:
                known.declared, known.leaving = declared, False
                self.mounts[declared.name] = known
            elif known.busy and known.declared.preset in presets:
                known.leaving = True
                self.mounts[declared.name] = known
            else:
                self.mounts[declared.name] = Mount(declared, blocked=known.blocked)
                ended.append(known)
        for name, gone in before.items():
            if gone.busy and gone.declared.preset in presets:
                gone.leaving = True
                self.mounts[name] = gone
            else:
                ended.append(gone)
        return ended


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
