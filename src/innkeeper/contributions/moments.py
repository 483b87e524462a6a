"""The values that hooks are given and give back, and the keys of mementos. Part of `contributions.spi`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from innkeeper.protocol.chat.state import Message, Turn
from innkeeper.protocol.common.state import ErrorInfo

Action = Mapping[str, Any]
T = TypeVar("T")
Value = TypeVar("Value")


class TurnEndReason(NamedTuple):
    """How a turn ended. `resumable` says that an error keeps it open."""

    kind: Literal["success", "cancelled", "error", "rejected", "localCommand"]
    error: ErrorInfo | None = None
    resumable: bool = False


class TurnEnd(NamedTuple):
    """A turn that ended: exactly once a turn, after its last action is reduced and emitted (K10)."""

    session: str
    chat: str
    turn_id: str
    message: Message
    reason: TurnEndReason
    subagent: bool = False
    client: str | None = None
    queued: str | None = None
    """The id that the message had in the queue."""


class ClientAction(NamedTuple):
    """A client's action that was accepted, reduced and handled; never one that was rejected (K11)."""

    session: str
    channel: str
    kind: str
    action: Action
    client: str


class DispatchedAction(NamedTuple):
    """An action of anybody that left, or a client's that was rejected, with the reason (K11)."""

    session: str
    channel: str
    kind: str
    action: Action
    client: str | None = None
    rejection: str | None = None


class IncomingRequest(NamedTuple):
    """A turn that asks to proceed; nothing has been sent to an agent."""

    session: str
    chat: str
    turn_id: str
    message: Message
    source: Literal["direct", "queued"]
    client: str | None


class Handled(NamedTuple):
    """The host's local command `command` runs the turn; no agent gets it."""

    command: str


class Reject(NamedTuple):
    """The turn may not run."""

    error: ErrorInfo
    stage: Literal["validation"] = "validation"


class OutgoingTurn(NamedTuple):
    """An admitted turn about to go to its agent. `text` is what earlier contributions made of the user's."""

    session: str
    chat: str
    turn_id: str
    message: Message
    text: str


class Addition(NamedTuple):
    """Instructions are appended to those of earlier contributions; a `text`, also an empty one, replaces the text for
    the agent and for later contributions, never in the state."""

    instructions: Sequence[str] = ()
    text: str | None = None


class Hydration(NamedTuple):
    """A chat that enters the host. `logged` are the turns that the host has of it already, which win (K17)."""

    session: str
    chat: str
    source: Literal["transcript", "snapshot"]
    logged: Sequence[Turn] = ()


class HydratedChat(NamedTuple):
    """What a chat enters the catalog with; a contribution fills what is still None."""

    title: str | None = None
    draft: Message | None = None
    config: Mapping[str, object] | None = None


class ChatKey(NamedTuple, Generic[T]):
    """A memento of a chat; made once, at module level. `initial` makes the first value of each entry."""

    name: str
    initial: Callable[[], T]


class SessionKey(NamedTuple, Generic[T]):
    """A memento of a session."""

    name: str
    initial: Callable[[], T]


class Memento(Protocol[Value]):
    """A cell that lives as long as its chat or session. Whoever holds it over its eviction keeps the last value, apart
    from the host; a value with a `dispose` method is disposed when it is evicted, deleted or replaced."""

    @property
    def value(self) -> Value: ...

    @value.setter
    def value(self, new: Value) -> None: ...

    def watch(self, changed: Callable[[Value], None]) -> Callable[[], None]:
        """Call `changed` with each new value; the result ends that."""
        ...
