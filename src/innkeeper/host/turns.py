"""Running turns: from the echo of `chat/turnStarted` to the one action that ends it (architecture §4, AHP §9.2, §9.7).

Rules
* A turn starts after its echo, whoever dispatched it. Admission is one step with that; then come the stages of
  `requests` and the agent's run. A turn that a local command handles has no agent.
* Whatever a stage or the agent raises ends this turn with an error part, and nothing else.
* A turn that a client ended, by cancelling or truncating, is not ended again; its agent is told to stop, and what still
  waits inside it gets an answer.
* What an agent said that it is doing is over with its turn, however that ended.
* What ended is told once a turn, a subagent's and a refused one too, after its last action has left (K10).
* `duration` is measured by the host's monotonic clock; a resumed turn adds to what its attempts took before. One that
  fails before it has reached its agent can be resumed again: nothing about it has changed (reference §4.6).
"""

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Any

from innkeeper.contributions.dispatch import Dispatcher
from innkeeper.contributions.spi import Handled, Reject
from innkeeper.engine.effects import Act, Change, Released
from innkeeper.host.admission import Admission
from innkeeper.host.approvals import Approvals
from innkeeper.host.asking import Asking, sender
from innkeeper.host.core import Core, act
from innkeeper.host.endings import (
    Cancelled,
    Ending,
    Failed,
    Succeeded,
    ending_action,
    failed,
    idle,
    provider_failed,
    turn_end,
)
from innkeeper.host.faults import logged
from innkeeper.host.local_output import CommandOutput
from innkeeper.host.output import Output
from innkeeper.host.requests import DeclarationsFailed, Requests
from innkeeper.host.running import RunningTurn, RunningTurns
from innkeeper.host.settings import HostSettings
from innkeeper.host.subagents import Router
from innkeeper.host.titles import Titles
from innkeeper.host.views import active_turn, find_turn
from innkeeper.host.waits import Waits
from innkeeper.ports.changes import NoCheckpoints, TurnCheckpoints
from innkeeper.ports.clock import Clock
from innkeeper.ports.declarations import RequiredServerUnavailable
from innkeeper.ports.ids import Ids
from innkeeper.ports.local_commands import LocalCommands, LocalRequest
from innkeeper.providers.spi import ProviderError
from innkeeper.texts import text

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TurnParts:
    """What turns are made of."""

    core: Core
    requests: Requests
    approvals: Approvals
    hooks: Dispatcher
    admission: Admission
    commands: LocalCommands
    titles: Titles
    waits: Waits
    running: RunningTurns
    clock: Clock
    ids: Ids
    settings: HostSettings
    checkpoints: TurnCheckpoints = field(default_factory=NoCheckpoints)


class Turns:
    """The turns of all chats."""

    def __init__(self, parts: TurnParts) -> None:
        self._parts = parts
        self._core = parts.core
        self._requests = parts.requests
        self._hooks = parts.hooks
        self._admission = parts.admission
        self._commands = parts.commands
        self._titles = parts.titles
        self._waits = parts.waits
        self._running = parts.running
        self._clock = parts.clock
        self._ids = parts.ids
        self._asked: dict[tuple[str, str], Asking] = {}
        self._endings: dict[tuple[str, str], tuple[Ending, int]] = {}

    # -- what left -----------------------------------------------------------------------------------------------

    def started(self, released: Released) -> None:
        """`chat/turnStarted` or `chat/turnResume` has left."""
        chat, session = released.channel, self._core.owner(released.channel)
        turn_id = released.action["turnId"]
        if session is None or self._running.behind(chat) is not None:
            return
        if active_turn(self._core.head(chat), turn_id) is None:
            return
        message = (active_turn(released.after, turn_id) or {})["message"]
        client = released.origin.client_id if released.origin is not None else sender(message)
        resumed = released.action["type"] == "chat/turnResume"
        asking = Asking(session, chat, turn_id, message, resumed, client, released.action.get("queuedMessageId"))
        self._asked[(chat, turn_id)] = asking
        decision = self._admission.consult(asking)
        if isinstance(decision, Reject):
            self._finish(asking, Failed(decision.error, kind="rejected"), 0)
            return
        self._begin(asking, released, decision)

    def _begin(self, asking: Asking, released: Released, handled: Handled | None) -> None:
        turn = RunningTurn(asking.session, asking.chat, asking.turn_id, self._clock.monotonic())
        if asking.resumed:
            before = find_turn(released.before, asking.turn_id) or {}
            turn.earlier, turn.earlier_usage = int(before.get("duration") or 0), before.get("usage")
        self._running.add(turn)
        if not asking.resumed and handled is None:
            self._titles.first_message(asking.session, asking.chat, asking.message.get("text", ""))
        turn.task = self._core.spawn(
            self._run(turn, asking, handled is not None), f"turn {turn.turn_id} of {turn.chat}"
        )

    def changed(self, released: Released) -> None:
        """Any action on a chat has left: what waited for it is answered, and a turn that is over is stopped."""
        self._waits.changed(released.channel, released.after)
        over = active_turn(released.before)
        if over is None or active_turn(released.after, over["id"]) is not None:
            return
        act(self._core, released.channel, *idle(released.after))
        turn = self._running.get(released.channel)
        if turn is not None and turn.turn_id == over["id"]:
            self._running.remove(turn)
            if turn.task is not None:
                turn.task.cancel()
        key = (released.channel, str(over["id"]))
        asking, ended = self._asked.pop(key, None), self._endings.pop(key, None)
        session = self._core.owner(released.channel)
        if session is not None:
            kind = None if ended is None else ended[0].kind
            self._hooks.turn_end(turn_end(session, released, over, asking, kind))

    def refused(self, released: Released) -> None:
        """A client's action was taken back, perhaps the end of the turn: if its agent is through, it ends as it did."""
        turn = active_turn(self._core.head(released.channel))
        if turn is None or self._running.behind(released.channel) is not None:
            return
        ended = self._endings.get((released.channel, str(turn["id"])))
        if ended is not None:
            act(self._core, released.channel, ending_action(turn["id"], ended[1], ended[0]))

    def interruption(self, chat: str, *, resumable: bool = False) -> tuple[Change, ...]:
        """What ends the chat's running turn if it belongs to a process that is gone (K14); else nothing."""
        turn = active_turn(self._core.head(chat))
        if turn is None or self._running.behind(chat) is not None:
            return ()
        why = failed("executionInterrupted", text("error.executionInterrupted.meaning"), resumable=resumable)
        return (Act(chat, ending_action(turn["id"], 0, why)),)

    async def end_session(self, session: str, seconds: float) -> None:
        """The session is gone: its turns stop, for whose agents this waits at most so long, and what contributions
        remembered of it goes (K6)."""
        await self._end(self._running.of_session(session), seconds)
        self._hooks.evict_session(session)

    async def end_chat(self, chat: str, seconds: float) -> None:
        """The chat is gone, and its turn with it: nobody is told of its end, it has no checkpoint, and what
        contributions remembered of the chat goes (K6)."""
        turn = self._running.get(chat)
        if turn is not None:
            await self._end((turn,), seconds)
            self._parts.checkpoints.abandon(turn.session, chat, turn.turn_id)
        self._hooks.evict_chat(chat)

    def so_far(self, chat: str) -> int | None:
        """Milliseconds that the chat's turn has taken, with the attempts before a resume; None where none runs."""
        turn = self._running.get(chat)
        return None if turn is None else turn.duration(self._clock.monotonic())

    async def end_all(self, seconds: float) -> None:
        await self._end(tuple(self._running), seconds)

    # -- the run -------------------------------------------------------------------------------------------------

    async def _run(self, turn: RunningTurn, asking: Asking, local: bool) -> None:
        router = Router(turn, self._core, self._running, self._clock, self._ids)
        output = Output(turn, self._parts, router)
        turn.output = output
        ending: Ending = Cancelled()
        try:
            ending = await (self._commanded(asking, output) if local else self._ending(turn, asking, output))
        finally:
            try:
                output.close()
                router.finish(ending)
            except Exception as error:
                logged(error, f"the end of turn {turn.turn_id}", self._ids)
            self._running.remove(turn)
            if not isinstance(ending, Cancelled):
                self._finish(asking, ending, turn.duration(self._clock.monotonic()))

    async def _commanded(self, asking: Asking, output: Output) -> Ending:
        """A command that fails ends its turn all the same (K13)."""
        request = LocalRequest(asking.session, asking.chat, asking.turn_id, asking.message)
        try:
            await self._commands.run(request, CommandOutput(output))
        except Exception as error:
            logged(error, f"the local command of turn {asking.turn_id}", self._ids)
        return Succeeded("localCommand")

    async def _ending(self, turn: RunningTurn, asking: Asking, output: Output) -> Ending:
        ending = await self._attempt(turn, asking, output)
        if isinstance(ending, Failed) and asking.resumed and not turn.sent.is_set():
            return replace(ending, resumable=True)
        return ending

    async def _attempt(self, turn: RunningTurn, asking: Asking, output: Output) -> Ending:
        try:
            agent, request = await self._requests.prepare(asking, self._hooks)
            turn.sent.set()
            await agent.run_turn(request, output)
        except ProviderError as error:
            return provider_failed(error)
        except RequiredServerUnavailable as error:
            message = text("error.requiredServerUnavailable.meaning", servers=f"{error.server} ({error.code})")
            return failed("requiredServerUnavailable", message)
        except DeclarationsFailed as error:
            reference = logged(error, f"the declarations of turn {turn.turn_id} of {turn.chat}", self._ids)
            return failed("declarationsFailed", text("error.declarationsFailed.meaning", reference=reference))
        except asyncio.CancelledError:
            if active_turn(self._core.head(turn.chat), turn.turn_id) is None or _is_cancelled():
                raise
            return self._unexpected(turn, RuntimeError("the agent's task was cancelled from inside"))
        except Exception as error:
            return self._unexpected(turn, error)
        return Succeeded()

    def _unexpected(self, turn: RunningTurn, error: Exception) -> Failed:
        reference = logged(error, f"turn {turn.turn_id} of {turn.chat}", self._ids)
        provider = (self._core.head(turn.session) or {}).get("provider", "")
        reason = text("turn.internalError", reference=reference)
        return failed("sendFailed", text("error.sendFailed.meaning", provider=provider, reason=reason))

    def _finish(self, asking: Asking, ending: Ending, duration: int) -> None:
        key = (asking.chat, asking.turn_id)
        if key not in self._asked:
            return
        self._endings[key] = (ending, duration)
        if active_turn(self._core.head(asking.chat), asking.turn_id) is not None:
            act(self._core, asking.chat, ending_action(asking.turn_id, duration, ending))

    async def _end(self, turns: tuple[RunningTurn, ...], seconds: float) -> None:
        tasks: list[asyncio.Task[Any]] = []
        for turn in turns:
            for chat in self._running.chats_of(turn):
                self._waits.gone(chat)
            self._running.remove(turn)
            self._asked.pop((turn.chat, turn.turn_id), None)
            self._endings.pop((turn.chat, turn.turn_id), None)
            if turn.task is not None and not turn.task.done():
                turn.task.cancel()
                tasks.append(turn.task)
        if tasks:
            _, stuck = await asyncio.wait(tasks, timeout=seconds)
            for task in stuck:
                log.warning("%s did not stop in %g s", task.get_name(), seconds)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
