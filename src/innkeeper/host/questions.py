"""Questions to a person, asked in the conversation (M6.1, M6.2, M6.4, AHP §9.2).

Rules
* The question is the tool call itself, pending confirmation, with its options; any client may answer.
* Only an explicit approval is one: a cancelled turn, a closed session, a time-out, an option that denies are denials.
* A question that nobody waits for any more is withdrawn, and says why where that is known.
* A question stays open while no client is connected; it never outlasts the patience of the agent that calls (M6.4b).
  When it will end is in the call's `_meta` under `EXPIRES`, so that a client can count down.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from innkeeper.host.core import Core, act
from innkeeper.host.running import RunningTurns
from innkeeper.host.views import State, active_turn, plain, tool_call
from innkeeper.host.waits import Waits
from innkeeper.limits import QUESTION_SECONDS
from innkeeper.ports.questions import Answer, Caller, Confirmation
from innkeeper.texts import text

META = "x-innkeeper/"
EXPIRES = "x-innkeeper/expiresAt"
"""When a question ends without an answer; UTC, ISO 8601."""

MARGIN_SECONDS = 5.0
"""A question ends so long before the calling agent gives up, so that the agent still hears why."""


class ConversationQuestions:
    """The `Questions` of a host: the gate's, through `confirm`, and an agent's own, through `ask`."""

    def __init__(
        self,
        core: Core,
        waits: Waits,
        running: RunningTurns,
        *,
        timeout: float = QUESTION_SECONDS,
        now: Callable[[], str] | None = None,
    ) -> None:
        """`now` is the clock's; without it no question says when it ends."""
        self._core = core
        self._now = now
        self._waits = waits
        self._running = running
        self._timeout = timeout
        self._asking: dict[tuple[str, str], _Line] = {}

    async def confirm(
        self, caller: Caller, confirmation: Confirmation, withdrawn: "asyncio.Future[str] | None" = None
    ) -> Answer:
        """Ask about a call that the gate holds back. Never raises for an answer."""
        turn = self._running.behind(caller.chat)
        if turn is None:
            return Answer(False, reason="no-conversation")
        if turn.output is not None:
            turn.output.flush()
        state = self._core.head(caller.chat)
        running = active_turn(state)
        if running is None or caller.turn_id not in (running["id"], turn.turn_id):
            return Answer(False, reason="cancelled")
        if tool_call(running, caller.tool_call_id) is None:
            act(self._core, caller.chat, _unannounced(running["id"], caller.tool_call_id, confirmation))
        asked = _Asked(confirmation, within(self._timeout, caller.patience), withdrawn)
        return await self._in_line(caller.chat, running["id"], caller.tool_call_id, asked)

    async def ask(self, chat: str, turn_id: str, call_id: str, confirmation: Confirmation) -> Answer:
        """Ask about the started call `call_id`, one question at a time. On approval the call is running."""
        return await self._in_line(chat, turn_id, call_id, _Asked(confirmation, self._timeout))

    async def _in_line(self, chat: str, turn_id: str, call_id: str, asked: "_Asked") -> Answer:
        line = self._asking.setdefault((chat, call_id), _Line())
        line.length += 1
        try:
            async with line.lock:
                return await self._ask(chat, turn_id, call_id, asked)
        finally:
            line.length -= 1
            if line.length == 0:
                del self._asking[(chat, call_id)]

    async def _ask(self, chat: str, turn_id: str, call_id: str, asked: "_Asked") -> Answer:
        confirmation = asked.confirmation
        if asked.is_over():
            return asked.ended()
        call = tool_call(active_turn(self._core.head(chat), turn_id), call_id)
        if call is None or call.get("status") not in ("streaming", "running", "pending-confirmation"):
            return Answer(False, reason="cancelled")
        answered = self._waits.open(chat, turn_id, _Answered(call_id))
        act(self._core, chat, self._question(turn_id, call, asked))
        try:
            await asyncio.wait(
                [answered, *asked.also], timeout=asked.seconds_left(), return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            answered.cancel()
            self._withdraw(chat, turn_id, call_id, None)
            raise
        if answered.done():
            return _answer(answered.result(), confirmation)
        answered.cancel()
        ended = asked.ended()
        self._withdraw(chat, turn_id, call_id, ended.message)
        return ended

    def _question(self, turn_id: str, call: State, asked: "_Asked") -> dict[str, Any]:
        question = _question(turn_id, call, asked.confirmation)
        if self._now is None:
            return question
        ends = datetime.fromisoformat(self._now()) + timedelta(seconds=asked.seconds_left())
        told = ends.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {**question, "_meta": {**(question.get("_meta") or call.get("_meta") or {}), EXPIRES: told}}

    def _withdraw(self, chat: str, turn_id: str, call_id: str, why: str | None) -> None:
        call = tool_call(active_turn(self._core.head(chat), turn_id), call_id)
        if call is not None and call.get("status") == "pending-confirmation":
            denied: dict[str, Any] = {
                "type": "chat/toolCallConfirmed",
                "turnId": turn_id,
                "toolCallId": call_id,
                "approved": False,
                "reason": "skipped",
            }
            if why is not None:
                denied["reasonMessage"] = why
            act(self._core, chat, denied)


def within(timeout: float, patience: float | None) -> float:
    """How long a question may stay open, in seconds: `timeout`, and less than the calling agent waits."""
    return timeout if patience is None else min(timeout, max(patience - MARGIN_SECONDS, patience * 0.8))


class _Asked:
    """A question with its end: a time, and perhaps a reason why nobody needs the answer any more."""

    def __init__(
        self, confirmation: Confirmation, seconds: float, withdrawn: "asyncio.Future[str] | None" = None
    ) -> None:
        self.confirmation = confirmation
        self._seconds = seconds
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._withdrawn = withdrawn

    @property
    def also(self) -> tuple["asyncio.Future[str]", ...]:
        """What ends the question beside an answer."""
        return () if self._withdrawn is None else (self._withdrawn,)

    def seconds_left(self) -> float:
        return max(0.0, self._deadline - asyncio.get_running_loop().time())

    def is_over(self) -> bool:
        return self.seconds_left() == 0 or any(future.done() for future in self.also)

    def ended(self) -> Answer:
        """The denial of a question that ended without an answer."""
        if self._withdrawn is not None and self._withdrawn.done():
            return Answer(False, reason="withdrawn", message=self._withdrawn.result())
        lang, seconds = self.confirmation.lang, f"{self._seconds:g}"
        why = text("error.QUESTION_TIMEOUT.meaning", lang=lang, seconds=seconds)
        return Answer(False, reason="timeout", message=why)


@dataclass(slots=True)
class _Line:
    """Those who ask about one call, the first of them asking now."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


class _Answered:
    """Sees the call wait, then sees it wait no longer: a call that ran before it was asked about is no approval."""

    __slots__ = ("_asked", "_call_id")

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        self._asked = False

    def __call__(self, turn: State) -> State | None:
        call = tool_call(turn, self._call_id)
        if call is not None and call.get("status") == "pending-confirmation":
            self._asked = True
            return None
        return call if self._asked else None


def _answer(call: State | None, asked: Confirmation) -> Answer:
    if call is None:
        return Answer(False, reason="cancelled")
    option = call.get("selectedOption") or {}
    if call.get("status") == "running" and option.get("kind") != "deny":
        given = call.get("toolInput")
        edited = given if isinstance(given, str) and given != asked.tool_input else None
        return Answer(True, option.get("id"), edited_input=edited)
    if call.get("status") != "cancelled":
        return Answer(False, reason="cancelled")
    suggestion = (call.get("userSuggestion") or {}).get("text")
    return Answer(False, option.get("id"), message=plain(call.get("reasonMessage")) or suggestion)


def _question(turn_id: str, call: State, confirmation: Confirmation) -> dict[str, Any]:
    question: dict[str, Any] = {
        "type": "chat/toolCallReady",
        "turnId": turn_id,
        "toolCallId": call["toolCallId"],
        "invocationMessage": confirmation.invocation,
        "confirmationTitle": confirmation.title,
        "options": [{"id": o.id, "label": o.label, "kind": o.kind} for o in confirmation.options],
    }
    if confirmation.tool_input is not None:
        question["toolInput"] = confirmation.tool_input
    if confirmation.meta:
        question["_meta"] = {**(call.get("_meta") or {}), **_prefixed(confirmation.meta)}
    return question


def _prefixed(meta: Mapping[str, object]) -> dict[str, object]:
    return {key if key.startswith(META) else META + key: value for key, value in meta.items()}


def _unannounced(turn_id: str, call_id: str, confirmation: Confirmation) -> dict[str, Any]:
    """A call that reached the gate before its agent told of it."""
    return {
        "type": "chat/toolCallStart",
        "turnId": turn_id,
        "toolCallId": call_id,
        "toolName": str(confirmation.meta.get("tool") or confirmation.meta.get(META + "tool") or call_id),
        "displayName": confirmation.title,
    }
