"""The Python client of the Agent Host Protocol (docs/guide/client-library.md).

`connect()` opens a host and gives a `Client`; `Client.subscribe()` gives a `Channel` whose state is always right:
confirmed by the host, plus what this client has dispatched and the host has not yet answered (AHP §6).

The names below are the library's surface; its modules may change.
"""

from innkeeper.client import enablement, turns
from innkeeper.client.channel import Channel, ChannelLost, Dispatch
from innkeeper.client.client import Client, connect
from innkeeper.client.errors import (
    AccessDenied,
    ClientError,
    ConnectFailed,
    ConnectionLost,
    RequestTimeout,
    RpcFailure,
    TargetInvalid,
    VersionRefused,
)
from innkeeper.client.events import (
    ActionApplied,
    ActionRejected,
    Applied,
    ChannelGone,
    Connected,
    Disconnected,
    Lagged,
    NotificationReceived,
    Rejected,
    StateReplaced,
    Unconfirmed,
)
from innkeeper.client.stream import EventStream
from innkeeper.client.transport import Transport, TransportClosed

__all__ = [
    "AccessDenied",
    "ActionApplied",
    "ActionRejected",
    "Applied",
    "Channel",
    "ChannelGone",
    "ChannelLost",
    "Client",
    "ClientError",
    "ConnectFailed",
    "Connected",
    "ConnectionLost",
    "Disconnected",
    "Dispatch",
    "EventStream",
    "Lagged",
    "NotificationReceived",
    "Rejected",
    "RequestTimeout",
    "RpcFailure",
    "StateReplaced",
    "TargetInvalid",
    "Transport",
    "TransportClosed",
    "Unconfirmed",
    "VersionRefused",
    "connect",
    "enablement",
    "turns",
]
