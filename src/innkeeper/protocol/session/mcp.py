"""An MCP server as a session shows it: its state machine, what it asks for, what its apps may use (AHP §10.2, §10.3).

Part of `session.state`, apart so that chats can use `McpAuthRequirement` without a cycle of imports.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.common.state import ErrorInfo, ProtectedResourceMetadata
from innkeeper.protocol.types import NotRequired, Presence, ReadOnly, TypedDict

McpServerStatus: TypeAlias = Literal["starting", "ready", "authRequired", "error", "stopped"] | str
McpAuthRequiredReason: TypeAlias = Literal["required", "expired", "insufficientScope"] | str


class McpServerStartingState(TypedDict):
    """Being started; `blocking` holds the next turn back."""

    kind: ReadOnly[Literal["starting"]]
    blocking: NotRequired[ReadOnly[bool]]


class McpServerReadyState(TypedDict):
    """Connected."""

    kind: ReadOnly[Literal["ready"]]


class McpOAuthClient(TypedDict):
    """A registered OAuth client, to be used instead of dynamic registration; no secret for a public one."""

    clientId: ReadOnly[str]
    clientSecret: NotRequired[ReadOnly[str]]


class McpAuthRequirement(TypedDict):
    """Which token is wanted and why; `requiredScopes` binds the next request."""

    reason: ReadOnly[McpAuthRequiredReason]
    oauthClient: NotRequired[ReadOnly[McpOAuthClient]]
    resource: ReadOnly[ProtectedResourceMetadata]
    requiredScopes: NotRequired[ReadOnly[Sequence[str]]]
    description: NotRequired[ReadOnly[str]]


class McpServerAuthRequiredState(McpAuthRequirement):
    """Waits for a token."""

    kind: ReadOnly[Literal["authRequired"]]


class McpServerErrorState(TypedDict):
    """Could not be started, or broke."""

    kind: ReadOnly[Literal["error"]]
    error: ReadOnly[ErrorInfo]


class McpServerStoppedState(TypedDict):
    """Not running, on purpose."""

    kind: ReadOnly[Literal["stopped"]]


McpServerState: TypeAlias = (
    McpServerStartingState
    | McpServerReadyState
    | McpServerAuthRequiredState
    | McpServerErrorState
    | McpServerStoppedState
)


class ListChangedCapability(TypedDict):
    """Whether changes of a list are announced."""

    listChanged: NotRequired[ReadOnly[bool]]


class SamplingCapability(TypedDict):
    """Whether a sampling request may carry tools."""

    tools: NotRequired[ReadOnly[Presence]]


class AhpMcpUiHostCapabilities(TypedDict):
    """What of MCP the side channel of a server serves to an app."""

    serverTools: NotRequired[ReadOnly[ListChangedCapability]]
    serverResources: NotRequired[ReadOnly[ListChangedCapability]]
    logging: NotRequired[ReadOnly[Presence]]
    sampling: NotRequired[ReadOnly[SamplingCapability]]


class McpServerCustomizationApps(TypedDict):
    """Apps of a server."""

    capabilities: ReadOnly[AhpMcpUiHostCapabilities]
