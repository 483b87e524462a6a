"""A host's project MCP servers, session by session: the adapter of `ports.mcp.McpServers` and `ports.declarations`.

Rules
* `open_session` starts nothing. `prepare` reads anew, closes what policy no longer allows, starts what it allows, six
  at a time; `start` is a person's grant for this session and this fingerprint. Nothing else starts a server (M4.1).
* Only what changed is touched; an unchanged connection keeps its process (M5.3). Sessions share nothing (M5.2).
* Switching off, stopping and closing end the process tree before they return (M5.6).
* A connection that failed stays failed until a person connects it or its declaration changes.
* Decisions and grants are read from the host's value and written through `store`, which is durable when it returns.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from innkeeper.customizations.enablement import (
    ClientBase,
    InvalidSet,
    Overlay,
    Place,
    Resolved,
    Target,
    replace,
    resolve,
)
from innkeeper.customizations.identity import WORKSPACE_SOURCE, ServerIdentity, key_of
from innkeeper.mcp.connections.connection import Connection
from innkeeper.mcp.connections.environment import child_environment
from innkeeper.mcp.connections.values import Limits
from innkeeper.mcp.declarations.model import DeclaredServer, HttpLaunch, Loaded, diagnostic
from innkeeper.mcp.declarations.presets import ROOT
from innkeeper.mcp.declarations.resolve import Reading, load
from innkeeper.mcp.mounts import Mount, MountedSession, local_path
from innkeeper.mcp.oauth.access import ServerAccess
from innkeeper.mcp.oauth.service import Authorization
from innkeeper.mcp.oauth.store import MemoryTokens
from innkeeper.mcp.publishing import ServerView, customization_of, report_of, server_id
from innkeeper.mcp.settings import McpSettings
from innkeeper.mcp.trust import Verdict, may_start
from innkeeper.ports.clock import Clock
from innkeeper.ports.decisions import DecisionOp, Decisions, DropGrant, Grant, PutGrant
from innkeeper.ports.mcp import DeclarationFinding, McpListener, McpRefused, ServerReport, TogglePlan, ToggleRefused
from innkeeper.ports.processes import Processes
from innkeeper.protocol.session.state import CustomizationEnablement, McpServerCustomization

logger = logging.getLogger(__name__)

STARTS_AT_ONCE: Final = 6
CLOSE_ALLOWANCE: Final = 5.0
"""Seconds beyond the start limit for which `prepare` waits: a start that failed still ends its process."""

Store = Callable[[Sequence[DecisionOp]], Awaitable[None]]


class ProjectServers:
    """`decisions` and `settings` give the present value; `environment` is the host's own."""

    def __init__(
        self,
        *,
        processes: Processes,
        clock: Clock,
        decisions: Callable[[], Decisions],
        store: Store,
        settings: Callable[[], McpSettings],
        environment: Mapping[str, str],
        limits: Limits = Limits(),  # noqa: B008 - a frozen value
        authorization: Authorization | None = None,
    ) -> None:
        self._authorization = authorization or Authorization(store=MemoryTokens(), clock=clock)
        self._processes = processes
        self._clock = clock
        self._decisions = decisions
        self._store = store
        self._settings = settings
        self._environment = environment
        self._limits = limits
        self._listener: McpListener | None = None
        self._sessions: dict[str, MountedSession] = {}
        self._watching: list[Callable[[str], None]] = []

    def watch(self, changed: Callable[[str], None]) -> None:
        """`changed` is told the session whenever something about its servers may be different, a list of tools too."""
        self._watching.append(changed)

    def publish_to(self, listener: McpListener) -> None:
        """Who is told of changes; set once, before the first session."""
        self._listener = listener

    async def open_session(self, session: str, directory: str | None) -> Sequence[McpServerCustomization]:
        """Read what the directory declares. A session that is opened again, with another directory, begins anew."""
        known = self._sessions.get(session)
        if known is not None and known.place.directory == directory:
            return known.published
        if known is not None:
            await self.close_session(session)
        opened = MountedSession(session, Place(session, directory), local_path(directory))
        self._sessions[session] = opened
        async with opened.lock:
            await self._read(opened)
            opened.published = self._customizations(opened)
            return opened.published

    async def close_session(self, session: str) -> None:
        closing = self._sessions.pop(session, None)
        if closing is None:
            return
        closing.closed = True
        async with closing.lock:
            mounts = list(closing.mounts.values())
            await asyncio.gather(*(mount.disconnect() for mount in mounts))
            closing.mounts.clear()
            self._authorization.forget_session(session)
        self._tell(session)

    async def close(self) -> None:
        await asyncio.gather(*(self.close_session(session) for session in tuple(self._sessions)))

    async def prepare(self, session: str, turn_id: str) -> None:
        """The request `turn_id` is about to run: read, apply policy, start, and wait for what is starting."""
        found = self._sessions.get(session)
        if found is None:
            return
        async with found.lock:
            if found.closed:
                return
            await self._read(found)
            await self._apply_policy(found)
            wanted = [
                mount
                for mount in found.mounts.values()
                if mount.connection is None and not mount.blocked and self._verdict(found, mount.declared).allowed
            ]
            self._start(found, wanted)
            self._publish(found)
        if found.starts:
            logger.debug("turn %s waits for %d servers", turn_id, len(found.starts))
            await asyncio.wait(found.starts, timeout=self._limits.start + CLOSE_ALLOWANCE)

    async def start(self, session: str, id: str) -> None:
        """Connect it by hand, and wait until that came to something; the outcome is its state. What a person saw is
        what they grant: when the file says something else by now, nothing starts. Raises McpRefused: unknown server."""
        found, mount = self._locate(session, id)
        async with found.lock:
            seen = mount.declared
            found.trust = found.trust.lifting(seen.name)
            if not self._verdict(found, seen).allowed and seen.fingerprint:
                found.trust = found.trust.granting(seen.name, seen.fingerprint)
            await self._read(found)
            now = found.mounts.get(seen.name)
            starts: Sequence[asyncio.Task[None]] = ()
            if now is not None and not now.live and not now.blocked and self._verdict(found, now.declared).allowed:
                await now.disconnect()
                starts = self._start(found, [now])
            self._publish(found)
            if now is not None:
                self._publish_state(found, now)
        if starts:
            await asyncio.wait(starts, timeout=self._limits.start + CLOSE_ALLOWANCE)

    async def open_again(self, session: str, id: str, *, force: bool = False) -> None:
        """A token came, or with `force` the present one went: connect anew what waits for one, or what is open. Grants
        nothing, and starts nothing that may not run. Raises McpRefused for an unknown server."""
        found, mount = self._locate(session, id)
        async with found.lock:
            if found.closed or found.mounts.get(mount.declared.name) is not mount or mount.blocked:
                return
            state = mount.state
            waits = state is not None and state.code == "AUTH_REQUIRED"
            if not (waits or (force and mount.live)) or not self._verdict(found, mount.declared).allowed:
                return
            await mount.disconnect()
            starts = self._start(found, [mount])
            self._publish_state(found, mount)
        await asyncio.wait(starts, timeout=self._limits.start + CLOSE_ALLOWANCE)

    async def stop(self, session: str, id: str) -> None:
        """Disconnect it by hand: sticky. Raises McpRefused for an unknown server."""
        found, mount = self._locate(session, id)
        async with found.lock:
            found.trust = found.trust.disconnecting(mount.declared.name)
            await mount.disconnect()
            self._publish(found)
            self._publish_state(found, mount)

    async def allow(self, session: str, id: str) -> None:
        """A person lets this declaration start by itself in this workspace from now on (M4.2b). Starts nothing now.
        Raises McpRefused for an unknown or invalid server."""
        found, mount = self._locate(session, id)
        declared = mount.declared
        if declared.launch is None:
            raise McpRefused(declared.code or "SERVER_UNKNOWN", declared.name)
        grant = Grant(found.workspace, "server", declared.name, declared.fingerprint, self._clock.now())
        await self._store([PutGrant(grant)])
        await self._reconcile_workspace(found.workspace)

    async def revoke(self, session: str, id: str) -> None:
        """Take that back; what nothing else allows is disconnected (M5.8). Grants for its tools are others."""
        found, mount = self._locate(session, id)
        await self._store([DropGrant((found.workspace, "server", mount.declared.name))])
        await self._reconcile_workspace(found.workspace)

    def plan_toggle(
        self, session: str, id: str, enablement: Sequence[CustomizationEnablement], now: str
    ) -> TogglePlan | None:
        found = self._sessions.get(session)
        mount = None if found is None else found.find(id)
        if found is None or mount is None or server_id(mount.declared) != id:
            return None
        target = _target(mount.declared)
        try:
            ops, overlay = replace(enablement, target, found.place, Overlay(self._decisions()), ClientBase(), now)
        except InvalidSet as error:
            raise ToggleRefused(str(error)) from None
        return TogglePlan(ops, list(resolve(target, found.place, overlay, ClientBase()).enablement))

    async def reconcile(self, session: str) -> None:
        """Apply decisions and policy to what runs, without reading files and without starting anything."""
        found = self._sessions.get(session)
        if found is None:
            return
        async with found.lock:
            await self._apply_policy(found)
            self._publish(found)

    def report(self, session: str) -> Sequence[ServerReport]:
        found = self._sessions.get(session)
        return () if found is None else [report_of(self._view(found, mount)) for mount in found.mounts.values()]

    def findings(self, session: str) -> Sequence[DeclarationFinding]:
        """Everything that reading said, of files and of entries."""
        found = self._sessions.get(session)
        if found is None:
            return ()
        entries = (finding for mount in found.mounts.values() for finding in mount.declared.diagnostics)
        return [
            DeclarationFinding(one.severity, one.code, one.message, one.file, one.line, one.server)
            for one in (*found.diagnostics, *entries)
        ]

    def connected(self, session: str, server: str) -> tuple[MountedSession, Mount, Connection]:
        """For the gateway: a server that may be used now. Raises McpRefused, enablement first (architecture §5)."""
        found, mount = self._locate(session, server)
        view = self._view(found, mount)
        if not view.resolved.enabled:
            raise McpRefused("SERVER_DISABLED", mount.declared.name)
        if mount.connection is None or mount.connection.state.kind != "ready":
            reason = view.verdict.reason if view.verdict.reason in ("NOT_ALLOWED", "DECLARATION_CHANGED") else None
            raise McpRefused(reason or "SERVER_NOT_CONNECTED", mount.declared.name)
        return found, mount, mount.connection

    def mounted(self, session: str, server: str) -> tuple[MountedSession, Mount]:
        """A server of the session, whatever its state. Raises McpRefused: unknown server."""
        return self._locate(session, server)

    def usable(self, session: str) -> Iterable[tuple[Mount, Connection]]:
        """The servers of the session that are on and connected, in file order."""
        found = self._sessions.get(session)
        for mount in () if found is None else tuple(found.mounts.values()):
            connection = mount.connection
            if found and connection and connection.state.kind == "ready" and self._resolved(found, mount).enabled:
                yield mount, connection

    def _locate(self, session: str, server: str) -> tuple[MountedSession, Mount]:
        found = self._sessions.get(session)
        mount = None if found is None else found.find(server)
        if found is None or mount is None:
            raise McpRefused("SERVER_UNKNOWN", server)
        return found, mount

    async def _read(self, session: MountedSession) -> None:
        """Read the files and take over what they say now; what is gone or changed is disconnected."""
        if session.path is None:
            if session.place.directory is not None:
                session.diagnostics = [diagnostic("REMOTE_WORKSPACE", ROOT.files[0], 0)]
            return
        reading = Reading(self._environment, self._settings().input_values)
        try:
            loaded = await asyncio.to_thread(load, session.path, reading)
        except Exception:
            logger.exception("declarations of session %s could not be read", session.uri)
            loaded = Loaded(diagnostics=(diagnostic("FILE_UNREADABLE", ROOT.files[0], 0),))
        session.diagnostics = loaded.diagnostics
        dropped = session.take(loaded.servers)
        await asyncio.gather(*(mount.disconnect() for mount in dropped))
        for gone in dropped:
            successor = session.mounts.get(gone.declared.name)
            if successor is not None and gone.blocked:
                successor.blocked = True

    async def _apply_policy(self, session: MountedSession) -> None:
        refused = [
            mount
            for mount in session.mounts.values()
            if mount.connection is not None and not self._verdict(session, mount.declared).allowed
        ]
        await asyncio.gather(*(mount.disconnect() for mount in refused))

    async def _reconcile_workspace(self, workspace: str) -> None:
        same = [uri for uri, session in self._sessions.items() if session.workspace == workspace]
        await asyncio.gather(*(self.reconcile(uri) for uri in same))

    def _start(self, session: MountedSession, mounts: Sequence[Mount]) -> Sequence["asyncio.Task[None]"]:
        """Begin to connect each, in a task of its own; each task ends with the outcome of its attempt."""
        tasks: list[asyncio.Task[None]] = []
        gate = asyncio.Semaphore(STARTS_AT_ONCE)
        for mount in mounts:
            assert mount.declared.launch is not None
            connection = Connection(
                mount.declared.name,
                mount.declared.launch,
                self._processes,
                lambda declared: child_environment(self._environment, declared),
                lambda changed, mount=mount: self._connection_changed(session, mount, changed),  # type: ignore[misc]
                self._limits,
                self._access(session, mount.declared),
            )
            mount.connection = connection
            task = asyncio.create_task(_connect(connection, gate), name=f"start mcp {mount.declared.name}")
            tasks.append(task)
            session.starts.add(task)
            task.add_done_callback(session.starts.discard)
        return tasks

    def _access(self, session: MountedSession, declared: DeclaredServer) -> ServerAccess | None:
        if not isinstance(declared.launch, HttpLaunch):
            return None
        return self._authorization.access(session.uri, server_id(declared), declared.launch.url)

    def _connection_changed(self, session: MountedSession, mount: Mount, connection: Connection) -> None:
        mount.blocked = mount.blocked or not connection.confirmed_dead
        self._tell(session.uri)
        if mount.connection is connection and self._customization(session, mount) not in session.published:
            self._publish_state(session, mount)

    def _publish(self, session: MountedSession) -> None:
        """Tell of the whole list when anything in it is new; an equal one is not sent."""
        self._tell(session.uri)
        customizations = self._customizations(session)
        if session.closed or customizations == session.published:
            return
        session.published = customizations
        if self._listener is not None:
            self._listener.customizations_changed(session.uri, customizations)

    def _publish_state(self, session: MountedSession, mount: Mount) -> None:
        """Tell of one server, even when nothing changed: the client that asked has assumed a state (AHP §10.2)."""
        if session.closed or session.mounts.get(mount.declared.name) is not mount:
            return
        self._tell(session.uri)
        customization = self._customization(session, mount)
        session.published = [
            customization if known["id"] == customization["id"] else known for known in session.published
        ]
        if self._listener is not None:
            self._listener.state_changed(session.uri, customization)

    def _tell(self, session: str) -> None:
        for changed in self._watching:
            changed(session)

    def _customizations(self, session: MountedSession) -> list[McpServerCustomization]:
        return [self._customization(session, mount) for mount in session.mounts.values()]

    def _customization(self, session: MountedSession, mount: Mount) -> McpServerCustomization:
        return customization_of(self._view(session, mount))

    def _view(self, session: MountedSession, mount: Mount) -> ServerView:
        connection = mount.connection
        return ServerView(
            declared=mount.declared,
            directory=session.place.directory or "",
            resolved=self._resolved(session, mount),
            verdict=self._verdict(session, mount.declared),
            connection=mount.state,
            pid=None if connection is None else connection.pid,
            tools=() if connection is None else tuple(tool["name"] for tool in connection.catalogue.tools),
        )

    def _resolved(self, session: MountedSession, mount: Mount) -> Resolved:
        return resolve(_target(mount.declared), session.place, Overlay(self._decisions()), ClientBase())

    def _verdict(self, session: MountedSession, declared: DeclaredServer) -> Verdict:
        decisions = self._decisions()
        return may_start(
            declared,
            enabled=resolve(_target(declared), session.place, Overlay(decisions), ClientBase()).enabled,
            workspace=session.workspace,
            settings=self._settings(),
            grants=decisions.grants,
            session=session.trust,
        )


async def _connect(connection: Connection, gate: asyncio.Semaphore) -> None:
    async with gate:
        connection.start()
        await connection.settled()


def _target(declared: DeclaredServer) -> Target:
    return Target(key_of(ServerIdentity(declared.name, WORKSPACE_SOURCE)), default=declared.enabled_in_file)
