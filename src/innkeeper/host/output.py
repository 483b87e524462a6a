"""What a running turn reports to, and asks, the host: the `TurnOutput` that a provider is handed (providers.spi).

Rules
* Signals keep their order. They go into the state once a loop tick, adjacent deltas as one, so that not every token
  is an envelope; before anything is asked, and before the turn ends, what waits goes first.
* After the end of the turn nothing is taken any more.
* What the agent may not run by itself is decided by the approval rules, else by a person (`host.approvals`).
* A call that may write is looked at before it does: what is in those files goes into the edit log.
* In autopilot what the agent asks is answered by the request itself, where it says how, and else declined.
"""

import asyncio
import logging
from collections.abc import Mapping
from posixpath import join
from typing import Any, Protocol, cast

from innkeeper.host.approvals import Approvals
from innkeeper.host.autopilot import by_itself
from innkeeper.host.core import Core, act
from innkeeper.host.kept import keep
from innkeeper.host.running import RunningTurn
from innkeeper.host.settings import HostSettings
from innkeeper.host.signals import merged
from innkeeper.host.subagents import Router
from innkeeper.host.titles import Titles
from innkeeper.host.views import State, active_turn, input_request, tool_call
from innkeeper.host.waits import Waits
from innkeeper.ports.changes import TurnCheckpoints
from innkeeper.ports.questions import Answer, Caller, Confirmation
from innkeeper.protocol.chat.state import ChatInputRequest, ToolCallResult
from innkeeper.protocol.common.state import UsageInfo
from innkeeper.providers.spi import (
    BackingChanged,
    InputAnswer,
    Signal,
    TitleSuggested,
    ToolCompleted,
    UsageReported,
)
from innkeeper.texts import text

log = logging.getLogger(__name__)


class OutputParts(Protocol):
    """What outputs share: a part of what turns are made of."""

    @property
    def core(self) -> Core: ...
    @property
    def approvals(self) -> Approvals: ...
    @property
    def waits(self) -> Waits: ...
    @property
    def titles(self) -> Titles: ...
    @property
    def settings(self) -> HostSettings: ...
    @property
    def checkpoints(self) -> TurnCheckpoints: ...


class Output:
    """The output of one turn."""

    def __init__(self, turn: RunningTurn, parts: OutputParts, router: Router) -> None:
        self._turn = turn
        self._core = parts.core
        self._router = router
        self._approvals = parts.approvals
        self._waits = parts.waits
        self._titles = parts.titles
        self._checkpoints = parts.checkpoints
        self._timeout = parts.settings.question_timeout
        self._subagent_start = parts.settings.subagent_start
        self._pending: list[Signal] = []
        self._scheduled = False
        self._open = True
        self._delivered = asyncio.Event()

    def emit(self, signal: Signal) -> None:
        if not self._open:
            log.debug("turn %s: %s after its end", self._turn.turn_id, type(signal).__name__)
            return
        self._pending.append(signal)
        if isinstance(signal, ToolCompleted):
            self._checkpoints.completed(self._turn.session, signal.call, signal.result)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Put what waits into the state. A signal that cannot be placed is logged; the others are not lost with it."""
        self._scheduled = False
        signals, self._pending = merged(self._pending), []
        for signal in signals:
            try:
                self._deliver(signal)
            except Exception:
                log.exception("turn %s: a %s could not be used", self._turn.turn_id, type(signal).__name__)

    def close(self) -> None:
        """Take nothing any more; what was reported before is in the state."""
        self.flush()
        self._open = False

    def caller(self, call: str, *, subagent: str | None = None) -> Caller:
        self.flush()
        own = (self._turn.chat, self._turn.turn_id)
        chat, turn_id = self._router.place_of_call(call) or self._router.place(subagent) or own
        return Caller(self._turn.session, chat, turn_id, call, subagent=subagent is not None or (chat, turn_id) != own)

    async def confirm(self, call: str, confirmation: Confirmation, *, subagent: str | None = None) -> Answer:
        self.flush()
        place = await self._place(subagent)
        if place is None:
            return Answer(False, reason="cancelled")
        answer = await self._approvals.confirm(*place, call, confirmation)
        if answer.approved and confirmation.intent is not None and confirmation.intent.kind == "write":
            intent = confirmation.intent
            paths = [join(intent.directory or "", path) for path in intent.paths]
            await self._checkpoints.announced(self._turn.session, place[0], call, paths)
        return answer

    async def ask(self, request: ChatInputRequest) -> InputAnswer:
        self.flush()
        chat, turn_id, id = self._turn.chat, self._turn.turn_id, request["id"]
        if active_turn(self._core.head(chat), turn_id) is None:
            return InputAnswer("cancel")
        if self._approvals.mode(chat) == "autopilot":
            return self._answered_by_itself(chat, request)
        answered = self._waits.open(chat, turn_id, _Completed(id))
        act(self._core, chat, {"type": "chat/inputRequested", "request": request})
        try:
            async with asyncio.timeout(self._timeout):
                return _input_answer(await answered)
        except TimeoutError:
            act(self._core, chat, {"type": "chat/inputCompleted", "requestId": id, "response": "cancel"})
            return InputAnswer("cancel")

    async def run_client_tool(self, call: str, tool_input: str, invocation: str) -> ToolCallResult:
        self.flush()
        place = self._router.place_of_call(call)
        if place is None:
            return _unsuccessful(text("clientTool.unknownCall"))
        chat, turn_id = place
        started = tool_call(active_turn(self._core.head(chat), turn_id), call) or {}
        ready = {
            "type": "chat/toolCallReady",
            "turnId": turn_id,
            "toolCallId": call,
            "invocationMessage": invocation,
            "toolInput": tool_input,
            "confirmed": started.get("confirmed") or "not-needed",
        }
        ended = self._waits.open(chat, turn_id, lambda turn: _ended_call(turn, call))
        act(self._core, chat, ready)
        if not self._owner_is_here(chat, turn_id, call):
            self._fail_call(chat, turn_id, call, text("clientTool.ownerAway"))
        try:
            async with asyncio.timeout(self._timeout):
                return _result(await ended)
        except TimeoutError:
            self._fail_call(chat, turn_id, call, text("clientTool.timeout", seconds=f"{self._timeout:g}"))
            return _unsuccessful(text("clientTool.timeout", seconds=f"{self._timeout:g}"))

    def _deliver(self, signal: Signal) -> None:
        if isinstance(signal, TitleSuggested):
            self._titles.suggested(self._turn.session, self._turn.chat, signal.title)
            return
        if isinstance(signal, BackingChanged):
            keep(self._core, self._turn.session, self._turn.chat, signal.data)
            return
        if isinstance(signal, UsageReported) and signal.subagent is None and self._turn.earlier_usage:
            whole = cast(UsageInfo, self._turn.whole_usage(cast(Mapping[str, Any], signal.usage)))
            signal = UsageReported(whole)
        self._router.deliver(signal)
        self._delivered.set()

    async def _place(self, subagent: str | None) -> tuple[str, str] | None:
        """Where the agent speaks; a subagent that has not started yet is waited for, and not for ever. None for one
        that did not start in time, or of which nothing is taken any more."""
        place = self._router.place(subagent)
        try:
            async with asyncio.timeout(self._subagent_start):
                while place is None and not self._router.is_lost(subagent):
                    self._delivered.clear()
                    await self._delivered.wait()
                    place = self._router.place(subagent)
        except TimeoutError:
            return None
        return place

    def _answered_by_itself(self, chat: str, request: ChatInputRequest) -> InputAnswer:
        """In autopilot nobody is asked; question and answer stand in the conversation."""
        answer = by_itself(request)
        completed: dict[str, Any] = {
            "type": "chat/inputCompleted",
            "requestId": request["id"],
            "response": answer.response,
        }
        if answer.answers:
            completed["answers"] = dict(answer.answers)
        act(self._core, chat, {"type": "chat/inputRequested", "request": request}, completed)
        return answer

    def _owner_is_here(self, chat: str, turn_id: str, call: str) -> bool:
        state = tool_call(active_turn(self._core.head(chat), turn_id), call) or {}
        owner = (state.get("contributor") or {}).get("clientId")
        session = self._core.head(self._turn.session) or {}
        return any(client.get("clientId") == owner for client in session.get("activeClients") or ())

    def _fail_call(self, chat: str, turn_id: str, call: str, why: str) -> None:
        if tool_call(active_turn(self._core.head(chat), turn_id), call) is not None:
            act(self._core, chat, failed_call(turn_id, call, why))


class _Completed:
    """Sees the request open, then answered: an id may be used again."""

    __slots__ = ("_id", "_open")

    def __init__(self, id: str) -> None:
        self._id = id
        self._open = False

    def __call__(self, turn: State) -> State | None:
        part = input_request(turn, self._id)
        if part is not None and part.get("response") is None:
            self._open = True
            return None
        return part if self._open else None


def failed_call(turn_id: str, call: str, why: str) -> dict[str, Any]:
    """The host's end of a call that its executor did not, or can no longer, finish (AHP §9.2)."""
    return {
        "type": "chat/toolCallComplete",
        "turnId": turn_id,
        "toolCallId": call,
        "result": _unsuccessful(why),
    }


def _unsuccessful(why: str) -> ToolCallResult:
    return {"success": False, "pastTenseMessage": why, "error": {"message": why}}


def _ended_call(turn: State, call: str) -> State | None:
    state = tool_call(turn, call)
    return state if state is not None and state.get("status") in ("completed", "cancelled") else None


def _result(call: State | None) -> ToolCallResult:
    if call is None:
        return _unsuccessful(text("clientTool.turnEnded"))
    if call.get("status") != "completed":
        return _unsuccessful(text("clientTool.resultDenied"))
    names = ("success", "pastTenseMessage", "content", "structuredContent", "error")
    return {name: call[name] for name in names if name in call}  # type: ignore[return-value]


def _input_answer(part: State | None) -> InputAnswer:
    if part is None:
        return InputAnswer("cancel")
    if part["response"] != "accept":
        return InputAnswer(part["response"])
    answers = part["request"].get("answers") or {}
    return InputAnswer("accept", {id: a for id, a in answers.items() if a.get("state") != "draft"})
