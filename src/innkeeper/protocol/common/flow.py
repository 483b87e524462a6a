"""Flow control of a subscription ("channel delivery"), 1.1-dev and experimental (AHP §12.3).

Sizes are bytes of UTF-16 (code units × 2). The members of a `reconnect` answer for windowed channels are inferred
from the text of §12.3; no published example exists.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict

ChannelRecovery: TypeAlias = Literal["snapshot", "replay", "live"] | str


class FlowControlLimits(TypedDict):
    """What one side can take at a time."""

    windowBytes: ReadOnly[int]
    maximumFrameBytes: ReadOnly[int]
    maximumMessageBytes: ReadOnly[int]


class FlowControlOffer(TypedDict):
    """A client's offer in `subscribe`."""

    receive: ReadOnly[FlowControlLimits]


class FlowControlAccepted(TypedDict):
    """The host's acceptance: the limits of both sides."""

    clientReceive: ReadOnly[FlowControlLimits]
    hostReceive: ReadOnly[FlowControlLimits]


class ReconnectWindow(TypedDict):
    """A windowed channel and how far its actions were applied."""

    channel: ReadOnly[URI]
    lastAppliedServerSeq: NotRequired[ReadOnly[int]]


class ReconnectWindows(TypedDict):
    """The windowed channels to recover."""

    items: ReadOnly[Sequence[ReconnectWindow]]


class RecoveredWindow(TypedDict):
    """How a windowed channel goes on."""

    channel: ReadOnly[URI]
    recovery: ReadOnly[ChannelRecovery]


class RecoveredWindows(TypedDict):
    """How the windowed channels go on."""

    items: ReadOnly[Sequence[RecoveredWindow]]


class ChannelFrameParams(TypedDict):
    """A piece of one serialized message; `final` ends it."""

    channel: ReadOnly[URI]
    data: ReadOnly[str]
    final: NotRequired[ReadOnly[bool]]


class ChannelCreditParams(TypedDict):
    """How much the receiver has consumed since the subscription began."""

    channel: ReadOnly[URI]
    consumedBytes: ReadOnly[int]


class ChannelResetParams(TypedDict):
    """The subscription is aborted."""

    channel: ReadOnly[URI]


class ChannelReadyParams(TypedDict):
    """What comes next is live."""

    channel: ReadOnly[URI]
