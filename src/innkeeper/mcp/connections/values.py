"""What a connection is, has and says (M7.6, AHP §10.2). No value here holds a secret."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from innkeeper.limits import SERVER_START_SECONDS
from innkeeper.protocol.session.state import McpAuthRequirement, ToolDefinition

JsonObject = Mapping[str, object]

Use = Literal["began", "answered", "idle"]
"""What happens to requests of a connection: one began, one was answered with success, none runs any more."""


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """`code` is a row of the error table; `detail` says more without a value: an exit code, an HTTP status."""

    kind: Literal["starting", "ready", "authRequired", "error", "stopped"]
    code: str | None = None
    detail: str | None = None
    requirement: McpAuthRequirement | None = None
    """Which token is wanted; with `authRequired` only."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the server offers, as last listed (M5.7)."""

    instructions: str | None = None
    tools: Sequence[ToolDefinition] = ()
    resources: Sequence[JsonObject] = ()
    templates: Sequence[JsonObject] = ()
    prompts: Sequence[JsonObject] = ()
    features: frozenset[str] = frozenset()
    """Capabilities that the server has stated."""


@dataclass(frozen=True, slots=True)
class RawResult:
    """A tool's result as the server gave it: content blocks in MCP's shape."""

    content: Sequence[JsonObject]
    is_error: bool
    structured: JsonObject | None = None
    whole: JsonObject = field(default_factory=dict)
    """The result with everything in it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. `start` bounds spawn, handshake and first listing; `stop` the polite end of an HTTP session."""

    start: float = SERVER_START_SECONDS
    stop: float = 2.0


class ConnectionLost(Exception):
    """The connection ended before the answer came, or there is none. Whether the server did the work is unknown; it is
    not asked again. `code` is a row of the error table."""

    def __init__(self, server: str = "", code: str = "CONNECTION_LOST") -> None:
        super().__init__(server)
        self.code = code


class CallFailed(Exception):
    """The server answered with a JSON-RPC error, or with something that is no answer. The text is the server's own."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class TokenWanted(Exception):
    """The server refused the call for want of a token, before it did anything, and none came."""


class StartFailed(Exception):
    """The connection did not come about."""

    def __init__(self, state: ConnectionState) -> None:
        super().__init__(state.code)
        self.state = state


@dataclass(slots=True)
class Signals:
    """What the transport noticed, for the owner task: that it ended, and the last refusal of an HTTP server."""

    ended: list[ConnectionState] = field(default_factory=list)
    http_status: int | None = None
