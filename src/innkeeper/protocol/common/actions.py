"""Actions on their way: dispatched by a client, or in the envelope of the host (AHP §2.3, §6)."""

from innkeeper.protocol.actions import StateAction
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict


class ActionOrigin(TypedDict):
    """Which client dispatched an action, under which number of its own."""

    clientId: ReadOnly[str]
    clientSeq: ReadOnly[int]


class ActionEnvelope(TypedDict):
    """An action with its place in the host's order; `rejectionReason` says that it was not applied."""

    channel: ReadOnly[URI]
    action: ReadOnly[StateAction]
    serverSeq: ReadOnly[int]
    origin: NotRequired[ReadOnly[ActionOrigin]]
    rejectionReason: NotRequired[ReadOnly[str]]


class DispatchActionParams(TypedDict):
    """An action a client applied already; its fate comes back in an envelope."""

    channel: ReadOnly[URI]
    clientSeq: ReadOnly[int]
    action: ReadOnly[StateAction]
