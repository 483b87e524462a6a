"""Running turns: from the echo of `chat/turnStarted` to the one action that ends it (architecture §4, AHP §9.2, §9.7).

Rules
* A turn starts after its echo, whoever dispatched it. The stages before the agent are, in order: admission, the agent
  itself, the working directory, declarations (K19), what hangs on the outgoing hook, the agent's run.
* Whatever a stage or the agent raises ends this turn with an error part, and nothing else.
* A turn that a client ended, by cancelling or truncating, is not ended again; its agent is told to stop, and what still
  waits inside it gets an answer.
* `duration` is measured by the host's monotonic clock; a resumed turn adds to what its attempts took before.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from innkeeper.engine.effects import Act, Change, Released
from innkeeper.host.core import Core, act
from innkeeper.host.endings import Cancelled, Ending, Failed, Succeeded, ending_action, failed
from innkeeper.host.faults import logged
from innkeeper.host.output import Output
from innkeeper.host.questions import ConversationQuestions
from innkeeper.host.requests import Requests
from innkeeper.host.running import RunningTurn, RunningTurns
from innkeeper.host.settings import HostSettings
from innkeeper.host.stages import Asking, TurnStages
from innkeeper.host.subagents import Router
from innkeeper.host.titles import Titles
from innkeeper.host.views import active_turn, find_turn
from innkeeper.host.waits import Waits
from innkeeper.ports.clock import Clock
from innkeeper.ports.declarations import RequiredServerUnavailable
from innkeeper.ports.ids import Ids
from innkeeper.providers.spi import ProviderError
from innkeeper.texts import text

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TurnParts:
    """What turns are made of. `timeout` bounds what a turn waits for from people and clients, in seconds."""

    core: Core
    requests: Requests
    questions: ConversationQuestions
    stages: TurnStages
    titles: Titles
    waits: Waits
    running: RunningTurns
    clock: Clock
    ids: Ids
    settings: HostSettings


class Turns:
    """The turns of all chats."""

    def __init__(self, parts: TurnParts) -> None:
        self._parts = parts
        self._core = parts.core
        self._requests = parts.requests
        self._stages = parts.stages
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
        resumed = released.action["type"] == "chat/turnResume"
        earlier = (find_turn(released.before, turn_id) or {}).get("duration") or 0 if resumed else 0
        turn = RunningTurn(session, chat, turn_id, self._clock.monotonic(), int(earlier), resumed)
        self._running.add(turn)
        message = (active_turn(released.after, turn_id) or {})["message"]
        if not resumed:
            self._titles.first_message(session, chat, message.get("text", ""))
        asking = Asking(session, chat, turn_id, message, resumed)
        self._asked[(chat, turn_id)] = asking
        turn.task = self._core.spawn(self._run(turn, asking), f"turn {turn_id} of {chat}")

    def changed(self, released: Released) -> None:
        """Any action on a chat has left: what waited for it is answered, and a turn that is over is stopped."""
        self._waits.changed(released.channel, released.after)
        over = active_turn(released.before)
        if over is None or active_turn(released.after, over["id"]) is not None:
            return
        turn = self._running.get(released.channel)
        if turn is not None and turn.turn_id == over["id"]:
            self._running.remove(turn)
            if turn.task is not None:
                turn.task.cancel()
        key = (released.channel, str(over["id"]))
        asking, (ending, _) = self._asked.pop(key, None), self._endings.pop(key, (Cancelled(), 0))
        if asking is not None:
            self._told(asking, ending)

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
        """Stop every turn of the session and wait for the agents to let go, at most so long."""
        await self._end(self._running.of_session(session), seconds)

    async def end_chat(self, chat: str, seconds: float) -> None:
        turn = self._running.get(chat)
        await self._end((turn,) if turn is not None else (), seconds)

    async def end_all(self, seconds: float) -> None:
        await self._end(tuple(self._running), seconds)

    # -- the run -------------------------------------------------------------------------------------------------

    async def _run(self, turn: RunningTurn, asking: Asking) -> None:
        router = Router(turn, self._core, self._running, self._clock, self._ids)
        output = Output(turn, self._parts, router)
        turn.output = output
        ending: Ending = Cancelled()
        try:
            ending = await self._ending(turn, asking, output)
        finally:
            turn.sent.set()
            try:
                output.close()
                router.finish(ending)
            except Exception as error:
                logged(error, f"the end of turn {turn.turn_id}", self._ids)
            self._running.remove(turn)
            if not isinstance(ending, Cancelled):
                self._finish(turn, ending)

    async def _ending(self, turn: RunningTurn, asking: Asking, output: Output) -> Ending:
        try:
            refused = self._admitted(asking)
            if refused is not None:
                return refused
            agent, request = await self._requests.prepare(asking, self._stages)
            turn.sent.set()
            await agent.run_turn(request, output)
        except ProviderError as error:
            return failed(error.error_type, error.message, resumable=error.resumable)
        except RequiredServerUnavailable as error:
            message = text("error.requiredServerUnavailable.meaning", servers=f"{error.server} ({error.code})")
            return failed("requiredServerUnavailable", message)
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
        return failed("providerFailed", text("error.providerFailed.meaning", provider=provider, reason=reason))

    def _admitted(self, asking: Asking) -> Failed | None:
        try:
            error = self._stages.admit(asking)
        except Exception as failure:
            reference = logged(failure, f"admission of turn {asking.turn_id}", self._ids)
            return Failed({"errorType": "refused", "message": text("turn.internalError", reference=reference)})
        return None if error is None else Failed(error, kind="rejected")

    def _finish(self, turn: RunningTurn, ending: Ending) -> None:
        key = (turn.chat, turn.turn_id)
        if key not in self._asked:
            return
        duration = turn.duration(self._clock.monotonic())
        self._endings[key] = (ending, duration)
        if active_turn(self._core.head(turn.chat), turn.turn_id) is not None:
            act(self._core, turn.chat, ending_action(turn.turn_id, duration, ending))

    def _told(self, asking: Asking, ending: Ending) -> None:
        try:
            self._stages.ended(asking, ending)
        except Exception as error:
            logged(error, f"what follows turn {asking.turn_id}", self._ids)

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
