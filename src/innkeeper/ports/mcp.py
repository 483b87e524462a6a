"""MCP servers as the host and the providers see them (architecture §5, M5.1-M5.8, M6.1-M6.9).

`McpServers` is the host's side: what a session declares, which servers run, in which state. `McpGateway` is what a
provider calls: every call passes enablement, deny rules, gate and project filter, whoever makes it (M6.9).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from innkeeper.ports.decisions import DecisionOp
from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.protocol.session.state import CustomizationEnablement, McpServerCustomization, ToolDefinition

JsonObject = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The tools of one enabled, connected server, as the agent may see them."""

    server: str
    customization_id: str
    tools: Sequence[ToolDefinition]


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
    """connected, connecting, stopped, failed, not allowed, disabled, invalid, needs a new grant."""
    reason: str | None
    pid: int | None
    tools: Sequence[str]
    command: Sequence[str]
    """What runs on connect, variables unexpanded; empty for http."""


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


@dataclass(frozen=True, slots=True)
class TogglePlan:
    """What a toggle stores and publishes; nothing has changed yet (C2.3, C8.1)."""

    ops: Sequence[DecisionOp]
    enablement: Sequence[CustomizationEnablement]
    """The complete resolved set that the host publishes."""


class ToggleRefused(Exception):
    """The set cannot be stored; the text is the rejection reason (C3.3, C8.1)."""


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

    async def allow(self, session: str, id: str) -> None:
        """A person lets this declaration start by itself in this workspace from now on (M4.2b); starts nothing now.
        Durable when it returns."""
        ...

    async def revoke(self, session: str, id: str) -> None:
        """Take `allow` back; what nothing else allows is disconnected (M5.8)."""
        ...

    def plan_toggle(
        self, session: str, id: str, enablement: Sequence[CustomizationEnablement], now: str
    ) -> TogglePlan | None:
        """The durable form of a complete set; None when `id` is no server of the session. Raises ToggleRefused."""
        ...

    async def reconcile(self, session: str) -> None:
        """Apply enablement and policy now: what is off or not allowed stops. What became allowed starts with the next
        request."""
        ...

    def findings(self, session: str) -> Sequence[DeclarationFinding]: ...

    def report(self, session: str) -> Sequence[ServerReport]: ...

    async def close(self) -> None: ...


class McpGateway(Protocol):
    """Every method raises McpRefused where the server is unknown, off, pending or not connected."""

    def tools(self, session: str) -> Sequence[ServerTools]: ...

    def instructions(self, session: str) -> Mapping[str, str]:
        """Server name to what the connected server says about its use (M5.7)."""
        ...

    async def call_tool(self, caller: Caller, server: str, tool: str, arguments: JsonObject) -> ToolCallResult:
        """Gate, filter, then call once: never replayed (M7.5). A denial is an unsuccessful result with its reason."""
        ...

    async def call_tool_by_person(self, session: str, server: str, tool: str, arguments: JsonObject) -> ToolCallResult:
        """A call that a person makes through the CLI or the page counts as their Allow once (M6.9)."""
        ...

    async def list_resources(self, session: str, server: str) -> Sequence[JsonObject]: ...

    async def read_resource(self, session: str, uri: str, server: str | None = None) -> Sequence[JsonObject]: ...

    async def list_prompts(self, session: str, server: str) -> Sequence[JsonObject]: ...

    async def get_prompt(self, session: str, server: str, name: str, arguments: Mapping[str, str]) -> JsonObject: ...


class McpRefused(Exception):
    """The server cannot be used now. `code` is a row of the error table."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
