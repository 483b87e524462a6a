"""The host as one object: everything above the driver, joined (architecture §2, §3.10).

Rules
* `HOST_METHODS` goes to the hub, `HostPolicy` too; then the driver, `Conversation` on it, what needs questions (the
  gateway, the agents), and last this. Nothing here is started before `start`.
* Every long-lived piece of work is a task of the driver with a name; `close` ends turns, agents and servers within the
  given time and leaves state as it is, so that the next start finds running turns as interrupted.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from innkeeper.contributions.dispatch import Dispatcher, Registry, Services
from innkeeper.contributions.dispatch.mementos import Mementos
from innkeeper.customizations.places import Place
from innkeeper.engine.effects import (
    ChannelIdle,
    ClientAttached,
    ClientDetached,
    ClientLeft,
    Released,
    Subscribed,
)
from innkeeper.host import trackers
from innkeeper.host.admission import Admission, Bridge
from innkeeper.host.adoption import ADOPTION_METHODS, Adoption
from innkeeper.host.agents import Agents
from innkeeper.host.approvals import Approvals, Approving
from innkeeper.host.asking import sender
from innkeeper.host.backings import Backings
from innkeeper.host.changesets.commands import CHANGESET_METHODS, ChangesetCommands
from innkeeper.host.changesets.service import Changesets, ChangesOutside
from innkeeper.host.chat_settings import CHAT_SETTING_METHODS, ChatSettings
from innkeeper.host.chats import Chats
from innkeeper.host.clients import Clients
from innkeeper.host.commands import STANDARD_METHODS, Commands, Handler, StandardCommands
from innkeeper.host.completing import COMPLETION_METHODS, Completing
from innkeeper.host.core import Core, DriverCore
from innkeeper.host.customizations.commands import CUSTOMIZATION_METHODS
from innkeeper.host.customizations.joined import join
from innkeeper.host.customizations.service import Ground
from innkeeper.host.drafts import Drafts
from innkeeper.host.driver import Driver, Observed
from innkeeper.host.extensions import EXTENSION_METHODS, Extensions
from innkeeper.host.hook_sites import HookSites, HostChannels, HostConfiguration, HostProviders
from innkeeper.host.hydration import Hydrator
from innkeeper.host.local_commands.registry import CommandRegistry
from innkeeper.host.local_commands.rename import Rename
from innkeeper.host.local_commands.shell import Shell
from innkeeper.host.mirror import Mirror
from innkeeper.host.policy import HostPolicy
from innkeeper.host.questions import ConversationQuestions
from innkeeper.host.requests import Requests
from innkeeper.host.residency import Bounds, Residency
from innkeeper.host.restore import Restore
from innkeeper.host.running import RunningTurns
from innkeeper.host.servers import Servers
from innkeeper.host.sessions import Ends, Sessions
from innkeeper.host.settings import HostSettings
from innkeeper.host.steering import Steering
from innkeeper.host.terminals.service import TERMINAL_METHODS, TerminalChannels
from innkeeper.host.titles import Titles
from innkeeper.host.turns import TurnParts, Turns
from innkeeper.host.views import active_turn
from innkeeper.host.waits import Waits
from innkeeper.host.worktrees import Worktrees, WorktreesOutside
from innkeeper.host.worktrees.hints import BranchHints
from innkeeper.host.worktrees.options import NoOptions
from innkeeper.ports.changes import NoChanges, NoCheckpoints, TurnChanges
from innkeeper.ports.clock import Clock
from innkeeper.ports.contributed import (
    Channels,
    Configuration,
    HostBridge,
    Launch,
    Providers,
    SessionTitles,
    Telemetry,
    ToolCallTracker,
    TurnTracker,
)
from innkeeper.ports.declarations import Declarations
from innkeeper.ports.files import Files, NoFiles
from innkeeper.ports.ids import Ids
from innkeeper.ports.local_commands import LocalCommands
from innkeeper.ports.mcp import McpGateway, McpListener, McpServers
from innkeeper.ports.pull_requests import NoPullRequests, PullRequests
from innkeeper.ports.questions import Caller, Rules
from innkeeper.ports.records import MemoryRecords, Records
from innkeeper.ports.settings import SettingsService
from innkeeper.ports.terminals import NoTerminals, Terminals
from innkeeper.ports.worktrees import NoWorktrees, WorktreeIsolation
from innkeeper.providers.spi import Provider
from innkeeper.texts import Lang, negotiate

log = logging.getLogger(__name__)

HOST_METHODS = (
    STANDARD_METHODS
    | COMPLETION_METHODS
    | EXTENSION_METHODS
    | CUSTOMIZATION_METHODS
    | TERMINAL_METHODS
    | CHANGESET_METHODS
)
HOST_METHODS |= ADOPTION_METHODS | CHAT_SETTING_METHODS | COMPLETION_METHODS

SERVER_REQUESTS = frozenset({"session/mcpServerStartRequested", "session/mcpServerStopRequested"})
DIRECTORY_CHANGES = frozenset(
    {"session/workingDirectorySet", "session/workingDirectoryRemoved", "session/workingDirectoryReplaced"}
)


class Conversation:
    """What asks people, built on the driver before the gateway and the agents that need it."""

    def __init__(self, driver: Driver, settings: HostSettings, approving: Approving | None = None) -> None:
        self._settings = settings
        self._locale = driver.hub.client_locale
        self.core: Core = DriverCore(driver)
        self.waits = Waits()
        self.running = RunningTurns()
        self.questions = ConversationQuestions(self.core, self.waits, self.running, timeout=settings.question_timeout)
        self.approvals = Approvals(self.core, self.questions, settings, approving)

    def full_access(self, session: str) -> bool:
        """Whether the session runs with full access now, by the one table (M6.3b)."""
        return self.approvals.full_access(session)

    def rules(self, session: str, tool: str) -> Rules:
        """What the approval rules say of a tool, by its qualified name (M6.8)."""
        return self.approvals.rules(session, tool)

    def language(self, caller: Caller) -> Lang:
        """For the texts of a question that is asked because of somebody's turn: their client's `locale`, then the
        operator's `language`, then English (M9.4). A queued message is about whoever left it in the queue."""
        turn = self.running.behind(caller.chat)
        chat = self.core.head(caller.chat if turn is None else turn.chat) or {}
        client = sender((active_turn(chat) or {}).get("message"))
        return self.client_language(client) if client is not None else negotiate(self._settings.language)

    def client_language(self, client_id: str) -> Lang:
        """For what one client is told."""
        return negotiate(self._locale(client_id), self._settings.language)


@dataclass(frozen=True, slots=True)
class Outside:
    """What the host needs from outside, as ports."""

    providers: Sequence[Provider]
    mcp: McpServers
    gateway: McpGateway
    declarations: Declarations
    clock: Clock
    ids: Ids
    settings: SettingsService | None = None
    """Only told of in `status`."""
    ground: Ground = field(default_factory=Ground)
    records: Records = field(default_factory=MemoryRecords)
    terminals: Terminals = field(default_factory=NoTerminals)
    commands: LocalCommands | None = None
    """Instead of the host's own."""
    services: Mapping[type[Any], object] = field(default_factory=dict)
    """More services for contributions, by type (K7)."""
    pull_requests: PullRequests = field(default_factory=NoPullRequests)
    options: Mapping[str, object] = field(default_factory=dict)
    """Settings that contributions read."""
    launch: Launch = "embedded"
    changes: ChangesOutside | None = None
    """Without it nothing is captured, and there are no changesets."""
    worktrees: WorktreesOutside | None = None
    """Without it every session works in its folder."""


class HostService:
    """A host on a driver. `extra` adds own commands (`x-innkeeper/…`) to the table."""

    def __init__(
        self,
        driver: Driver,
        conversation: Conversation,
        outside: Outside,
        policy: HostPolicy,
        settings: HostSettings,
        *,
        extra: Mapping[str, Handler] | None = None,
    ) -> None:
        core, clock, ids = conversation.core, outside.clock, outside.ids
        running = conversation.running
        services = Services(outside.services)
        self.contributions = Registry(services, Mementos(core.owner))
        self.hooks = Dispatcher(self.contributions)
        self._sites = HookSites(core, self.hooks)
        self._agents = Agents(core, outside.providers)
        providers = self._agents.providers
        titles = Titles(core, providers, generate=outside.options.get("generate_titles") is not False)
        self._core = core
        self._settings = settings
        self._records = outside.records
        found = join(core, outside.ground, outside.records, outside.gateway, lambda: driver.decisions, clock)
        self._customizations, self._toggles, self._handover = found.all, found.toggles, found.handover
        self._servers = Servers(core, outside.mcp, found.all)
        self._backings = Backings(core, providers, found.handover)
        found.all.listen(self._reconcile)
        self._terminals = TerminalChannels(core, outside.terminals, clock, home=outside.ground.home)
        commands = outside.commands or self._local_commands(conversation, outside, titles)
        self._changes = _changesets(core, outside, running, settings)
        self._worktrees: Worktrees | None = None
        placing = NoOptions()
        if outside.worktrees is not None:
            hints = BranchHints(core, providers, generate=outside.options.get("generate_titles") is not False)
            self._worktrees = Worktrees(core, outside.worktrees, ids, leave=self._leave, hint=hints.hint)
            self._worktrees.when_made(found.all.stands_for)
            driver.observe(self._worktrees.observe)
            placing = outside.worktrees.options()
        isolation: WorktreeIsolation = self._worktrees or NoWorktrees()
        checkpoints = self._changes or NoCheckpoints()
        requests = Requests(core, self._backings, found.handover, outside.declarations, checkpoints, isolation)
        admission = Admission(self.hooks)
        self._turns = Turns(
            TurnParts(
                core=core,
                requests=requests,
                approvals=conversation.approvals,
                hooks=self.hooks,
                admission=admission,
                commands=commands,
                titles=titles,
                waits=conversation.waits,
                running=running,
                clock=clock,
                ids=ids,
                settings=settings,
                checkpoints=checkpoints,
            )
        )
        self._steering = Steering(core, self._backings, requests, running)
        ends = Ends(self._backings, self._servers, found.all, self._turns, self._changes, self._worktrees)
        self._sessions = Sessions(core, providers, ends, titles, clock, ids, settings, placing)
        hydrator = Hydrator(self.hooks)
        chats = Chats(core, self._turns, titles, hydrator, clock, ids, close_timeout=settings.close_timeout)
        self._mirror = Mirror(core, delay=settings.summary_delay)
        self._clients = Clients(core, clock, grace=settings.grace)
        self._restore = Restore(core, self._sessions, self._turns, self._clients, providers)
        bounds = Bounds(settings.resident_sessions, settings.rest_seconds, close=settings.close_timeout)
        self.residency = Residency(core, driver.loading, running, ends, self.hooks, clock, bounds)
        drafts = Drafts(core, self._sessions.dispose, clock, seconds=settings.draft_seconds)
        self._sessions.when_created(drafts.created)
        self._watches = {
            "client grace periods": self._clients.watch,
            "residency": self.residency.watch,
            "unused drafts": drafts.watch,
        }
        self._watching: list[asyncio.Task[None]] = []
        policy.join(found.toggles)
        for observer in (self._observe, self.residency.observe, drafts.observe):
            driver.observe(observer)
        if self._changes is not None:
            driver.observe(self._changes.observe)
            core.open_by(self._changes.offers, self._changes.open)
        tables = (
            StandardCommands(self._sessions, chats),
            self._extensions(conversation, outside),
            found.commands,
            self._terminals,
            Completing(core, commands.prefixes, outside.ground.files),
            ChangesetCommands(self._changes),
            Adoption(core, self._sessions, hydrator, clock, ids),
            ChatSettings(core),
        )
        handlers = {method: handler for table in tables for method, handler in table.table().items()}
        driver.serve_commands(Commands({**handlers, **(extra or {})}, ids, drafts.used).run)
        services.add(HostBridge, Bridge(core, admission, clock, ids, outside.launch))
        services.add(Channels, HostChannels(core))
        services.add(SessionTitles, titles)
        services.add(Clock, clock)
        services.add(Files, outside.ground.files or NoFiles())
        services.add(PullRequests, outside.pull_requests)
        services.add(Providers, HostProviders(core, self._agents, self._steering))
        services.add(Configuration, HostConfiguration(core, outside.options))
        counters = trackers.Counters()
        turns = trackers.Turns(core, running, counters, clock)
        self._watches["quiet turns"] = turns.watch
        services.add(TurnTracker, turns)
        services.add(ToolCallTracker, trackers.ToolCalls(counters))
        services.add(Telemetry, counters)
        services.add(LocalCommands, commands)
        services.add(Declarations, outside.declarations)
        services.add(TurnChanges, self._changes or NoChanges())
        services.add(WorktreeIsolation, isolation)

    def _local_commands(self, conversation: Conversation, outside: Outside, titles: Titles) -> LocalCommands:
        commands = CommandRegistry(conversation.core, outside.ids, titles.first_message)
        commands.register(Rename(conversation.core))
        commands.register(
            Shell(conversation.core, self._terminals, outside.terminals, outside.ids, conversation.language)
        )
        return commands

    def _extensions(self, conversation: Conversation, outside: Outside) -> Extensions:
        return Extensions(
            conversation.core,
            self._servers,
            outside.mcp,
            outside.gateway,
            conversation.running,
            outside.clock,
            self._settings,
            conversation.client_language,
            outside.settings,
        )

    async def read_declarations(self, session: str) -> None:
        """The session's declarations have been read when this returns."""
        await self._servers.read(session)

    @property
    def listener(self) -> McpListener:
        """Who is told what happens to servers."""
        return self._servers

    def place(self, session: str, directory: str | None) -> Place:
        """Where the workspace decisions of a session in that directory stand."""
        return self._customizations.place(session, directory)

    async def start(self) -> None:
        """Publish the root channel and put right what an earlier process left. Before the first client."""
        await self._restore.run(self._agents.listed())
        await self._terminals.restored()
        self._watching = [self._core.spawn(watch(), name) for name, watch in self._watches.items()]
        self._core.spawn(self._customizations.start(), "orphaned decisions")
        if self._changes is not None:
            self._core.spawn(self._changes.sweep(), "changes of sessions that are gone")
        if self._worktrees is not None:
            self._core.spawn(self._worktrees.start(), "worktrees of an earlier host")

    async def close(self) -> None:
        """End turns, agents and servers, within the time that the settings give."""
        seconds = self._settings.close_timeout
        for watch in self._watching:
            watch.cancel()
        self._mirror.close()
        await asyncio.gather(
            self._turns.end_all(seconds),
            self._backings.close_all(seconds),
            self._close_servers(seconds),
            self._terminals.close(seconds),
        )
        await self._agents.close(seconds)
        self.hooks.close()
        await self._records.close()

    async def _leave(self, session: str) -> None:
        """End the session's agent: what it works in goes. The next turn opens it again."""
        await self._backings.close(session, self._settings.close_timeout)

    def _directories_changed(self, released: Released) -> None:
        self._customizations.directories_changed(released.channel)
        before, after = ((state.get("workingDirectories") or ())[:1] for state in (released.before, released.after))
        if list(before) != list(after):
            self._servers.read_again(released.channel)

    def _reconcile(self, session: str) -> None:
        agent = self._backings.peek(session)
        if agent is not None:
            self._core.spawn(self._handover.follow(session, agent), f"reconcile {session}")

    async def _close_servers(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._customizations.close_all()
                await self._servers.close_all()
        except TimeoutError:
            log.warning("the MCP servers did not close in %g s", seconds)

    def _observe(self, observed: Observed) -> None:
        match observed:
            case Released():
                self._released(observed)
            case Subscribed(channel=channel):
                self._subscribed(channel)
            case ClientAttached(client_id=client_id):
                self._clients.attached(client_id)
            case ClientDetached(client_id=client_id):
                self._clients.detached(client_id)
            case ClientLeft(client_id=client_id, channel=channel):
                self._clients.left(client_id, channel)
            case ChannelIdle():
                return

    def _subscribed(self, channel: str) -> None:
        if self._core.kind(channel) == "session":
            self._core.spawn(self._customizations.read(channel), f"customizations of {channel}")

    def _released(self, released: Released) -> None:
        self._sites.dispatched(released)
        if released.rejection is not None:
            self._turns.refused(released)
            if released.action.get("type") == "session/customizationToggled":
                self._toggles.refused()
        elif released.kind == "chat":
            self._chat_released(released)
        elif released.kind == "session":
            self._session_released(released)
        elif released.kind == "terminal":
            self._terminals.released(released)
        elif released.kind == "root":
            self._terminals.root_changed(released)
        self._sites.applied(released)

    def _chat_released(self, released: Released) -> None:
        if released.action["type"] in ("chat/turnStarted", "chat/turnResume"):
            self._turns.started(released)
            self._steering.steer(released.channel)
        self._turns.changed(released)
        self._mirror.chat_changed(released)

    def _session_released(self, released: Released) -> None:
        action: Mapping[str, Any] = released.action
        self._mirror.session_changed(released)
        if action["type"] in SERVER_REQUESTS and released.origin is not None:
            self._servers.requested(released.channel, action)
        elif action["type"] == "session/customizationToggled" and released.origin is not None:
            self._toggles.released()
        elif action["type"] == "session/activeClientRemoved":
            self._clients.removed(action["clientId"], released.channel)
            self._customizations.clients_changed(released.channel)
        elif action["type"] == "session/activeClientSet":
            self._customizations.clients_changed(released.channel)
        elif action["type"] in DIRECTORY_CHANGES:
            self._directories_changed(released)


def _changesets(core: Core, outside: Outside, running: RunningTurns, settings: HostSettings) -> Changesets | None:
    if outside.changes is None:
        return None
    return Changesets(core, outside.changes, running, lang=negotiate(settings.language))
