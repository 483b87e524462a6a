"""The parts of one host, each made when it is first asked for (architecture §3.9).

Rules
* One property a part; what it needs it takes from the others, so the order of construction follows from the parts.
* Nothing here acts, listens or starts: `HostService` does.
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from typing import Any

from innkeeper.contributions.dispatch import Dispatcher, Registry, Services
from innkeeper.contributions.dispatch.mementos import Mementos
from innkeeper.host import trackers
from innkeeper.host.admission import Admission, Bridge
from innkeeper.host.adoption import Adoption
from innkeeper.host.agents import Agents
from innkeeper.host.attachments import Attachments
from innkeeper.host.backings import Backings
from innkeeper.host.changesets.commands import ChangesetCommands
from innkeeper.host.changesets.service import Changesets
from innkeeper.host.chat_settings import ChatSettings
from innkeeper.host.chats import Chats
from innkeeper.host.clients import Clients
from innkeeper.host.commands import Handler, StandardCommands
from innkeeper.host.completing import Completing
from innkeeper.host.conversation import Conversation, Outside
from innkeeper.host.customizations import joined as customizations
from innkeeper.host.drafts import Drafts
from innkeeper.host.driver import Driver
from innkeeper.host.extensions import Extensions
from innkeeper.host.folders import Folders
from innkeeper.host.hook_sites import HookSites, HostChannels, HostConfiguration, HostProviders
from innkeeper.host.hydration import Hydrator
from innkeeper.host.local_commands.registry import CommandRegistry
from innkeeper.host.local_commands.rename import Rename
from innkeeper.host.local_commands.shell import Shell
from innkeeper.host.mirror import Mirror
from innkeeper.host.requests import Requests
from innkeeper.host.residency import Bounds, Residency
from innkeeper.host.restore import Restore
from innkeeper.host.servers import Servers
from innkeeper.host.sessions import Ends, Sessions
from innkeeper.host.settings import HostSettings
from innkeeper.host.steering import Steering
from innkeeper.host.terminals.service import TerminalChannels
from innkeeper.host.titles import Titles
from innkeeper.host.turns import TurnParts, Turns
from innkeeper.host.worktrees import Worktrees
from innkeeper.host.worktrees.hints import BranchHints
from innkeeper.host.worktrees.options import NoOptions
from innkeeper.ports.changes import NoChanges, NoCheckpoints, TurnChanges
from innkeeper.ports.clock import Clock
from innkeeper.ports.contributed import (
    Channels,
    Configuration,
    Customizations,
    HostBridge,
    Providers,
    SessionTitles,
    Telemetry,
    ToolCallTracker,
    TurnTracker,
)
from innkeeper.ports.declarations import Declarations
from innkeeper.ports.files import Files, NoFiles
from innkeeper.ports.local_commands import LocalCommands
from innkeeper.ports.pull_requests import PullRequests
from innkeeper.ports.worktrees import NoWorktrees, WorktreeIsolation
from innkeeper.texts import negotiate

Watch = Callable[[], Coroutine[Any, Any, None]]


class Joined:
    """All parts of the host on `driver`."""

    def __init__(self, driver: Driver, conversation: Conversation, outside: Outside, settings: HostSettings) -> None:
        self.driver = driver
        self.conversation = conversation
        self.outside = outside
        self.settings = settings
        self.core = conversation.core
        self.clock, self.ids = outside.clock, outside.ids
        self._makes_names = outside.options.get("generate_titles") is not False

    # -- hooks ---------------------------------------------------------------------------------------------------

    @cached_property
    def services(self) -> Services:
        return Services(self.outside.services)

    @cached_property
    def contributions(self) -> Registry:
        return Registry(self.services, Mementos(self.core.owner))

    @cached_property
    def hooks(self) -> Dispatcher:
        return Dispatcher(self.contributions)

    @cached_property
    def sites(self) -> HookSites:
        return HookSites(self.core, self.hooks)

    @cached_property
    def hydrator(self) -> Hydrator:
        return Hydrator(self.hooks)

    @cached_property
    def admission(self) -> Admission:
        return Admission(self.hooks)

    # -- agents and what they work with --------------------------------------------------------------------------

    @cached_property
    def agents(self) -> Agents:
        return Agents(self.core, self.outside.providers)

    @cached_property
    def backings(self) -> Backings:
        return Backings(self.core, self.agents.providers, self.found.handover)

    @cached_property
    def found(self) -> customizations.Joined:
        outside, decisions = self.outside, lambda: self.driver.decisions
        return customizations.join(self.core, outside.ground, outside.records, outside.gateway, decisions, self.clock)

    @cached_property
    def servers(self) -> Servers:
        return Servers(self.core, self.outside.mcp, self.found.all)

    @cached_property
    def titles(self) -> Titles:
        return Titles(self.core, self.agents.providers, generate=self._makes_names)

    @cached_property
    def terminals(self) -> TerminalChannels:
        return TerminalChannels(self.core, self.outside.terminals, self.clock, home=self.outside.ground.home)

    @cached_property
    def commands(self) -> LocalCommands:
        if self.outside.commands is not None:
            return self.outside.commands
        commands = CommandRegistry(self.core, self.ids, self.titles.called_after)
        commands.register(Rename(self.core, self.titles.renamed))
        language = self.conversation.language
        commands.register(Shell(self.core, self.terminals, self.outside.terminals, self.ids, language))
        return commands

    @cached_property
    def changes(self) -> Changesets | None:
        outside, language = self.outside.changes, negotiate(self.settings.language)
        return None if outside is None else Changesets(self.core, outside, self.conversation.running, lang=language)

    @cached_property
    def worktrees(self) -> Worktrees | None:
        if self.outside.worktrees is None:
            return None
        hints = BranchHints(self.core, self.agents.providers, generate=self._makes_names)
        made = Worktrees(self.core, self.outside.worktrees, self.ids, leave=self._leave, hint=hints.hint)
        made.when_made(self.found.all.stands_for)
        return made

    async def _leave(self, session: str) -> None:
        """End the session's agent: what it works in goes. The next turn opens it again."""
        await self.backings.close(session, self.settings.close_timeout)

    @cached_property
    def isolation(self) -> WorktreeIsolation:
        return self.worktrees or NoWorktrees()

    # -- turns, sessions, chats ----------------------------------------------------------------------------------

    @cached_property
    def attachments(self) -> Attachments:
        outside, changes = self.outside, self.changes
        store, files = outside.attachments, outside.ground.files
        own = {} if changes is None else {"own": changes.read}
        return Attachments(self.core, store, files, **own)

    @cached_property
    def requests(self) -> Requests:
        return Requests(
            self.core,
            self.backings,
            self.found.handover,
            self.outside.declarations,
            self.changes or NoCheckpoints(),
            self.isolation,
            self.attachments,
            self.agents.providers,
        )

    @cached_property
    def turns(self) -> Turns:
        return Turns(
            TurnParts(
                core=self.core,
                requests=self.requests,
                approvals=self.conversation.approvals,
                hooks=self.hooks,
                admission=self.admission,
                commands=self.commands,
                titles=self.titles,
                waits=self.conversation.waits,
                running=self.conversation.running,
                clock=self.clock,
                ids=self.ids,
                settings=self.settings,
                checkpoints=self.changes or NoCheckpoints(),
            )
        )

    @cached_property
    def steering(self) -> Steering:
        return Steering(self.core, self.backings, self.requests, self.conversation.running)

    @cached_property
    def ends(self) -> Ends:
        found, attachments = self.found.all, self.attachments
        return Ends(self.backings, self.servers, found, self.turns, attachments, self.changes, self.worktrees)

    @cached_property
    def sessions(self) -> Sessions:
        outside, providers = self.outside.worktrees, self.agents.providers
        placing = NoOptions() if outside is None else outside.options()
        return Sessions(self.core, providers, self.ends, self.titles, self.clock, self.ids, self.settings, placing)

    @cached_property
    def chats(self) -> Chats:
        close = self.settings.close_timeout
        return Chats(self.core, self.turns, self.titles, self.hydrator, self.clock, self.ids, close_timeout=close)

    @cached_property
    def clients(self) -> Clients:
        return Clients(self.core, self.clock, grace=self.settings.grace)

    @cached_property
    def mirror(self) -> Mirror:
        return Mirror(self.core, delay=self.settings.summary_delay)

    @cached_property
    def restore(self) -> Restore:
        return Restore(self.core, self.sessions, self.turns, self.clients, self.agents.providers)

    @cached_property
    def residency(self) -> Residency:
        settings = self.settings
        bounds = Bounds(settings.resident_sessions, settings.rest_seconds, close=settings.close_timeout)
        loading, running = self.driver.loading, self.conversation.running
        return Residency(self.core, loading, running, self.ends, self.hooks, self.clock, bounds)

    @cached_property
    def drafts(self) -> Drafts:
        drafts = Drafts(self.core, self.sessions.dispose, self.clock, seconds=self.settings.draft_seconds)
        self.sessions.when_created(drafts.created)
        return drafts

    @cached_property
    def counters(self) -> trackers.Counters:
        return trackers.Counters()

    @cached_property
    def quiet_turns(self) -> trackers.Turns:
        return trackers.Turns(self.core, self.conversation.running, self.counters, self.clock)

    @property
    def watches(self) -> Mapping[str, Watch]:
        """The long-lived pieces of work, by name."""
        return {
            "client grace periods": self.clients.watch,
            "residency": self.residency.watch,
            "unused drafts": self.drafts.watch,
            "quiet turns": self.quiet_turns.watch,
        }

    # -- commands and services -----------------------------------------------------------------------------------

    @property
    def handlers(self) -> dict[str, Handler]:
        """The table of commands."""
        tables = (
            StandardCommands(self.sessions, self.chats),
            self._extensions,
            self.found.commands,
            self.terminals,
            Completing(self.core, self.commands.prefixes, self.outside.ground.files),
            Folders(self.core, self.outside.ground.files, self._places),
            ChangesetCommands(self.changes),
            Adoption(self.core, self.sessions, self.hydrator, self.clock, self.ids),
            ChatSettings(self.core),
        )
        return {method: handler for table in tables for method, handler in table.table().items()}

    @property
    def _places(self) -> list[str]:
        return [place for place in (self.outside.ground.home, self.settings.directory) if place]

    @property
    def _extensions(self) -> Extensions:
        outside, conversation = self.outside, self.conversation
        return Extensions(
            self.core,
            self.servers,
            outside.mcp,
            outside.gateway,
            conversation.running,
            self.clock,
            self.settings,
            conversation.client_language,
            outside.settings,
            self.agents.changed,
            self.counters.all,
        )

    def offer_services(self) -> None:
        """Everything that contributions may ask for, before one of them is constructed (K7)."""
        outside = self.outside
        offered: dict[type[Any], object] = {
            HostBridge: Bridge(self.core, self.admission, self.clock, self.ids, outside.launch),
            Channels: HostChannels(self.core),
            SessionTitles: self.titles,
            Clock: self.clock,
            Files: outside.ground.files or NoFiles(),
            PullRequests: outside.pull_requests,
            Providers: HostProviders(self.core, self.agents, self.steering),
            Configuration: HostConfiguration(self.core, outside.options),
            TurnTracker: self.quiet_turns,
            ToolCallTracker: trackers.ToolCalls(self.counters),
            Telemetry: self.counters,
            LocalCommands: self.commands,
            Customizations: self.found.all,
            Declarations: outside.declarations,
            TurnChanges: self.changes or NoChanges(),
            WorktreeIsolation: self.isolation,
        }
        for type_, service in offered.items():
            self.services.add(type_, service)
