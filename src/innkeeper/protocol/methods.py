"""Every command and notification of AHP in one table (AHP §4, §5; `ping` and the rest of the handshake §2).

A row says who may send it, which channel it names, what it carries, and since when it exists. The `mcp://` side channel
carries MCP's own methods with `channel` added to their params (AHP §10.3); those are MCP's and not in the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from innkeeper.protocol.automation.commands import (
    FetchAutomationRunsParams,
    FetchAutomationRunsResult,
    ListAutomationTriggerDefinitionsParams,
    ListAutomationTriggerDefinitionsResult,
    RunAutomationParams,
    RunAutomationResult,
)
from innkeeper.protocol.changeset.commands import InvokeChangesetOperationParams, InvokeChangesetOperationResult
from innkeeper.protocol.chat.commands import CreateChatParams, DisposeChatParams, MoveChatParams, MoveChatResult
from innkeeper.protocol.common import commands as common
from innkeeper.protocol.common import flow
from innkeeper.protocol.common.actions import ActionEnvelope, DispatchActionParams
from innkeeper.protocol.common.notifications import AuthRequiredParams
from innkeeper.protocol.otlp.notifications import OtlpExportLogsParams, OtlpExportMetricsParams, OtlpExportTracesParams
from innkeeper.protocol.resource_watch.commands import CreateResourceWatchParams, CreateResourceWatchResult
from innkeeper.protocol.root.commands import (
    ListSessionsParams,
    ListSessionsResult,
    ResolveSessionConfigParams,
    ResolveSessionConfigResult,
    SessionConfigCompletionsParams,
    SessionConfigCompletionsResult,
)
from innkeeper.protocol.root.notifications import (
    ProgressParams,
    SessionAddedParams,
    SessionRemovedParams,
    SessionSummaryChangedParams,
)
from innkeeper.protocol.session.commands import (
    CompletionsParams,
    CompletionsResult,
    CreateSessionParams,
    DisposeSessionParams,
    FetchTurnsParams,
    FetchTurnsResult,
)
from innkeeper.protocol.tcp.commands import CreateTcpConnectionParams
from innkeeper.protocol.tcp.notifications import TcpDataParams, TcpEofParams
from innkeeper.protocol.terminal.commands import CreateTerminalParams, DisposeTerminalParams

MethodKind: TypeAlias = Literal["request", "notification"]
Direction: TypeAlias = Literal["to-host", "to-client", "both"]
ChannelRule: TypeAlias = Literal[
    "root", "automations", "session", "chat", "terminal", "changeset", "otlp", "tcp", "state", "any"
]
"""What `params.channel` names: a fixed channel, one of a kind, one that has a state, or any at all.

A method that creates something names the URI that the new thing gets.
"""


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """What the standard says about one method.

    `params` and `result` are declarations for `check.check`; `result` None is the answer `null`, and what a
    notification has. `capability` names what must have been declared before it is used.
    """

    name: str
    kind: MethodKind
    direction: Direction
    channel: ChannelRule
    params: object
    result: object = None
    since: str = "0.1.0"
    capability: str | None = None

    @property
    def from_client(self) -> bool:
        """Whether a client may send it to the host."""
        return self.direction != "to-client"

    @property
    def from_host(self) -> bool:
        """Whether the host may send it to a client."""
        return self.direction != "to-host"


def _command(
    name: str,
    channel: ChannelRule,
    params: object,
    result: object = None,
    since: str = "0.1.0",
    capability: str | None = None,
) -> MethodSpec:
    return MethodSpec(name, "request", "to-host", channel, params, result, since, capability)


def _file_command(name: str, params: object, result: object, since: str = "0.1.0") -> MethodSpec:
    return MethodSpec(name, "request", "both", "root", params, result, since)


def _notification(
    name: str,
    direction: Direction,
    channel: ChannelRule,
    params: object,
    since: str = "0.1.0",
    capability: str | None = None,
) -> MethodSpec:
    return MethodSpec(name, "notification", direction, channel, params, None, since, capability)


_CONNECTION: Final = (
    _command("initialize", "root", common.InitializeParams, common.InitializeResult),
    _command("ping", "root", common.PingParams),
    _command("reconnect", "root", common.ReconnectParams, common.ReconnectResult),
    _command("subscribe", "any", common.SubscribeParams, common.SubscribeResult),
    _command("authenticate", "root", common.AuthenticateParams, common.AuthenticateResult),
)

_SESSIONS: Final = (
    _command("listSessions", "root", ListSessionsParams, ListSessionsResult),
    _command("resolveSessionConfig", "root", ResolveSessionConfigParams, ResolveSessionConfigResult),
    _command("sessionConfigCompletions", "root", SessionConfigCompletionsParams, SessionConfigCompletionsResult),
    _command("createSession", "session", CreateSessionParams),
    _command("disposeSession", "session", DisposeSessionParams),
    _command("createChat", "session", CreateChatParams, since="0.4.0"),
    _command("moveChat", "chat", MoveChatParams, MoveChatResult, "0.9.0"),
    _command("disposeChat", "chat", DisposeChatParams, since="0.4.0"),
    _command("fetchTurns", "chat", FetchTurnsParams, FetchTurnsResult),
    _command("completions", "chat", CompletionsParams, CompletionsResult),
)

_OTHERS: Final = (
    _command("createTerminal", "terminal", CreateTerminalParams),
    _command("disposeTerminal", "terminal", DisposeTerminalParams),
    _command(
        "invokeChangesetOperation",
        "changeset",
        InvokeChangesetOperationParams,
        InvokeChangesetOperationResult,
        "0.2.0",
    ),
    _command(
        "listAutomationTriggerDefinitions",
        "root",
        ListAutomationTriggerDefinitionsParams,
        ListAutomationTriggerDefinitionsResult,
        "0.8.0",
        "automations",
    ),
    _command("runAutomation", "automations", RunAutomationParams, RunAutomationResult, "0.8.0", "automations"),
    _command(
        "fetchAutomationRuns",
        "automations",
        FetchAutomationRunsParams,
        FetchAutomationRunsResult,
        "0.8.0",
        "automations",
    ),
    _command("createTcpConnection", "tcp", CreateTcpConnectionParams, None, "1.1.0", "tcpConnections"),
)

_FILES: Final = (
    _file_command("resourceRead", common.ResourceReadParams, common.ResourceReadResult),
    _file_command("resourceWrite", common.ResourceWriteParams, common.ResourceWriteResult),
    _file_command("resourceList", common.ResourceListParams, common.ResourceListResult),
    _file_command("resourceCopy", common.ResourceCopyParams, common.ResourceCopyResult),
    _file_command("resourceMove", common.ResourceMoveParams, common.ResourceMoveResult),
    _file_command("resourceDelete", common.ResourceDeleteParams, common.ResourceDeleteResult),
    _file_command("resourceResolve", common.ResourceResolveParams, common.ResourceResolveResult),
    _file_command("resourceMkdir", common.ResourceMkdirParams, common.ResourceMkdirResult),
    _file_command("resourceRequest", common.ResourceRequestParams, common.ResourceRequestResult),
    _file_command("createResourceWatch", CreateResourceWatchParams, CreateResourceWatchResult, "0.2.0"),
)

_NOTIFICATIONS: Final = (
    _notification("dispatchAction", "to-host", "state", DispatchActionParams),
    _notification("unsubscribe", "to-host", "any", common.UnsubscribeParams),
    _notification("action", "to-client", "state", ActionEnvelope),
    _notification("root/sessionAdded", "to-client", "root", SessionAddedParams),
    _notification("root/sessionRemoved", "to-client", "root", SessionRemovedParams),
    _notification("root/sessionSummaryChanged", "to-client", "root", SessionSummaryChangedParams),
    _notification("root/progress", "to-client", "root", ProgressParams, "0.5.0"),
    _notification("auth/required", "to-client", "any", AuthRequiredParams),
    _notification("otlp/exportLogs", "to-client", "otlp", OtlpExportLogsParams, "0.2.0"),
    _notification("otlp/exportTraces", "to-client", "otlp", OtlpExportTracesParams, "0.2.0"),
    _notification("otlp/exportMetrics", "to-client", "otlp", OtlpExportMetricsParams, "0.2.0"),
    _notification("channel/frame", "both", "any", flow.ChannelFrameParams, "1.1.0", "flowControl"),
    _notification("channel/credit", "both", "any", flow.ChannelCreditParams, "1.1.0", "flowControl"),
    _notification("channel/reset", "both", "any", flow.ChannelResetParams, "1.1.0", "flowControl"),
    _notification("channel/ready", "to-client", "any", flow.ChannelReadyParams, "1.1.0", "flowControl"),
    _notification("channel/snapshot", "to-client", "any", common.ChannelSnapshotParams, "1.1.0", "flowControl"),
    _notification("tcp/data", "both", "tcp", TcpDataParams, "1.1.0", "tcpConnections"),
    _notification("tcp/eof", "both", "tcp", TcpEofParams, "1.1.0", "tcpConnections"),
)

METHODS: Final[Mapping[str, MethodSpec]] = MappingProxyType(
    {spec.name: spec for group in (_CONNECTION, _SESSIONS, _OTHERS, _FILES, _NOTIFICATIONS) for spec in group}
)
"""The table, by name."""

BEFORE_HANDSHAKE: Final = frozenset({"initialize", "reconnect", "ping"})
"""What a client may send before the handshake is done (AHP §2.1)."""


def host_request(name: str) -> MethodSpec | None:
    """The command of this name that a client may send to the host; None if there is none in the standard."""
    return _find(name, "request", "to-client")


def host_notification(name: str) -> MethodSpec | None:
    """The notification of this name that a client may send to the host; None if there is none."""
    return _find(name, "notification", "to-client")


def client_request(name: str) -> MethodSpec | None:
    """The command of this name that the host may send to a client; None if there is none."""
    return _find(name, "request", "to-host")


def client_notification(name: str) -> MethodSpec | None:
    """The notification of this name that the host may send to a client; None if there is none."""
    return _find(name, "notification", "to-host")


def _find(name: str, kind: MethodKind, not_direction: Direction) -> MethodSpec | None:
    spec = METHODS.get(name)
    return spec if spec is not None and spec.kind == kind and spec.direction != not_direction else None
