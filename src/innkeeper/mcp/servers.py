"""A host's project MCP servers, session by session: the adapter of `ports.mcp.McpServers` and `ports.declarations`.

Rules
* `open_session` starts nothing. `prepare` reads anew, closes what policy no longer allows, starts what it allows, six
  at a time; `start` is a person's grant for this session and this fingerprint. Nothing else starts a server (M4.1),
  except that its supervisor brings back what policy allows (M7.1), whose back-off no request bypasses.
* Only what changed is touched, and never inside one of its running calls; an unchanged connection keeps its process
  (M5.3). Sessions share nothing (M5.2).
* Switching off, stopping and closing end the process tree before they return (M5.6).
* Decisions and grants are read from the host's value and written through `store`, which is durable when it returns.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from innkeeper.customizations.enablement import Place
from innkeeper.errors import ERRORS
from innkeeper.mcp.authorship import Authorship, HoldMemory
from innkeeper.mcp.connections.connection import Connection
from innkeeper.mcp.connections.masking import masked_text, secrets_of
from innkeeper.mcp.connections.values import Limits
from innkeeper.mcp.host_servers import HostServers
from innkeeper.mcp.judging import GrantedMemory, Judge
from innkeeper.mcp.mounts import Mount, MountedSession, local_path
from innkeeper.mcp.oauth.service import Authorization
from innkeeper.mcp.oauth.store import MemoryTokens
from innkeeper.mcp.reading import FileReader, Worktrees
from innkeeper.mcp.settings import McpSettings
from innkeeper.mcp.starting import Starting, later
from innkeeper.mcp.supervision.supervisor import Timing
from innkeeper.mcp.telling import Telling
from innkeeper.mcp.trust import GRANTABLE
from innkeeper.ports.clock import Clock
from innkeeper.ports.decisions import DecisionOp, Decisions, DropGrant, Grant, PutGrant
from innkeeper.ports.declarations import RequiredServerUnavailable
from innkeeper.ports.mcp import (
    AgentWrites,
    DeclarationFinding,
    McpListener,
    McpRefused,
    ServerReport,
)
from innkeeper.ports.processes import Processes
from innkeeper.protocol.session.state import McpServerCustomization

AT_ONCE: Final = frozenset({"SERVER_DISABLED", "DISCONNECTED"})
"""Reasons that end a server also while its calls run: a person said so."""
REFUSALS: Final = frozenset({"NOT_ALLOWED", "DECLARATION_CHANGED", "WRITTEN_BY_AGENT"})
"""Reasons that a caller is told."""

Store = Callable[[Sequence[DecisionOp]], Awaitable[None]]


class ProjectServers:
    """`decisions` and `settings` give the present value; `environment` is the host's own. `writes` is the record of
    what agents wrote, `holds` keeps what is held because of it, `granted` what allowed declarations said; `worktrees`
    knows the worktrees that the host made."""

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
        worktrees: Worktrees = lambda _workspace: None,
        writes: AgentWrites | None = None,
        holds: HoldMemory | None = None,
        granted: GrantedMemory | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._authorization = authorization or Authorization(store=MemoryTokens(), clock=clock)
        self._clock = clock
        self._decisions = decisions
        self._store = store
        self._settings = settings
        self._authorship = Authorship(writes, holds)
        self._judge = Judge(decisions, settings, self._authorship, granted)
        self._reader = FileReader(self._judge, self._authorship, settings, environment, worktrees, clock)
        self._place: Callable[[str, str | None], Place] = Place
        self._sessions: dict[str, MountedSession] = {}
        self._told = Telling(self._judge, self._shown, self._sessions.values)
        self._starting = Starting(
            processes=processes,
            environment=environment,
            limits=limits,
            authorization=self._authorization,
            timing=timing or Timing(clock.monotonic, later(clock)),
            judge=self._judge,
            reader=self._reader,
            changed=self._told.changed,
            idle=self._idle,
        )
        self._host = HostServers(self._starting)

    def publish_to(self, listener: McpListener) -> None:
        """Who is told of changes; set once, before the first session."""
        self._told.listener = listener

    def place_by(self, place: Callable[[str, str | None], Place]) -> None:
        """How the place of a session's decisions is found, which knows links and worktrees (C3.3); set once, before the
        first session."""
        self._place = place

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """`changed` is told the session whenever something about its servers may be different, a list of tools too."""
        return self._told.watch(changed)

    def let_servers_ask(self) -> None:
        """Somebody can be asked what a server wants to know while its tool runs; set once, before the first session."""
        self._starting.elicitation = True

    # -- sessions and requests -----------------------------------------------------------------------------------

    async def open_session(self, session: str, directory: str | None) -> Sequence[McpServerCustomization]:
        """Read what the directory declares. A session that is opened again, with another directory, begins anew."""
        known = self._sessions.get(session)
        if known is not None and known.place.directory == directory:
            return known.published
        if known is not None:
            await self.close_session(session)
        opened = MountedSession(session, self._place(session, directory), local_path(directory))
        self._sessions[session] = opened
        async with opened.lock:
            await self._read(opened)
            opened.published = self._told.customizations(opened)
            return opened.published

    async def close_session(self, session: str) -> None:
        closing = self._sessions.pop(session, None)
        if closing is None:
            return
        closing.closed = True
        async with closing.lock:
            await asyncio.gather(*(mount.disconnect() for mount in closing.mounts.values()))
            closing.mounts.clear()
            self._authorization.forget_session(session)
        self._told.tell(session)

    async def release_session(self, session: str) -> None:
        found = self._sessions.get(session)
        if found is None:
            return
        async with found.lock:
            found.requested = False
            await asyncio.gather(*(mount.disconnect() for mount in found.mounts.values()))
            self._told.publish(found)

    async def close(self) -> None:
        await asyncio.gather(*(self.close_session(session) for session in tuple(self._sessions)))
        await self._host.close()

    async def prepare(self, session: str, turn_id: str) -> None:
        """The request `turn_id` is about to run: read, apply policy, start, and wait for what is starting, at most as
        long as the longest start-up limit among it (K19). Raises RequiredServerUnavailable (M5.5)."""
        found = self._sessions.get(session)
        if found is None:
            return
        async with found.lock:
            if found.closed:
                return
            found.requested = True
            await self._read(found)
            await self._apply_policy(found)
            self._told.publish(found)
            self._start_wanted(found)
            waiting = [mount for mount in found.mounts.values() if self._first(mount)]
            waiting += self._host.start(self._settings().host_servers)
            self._told.publish(found)
        await self._await_tries(waiting)
        missing = self._judge.missing(found)
        if missing is not None:
            raise RequiredServerUnavailable(*missing)

    async def refresh(self, session: str, *, start: bool) -> None:
        found = self._sessions.get(session)
        if found is None:
            return
        async with found.lock:
            if found.closed:
                return
            await self._read(found)
            await self._apply_policy(found)
            if start:
                self._start_wanted(found)
            self._told.publish(found)

    async def refresh_all(self) -> None:
        """The settings changed: apply them to every session, starting nothing (M5.8)."""
        await asyncio.gather(*(self.refresh(session, start=False) for session in tuple(self._sessions)))

    async def reconcile(self, session: str) -> None:
        """Apply decisions and policy to what runs, without reading files and without starting anything."""
        found = self._sessions.get(session)
        if found is None:
            return
        async with found.lock:
            await self._apply_policy(found)
            self._told.publish(found)

    # -- what people do ------------------------------------------------------------------------------------------

    async def start(self, session: str, id: str) -> None:
        """Connect it by hand, and wait until that came to something; the outcome is its state. What a person saw is
        what they grant: when the file says something else by now, nothing starts. Raises McpRefused: unknown server."""
        found, mount = self.mounted(session, id)
        async with found.lock:
            self._grant(found, mount)
        await self._connect(found, mount.declared.name)

    async def retry(self, session: str, id: str) -> None:
        found, mount = self.mounted(session, id)
        await self._connect(found, mount.declared.name)
        now = found.mounts.get(mount.declared.name)
        if now is None or now.live:
            return
        reason = self._judge.verdict(found, now).reason
        if reason is not None:
            code = reason if reason in ERRORS else "SERVER_NOT_CONNECTED"
            raise McpRefused(code, f"{now.declared.name} may not run ({reason}); connect it instead")

    async def open_again(self, session: str, id: str, *, force: bool = False) -> None:
        """A token came, or with `force` the present one went: connect anew what waits for one, or what is open. Grants
        nothing, and starts nothing that may not run. Raises McpRefused for an unknown server."""
        found, mount = self.mounted(session, id)
        async with found.lock:
            if found.closed or found.mounts.get(mount.declared.name) is not mount or mount.blocked:
                return
            state = mount.state
            waits = state is not None and state.code == "AUTH_REQUIRED"
            if not (waits or (force and mount.live)) or not self._judge.verdict(found, mount).allowed:
                return
            await mount.disconnect()
            self._starting.begin(found, mount)
            self._told.publish_state(found, mount)
        await self._await_tries([mount])

    async def stop(self, session: str, id: str) -> None:
        """Disconnect it by hand: sticky. Raises McpRefused for an unknown server."""
        found, mount = self.mounted(session, id)
        async with found.lock:
            found.trust = found.trust.disconnecting(mount.declared.name)
            await mount.disconnect()
            await self._adopt(found)
            self._told.publish(found)
            self._told.publish_state(found, mount)

    stop_connecting = stop

    async def follow_policy(self, session: str) -> None:
        found = self._sessions.get(session)
        if found is not None:
            async with found.lock:
                found.trust = found.trust.following()
                await self._apply_policy(found)
                self._told.publish(found)

    async def confirm_file(self, session: str, file: str) -> None:
        found = self._sessions.get(session)
        if found is not None:
            written = [one for one in found.declared if file in (one.file, one.environment_file)]
            self._authorship.release(found.workspace, written)
            await self._reconcile_workspace(found.workspace)

    async def entered(self, session: str, server: str, fingerprint: str) -> None:
        found = self._sessions.get(session)
        if found is not None:
            entered = [one for one in found.declared if one.name == server and one.fingerprint == fingerprint]
            self._authorship.release(found.workspace, entered)
            await self._reconcile_workspace(found.workspace)

    async def allow(self, session: str, id: str) -> None:
        """A person lets this declaration start by itself in this workspace from now on (M4.2b). Starts nothing now.
        Raises McpRefused for an unknown or invalid server."""
        found, mount = self.mounted(session, id)
        declared = mount.declared
        if declared.launch is None:
            raise McpRefused(declared.code or "SERVER_UNKNOWN", declared.name)
        key = found.grant_key(declared)
        await self._store([PutGrant(Grant(key, "server", declared.name, declared.fingerprint, self._clock.now()))])
        self._judge.granted(declared)
        self._authorship.release(found.workspace, [declared])
        await self._reconcile_workspace(found.workspace)

    async def revoke(self, session: str, id: str) -> None:
        """Take that back; what nothing else allows is disconnected (M5.8). Grants for its tools are others."""
        found, mount = self.mounted(session, id)
        keys = {found.workspace, found.grant_key(mount.declared)}
        await self._store([DropGrant((key, "server", mount.declared.name)) for key in sorted(keys)])
        await self._reconcile_workspace(found.workspace)

    # -- what can be asked ---------------------------------------------------------------------------------------

    def report(self, session: str) -> Sequence[ServerReport]:
        found = self._sessions.get(session)
        if found is None:
            return ()
        return [self._judge.report(found, mount) for mount in self._shown(found)]

    def trust_directory(self, session: str) -> str | None:
        return found.trust_directory if (found := self._sessions.get(session)) is not None else None

    def findings(self, session: str) -> Sequence[DeclarationFinding]:
        """Everything that reading said, of files and of entries."""
        found = self._sessions.get(session)
        if found is None:
            return ()
        entries = (finding for declared in found.declared for finding in declared.diagnostics)
        return [
            DeclarationFinding(one.severity, one.code, one.message, one.file, one.line, one.server)
            for one in (*found.diagnostics, *entries)
        ]

    def declaration_files(self, session: str) -> Sequence[str]:
        found = self._sessions.get(session)
        path = None if found is None else found.path
        files = (file for preset in self._settings().presets for file in preset.files)
        return () if path is None else [f"{path}/{file}" for file in files]

    def stderr(self, session: str, id: str) -> str:
        _, mount = self.mounted(session, id)
        connection = mount.connection
        raw = b"" if connection is None else connection.stderr_tail()
        return masked_text(raw, secrets_of(mount.declared.launch, self._settings().input_values))

    def look(self, session: str) -> None:
        found = self._sessions.get(session)
        for mount in () if found is None else found.mounts.values():
            if mount.supervisor is not None:
                mount.supervisor.look()

    def instructions(self, session: str) -> Mapping[str, str]:
        """Server name to what the connected server says about its use, for the outgoing turn (M5.7)."""
        found = ((mount, connection.catalogue.instructions) for mount, connection in self.usable(session))
        return {mount.declared.safe_name: said for mount, said in found if said}

    def known_down(self, session: str) -> Sequence[tuple[str, str]]:
        found = self._sessions.get(session)
        if found is None or found.closed:
            return ()
        down = self._judge.known_down(found)
        return down if down and self._reader.unchanged(found) else ()

    def complete(self, session: str) -> bool:
        found = self._sessions.get(session)
        return found is not None and not found.closed and self._judge.missing(found) is None

    def connected(self, session: str, server: str) -> tuple[MountedSession, Mount, Connection]:
        """For the gateway: a server that may be used now. Raises McpRefused, enablement first (architecture §5)."""
        found = self._sessions.get(session)
        mount = None if found is None else found.find(server)
        wide = self._host.find(server)
        if found is not None and wide is not None and (mount is None or not mount.ready):
            mount = wide
        if found is None or mount is None:
            raise McpRefused("SERVER_UNKNOWN", server)
        if mount.project and not self._judge.resolved(found, mount.declared).enabled:
            raise McpRefused("SERVER_DISABLED", mount.declared.name)
        connection = mount.connection
        if connection is None or mount.leaving or not mount.ready:
            reason = self._judge.verdict(found, mount).reason
            otherwise = "DECLARATION_CHANGED" if mount.leaving else "SERVER_NOT_CONNECTED"
            raise McpRefused(reason if reason in REFUSALS else otherwise, mount.declared.name)
        return found, mount, connection

    def mounted(self, session: str, server: str) -> tuple[MountedSession, Mount]:
        """A server of the session, whatever its state. Raises McpRefused: unknown server."""
        found = self._sessions.get(session)
        mount = None if found is None else found.find(server)
        if found is None or mount is None:
            raise McpRefused("SERVER_UNKNOWN", server)
        return found, mount

    def usable(self, session: str) -> Iterable[tuple[Mount, Connection]]:
        """The servers of the session that are on and connected, in file order, then those of the host whose names they
        leave free."""
        found = self._sessions.get(session)
        if found is None:
            return
        taken: set[str] = set()
        for mount in self._shown(found):
            connection = mount.connection
            if connection is None or not mount.ready or mount.leaving or mount.declared.safe_name in taken:
                continue
            if mount.project and not self._judge.resolved(found, mount.declared).enabled:
                continue
            taken.add(mount.declared.safe_name)
            yield mount, connection

    # -- inside --------------------------------------------------------------------------------------------------

    def _shown(self, session: MountedSession) -> list[Mount]:
        return [*session.mounts.values(), *self._host.mounts]

    async def _read(self, session: MountedSession) -> None:
        """Read the files and take over what they say now, as far as running calls allow."""
        await self._reader.read(session)
        await self._adopt(session)

    async def _adopt(self, session: MountedSession) -> None:
        ended = session.adopt({preset.id for preset in self._settings().presets})
        await asyncio.gather(*(mount.disconnect() for mount in ended))
        for gone in ended:
            successor = session.mounts.get(gone.declared.name)
            if successor is not None and gone.blocked:
                successor.blocked = True

    async def _apply_policy(self, session: MountedSession) -> None:
        """End what may not run: at once what a person switched off, the rest when none of its calls runs (M5.3)."""
        refused: list[Mount] = []
        for mount in session.mounts.values():
            reason = None if mount.supervisor is None else self._judge.verdict(session, mount).reason
            if reason is not None and mount.busy and reason not in AT_ONCE:
                mount.leaving = True
            elif reason is not None:
                refused.append(mount)
        await asyncio.gather(*(mount.disconnect() for mount in refused))

    async def _reconcile_workspace(self, workspace: str) -> None:
        same = [uri for uri, session in self._sessions.items() if workspace in (session.workspace, session.origin)]
        await asyncio.gather(*(self.reconcile(uri) for uri in same))

    def _grant(self, session: MountedSession, mount: Mount) -> None:
        """What Connect grants: nothing to a server that policy allows (M4.3)."""
        declared = mount.declared
        session.trust = session.trust.lifting(declared.name)
        self._authorship.release(session.workspace, [declared])
        if self._judge.verdict(session, mount).reason in GRANTABLE and declared.fingerprint:
            selected = {
                other.declared.name: other.declared.fingerprint
                for other in session.mounts.values()
                if self._judge.verdict(session, other).allowed
            }
            session.trust = session.trust.granting(declared.name, declared.fingerprint, selected)

    async def _connect(self, session: MountedSession, name: str) -> None:
        """Read anew, then one try now if the server may run; wait for it, or for the one that is under way."""
        async with session.lock:
            await self._read(session)
            mount = session.mounts.get(name)
            if mount is None:
                self._told.publish(session)
                return
            trying = mount.live and not mount.ready
            if not (mount.live or mount.blocked or session.closed) and self._judge.verdict(session, mount).allowed:
                self._starting.begin(session, mount)
                trying = True
            self._told.publish(session)
            self._told.publish_state(session, mount)
        if trying:
            await self._await_tries([mount])

    def _start_wanted(self, session: MountedSession) -> None:
        """What may run and was not tried, and what got its one try before policy allowed it."""
        for mount in session.mounts.values():
            if mount.blocked or mount.live or mount.leaving:
                continue
            verdict = self._judge.verdict(session, mount)
            tried = mount.supervisor is not None
            if verdict.allowed and (not tried or (verdict.by_policy and self._gave_up(mount))):
                self._starting.begin(session, mount)

    def _gave_up(self, mount: Mount) -> bool:
        return mount.supervisor is not None and mount.supervisor.course.phase == "ended"

    def _first(self, mount: Mount) -> bool:
        """Whether the try that is under way is the first one, which a request waits for."""
        course = None if mount.supervisor is None else mount.supervisor.course
        return course is not None and course.phase == "connecting" and course.attempt == 0

    async def _await_tries(self, mounts: Sequence[Mount]) -> None:
        tries = [mount.supervisor.tried() for mount in mounts if mount.supervisor is not None]
        if tries:
            limit = max(self._starting.limit(mount.declared) for mount in mounts)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await asyncio.gather(*tries)

    def _idle(self, session: MountedSession, mount: Mount) -> None:
        """None of the server's calls runs any more: what waited for that happens now."""
        if mount.leaving and not session.closed:
            task = asyncio.get_running_loop().create_task(self._settle(session), name=f"settle {session.uri}")
            session.tasks.add(task)
            task.add_done_callback(session.tasks.discard)

    async def _settle(self, session: MountedSession) -> None:
        async with session.lock:
            if session.closed:
                return
            await self._adopt(session)
            await self._apply_policy(session)
            if session.requested:
                self._start_wanted(session)
            self._told.publish(session)
