"""What a program that uses the client is told, as values.

A channel's stream carries `ChannelEvent`s, the client's own stream `ClientEvent`s; a dispatch comes to an `Outcome`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Applied:
    """The host took the action; `seq` is the `serverSeq` of its echo."""

    seq: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """The host did not take the action and the state does not hold it (AHP §6, step 2); `reason` is for people."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """The answer was lost with a connection or the channel is gone: the action may or may not have been taken. The
    channel's state is right either way."""

    reason: str


Outcome = Applied | Rejected | Unconfirmed


@dataclass(frozen=True, slots=True)
class ActionApplied:
    """An action changed the confirmed state; `own` when this client dispatched it."""

    channel: str
    action: JsonObject
    seq: int
    own: bool


@dataclass(frozen=True, slots=True)
class ActionRejected:
    """An action of this client was refused."""

    channel: str
    client_seq: int
    reason: str


@dataclass(frozen=True, slots=True)
class StateReplaced:
    """The confirmed state was replaced by a snapshot: actions in between were not seen one by one (AHP §2.4)."""

    channel: str
    seq: int


@dataclass(frozen=True, slots=True)
class ChannelGone:
    """The channel no longer exists for this client; its last state stays readable."""

    channel: str


@dataclass(frozen=True, slots=True)
class Lagged:
    """The reader was slow and `missed` events were dropped here. States are complete all the same."""

    missed: int


@dataclass(frozen=True, slots=True)
class NotificationReceived:
    """A notification other than `action`, as the host sent it; `root/*` ones are never replayed (AHP §5)."""

    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class Connected:
    """The host answered the handshake; `resumed` when it continued the earlier connection by `reconnect`."""

    resumed: bool


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection ended. `retry_in` is the number of seconds until the next attempt; None when there is none."""

    code: int
    reason: str
    retry_in: float | None


@dataclass(frozen=True, slots=True)
class Settled:
    """What a dispatch came to: of the mirror to the shell, not for streams."""

    channel: str
    client_seq: int
    outcome: Outcome


ChannelEvent = ActionApplied | ActionRejected | StateReplaced | ChannelGone | Lagged
ClientEvent = NotificationReceived | Connected | Disconnected | ActionRejected | Lagged
Change = ActionApplied | ActionRejected | StateReplaced | ChannelGone | Settled
