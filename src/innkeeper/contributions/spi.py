"""What a contribution is written against (K2, K3, K5, K8). A third party imports this module and nothing else of ours.

Rules
* A contribution is a class with an `id`, an explicit `order` and any of the seven hooks below; lower orders come first.
* Its constructor takes its `Context` and then services, found by the type that each parameter is annotated with (K7).
* Hooks are called on the event loop. Synchronous ones never block; an asynchronous one runs in a task of its own, which
  is cancelled with its turn, and after ten seconds (`CONTRIBUTION_STAGE_SECONDS`), whichever comes first (K8).
* States, actions and messages have AHP's shape and are read-only. What a contribution changes, it dispatches.
* Moments, call sites, combination and failure of the hooks: `HOOKS`, and docs/reference/contributions.md.
"""

from collections.abc import Awaitable, Sequence
from typing import ClassVar, Final, NamedTuple, Protocol, TypeVar

from innkeeper.contributions.hooks import HOOKS, Hook
from innkeeper.contributions.moments import (
    Addition,
    ChatKey,
    ClientAction,
    DispatchedAction,
    Handled,
    HydratedChat,
    Hydration,
    IncomingRequest,
    Memento,
    OutgoingTurn,
    Reject,
    SessionKey,
    TurnEnd,
    TurnEndReason,
)
from innkeeper.ports import contributed as services
from innkeeper.protocol.chat.state import Message, Turn
from innkeeper.protocol.common.state import ErrorInfo

__all__ = ["HOOKS", "SPI_VERSION", "Addition", "ChatKey", "ClientAction", "Context", "Contribution"]
__all__ += ["DispatchedAction", "ErrorInfo", "Handled", "Hook", "HydratedChat", "Hydration", "IncomingRequest"]
__all__ += ["Memento", "Message", "OutgoingTurn", "Reject", "SessionKey", "Turn", "TurnEnd", "TurnEndReason", "Watch"]
__all__ += ["services"]

SPI_VERSION: Final = (1, 0)
T = TypeVar("T")


class Watch(NamedTuple):
    """Which actions `on_did_dispatch_action` is called for; None means every one, streaming deltas too (K9). `kinds`
    are of channels: root, session, chat, terminal, changeset, …"""

    types: frozenset[str] | None
    kinds: frozenset[str] | None = None


class Contribution:
    """Base of all. `dispose`, where there is one, is called once, when it is unregistered."""

    id: ClassVar[str]
    order: ClassVar[int]
    watch: ClassVar[Watch]
    """Needed with `on_did_dispatch_action`."""
    spi: ClassVar[tuple[tuple[int, int], tuple[int, int]]]
    """The SPI versions that a third party's works with: from the first, below the second."""


class Context(Protocol):
    """A contribution's identity and its mementos, nothing else (K6). Always the constructor's first parameter."""

    @property
    def id(self) -> str: ...

    def memento(self, key: ChatKey[T] | SessionKey[T], resource: str, *extra: str | bool | int) -> Memento[T]:
        """The entry of this contribution, the chat or session `resource`, the key's name and `extra`; the same object
        until it is deleted or evicted."""
        ...

    def delete_memento(self, key: ChatKey[T] | SessionKey[T], resource: str, *extra: str | bool | int) -> None: ...


class OnIncomingRequest(Protocol):
    def on_incoming_request(self, request: IncomingRequest) -> Handled | Reject | None:
        """None accepts."""
        ...


class OnOutgoingTurn(Protocol):
    def on_outgoing_turn(self, turn: OutgoingTurn) -> Addition | Awaitable[Addition | None] | None: ...


class OnTurnEnd(Protocol):
    def on_turn_end(self, end: TurnEnd) -> None: ...


class OnDidApplyClientAction(Protocol):
    def on_did_apply_client_action(self, applied: ClientAction) -> None: ...


class OnDidDispatchAction(Protocol):
    def on_did_dispatch_action(self, dispatched: DispatchedAction) -> None: ...


class OnHydrateTurns(Protocol):
    def on_hydrate_turns(self, of: Hydration, turns: Sequence[Turn]) -> Sequence[Turn] | Awaitable[Sequence[Turn]]: ...


class OnHydrateChat(Protocol):
    def on_hydrate_chat(self, of: Hydration, restored: HydratedChat) -> HydratedChat | Awaitable[HydratedChat]: ...
