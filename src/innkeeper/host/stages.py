"""The call sites of the hooks around a turn (K2, K8, K10, K19); what hangs on them comes from elsewhere.

The host calls these at fixed moments and knows nothing of who answers. `NoStages` answers nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from innkeeper.host.endings import Ending
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.common.state import ErrorInfo


@dataclass(frozen=True, slots=True)
class Asking:
    """A turn that is about to run."""

    session: str
    chat: str
    turn_id: str
    message: Message
    resumed: bool


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What the agent gets besides: `text` replaces the user's text for the model, not in the state."""

    text: str | None = None
    instructions: Sequence[str] = field(default_factory=tuple)


class TurnStages(Protocol):
    def admit(self, turn: Asking) -> ErrorInfo | None:
        """The reason why the turn may not run, or None. An exception refuses it (K5)."""
        ...

    async def outgoing(self, turn: Asking) -> Outgoing:
        """What to add. An exception adds nothing (K5)."""
        ...

    def ended(self, turn: Asking, ending: Ending) -> None:
        """Once a turn, after its last action has left (K10)."""
        ...


class NoStages:
    """Nothing hangs on the hooks."""

    def admit(self, turn: Asking) -> ErrorInfo | None:
        return None

    async def outgoing(self, turn: Asking) -> Outgoing:
        return Outgoing()

    def ended(self, turn: Asking, ending: Ending) -> None:
        return
