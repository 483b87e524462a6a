"""MCP servers as the host and the providers see them (architecture §5, M5.1-M5.8, M6.1-M6.9).

`McpServers` is the host's side: what a session declares, which servers run, in which state. `McpGateway` is what a
provider calls: every call passes enablement, deny rules, gate and project filter, whoever makes it (M6.9).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.protocol.session.state import McpServerCustomization, ToolDefinition

JsonObject = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The tools of one enabled, connected server, as the agent may see them."""

    server: str
    customization_id: str
    tools: Sequence[ToolDefinition]


@dataclass(frozen=True, slots=True)
class DeclarationView:
    """What an entry says, fit to be shown: arguments and address masked, names instead of values (M4.2b)."""

    command: Sequence[str] = ()
    url: str | None = None
    environment: Sequence[str] = ()
    headers: Sequence[str] = ()
    directory: str | None = None


@dataclass(frozen=True, slots=True)
class ServerReport:
    """One declared server for `mcp list` and its `--json` (M7.6); never a value of env, headers or inputs."""

    id: str
    name: str
    file: str
    line: int
    transport: Literal["stdio", "http", "unknown"]
    enabled: bool
    allowed: bool
    status: str
    """connected, connecting, reconnecting, unverified, failed, stopped, not allowed, disabled, needs a new grant,
    written by an agent, invalid."""
    reason: str | None
    pid: int | None
    tools: Sequence[str]
    command: Sequence[str]
    """What runs on connect, variables unexpanded; empty for http."""
    allowed_by: str | None = None
    """trustMode, trustedWorkspace, allowance, grant, sessionGrant; None when it is not allowed."""
    directory: str | None = None
    """Key of the directory whose trust or grant applied, or whose grant a change made void (M4.1c)."""
    bare: bool = False
    """Allowed by a bare name or a directory, so that a change of the declaration counts not (M4.2b)."""
    selection: Literal["policy", "custom"] = "policy"
    """The session's, the same in each row (M4.3)."""
    attempt: int = 0
    """Failed tries in a row while it is reconnecting."""
    next_try: str | None = None
    """When the next try is due, as a timestamp."""
    confirmed_at: str | None = None
    """When an unverified server last answered, as a timestamp."""
    change_pending: bool = False
    """The file or policy says otherwise by now; that takes effect when none of its calls runs (M5.3)."""
    required: bool = False
    scope: Literal["project", "host"] = "project"
    present: DeclarationView | None = None
    """What the entry says now."""
    granted: DeclarationView | None = None
    """What it said when it was allowed, with *needs a new grant*, as far as this host still knows it."""
    granted_at: str | None = None
    switch_acts: Literal["now", "nextRequest"] = "now"
    """When the server's switch takes effect (M11.4): off at once while it is there, on when a request wants it."""


@dataclass(frozen=True, slots=True)
class DeclarationFinding:
    """What reading a declaration said (M1.8): `file` relative to the workspace, `line` one-based or 0 for the whole
    file, `server` None when it is about the file. Never a value."""

    severity: Literal["error", "note"]
    code: str
    message: str
    file: str
    line: int
    server: str | None


GateOutcome = Literal["pass", "allow", "ask", "deny"]
GateWhy = Literal[
    "notOurs",
    "sessionRule",
    "operatorRule",
    "projectFilter",
    "person",
    "fullAccess",
    "trustMode",
    "trustedWorkspace",
    "allowance",
    "grant",
    "noQuestions",
    "childAgent",
    "unanswerable",
    "askingRule",
    "unknown",
]
"""Why the gate decided as it did; docs/reference/gate.md says what each means."""


class ToolReport(NamedTuple):
    """One tool of a connected server, and what a call of the session's agent would meet now (M11.4)."""

    server: str
    tool: str
    qualified: str
    description: str | None
    tokens: int
    """An estimate: UTF-8 bytes of the definition that the agent is sent, by four."""
    outcome: GateOutcome
    why: GateWhy
    granted: str | None
    """When a person allowed it for good; None where nobody did, or the declaration has changed since."""
    switch_acts: Literal["now", "nextRequest"] = "now"
    """When allow, deny and revoke take effect: with the next call (M11.4)."""


class CallRecord(NamedTuple):
    """One call for the call log; never an argument or a result (M11.5)."""

    time: str
    tool: str
    by: Literal["agent", "child", "person"]
    outcome: Literal["ok", "failed", "refused", "cancelled"]
    code: str | None
    milliseconds: int
    sent: int
    """Bytes of the arguments, as JSON."""
    received: int
    """Bytes of the result, as JSON; 0 for a call that was not made."""


@dataclass(frozen=True, slots=True)
class ServerOffering:
    """Everything that a connected server offers an agent (M5.7), in MCP's shape and without what the project filter
    excludes (M6.7)."""

    id: str
    """Customization id."""
    name: str
    """As declared."""
    safe_name: str
    features: frozenset[str]
    """Capabilities that the server has stated: `tools`, `resources`, `prompts`, `logging`."""
    instructions: str | None
    tools: Sequence[ToolDefinition]
    resources: Sequence[JsonObject]
    templates: Sequence[JsonObject]
    prompts: Sequence[JsonObject]


class Exchange(Protocol):
    """What passes between an agent and a server while a call runs. Called on the event loop; only `elicit` raises."""

    @property
    def caller(self) -> Caller: ...

    @property
    def log_level(self) -> str | None:
        """The lowest level of log messages that the agent wants of this call; None: it has not said."""
        ...

    @property
    def wants_progress(self) -> bool: ...

    def began(self) -> None:
        """The gate has let the call through; it is made now."""
        ...

    async def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    async def elicit(self, request: JsonObject) -> JsonObject:
        """Put the server's elicitation, MCP's `params`, to a person; gives MCP's result. Raises ElicitationRefused."""
        ...

    def answered(self, result: JsonObject) -> None:
        """The server's result as it came, in MCP's shape, before it is translated for AHP."""
        ...


Logged = Callable[[str, str, JsonObject], Awaitable[None]]
"""Told a session, a server's id, and `params` of its `notifications/message`, which may hold anything (M7.7)."""


class ElicitationRefused(Exception):
    """The server's question is not put to anybody; the text is what the server is told."""


class ToggleRefused(Exception):
    """The set cannot be stored; the text is the rejection reason (C3.3, C8.1)."""


class AgentWrites(Protocol):
    """The host's record of what the tools of its agents wrote (M4.1b)."""

    def wrote(self, path: str, since: float, changed: float | None) -> bool:
        """Whether a tool call reported to have written the local file `path` after `since`, or whether a tool call ran
        at the time `changed`, the file's last change. Seconds since the epoch."""
        ...


class McpListener(Protocol):
    """What the host does with a session's servers. Called on the event loop; never raises."""

    def customizations_changed(self, session: str, customizations: Sequence[McpServerCustomization]) -> None: ...

    def state_changed(self, session: str, customization: McpServerCustomization) -> None: ...


class McpServers(Protocol):
    async def open_session(self, session: str, directory: str | None) -> Sequence[McpServerCustomization]:
        """Read the session's declarations; starts only what policy allows, and not before `prepare` or `start`.
        `directory` is the primary working directory's URI (M5.1). Never raises for a bad declaration."""
        ...

    async def close_session(self, session: str) -> None:
        """End the session's servers with their process trees and forget its grants (M5.6, M4.3). Idempotent."""
        ...

    async def start(self, session: str, id: str) -> None:
        """A person connects the server: an explicit grant for this session and this declaration (M4.2). Returns when
        the attempt has come to something (at most the start limit and the end of a process); the outcome is the state
        that the listener is told, also when nothing was started. Raises McpRefused for an unknown server."""
        ...

    async def stop(self, session: str, id: str) -> None:
        """A person disconnects it: sticky within the session (M4.2). The process tree is dead when it returns."""
        ...

    async def retry(self, session: str, id: str) -> None:
        """A person wants a try now of a server that may run. Grants nothing; returns as `start` does. Raises McpRefused
        for one that may not run."""
        ...

    async def stop_connecting(self, session: str, id: str) -> None:
        """A person ends the tries, or the connection that just came about: as sticky as `stop` (M7.1)."""
        ...

    async def follow_policy(self, session: str) -> None:
        """Back from a `custom` selection to what policy selects (M4.3). Starts nothing now."""
        ...

    async def confirm_file(self, session: str, file: str) -> None:
        """A person confirms what an agent wrote into the declaration file; policy decides about it again (M4.1b).
        `file` is relative to the workspace."""
        ...

    async def entered(self, session: str, server: str, fingerprint: str) -> None:
        """A person has entered this declaration in the editor: it is not an agent's, whatever ran meanwhile (M4.1b).
        `server` is the declared name. Nothing if the session's files say something else by now."""
        ...

    async def release_session(self, session: str) -> None:
        """The session is archived or let go: end its servers, forget nothing. They start by policy at its next request
        (M5.8)."""
        ...

    async def refresh(self, session: str, *, start: bool) -> None:
        """A declaration file, the trust settings or the editor changed something: read again and reconcile, between
        running calls (M5.3). `start` says that a turn runs, in which the change takes effect."""
        ...

    def declaration_files(self, session: str) -> Sequence[str]:
        """The local paths that a reading of the session looks at, whether there is a file or not."""
        ...

    def stderr(self, session: str, id: str) -> str:
        """The last 64 KiB of standard error of the server's process, secrets masked (M7.7); for a local user who asks.
        Raises McpRefused for an unknown server."""
        ...

    def look(self, session: str) -> None:
        """Somebody opened the panel of servers: what was not confirmed for five seconds is looked at (M7.4)."""
        ...

    async def allow(self, session: str, id: str) -> None:
        """A person lets this declaration start by itself in this workspace from now on (M4.2b); starts nothing now.
        Durable when it returns."""
        ...

    async def revoke(self, session: str, id: str) -> None:
        """Take `allow` back; what nothing else allows is disconnected (M5.8)."""
        ...

    async def reconcile(self, session: str) -> None:
        """Apply enablement and policy now: what is off or not allowed stops. What became allowed starts with the next
        request."""
        ...

    def findings(self, session: str) -> Sequence[DeclarationFinding]: ...

    def trust_directory(self, session: str) -> str | None:
        """The key of the directory to which trust and grants given in this session belong (M4.1c); None when nothing
        can be loaded from it."""
        ...

    def report(self, session: str) -> Sequence[ServerReport]: ...

    async def close(self) -> None: ...


class McpGateway(Protocol):
    """Every method raises McpRefused where the server is unknown, off, pending or not connected."""

    def tools(self, session: str) -> Sequence[ServerTools]: ...

    def instructions(self, session: str) -> Mapping[str, str]:
        """Server name to what the connected server says about its use (M5.7)."""
        ...

    def offering(self, session: str, server: str) -> ServerOffering: ...

    def log_to(self, logged: Logged) -> None:
        """Who gets the log messages of connected servers; set once."""
        ...

    async def call_tool(
        self, caller: Caller, server: str, tool: str, arguments: JsonObject, exchange: Exchange | None = None
    ) -> ToolCallResult:
        """Gate, filter, then call once: never replayed (M7.5). A denial is an unsuccessful result with its reason."""
        ...

    async def call_tool_by_person(
        self, session: str, server: str, tool: str, arguments: JsonObject, lang: str = "en"
    ) -> ToolCallResult:
        """A call that a person makes through the CLI or the page counts as their Allow once (M6.9)."""
        ...

    def survey(self, session: str, server: str | None = None) -> Sequence[ToolReport]:
        """The tools of the connected servers, or of one, and how the gate stands to each. Calls nothing."""
        ...

    def calls(self, session: str, server: str) -> Sequence[CallRecord]:
        """The last calls of a server, oldest first; also of one that is not connected."""
        ...

    async def allow_tool(self, session: str, server: str, tool: str) -> None:
        """A person allows the tool of a connected server for this workspace and this declaration (M4.2b, M6.1).
        Durable when it returns."""
        ...

    async def revoke_tool(self, session: str, server: str, tool: str) -> None:
        """Take that back; the server need not be connected."""
        ...

    async def list_resources(self, session: str, server: str) -> Sequence[JsonObject]: ...

    async def read_resource(self, session: str, uri: str, server: str | None = None) -> Sequence[JsonObject]: ...

    async def list_prompts(self, session: str, server: str) -> Sequence[JsonObject]: ...

    async def get_prompt(self, session: str, server: str, name: str, arguments: Mapping[str, str]) -> JsonObject: ...

    async def set_log_level(self, session: str, server: str, level: str) -> None:
        """The lowest level of log messages that the agents of the session want; the server may not know levels."""
        ...


class McpRefused(Exception):
    """The server cannot be used now. `code` is a row of the error table."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
