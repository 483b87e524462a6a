"""The composition root: the only place that constructs adapters and joins them (architecture §3.9).

Rules
* One composition for every mode. A mode is a set of `Parts`; `quiet` swaps exactly those named in `SWAPPED`, and a test
  compares the two graphs.
* Joined from the inside out: log, hub, driver, what asks people, MCP, agents, host. Nothing runs before `Host.start`.
* A start that fails closes what it had opened, and says why with a row of the error table.
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from innkeeper._version import running_version
from innkeeper.app.agents import FOLDER as AGENT_FOLDERS
from innkeeper.app.agents import AgentSource, QuietAgents
from innkeeper.app.approving import approving
from innkeeper.app.oauth_clients import registered_clients
from innkeeper.app.preferences import Preferences, SettingsFollower
from innkeeper.contributions.builtin import activate
from innkeeper.customizations.discovery import PluginRoot
from innkeeper.edge.peer import Attach
from innkeeper.engine.hub import Hub
from innkeeper.engine.settings import HubSettings
from innkeeper.errors import HostError
from innkeeper.host.agent_tokens import AgentTokens
from innkeeper.host.agent_writes import AgentWriteRecord
from innkeeper.host.approvals import Approving
from innkeeper.host.archiving import ArchivedSessions
from innkeeper.host.authentication import AUTHENTICATION_METHODS, TokenCommands, TokenNotices, WaitingCalls
from innkeeper.host.changesets.service import ChangesOutside
from innkeeper.host.completing import TRIGGERS
from innkeeper.host.customizations.service import Ground
from innkeeper.host.declaration_watch import DeclarationWatch
from innkeeper.host.driver import Driver
from innkeeper.host.editing_commands import EDITING_METHODS, EditingCommands
from innkeeper.host.grant_commands import GRANT_METHODS, GrantCommands
from innkeeper.host.local_commands.words import PREFIX
from innkeeper.host.policy import HostPolicy
from innkeeper.host.service import HOST_METHODS, Conversation, HostService, Outside
from innkeeper.host.setting_commands import SETTING_METHODS, SettingCommands
from innkeeper.host.settings import HostSettings
from innkeeper.host.worktrees import WorktreesOutside
from innkeeper.mcp.authorship import ForgetfulMemory, HoldMemory
from innkeeper.mcp.connections.values import Limits as StartLimits
from innkeeper.mcp.editor import LOCATIONS
from innkeeper.mcp.endpoint.endpoints import Endpoints
from innkeeper.mcp.gateway import Gateway
from innkeeper.mcp.held_file import GRANTED, HELD, GrantedFile, HeldFile
from innkeeper.mcp.judging import GrantedMemory
from innkeeper.mcp.oauth.files import FILE_NAME as TOKENS
from innkeeper.mcp.oauth.keyrings import standard_store
from innkeeper.mcp.oauth.service import Authorization
from innkeeper.mcp.oauth.store import MemoryTokens, TokenStore
from innkeeper.mcp.servers import ProjectServers
from innkeeper.ports.attachments import AttachmentStore, NoAttachments
from innkeeper.ports.clock import Clock
from innkeeper.ports.contributed import Launch
from innkeeper.ports.edits import EditStore, MemoryEdits
from innkeeper.ports.git import Git
from innkeeper.ports.ids import Ids
from innkeeper.ports.log import Log, LogImage, StoreError
from innkeeper.ports.mcp_editing import DeclarationEditor
from innkeeper.ports.notes import MemoryNotes, Notes
from innkeeper.ports.paths import PathFacts
from innkeeper.ports.processes import Processes
from innkeeper.ports.questions import Caller
from innkeeper.ports.records import MemoryRecords, Records
from innkeeper.ports.settings import SettingsService
from innkeeper.ports.terminals import NoTerminals, Terminals
from innkeeper.providers.spi import Provider
from innkeeper.settings.config import Settings
from innkeeper.settings.inputs import secret_variables
from innkeeper.settings.memory import MemorySettings
from innkeeper.store.sqlite import SqliteLog
from innkeeper.texts import negotiate
from innkeeper.wire.limits import Limits
from innkeeper.workspace.attachment_files import AttachmentFiles
from innkeeper.workspace.edit_files import FOLDER as SESSIONS
from innkeeper.workspace.edit_files import EditFiles
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.git import LocalGit
from innkeeper.workspace.git.folders import LocalFolders
from innkeeper.workspace.git.local import GitLimits
from innkeeper.workspace.note_file import NoteFile
from innkeeper.workspace.paths import LocalPaths
from innkeeper.workspace.plugin_copies import LocalPluginCopies
from innkeeper.workspace.processes import LocalProcesses
from innkeeper.workspace.pull_requests import GhPullRequests
from innkeeper.workspace.record_file import FILE_NAME as RECORDS
from innkeeper.workspace.record_file import RecordFile
from innkeeper.workspace.system import RandomIds, SystemClock
from innkeeper.workspace.terminals import LocalTerminals
from innkeeper.workspace.watches import LocalWatches

log = logging.getLogger(__name__)

DATABASE: Final = "innkeeper.db"
CLIENT_PLUGINS: Final = "client-plugins"
ORPHANS: Final = "orphans.json"
ATTACHMENTS: Final = "attachments"
WORKTREES: Final = "worktrees.json"
SWAPPED: Final = frozenset({"agents"})
"""The parts that `quiet` may swap: the agents beside the console."""

TerminalSource = Callable[[Mapping[str, str], Collection[str]], Terminals]
"""Terminals with the shell of an environment; the names are of variables that no shell gets."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The adapters of one host, unjoined."""

    store: Log
    processes: Processes
    clock: Clock
    ids: Ids
    agents: AgentSource
    tokens: TokenStore = field(default_factory=MemoryTokens)
    """What this host signed in for."""
    holds: HoldMemory = field(default_factory=ForgetfulMemory)
    """Declarations that agents wrote and nobody has confirmed."""
    granted: GrantedMemory | None = None
    """What declarations said when a person allowed them."""
    ground: Ground = field(default_factory=Ground)
    """Where customizations are looked for; the home comes with the environment."""
    records: Records = field(default_factory=MemoryRecords)
    """Of what reached agents."""
    terminals: "TerminalSource" = lambda _environment, _withheld: NoTerminals()
    locations: Notes = field(default_factory=MemoryNotes)
    """Where declarations were written last."""
    edits: EditStore = field(default_factory=MemoryEdits)
    """What turns did to files."""
    paths: PathFacts = field(default_factory=LocalPaths)
    """Where paths lead, for the approval rules."""
    attachments: str | None = None
    """The directory of snapshots of what was attached: no tool writes there."""
    git: Git | None = None
    """Without it every session works in its folder."""
    worktrees: Notes = field(default_factory=MemoryNotes)
    """The record of the worktrees that this host made."""


def standard_parts(database: Path, settings: Settings, *, quiet: bool) -> Parts:
    """The adapters of this machine."""
    processes, clock = LocalProcesses(), SystemClock()
    times = GitLimits(settings.limits["git_seconds"], settings.limits["git_checkout_seconds"])
    return Parts(
        store=SqliteLog(
            database,
            durability=settings.durability,
            replay_envelopes=int(settings.limits["replay_envelopes"]),
            replay_bytes=int(settings.limits["replay_bytes"]),
        ),
        processes=processes,
        clock=clock,
        ids=RandomIds(),
        agents=QuietAgents() if quiet else _agents(database, settings, processes, clock),
        tokens=standard_store(database.with_name(TOKENS)),
        holds=HeldFile(database.with_name(HELD)),
        granted=GrantedFile(database.with_name(GRANTED)),
        ground=Ground(
            LocalFiles(),
            LocalWatches(),
            copies=LocalPluginCopies(database.with_name(CLIENT_PLUGINS)),
            orphans=NoteFile(database.with_name(ORPHANS)),
        ),
        records=RecordFile(database.with_name(RECORDS)),
        edits=EditFiles(database.with_name(SESSIONS)),
        terminals=lambda environment, withheld: LocalTerminals(processes.guard, environment, withheld=withheld),
        locations=NoteFile(database.with_name(LOCATIONS)),
        attachments=str(database.with_name(ATTACHMENTS)),
        git=LocalGit(os.environ, processes.guard, times),
        worktrees=NoteFile(database.with_name(WORKTREES)),
    )


def _agents(database: Path, settings: Settings, processes: Processes, clock: Clock) -> AgentSource:
    return AgentSource(database.with_name(AGENT_FOLDERS), settings, processes, clock)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a host is told of where it runs."""

    settings: Settings
    environment: Mapping[str, str]
    directory: Path
    """Offered to clients as the first place to work in."""
    questions: bool = True
    launch: Launch = "embedded"
    live: SettingsService | None = None
    """The hot settings as they change; without it those of `settings` hold."""
    inputs: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The values of `input` variables: secrets."""


class Host:
    """One host, joined. `attach` is its door for every edge."""

    def __init__(self, parts: Parts, image: LogImage, given: Circumstances) -> None:
        settings = given.settings
        policy = HostPolicy()
        methods = HOST_METHODS | AUTHENTICATION_METHODS | SETTING_METHODS | EDITING_METHODS | GRANT_METHODS
        hub = Hub(image, settings=_hub_settings(given), policy=policy, methods=methods)
        self.driver = Driver(
            hub,
            parts.store,
            parts.clock,
            decisions=image.decisions,
            limits=Limits(int(settings.limits["message_bytes"]), int(settings.limits["message_depth"])),
            idle_seconds=settings.limits["chat_idle_seconds"],
        )
        host_settings = _host_settings(given)
        conversation = Conversation(self.driver, host_settings, _approving(parts, given))
        self._processes, self._git = parts.processes, parts.git
        self._authorization = _join_tokens(conversation, parts, given)
        live = given.live or MemorySettings(started=settings)
        preferences = Preferences(live, settings, given.inputs, given.environment)
        self._servers, gateway = _join_mcp(self.driver, conversation, parts, given, self._authorization, preferences)
        self._endpoints = _join_endpoints(self._servers, gateway, conversation, parts.ids)
        providers = parts.agents.providers(gateway, self._endpoints, parts.ids, given.environment)
        outside = _outside(parts, given, providers, self._servers, gateway, live)
        tokens = TokenCommands(conversation.core, AgentTokens(providers, self._authorization))
        chosen = SettingCommands(live, conversation.client_language, open_to_clients=settings.web_control)
        editing = _editing(conversation, parts, given, self._servers, preferences)
        grants = self._grants(conversation, open_to_clients=settings.web_control)
        own = {**tokens.table(), **chosen.table(), **editing.table(), **grants.table()}
        self.service = HostService(self.driver, conversation, outside, policy, host_settings, extra=own)
        self._follow = SettingsFollower(live, self._servers.refresh_all, conversation.core)
        self._tell_each_other(editing)
        activate(self.service.contributions, settings.contributions)

    def _grants(self, conversation: Conversation, *, open_to_clients: bool) -> GrantCommands:
        return GrantCommands(
            conversation.core,
            self._servers,
            lambda: self.driver.decisions,
            self.driver.store,
            conversation.client_language,
            open_to_clients=open_to_clients,
        )

    def _tell_each_other(self, editing: EditingCommands) -> None:
        """What can be said only once both ends are there."""
        editing.read_by(self.service.read_declarations)
        self._servers.publish_to(self.service.listener)
        self._servers.place_by(self.service.place)
        self._authorization.reconnect_by(self._servers.open_again)

    @property
    def attach(self) -> Attach:
        return self.driver.attach

    async def start(self) -> None:
        """Ready for clients when this returns."""
        self.driver.start()
        await self.service.start()

    async def close(self, seconds: float) -> None:
        """End turns, servers and processes, store everything. State stays as it is, for the next start."""
        self._follow.end()
        await self.service.close()
        await self._endpoints.close()
        await self._authorization.close()
        if self._git is not None:
            await self._git.close()
        await self._processes.close()
        await self.driver.close(seconds=seconds)


async def open_host(parts: Parts, given: Circumstances) -> Host:
    """Open the log and join a host on it. Raises HostError; the store is closed then."""
    try:
        image = await parts.store.open()
    except StoreError as error:
        raise HostError(error.code, **error.values) from error
    try:
        host = Host(parts, image, given)
        await host.start()
    except BaseException:
        await parts.store.close(last_seq=image.reserved)
        raise
    return host


def _editing(
    conversation: Conversation,
    parts: Parts,
    given: Circumstances,
    servers: ProjectServers,
    preferences: Preferences,
) -> EditingCommands:
    """Declaration files through a form; the same editor as the command line's."""

    def editor() -> DeclarationEditor:
        from innkeeper.mcp.editor.editor import Editor
        from innkeeper.mcp.editor.readback import Ground as EditGround
        from innkeeper.mcp.editor.remembered import Remembered
        from innkeeper.mcp.editor.service import EditorService

        ground = EditGround(preferences.reading, preferences.available)
        return EditorService(Editor(ground, preferences, Remembered(parts.locations)))

    return EditingCommands(
        conversation.core,
        servers,
        editor,
        conversation.running,
        conversation.client_language,
        open_to_clients=given.settings.web_control,
        operator_full=given.settings.access == "full",
    )


def _outside(
    parts: Parts,
    given: Circumstances,
    providers: Sequence[Provider],
    servers: ProjectServers,
    gateway: Gateway,
    live: SettingsService,
) -> Outside:
    settings = given.settings
    return Outside(
        providers=providers,
        mcp=servers,
        gateway=gateway,
        declarations=servers,
        clock=parts.clock,
        ids=parts.ids,
        settings=live,
        ground=_ground(parts, given),
        records=parts.records,
        changes=_changes(parts, given),
        terminals=parts.terminals(given.environment, secret_variables(settings.input_values)),
        options={
            **settings.contribution_settings,
            "generate_titles": settings.generate_titles,
            "rich_plan_links": settings.rich_plan_links,
            "github_references": settings.github_references,
        },
        launch=given.launch,
        pull_requests=GhPullRequests(given.environment),
        worktrees=_worktrees(parts, settings),
        attachments=_attachments(parts),
    )


def _ground(parts: Parts, given: Circumstances) -> Ground:
    plugins = tuple(PluginRoot(folder) for folder in given.settings.plugins)
    return replace(parts.ground, home=given.environment.get("HOME"), plugins=plugins)


def _worktrees(parts: Parts, settings: Settings) -> WorktreesOutside | None:
    if parts.git is None:
        return None
    return WorktreesOutside(parts.git, LocalFolders(), parts.worktrees, settings.isolation)


def _changes(parts: Parts, given: Circumstances) -> ChangesOutside | None:
    """What checkpoints and changesets work with; None without git and files."""
    if parts.git is None or parts.ground.files is None:
        return None
    seconds = given.settings.limits["git_seconds"]
    return ChangesOutside(parts.git, parts.edits, parts.ground.files, seconds=seconds)


def _attachments(parts: Parts) -> AttachmentStore:
    return NoAttachments() if parts.attachments is None else AttachmentFiles(Path(parts.attachments))


def _approving(parts: Parts, given: Circumstances) -> Approving:
    """The rules with the operator's own, on this machine; a session reads its own snapshots and no others."""
    store = _attachments(parts)
    return approving(given.settings, given.environment, parts.paths, parts.attachments, store.folder)


def _join_endpoints(servers: ProjectServers, gateway: Gateway, conversation: Conversation, ids: Ids) -> Endpoints:
    """What agents in processes of their own are given; it listens when the first one is (architecture §5)."""

    def current(session: str, subagent: str | None) -> Caller | None:
        turns = conversation.running.of_session(session)
        if not turns:
            return None
        newest = max(turns, key=lambda turn: turn.began)
        return Caller(session, newest.chat, newest.turn_id, ids.new(), subagent=subagent is not None)

    endpoints = Endpoints(gateway=gateway, current=current)
    servers.watch(endpoints.changed)
    gateway.log_to(endpoints.logged)
    return endpoints


def _join_tokens(conversation: Conversation, parts: Parts, given: Circumstances) -> Authorization:
    """The tokens of all servers; calls that wait for one are shown in their conversations."""
    core, waits, running = conversation.core, conversation.waits, conversation.running
    return Authorization(
        store=parts.tokens,
        clock=parts.clock,
        listener=TokenNotices(core),
        tools=WaitingCalls(core, waits, running, timeout=given.settings.gate_timeout),
        clients=registered_clients(given.settings, given.inputs),
        lang=negotiate(given.settings.language),
    )


def _join_mcp(
    driver: Driver,
    conversation: Conversation,
    parts: Parts,
    given: Circumstances,
    authorization: Authorization,
    settings: Preferences,
) -> tuple[ProjectServers, Gateway]:
    """The declared servers of all sessions, and the way to them."""
    writes = AgentWriteRecord(parts.clock)
    servers = ProjectServers(
        processes=parts.processes,
        clock=parts.clock,
        decisions=lambda: driver.decisions,
        store=driver.store,
        settings=settings,
        environment=given.environment,
        limits=StartLimits(start=given.settings.limits["server_start_seconds"]),
        authorization=authorization,
        writes=writes,
        holds=parts.holds,
        granted=parts.granted,
    )
    driver.observe(writes.observe)
    driver.observe(ArchivedSessions(conversation.core, servers).observe)
    driver.observe(DeclarationWatch(conversation.core, servers, LocalWatches()).observe)
    gateway = Gateway(
        servers=servers,
        questions=conversation.questions if given.questions else None,
        clock=parts.clock,
        decisions=lambda: driver.decisions,
        store=driver.store,
        settings=settings,
        full_access=conversation.full_access,
        rules=conversation.rules,
        language=conversation.language,
    )
    return servers, gateway


def _hub_settings(given: Circumstances) -> HubSettings:
    limits = given.settings.limits
    return HubSettings(
        server_version=running_version(),
        default_directory=given.directory.as_uri(),
        sequence_block=int(limits["sequence_block"]),
        fold_envelopes=int(limits["snapshot_every_envelopes"]),
        replay_envelopes=int(limits["replay_envelopes"]),
        replay_bytes=int(limits["replay_bytes"]),
        turn_page=int(limits["turn_page"]),
        completion_triggers=TRIGGERS,
        command_prefix=PREFIX,
    )


def _host_settings(given: Circumstances) -> HostSettings:
    settings = given.settings
    return HostSettings(
        version=running_version(),
        directory=str(given.directory),
        full_access=settings.access == "full",
        grace=settings.limits["client_grace_seconds"],
        resident_sessions=int(settings.limits["resident_sessions"]),
        questions=given.questions,
        question_timeout=settings.gate_timeout,
        language=settings.language,
    )
