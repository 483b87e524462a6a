"""Commands about the connection, subscriptions, tokens (AHP §2, §4); `common.resources` has those about files.

Every name of AHP Appendix A, `common/commands`, can be imported from here.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from innkeeper.protocol.common.actions import ActionEnvelope, DispatchActionParams
from innkeeper.protocol.common.capabilities import (
    AutomationCapabilities,
    AutomationCreateCapability,
    AutomationCustomizationsCapability,
    AutomationRunCancellationCapability,
    AutomationScheduleCapabilities,
    ClientCapabilities,
    Implementation,
)
from innkeeper.protocol.common.flow import FlowControlAccepted, FlowControlOffer, ReconnectWindows, RecoveredWindows
from innkeeper.protocol.common.params import (
    AutomationsParams,
    BaseParams,
    GlobList,
    PaginatedParams,
    PaginatedResult,
    RootParams,
)
from innkeeper.protocol.common.resources import (
    ContentEncoding,
    DirectoryEntry,
    DirectoryEntryType,
    ResourceCopyParams,
    ResourceCopyResult,
    ResourceDeleteParams,
    ResourceDeleteResult,
    ResourceListParams,
    ResourceListResult,
    ResourceMkdirParams,
    ResourceMkdirResult,
    ResourceMoveParams,
    ResourceMoveResult,
    ResourceReadParams,
    ResourceReadResult,
    ResourceRequestParams,
    ResourceRequestResult,
    ResourceResolveParams,
    ResourceResolveResult,
    ResourceType,
    ResourceWriteMode,
    ResourceWriteParams,
    ResourceWriteResult,
)
from innkeeper.protocol.common.snapshot import Snapshot
from innkeeper.protocol.otlp.state import TelemetryCapabilities
from innkeeper.protocol.types import URI, Closed, Meta, NotRequired, Presence, ReadOnly, TypedDict

__all__ = [
    "ActionEnvelope",
    "AuthenticateParams",
    "AuthenticateResult",
    "AutomationCapabilities",
    "AutomationCreateCapability",
    "AutomationCustomizationsCapability",
    "AutomationRunCancellationCapability",
    "AutomationScheduleCapabilities",
    "AutomationsParams",
    "BaseParams",
    "ChannelSnapshotParams",
    "ClientCapabilities",
    "ContentEncoding",
    "DirectoryEntry",
    "DirectoryEntryType",
    "DispatchActionParams",
    "GlobList",
    "Implementation",
    "InitializeParams",
    "InitializeResult",
    "PaginatedParams",
    "PaginatedResult",
    "PingParams",
    "ReconnectParams",
    "ReconnectReplayResult",
    "ReconnectResult",
    "ReconnectResultType",
    "ReconnectSnapshotResult",
    "ResourceCopyParams",
    "ResourceCopyResult",
    "ResourceDeleteParams",
    "ResourceDeleteResult",
    "ResourceListParams",
    "ResourceListResult",
    "ResourceMkdirParams",
    "ResourceMkdirResult",
    "ResourceMoveParams",
    "ResourceMoveResult",
    "ResourceReadParams",
    "ResourceReadResult",
    "ResourceRequestParams",
    "ResourceRequestResult",
    "ResourceResolveParams",
    "ResourceResolveResult",
    "ResourceType",
    "ResourceWriteMode",
    "ResourceWriteParams",
    "ResourceWriteResult",
    "RootParams",
    "Snapshot",
    "SubscribeParams",
    "SubscribeResult",
    "SubscribeView",
    "SubscriptionDeliveryOptions",
    "TelemetryCapabilities",
    "UnsubscribeParams",
]

ReconnectResultType: TypeAlias = Literal["replay", "snapshot"]


class InitializeParams(RootParams):
    """First request of a new client: versions it speaks, best first, and what it wants to be subscribed to."""

    protocolVersions: ReadOnly[Sequence[str]]
    clientId: ReadOnly[str]
    clientInfo: NotRequired[ReadOnly[Implementation]]
    initialSubscriptions: NotRequired[ReadOnly[Sequence[URI]]]
    locale: NotRequired[ReadOnly[str]]
    capabilities: NotRequired[ReadOnly[ClientCapabilities]]


class InitializeResult(TypedDict):
    """The version chosen, the number of the last envelope, and a snapshot for each subscription with a state.

    `steeringMessages` and `tcpConnections` are 1.1-dev (AHP §12).
    """

    protocolVersion: ReadOnly[str]
    serverSeq: ReadOnly[int]
    serverInfo: NotRequired[ReadOnly[Implementation]]
    _meta: NotRequired[ReadOnly[Meta]]
    snapshots: ReadOnly[Sequence[Snapshot]]
    defaultDirectory: NotRequired[ReadOnly[URI]]
    completionTriggerCharacters: NotRequired[ReadOnly[Sequence[str]]]
    terminalCommandPrefix: NotRequired[ReadOnly[str]]
    telemetry: NotRequired[ReadOnly[TelemetryCapabilities]]
    automations: NotRequired[ReadOnly[AutomationCapabilities]]
    steeringMessages: NotRequired[ReadOnly[Presence]]
    tcpConnections: NotRequired[ReadOnly[Presence]]


class PingParams(RootParams):
    """Answered with `null` at any time."""


class ReconnectParams(RootParams):
    """First request of a client that was here before. `windows` is 1.1-dev (AHP §12.3)."""

    clientId: ReadOnly[str]
    lastSeenServerSeq: ReadOnly[int]
    subscriptions: ReadOnly[Sequence[URI]]
    windows: NotRequired[ReadOnly[ReconnectWindows]]


class ReconnectReplayResult(TypedDict):
    """All that was missed, in order; `missing` are subscriptions that cannot go on."""

    type: ReadOnly[Literal["replay"]]
    actions: ReadOnly[Sequence[ActionEnvelope]]
    missing: ReadOnly[Sequence[URI]]
    windows: NotRequired[ReadOnly[RecoveredWindows]]


class ReconnectSnapshotResult(TypedDict):
    """Too much was missed; a subscription without a snapshot is gone."""

    type: ReadOnly[Literal["snapshot"]]
    snapshots: ReadOnly[Sequence[Snapshot]]
    windows: NotRequired[ReadOnly[RecoveredWindows]]


ReconnectResult: TypeAlias = Annotated[ReconnectReplayResult | ReconnectSnapshotResult, Closed]


class SubscribeView(TypedDict):
    """About how many of the newest ended turns are wanted."""

    turns: NotRequired[ReadOnly[int]]


class SubscriptionDeliveryOptions(TypedDict):
    """How long the host may hold actions back to send fewer; 0 is not at all."""

    maxLatencyMs: NotRequired[ReadOnly[int]]


class SubscribeParams(BaseParams):
    """Subscribes to `channel`. `flowControl` is 1.1-dev (AHP §12.3)."""

    delivery: NotRequired[ReadOnly[SubscriptionDeliveryOptions]]
    view: NotRequired[ReadOnly[SubscribeView]]
    flowControl: NotRequired[ReadOnly[FlowControlOffer]]


class SubscribeResult(TypedDict):
    """The state, unless the channel has none or it comes framed (`flowControl`, 1.1-dev)."""

    snapshot: NotRequired[ReadOnly[Snapshot]]
    flowControl: NotRequired[ReadOnly[FlowControlAccepted]]


class ChannelSnapshotParams(TypedDict):
    """A snapshot, as the framed content of a windowed subscription. 1.1-dev (AHP §12.3)."""

    channel: ReadOnly[URI]
    snapshot: ReadOnly[Snapshot]


class AuthenticateParams(RootParams):
    """A token for a resource; an empty one takes it back. `expiresIn` is in seconds from now."""

    resource: ReadOnly[str]
    token: ReadOnly[str]
    expiresIn: NotRequired[ReadOnly[int]]
    scopes: NotRequired[ReadOnly[Sequence[str]]]


class AuthenticateResult(TypedDict):
    """Accepted."""


class UnsubscribeParams(TypedDict):
    """Ends the subscription to `channel`."""

    channel: ReadOnly[URI]
