"""What asks people, and what the host needs from outside: both exist before the host is joined (architecture §3.9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from innkeeper.host.approvals import Approvals, Approving
from innkeeper.host.asking import sender
from innkeeper.host.changesets.service import ChangesOutside
from innkeeper.host.core import Core, DriverCore
from innkeeper.host.customizations.service import Ground
from innkeeper.host.driver import Driver
from innkeeper.host.questions import ConversationQuestions
from innkeeper.host.running import RunningTurns
from innkeeper.host.settings import HostSettings
from innkeeper.host.views import active_turn
from innkeeper.host.waits import Waits
from innkeeper.host.worktrees import WorktreesOutside
from innkeeper.ports.attachments import AttachmentStore, NoAttachments
from innkeeper.ports.clock import Clock
from innkeeper.ports.contributed import Launch
from innkeeper.ports.declarations import Declarations
from innkeeper.ports.ids import Ids
from innkeeper.ports.local_commands import LocalCommands
from innkeeper.ports.mcp import McpGateway, McpServers
from innkeeper.ports.pull_requests import NoPullRequests, PullRequests
from innkeeper.ports.questions import Caller, Rules
from innkeeper.ports.records import MemoryRecords, Records
from innkeeper.ports.settings import SettingsService
from innkeeper.ports.terminals import NoTerminals, Terminals
from innkeeper.providers.spi import Provider
from innkeeper.texts import Lang, negotiate


class Conversation:
    """What asks people, built on the driver before the gateway and the agents that need it."""

    def __init__(self, driver: Driver, settings: HostSettings, approving: Approving | None = None) -> None:
        self._settings = settings
        self._locale = driver.hub.client_locale
        self.core: Core = DriverCore(driver)
        self.waits = Waits()
        self.running = RunningTurns()
        self.questions = ConversationQuestions(
            self.core, self.waits, self.running, timeout=settings.question_timeout, now=driver.now
        )
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
    attachments: AttachmentStore = field(default_factory=NoAttachments)
    """Snapshots of what only a client can read."""
