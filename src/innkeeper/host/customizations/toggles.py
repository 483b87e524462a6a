"""Toggles of clients: admitted, refused with a reason, or held until they can be decided (C1.3, C4.3, C8.1).

Rules
* An admitted toggle carries the complete resolved set, and its rows are stored in the transaction of its echo.
* Echoes go first: publishing what follows from a toggle, in its session and in others, comes after them.
* A session that is not read yet, and an item that is pending, hold a toggle: whole, without an echo. It is answered
  when the reason has ended; a newer change of the item replaces it, and its sender is told so.
"""

import asyncio
import itertools
from collections.abc import Sequence

from innkeeper.customizations.edits import Edit, Refused, Stored, edit_of, fault_of
from innkeeper.customizations.places import Pending
from innkeeper.customizations.waiting import Answer, Waiting, WaitingEdit
from innkeeper.engine.effects import Admission, Admit, Hold, JsonObject, Refuse
from innkeeper.host.core import Core
from innkeeper.host.customizations.servers import is_host_wide
from innkeeper.host.customizations.service import Customizations
from innkeeper.ports.clock import Clock
from innkeeper.ports.decisions import DecisionOp

HOST_WIDE = "this server is the operator's, for every session; it is switched off in the host's settings"
ECHO_SECONDS = 0.002
"""An echo is written in this time; resolving and publishing a large list takes longer than that."""
NOTHING_SAID = "a toggle says `enablement`"


class Toggles:
    """All toggles of a host."""

    def __init__(self, core: Core, customizations: Customizations, clock: Clock) -> None:
        self._core = core
        self._customizations = customizations
        self._clock = clock
        self._waiting = Waiting()
        self._held: dict[str, JsonObject] = {}
        self._tickets = itertools.count(1)
        self._accepted: list[Sequence[DecisionOp]] = []
        self._publishing = False
        customizations.listen(self._maybe_settle)
        customizations.when_closed(self._closed)

    def admit(self, session: str, action: JsonObject, now: str) -> Admission:
        """The word on one toggle. Calls nothing that waits."""
        edit = edit_of(action)
        wrong = NOTHING_SAID if edit is None else fault_of(edit)
        if edit is None or wrong is not None:
            return Refuse(wrong or NOTHING_SAID)
        if self._is_host_wide(session, action["id"]):
            return Refuse(HOST_WIDE)
        outcome = self._customizations.plan(session, action["id"], edit, now)
        match outcome:
            case Refused(reason):
                return Refuse(reason)
            case Pending():
                return self._hold(session, action, edit)
            case Stored():
                self._overtake(session, action["id"])
                return self._admitted(action, outcome)

    def released(self) -> None:
        """A toggle has left: what follows from it is published once its echo is on its way."""
        if not self._publishing:
            self._publishing = True
            self._core.spawn(self._publish(), "publish decisions")

    def refused(self) -> None:
        """A toggle was refused, perhaps after it was admitted because it could not be stored."""
        if self._accepted:
            self._customizations.all_changed()

    # -- inside --------------------------------------------------------------------------------------------------

    async def _publish(self) -> None:
        await asyncio.sleep(ECHO_SECONDS)
        self._publishing = False
        accepted, self._accepted = self._accepted, []
        self._customizations.decided([op for ops in accepted for op in ops])

    def _admitted(self, action: JsonObject, outcome: Stored) -> Admit:
        self._accepted.append(outcome.ops)
        rest = {name: value for name, value in action.items() if name != "enabled"}
        return Admit({**rest, "enablement": list(outcome.resolved.enablement)}, also=tuple(outcome.ops))

    def _hold(self, session: str, action: JsonObject, edit: Edit) -> Admission:
        ticket = f"toggle-{next(self._tickets)}"
        self._waiting, answers = self._waiting.add(WaitingEdit(ticket, session, action["id"], edit))
        if any(answer.to.ticket == ticket and isinstance(answer.outcome, Refused) for answer in answers):
            return Refuse(next(a.outcome.reason for a in answers if isinstance(a.outcome, Refused)))
        self._held[ticket] = action
        self._later(answers)
        self._core.spawn(self._customizations.read(session), f"customizations of {session}")
        return Hold(ticket)

    def _overtake(self, session: str, id: str) -> None:
        resolution = self._customizations.resolution(session)
        if self._waiting.edits and resolution is not None and id in resolution.items:
            self._waiting, answers = self._waiting.overtaken(session, resolution.sharing(id))
            self._later(answers)

    def _closed(self, session: str) -> None:
        for edit in self._waiting.edits:
            if edit.session == session:
                self._held.pop(edit.ticket, None)
        self._waiting = self._waiting.closed(session)

    def _maybe_settle(self, session: str) -> None:
        """Something about the session is known now that was not."""
        if any(edit.session == session for edit in self._waiting.edits):
            asyncio.get_running_loop().call_soon(self._settle, session)

    def _settle(self, session: str) -> None:
        resolution = self._customizations.resolution(session)
        if resolution is None or not self._customizations.is_settled(session):
            return
        overlay, now = self._customizations.overlay, self._clock.now()
        self._waiting, answers, _ = self._waiting.settle(session, resolution, overlay, now)
        self._answer(answers)

    def _later(self, answers: Sequence[Answer]) -> None:
        """The engine is in the middle of a message: it is told afterwards."""
        if answers:
            asyncio.get_running_loop().call_soon(self._answer, answers)

    def _answer(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            action = self._held.pop(answer.to.ticket, None)
            if action is None:
                continue
            outcome = answer.outcome
            given = self._admitted(action, outcome) if isinstance(outcome, Stored) else Refuse(outcome.reason)
            self._core.answer_held(answer.to.ticket, given)

    def _is_host_wide(self, session: str, id: str) -> bool:
        resolution = self._customizations.resolution(session)
        item = None if resolution is None else resolution.items.get(id)
        return item is not None and is_host_wide(item.raw)
