"""Whether a turn may run, asked once a turn (K2, K5, K12). Hook call site: `on_incoming_request`.

Rules
* A turn that a client started is in the state when it is asked about, so a refused one is an errored turn (K10).
* A message that waits in the queue is asked about before it becomes a turn: refused, it never left its place.
* A resumed turn was admitted when it began; whether it may be resumed is the policy's business.
"""

from typing import Literal

from innkeeper.contributions.dispatch import Dispatcher
from innkeeper.contributions.spi import Handled, IncomingRequest, Reject
from innkeeper.engine.effects import Act
from innkeeper.host.asking import Asking, drained, sender
from innkeeper.host.core import Core
from innkeeper.host.views import active_turn
from innkeeper.ports.clock import Clock
from innkeeper.ports.contributed import Launch
from innkeeper.ports.ids import Ids
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.common.state import ErrorInfo
from innkeeper.texts import text


class Admission:
    def __init__(self, hooks: Dispatcher) -> None:
        self._hooks = hooks
        self._decided: dict[str, tuple[str, Handled | None]] = {}
        """By chat, with the id of the turn that was asked about: a chat begins one turn at a time, so what was said of
        one that never began goes with the next."""

    def consult(self, asking: Asking) -> Handled | Reject | None:
        """The word on a turn: the one that was given beforehand, else a new one. None admits it."""
        turn_id, decided = self._decided.pop(asking.chat, (None, None))
        if turn_id == asking.turn_id:
            return decided
        if asking.resumed:
            return None
        source: Literal["direct", "queued"] = "direct" if asking.queued is None else "queued"
        return self._hooks.incoming(
            IncomingRequest(asking.session, asking.chat, asking.turn_id, asking.message, source, asking.client)
        )

    def beforehand(self, asking: Asking) -> ErrorInfo | None:
        """Ask before the turn begins; the error of a refusal. Otherwise the answer holds for the turn of that id."""
        answer = self.consult(asking)
        if isinstance(answer, Reject):
            return answer.error
        self._decided[asking.chat] = (asking.turn_id, answer)
        return None


class Bridge:
    """The host bridge of contributions (K7): two members, and no third."""

    def __init__(self, core: Core, admission: Admission, clock: Clock, ids: Ids, launch: Launch) -> None:
        self._core = core
        self._admission = admission
        self._clock = clock
        self._ids = ids
        self._launch: Launch = launch

    @property
    def launch_kind(self) -> Launch:
        return self._launch

    def send_turn_message(self, chat: str, message: Message, *, queued: str | None = None) -> ErrorInfo | None:
        session = self._core.owner(chat)
        if session is None or self._core.head(chat) is None:
            return {"errorType": "internalError", "message": text("turn.sessionGone")}
        if active_turn(self._core.head(chat)) is not None:
            return {"errorType": "internalError", "message": text("turn.inProgress")}
        turn_id = self._ids.new()
        asking = Asking(session, chat, turn_id, message, False, sender(message), queued)
        refused = self._admission.beforehand(asking)
        if refused is not None:
            return refused
        started = {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": self._clock.now(),
            "message": drained(message, queued),
            **({} if queued is None else {"queuedMessageId": queued}),
        }
        leaves = () if queued is None else ({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": queued},)
        self._core.post(*(Act(chat, action) for action in (*leaves, started)))
        return None
