"""What the engine is told to change, and what it asks the outside to do.

Rules
* Effects are values; the driver performs them in the order in which they were returned.
* A `Frame` is encoded once and shared by everybody who gets it (architecture §3.5).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from innkeeper.engine.records import Record
from innkeeper.protocol.channels import ChannelKind

JsonObject = Mapping[str, Any]


class Origin(NamedTuple):
    """The client action that an envelope echoes (AHP §6)."""

    client_id: str
    client_seq: int


class Delta(NamedTuple):
    """A delta envelope that may be merged with the next one of the same part (AHP §2.5, `maxLatencyMs`)."""

    channel: str
    action: JsonObject
    seq: int


class Frame(NamedTuple):
    """One encoded JSON-RPC message."""

    body: bytes
    delta: Delta | None = None


class Append(NamedTuple):
    """Store `ops` in one transaction; the outcome comes back as `Hub.appended` or `Hub.append_failed`."""

    batch: int
    epoch: int
    ops: tuple[Record, ...]


class Broadcast(NamedTuple):
    connections: tuple[int, ...]
    frame: Frame


class Send(NamedTuple):
    """To one connection; up to `delay_ms` may be waited for more to merge with."""

    connection: int
    frame: Frame
    delay_ms: int = 0


class Close(NamedTuple):
    """End the connection after what was sent before; `code` is a WebSocket close code."""

    connection: int
    code: int
    reason: str


class Released(NamedTuple):
    """An action has left: it is durable (or volatile) and its echo went out before this. A rejected client action
    comes too, with its reason and `before is after`."""

    channel: str
    kind: str
    action: JsonObject
    seq: int
    origin: Origin | None
    before: JsonObject
    after: JsonObject
    rejection: str | None = None


class Command(NamedTuple):
    """A request that the host must answer by `Hub.reply` or `Hub.fail`."""

    connection: int
    client_id: str
    request_id: Any
    method: str
    params: JsonObject


class Committed(NamedTuple):
    token: int


class CommitFailed(NamedTuple):
    """Nothing of the commit took effect. `code` is a row of the error table (`STORE_FULL`, …)."""

    token: int
    code: str


class ClientAttached(NamedTuple):
    """The client has a connection again (or for the first time)."""

    client_id: str


class ClientDetached(NamedTuple):
    """The client's last connection is gone; its grace period begins (AHP §13.13)."""

    client_id: str


class ClientLeft(NamedTuple):
    """No connection of the client has the channel any more: it unsubscribed, resumed without naming it, or its grace
    period ended (AHP §9.5)."""

    client_id: str
    channel: str


class Subscribed(NamedTuple):
    client_id: str
    channel: str


class ChannelIdle(NamedTuple):
    """Nobody is subscribed any more."""

    channel: str


class Answered(NamedTuple):
    """The client answered a request of the host; exactly one of `result` and `error` counts."""

    call: int
    result: object
    error: JsonObject | None


class CallLost(NamedTuple):
    """The connection that a request of the host went to is gone; no answer will come."""

    call: int


class FlushLater(NamedTuple):
    """Something waits to be logged: call `Hub.flush` after `delay_ms`."""

    delay_ms: int


Effect = (
    Append
    | Broadcast
    | Send
    | Close
    | Released
    | Command
    | Committed
    | CommitFailed
    | ClientAttached
    | ClientDetached
    | ClientLeft
    | Subscribed
    | ChannelIdle
    | Answered
    | CallLost
    | FlushLater
)


class Create(NamedTuple):
    """A new channel with its first state."""

    channel: str
    kind: ChannelKind
    owner: str | None
    state: JsonObject


class Act(NamedTuple):
    """An action of the host on a channel."""

    channel: str
    action: JsonObject


class Drop(NamedTuple):
    """The channel and all that it owns go."""

    channel: str


class Also(NamedTuple):
    """Rows that become durable in the same transaction (C8.1)."""

    ops: tuple[Record, ...]


Change = Create | Act | Drop | Also


class Refuse(NamedTuple):
    """The client action is not taken; the text reaches its dispatcher (AHP §6)."""

    reason: str


class Admit(NamedTuple):
    """The client action, perhaps rewritten, with rows that are stored in its transaction."""

    action: JsonObject
    also: tuple[Record, ...] = ()


class Hold(NamedTuple):
    """The client action can be answered later only, with `Hub.settle` and this ticket. Until then nothing of it has
    happened, and its dispatcher has no echo (C4.3)."""

    ticket: str


Admission = Refuse | Admit | Hold
