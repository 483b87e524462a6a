"""The customizations of all sessions: followed, resolved, published, changed (C1-C6, C8.1).

Rules
* A session is followed from when somebody looks at it or its first turn begins, until it leaves memory or is deleted.
* Published is what a resolution says and nothing else, and only what is different; nothing is published before
  discovery has come to an end, so that a restart does not empty a list for a moment.
* A change of decisions is published in every session that it touches.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from innkeeper.customizations.clients import ClientPlugin
from innkeeper.customizations.discovery.items import DiscoveredPlugin
from innkeeper.customizations.discovery.roots import Places, PluginRoot
from innkeeper.customizations.edits import Edit, Refused, Stored, affected, apply
from innkeeper.customizations.eligibility import eligible_of
from innkeeper.customizations.enablement import Overlay
from innkeeper.customizations.places import Pending, Place, Workspaces
from innkeeper.customizations.publishing import Published
from innkeeper.customizations.resolution import Resolution
from innkeeper.customizations.retention import of_session
from innkeeper.engine.effects import Act, Also
from innkeeper.host.core import Core, act
from innkeeper.host.customizations.changes import changes
from innkeeper.host.customizations.copies import ClientCopies
from innkeeper.host.customizations.followed import Followed
from innkeeper.host.customizations.lookouts import Lookouts
from innkeeper.host.customizations.orphans import remove_orphans
from innkeeper.host.worktrees.pending import awaits_worktree
from innkeeper.ports.clock import Clock
from innkeeper.ports.copies import PluginCopies
from innkeeper.ports.customizations import Eligible
from innkeeper.ports.decisions import DecisionOp, Decisions
from innkeeper.ports.files import FileFault, Files
from innkeeper.ports.mcp import ToggleRefused
from innkeeper.ports.notes import MemoryNotes, Notes
from innkeeper.ports.watches import Watches
from innkeeper.protocol.uris import file_uri, local_path

log = logging.getLogger(__name__)

Entry = Mapping[str, Any]
READ_SECONDS = 10.0
"""A file system that does not answer holds up a request no longer."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where customizations come from. Without `files` none are looked for; without `home` not the person's own."""

    files: Files | None = None
    watches: Watches | None = None
    home: str | None = None
    copies: PluginCopies | None = None
    """Of clients' plugins; without it those cannot be had."""
    plugins: tuple[PluginRoot, ...] = ()
    """Those that the host was given."""
    orphans: Notes = field(default_factory=MemoryNotes)
    """Since when decisions have been without their session or directory."""


class Customizations:
    """`decisions` gives the present value."""

    def __init__(self, core: Core, ground: Ground, decisions: Callable[[], Decisions], clock: Clock) -> None:
        self._core = core
        self._ground = ground
        self._copies = ClientCopies(core, ground.files, ground.copies)
        self._decisions = decisions
        self._clock = clock
        self._workspaces = Workspaces()
        self._followed: dict[str, Followed] = {}
        self._lookouts = None if ground.files is None else Lookouts(ground.files, ground.watches, self._changed)
        self._listeners: list[Callable[[str], None]] = []
        self._deciding: list[Callable[[Sequence[str]], None]] = []
        self._closing: list[Callable[[str], None]] = []
        self._read_servers: Callable[[str], Awaitable[None]] | None = None

    def read_servers_by(self, read: Callable[[str], Awaitable[None]]) -> None:
        """How the declarations of a session are read; `servers_are` is told what they say."""
        self._read_servers = read

    def when_closed(self, listener: Callable[[str], None]) -> None:
        """Be told each session that is not followed any more."""
        self._closing.append(listener)

    def when_decided(self, listener: Callable[[Sequence[str]], None]) -> None:
        """Be told the sessions in which decisions count that have been accepted, after they were published."""
        self._deciding.append(listener)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Be told each session of which something may be different, after it was published."""
        self._listeners.append(listener)

    async def start(self) -> None:
        """Once, when the sessions are there: see which decisions have outlived what they are about."""
        ground = self._ground
        await remove_orphans(self._core, self.overlay, ground.files, ground.orphans, self._clock)

    # -- following -----------------------------------------------------------------------------------------------

    async def situate(self, session: str) -> None:
        """The session's place is known when this returns. Never raises."""
        followed = self._follow(session)
        if followed is None or followed.situated:
            return
        for uri in followed.directories[:1]:
            real, ignores_case = await asyncio.to_thread(self._look_behind, uri)
            known = self._workspaces
            others = tuple(root for root in known.ignoring_case if root != uri)
            where = known.real if real is None else {**known.real, uri: real}
            self._workspaces = Workspaces(where, known.worktrees, (*others, uri) if ignores_case else others)
        followed.situated = True
        self._changed(session)

    async def read(self, session: str) -> None:
        """The session's places and declarations have been looked at when this returns, or that took too long. Never
        raises."""
        await self.situate(session)
        if self._read_servers is not None:
            await self._read_servers(session)
        followed = self._followed.get(session)
        if followed is None:
            return
        self._fetch(followed)
        try:
            async with asyncio.timeout(READ_SECONDS):
                if followed.lookout is not None:
                    await followed.lookout.settled.wait()
                await self._copies.settled(session)
        except TimeoutError:
            log.warning("the customizations of %s are not read after %g s", session, READ_SECONDS)

    def servers_are(self, session: str, servers: Sequence[Entry]) -> None:
        """What the session's declarations say, and in which state the servers are."""
        followed = self._follow(session)
        if followed is not None:
            followed.servers = tuple(servers)
            self._changed(session)

    def server_is(self, session: str, server: Entry) -> None:
        """One of them is different."""
        followed = self._followed.get(session)
        if followed is None or followed.servers is None:
            return
        known = [entry["id"] for entry in followed.servers]
        if server["id"] in known:
            place = known.index(server["id"])
            followed.servers = (*followed.servers[:place], server, *followed.servers[place + 1 :])
        else:
            followed.servers = (*followed.servers, server)
        self._changed(session)

    def clients_changed(self, session: str) -> None:
        """Its active clients are others, or publish something else."""
        followed, state = self._followed.get(session), self._core.head(session)
        if followed is None or state is None:
            return
        for note in followed.clients_say(state):
            log.info("%s: %s", session, note)
        self._fetch(followed)
        self._changed(session)

    def stands_for(self, worktree: str, directory: str) -> None:
        """The host made the worktree of that directory, whose decisions hold there too (C3.3); both as URIs."""
        known = self._workspaces
        self._workspaces = Workspaces(known.real, {**known.worktrees, worktree: directory}, known.ignoring_case)

    def directories_changed(self, session: str) -> None:
        """Its working directories are others."""
        before = self._followed.pop(session, None)
        if before is None:
            return
        self._leave(before)
        followed = self._follow(session)
        if followed is not None:
            followed.servers, followed.copies, followed.copied = before.servers, before.copies, before.copied
            self._core.spawn(self.read(session), f"customizations of {session}")

    def release(self, session: str) -> None:
        """The session leaves memory: it is not followed any more, and copies that were made for it stay. Idempotent."""
        followed = self._followed.pop(session, None)
        if followed is not None:
            self._leave(followed)
        for listener in self._closing:
            listener(session)

    def close(self, session: str) -> None:
        """The session is gone. Idempotent."""
        self.release(session)
        self._copies.forget(session)

    async def close_all(self) -> None:
        self._listeners.clear()
        self._deciding.clear()
        for session in tuple(self._followed):
            self.close(session)
        if self._lookouts is not None:
            await self._lookouts.close()

    # -- what is so ----------------------------------------------------------------------------------------------

    def is_settled(self, session: str) -> bool:
        followed = self._followed.get(session)
        return followed is not None and followed.discovered

    def resolution(self, session: str) -> Resolution | None:
        """The verdicts as they are now; None for a session that is not followed."""
        followed = self._followed.get(session)
        return None if followed is None else followed.resolution(self._decisions(), self._workspaces)

    @property
    def overlay(self) -> Overlay:
        return Overlay(self._decisions())

    def place(self, session: str, directory: str | None) -> Place:
        """Where the session's workspace decisions stand, for whoever enforces them."""
        return self._workspaces.place(session, directory)

    def eligible(self, session: str) -> Eligible | None:
        """What may reach the session's agent now; None for a session that is not followed."""
        resolution = self.resolution(session)
        return None if resolution is None else eligible_of(resolution)

    def rows_of(self, session: str) -> Sequence[DecisionOp]:
        """What to drop in the transaction that deletes the session (C2.4)."""
        return of_session(self.overlay, session)

    def followed(self) -> tuple[str, ...]:
        return tuple(self._followed)

    # -- changes -------------------------------------------------------------------------------------------------

    def plan(self, session: str, id: str, edit: Edit, now: str) -> Stored | Refused | Pending:
        """What comes of an edit; nothing has happened yet. Pending: the session is not read, or the item unclear."""
        resolution = self.resolution(session)
        if resolution is None or not self.is_settled(session):
            return Pending("discovery")
        return apply(id, edit, resolution, self.overlay, now)

    async def edit(self, session: str, id: str, edit: Edit) -> None:
        """Make the change, durable with its envelope when this returns. Raises ToggleRefused, StorageFailed."""
        outcome = self.plan(session, id, edit, self._clock.now())
        if isinstance(outcome, Pending):
            raise ToggleRefused("the customizations of this session are being read; try again")
        if isinstance(outcome, Refused):
            raise ToggleRefused(outcome.reason)
        if not outcome.unchanged:
            acts = [Act(session, action) for action in self._differences(session, outcome.overlay)]
            await self._core.commit(Also(tuple(outcome.ops)), *acts)
            self.decided(outcome.ops)

    def decided(self, ops: Sequence[DecisionOp]) -> None:
        """These changes of decisions have been accepted: publish them where they count."""
        places = {uri: self._place_of(followed) for uri, followed in self._followed.items()}
        sessions = affected(ops, places)
        for session in sessions:
            self._changed(session)
        for listener in self._deciding:
            listener(sessions)

    def all_changed(self) -> None:
        """Decisions are not those that were thought: publish what holds."""
        for session in tuple(self._followed):
            self._changed(session)

    # -- inside --------------------------------------------------------------------------------------------------

    def _follow(self, session: str) -> Followed | None:
        found, state = self._followed.get(session), self._core.head(session)
        if found is not None or state is None:
            return found
        directories = tuple(state.get("workingDirectories") or ())
        pending = awaits_worktree(state)
        followed = self._followed[session] = Followed(session, str(state["provider"]), directories, pending)
        if self._lookouts is not None:
            paths = tuple(path for uri in directories if (path := local_path(uri)) is not None)
            followed.lookout = self._lookouts.join(session, Places(paths, self._ground.home, self._ground.plugins))
        followed.clients_say(state)
        self._fetch(followed)
        return followed

    def _leave(self, followed: Followed) -> None:
        if followed.lookout is not None and self._lookouts is not None:
            self._lookouts.leave(followed.session, followed.lookout)

    def _fetch(self, followed: Followed) -> None:
        for plugin in followed.copies.wanted(followed.clients):
            self._copies.want(followed.session, plugin, self._fetched)

    def _fetched(self, session: str, plugin: ClientPlugin, found: DiscoveredPlugin | None) -> None:
        followed = self._followed.get(session)
        if followed is not None and followed.arrived(plugin, found):
            self._changed(session)

    def _changed(self, session: str) -> None:
        followed = self._followed.get(session)
        if followed is None or not followed.discovered:
            return
        act(self._core, session, *self._differences(session, self.overlay))
        for listener in self._listeners:
            listener(session)

    def _differences(self, session: str, overlay: Overlay) -> list[dict[str, Any]]:
        state, followed = self._core.head(session), self._followed[session]
        if state is None:
            return []
        known = overlay.decisions is self._decisions()
        resolution = self.resolution(session) if known else followed.resolved_with(overlay, self._workspaces)
        assert resolution is not None
        return changes(state.get("customizations") or (), Published(resolution).items)

    def _place_of(self, followed: Followed) -> Place:
        return self.place(followed.session, next(iter(followed.directories), None))

    def _look_behind(self, uri: str) -> tuple[str | None, bool]:
        """Where the directory's links lead, as a URI, and whether case counts for nothing there."""
        files, path = self._ground.files, local_path(uri)
        if files is None or path is None:
            return None, False
        try:
            real = files.real(path)
        except FileFault:
            return None, False
        return file_uri(real), _ignores_case(files, real)


def _ignores_case(files: Files, real: str) -> bool:
    other = real.swapcase()
    try:
        return other != real and files.stat(other).stamp == files.stat(real).stamp
    except FileFault:
        return False
