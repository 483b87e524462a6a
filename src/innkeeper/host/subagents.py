"""Routing the signals of one turn: to its own chat, or to the worker chat of a subagent (AHP §9.3, K1).

Rules
* A worker chat has `tool` origin, is read-only, belongs to the session, and is mirrored by a `subagent` block in the
  call that spawned it; both appear in one transaction, before any signal of the subagent.
* Signals that come before their `SubagentStarted` wait, at most `EARLY_SIGNALS` for each, else that subagent's route
  fails and the turn says so; what still waits when the turn ends is told to the person, never silently lost.
* Whatever the agent says afterwards, every worker's turn ends with the turn that spawned it.
"""

import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from innkeeper.engine.effects import Act, Change, Create
from innkeeper.host.core import Core, act
from innkeeper.host.endings import Cancelled, Ending, Succeeded, ending_action, failed
from innkeeper.host.running import RunningTurn, RunningTurns
from innkeeper.host.signals import actions, implied_running, with_subagents
from innkeeper.host.summaries import chat_summary
from innkeeper.host.views import State, active_turn, tool_call
from innkeeper.limits import EARLY_SIGNALS
from innkeeper.ports.clock import Clock
from innkeeper.ports.ids import Ids
from innkeeper.providers.spi import BackingChanged, Signal, SubagentEnded, SubagentStarted, TitleSuggested
from innkeeper.texts import text

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Worker:
    """The turn of a subagent in its chat."""

    call: str
    chat: str
    turn_id: str
    began: float


class Router:
    """The chats of one running turn."""

    def __init__(self, turn: RunningTurn, core: Core, running: RunningTurns, clock: Clock, ids: Ids) -> None:
        self._turn = turn
        self._core = core
        self._running = running
        self._clock = clock
        self._ids = ids
        self._workers: dict[str, Worker] = {}
        self._early: dict[str, list[Signal]] = {}
        self._failed: set[str] = set()
        """Subagents whose signals were too many before they started: nothing of them is taken any more."""

    def place(self, subagent: str | None) -> tuple[str, str] | None:
        """The chat and turn of an agent; None for a subagent that has not started."""
        if subagent is None:
            return self._turn.chat, self._turn.turn_id
        worker = self._workers.get(subagent)
        return None if worker is None else (worker.chat, worker.turn_id)

    def is_lost(self, subagent: str | None) -> bool:
        """Whether nothing of the subagent is taken any more."""
        return subagent in self._failed

    def place_of_call(self, call: str) -> tuple[str, str] | None:
        """The chat and turn in which the call was started; the newest worker first."""
        places = [(worker.chat, worker.turn_id) for worker in reversed(self._workers.values())]
        for chat, turn_id in [*places, (self._turn.chat, self._turn.turn_id)]:
            if tool_call(active_turn(self._core.head(chat), turn_id), call) is not None:
                return chat, turn_id
        return None

    def deliver(self, signal: Signal) -> None:
        """Put one signal into the state of the chat it belongs to."""
        match signal:
            case SubagentStarted():
                self._start(signal)
            case SubagentEnded():
                self._end(signal)
            case TitleSuggested() | BackingChanged():
                return
            case _:
                subagent = getattr(signal, "subagent", None)
                place = self.place(subagent)
                if place is None:
                    self._keep(str(subagent), signal)
                else:
                    self._apply(place, signal)

    def finish(self, ending: Ending) -> None:
        """End the workers as the turn ends, the inner ones first; say what was never placed."""
        for worker in reversed(tuple(self._workers.values())):
            self._end_worker(worker, ending if isinstance(ending, Succeeded) else Cancelled())
        self._lost(sum(map(len, self._early.values())))
        self._early.clear()

    def _lost(self, count: int) -> None:
        if not count:
            return
        log.warning("turn %s: %d signals of subagents that never started", self._turn.turn_id, count)
        part = {"kind": "systemNotification", "content": text("turn.subagentNeverStarted", n=count)}
        if active_turn(self._core.head(self._turn.chat), self._turn.turn_id) is not None:
            notice = {"type": "chat/responsePart", "turnId": self._turn.turn_id, "part": part}
            act(self._core, self._turn.chat, notice)

    def _apply(self, place: tuple[str, str], signal: Signal) -> None:
        chat, turn_id = place
        state = self._core.head(chat)
        if state is not None:
            act(self._core, chat, *actions(signal, state, turn_id))

    def _keep(self, subagent: str, signal: Signal) -> None:
        if subagent in self._failed:
            return
        early = self._early.setdefault(subagent, [])
        early.append(signal)
        if len(early) > EARLY_SIGNALS:
            log.warning("turn %s: too many signals before subagent %s started", self._turn.turn_id, subagent)
            self._failed.add(subagent)
            self._lost(len(self._early.pop(subagent)))

    def _start(self, signal: SubagentStarted) -> None:
        if signal.call in self._workers or signal.call in self._failed:
            return
        parent = self.place(signal.subagent)
        if parent is None:
            self._keep(str(signal.subagent), signal)
            return
        session, parent_state = self._core.head(self._turn.session), self._core.head(parent[0])
        if session is None or parent_state is None or active_turn(parent_state, parent[1]) is None:
            return
        worker = Worker(signal.call, self._uri(parent[0], signal.call), self._ids.new(), self._clock.monotonic())
        self._workers[signal.call] = worker
        self._running.add_worker(worker.chat, self._turn)
        self._core.post(*self._creation(signal, worker, parent, parent_state))
        for early in self._early.pop(signal.call, []):
            self.deliver(early)

    def _creation(
        self, signal: SubagentStarted, worker: Worker, parent: tuple[str, str], parent_state: State
    ) -> list[Change]:
        now = self._clock.now()
        state = _worker_state(signal, worker.chat, parent[0], now)
        started = {
            "type": "chat/turnStarted",
            "turnId": worker.turn_id,
            "startedAt": now,
            "message": {"text": signal.description or signal.title, "origin": {"kind": "agent"}},
        }
        changes: list[Change] = [
            Create(worker.chat, "chat", self._turn.session, state),
            Act(self._turn.session, {"type": "session/chatAdded", "summary": chat_summary(state)}),
            Act(worker.chat, started),
        ]
        call = tool_call(active_turn(parent_state, parent[1]), signal.call)
        if call is not None and call.get("status") in ("streaming", "running"):
            if call["status"] == "streaming":
                changes.append(Act(parent[0], implied_running(call, parent[1])))
            changes.append(Act(parent[0], _mirrored(signal, worker.chat, call, parent[1])))
        return changes

    def _end(self, signal: SubagentEnded) -> None:
        worker = self._workers.get(signal.call)
        if worker is None:
            self._keep(signal.call, signal)
        elif signal.error is not None:
            self._end_worker(worker, failed(signal.error.error_type, signal.error.message))
        else:
            self._end_worker(worker, Succeeded())

    def _end_worker(self, worker: Worker, ending: Ending) -> None:
        if active_turn(self._core.head(worker.chat), worker.turn_id) is not None:
            duration = max(0, round((self._clock.monotonic() - worker.began) * 1000))
            act(self._core, worker.chat, ending_action(worker.turn_id, duration, ending))

    def _uri(self, parent: str, call: str) -> str:
        """Stable for a call, and fresh when an agent uses a call's id again."""
        uri = f"{parent}/subagent/{quote(call, safe='')}"
        return uri if self._core.kind(uri) is None else f"{uri}-{self._ids.new()}"


def _worker_state(signal: SubagentStarted, chat: str, parent: str, now: str) -> dict[str, Any]:
    return {
        "resource": chat,
        "title": signal.title,
        "status": 1,
        "modifiedAt": now,
        "origin": {"kind": "tool", "chat": parent, "toolCallId": signal.call},
        "interactivity": "read-only",
        "turns": [],
    }


def _mirrored(signal: SubagentStarted, chat: str, call: State, turn_id: str) -> dict[str, Any]:
    block = {"type": "subagent", "resource": chat, "title": signal.title}
    if signal.agent_name is not None:
        block["agentName"] = signal.agent_name
    if signal.description is not None:
        block["description"] = signal.description
    content = with_subagents(call, [block, *(c for c in call.get("content") or () if c.get("type") != "subagent")])
    return {
        "type": "chat/toolCallContentChanged",
        "turnId": turn_id,
        "toolCallId": signal.call,
        "content": content,
    }
