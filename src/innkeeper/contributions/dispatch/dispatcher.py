"""Calling the hooks (K4, K5, K8, K9, K11).

Rules
* Isolation: what one contribution raises is logged with its id and the hook, and the others run. Admission alone fails
  closed: an exception, or an answer that is none, rejects. A `CancelledError` out of a hook is its failure like any
  other; only whoever waits for a sequence can cancel it.
* What a hook gives is looked at before it is used: a wrong value is that contribution's failure, never the turn's.
* An asynchronous hook runs in a task of its own: its turn's cancellation ends it and the sequence, its time limit ends
  it alone, and one that holds on to its task is left behind.
* An action that nobody watches costs one look-up. What is remembered for that is no larger than what is watched for,
  whatever types of actions clients make up.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from innkeeper.contributions.dispatch.answers import is_addition, is_decision, is_restored, is_turns
from innkeeper.contributions.dispatch.registry import Bound, Registry
from innkeeper.contributions.spi import (
    Addition,
    ClientAction,
    DispatchedAction,
    Handled,
    HydratedChat,
    Hydration,
    IncomingRequest,
    OutgoingTurn,
    Reject,
    Turn,
    TurnEnd,
    Watch,
)
from innkeeper.limits import CONTRIBUTION_STAGE_SECONDS
from innkeeper.texts import text

log = logging.getLogger(__name__)

FAILURES: Final = (Exception, asyncio.CancelledError)
"""What a hook may raise while it is called; the second is what a cancelled future says that it looks at."""


class HookFailed(Exception):
    """What is used in place of the value of a hook that gave none; it has been logged."""


class Dispatcher:
    """The hooks of one host. `seconds` bounds each asynchronous hook."""

    def __init__(self, registry: Registry, *, seconds: float = CONTRIBUTION_STAGE_SECONDS) -> None:
        self.registry = registry
        self._seconds = seconds
        self._left_behind: set[asyncio.Task[Any]] = set()
        self._watching: dict[tuple[str | None, str], tuple[Bound, ...]] = {}
        registry.on_change(self._sort)

    def _sort(self) -> None:
        of = self.registry.sequence
        self._incoming, self._outgoing = of("on_incoming_request"), of("on_outgoing_turn")
        self._ends, self._applied = of("on_turn_end"), of("on_did_apply_client_action")
        self._turns, self._chats = of("on_hydrate_turns"), of("on_hydrate_chat")
        self._dispatched = tuple((bound, self.registry.watch_of(bound.id)) for bound in of("on_did_dispatch_action"))
        self._named_types = frozenset().union(*(watch.types or () for _, watch in self._dispatched))
        self._watching.clear()

    # -- admission -----------------------------------------------------------------------------------------------

    def incoming(self, request: IncomingRequest) -> Handled | Reject | None:
        """The first answer other than acceptance; None accepts. Never raises."""
        for id, call in self._incoming:
            try:
                answer = call(request)
                if not is_decision(answer):
                    raise _no_answer(answer)
            except FAILURES:
                log.exception("contribution %s failed in on_incoming_request: the turn is rejected", id)
                why = text("turn.contributionFailed", contribution=id)
                return Reject({"errorType": "internalError", "message": why})
            if answer is not None:
                return answer
        return None

    # -- observers -----------------------------------------------------------------------------------------------

    def turn_end(self, end: TurnEnd) -> None:
        for bound in self._ends:
            _told(bound, "on_turn_end", end)

    def client_action(self, action: ClientAction) -> None:
        for bound in self._applied:
            _told(bound, "on_did_apply_client_action", action)

    def watched(self, type: str, kind: str) -> bool:
        """Whether anybody wants actions of this type on channels of this kind; asked before the value is made."""
        return bool(self._watchers(type, kind))

    def dispatched(self, action: DispatchedAction) -> None:
        for bound in self._watchers(str(action.action["type"]), action.kind):
            _told(bound, "on_did_dispatch_action", action)

    def _watchers(self, type: str, kind: str) -> tuple[Bound, ...]:
        key = (type if type in self._named_types else None, kind)
        found = self._watching.get(key)
        if found is None:
            found = tuple(bound for bound, watch in self._dispatched if _wants(watch, *key))
            self._watching[key] = found
        return found

    # -- values --------------------------------------------------------------------------------------------------

    async def outgoing(self, turn: OutgoingTurn) -> Addition:
        """What all add: instructions in order, and the last text; `text` is None when nobody gave one."""
        instructions: list[str] = []
        text: str | None = None
        for bound in self._outgoing:
            try:
                added = await self._value(bound, "on_outgoing_turn", is_addition, turn)
            except HookFailed:
                continue
            if added is None:
                continue
            instructions.extend(added.instructions)
            if added.text is not None:
                text = added.text
                turn = turn._replace(text=text)
        return Addition(tuple(instructions), text)

    async def hydrate_turns(self, of: Hydration, turns: Sequence[Turn]) -> Sequence[Turn]:
        for bound in self._turns:
            try:
                turns = await self._value(bound, "on_hydrate_turns", is_turns, of, turns)
            except HookFailed:
                continue
        return turns

    async def hydrate_chat(self, of: Hydration, restored: HydratedChat) -> HydratedChat:
        for bound in self._chats:
            try:
                restored = await self._value(bound, "on_hydrate_chat", is_restored, of, restored)
            except HookFailed:
                continue
        return restored

    async def _value(self, bound: Bound, hook: str, fits: Callable[[Any], bool], *arguments: object) -> Any:
        """What the hook gives. Raises HookFailed, and CancelledError when whoever waits is cancelled."""
        try:
            given = bound.call(*arguments)
        except FAILURES as error:
            raise _failed(bound, hook, error) from error
        try:
            if inspect.isawaitable(given):
                given = await self._within(bound, hook, given)
            if not fits(given):
                raise _no_answer(given)
        except HookFailed:
            raise
        except Exception as error:
            raise _failed(bound, hook, error) from error
        return given

    async def _within(self, bound: Bound, hook: str, work: Any) -> Any:
        task: asyncio.Task[Any] = asyncio.ensure_future(_awaited(work))
        try:
            await asyncio.wait({task}, timeout=self._seconds)
        except asyncio.CancelledError:
            self._leave(task)
            raise
        if not task.done():
            self._leave(task)
            log.warning("contribution %s took longer than %g s in %s and is skipped", bound.id, self._seconds, hook)
            raise HookFailed
        if task.cancelled():
            log.warning("contribution %s cancelled itself in %s and is skipped", bound.id, hook)
            raise HookFailed
        return task.result()

    def _leave(self, task: "asyncio.Task[Any]") -> None:
        """Nobody waits for it any more; what it says is not lost silently."""
        task.cancel()
        self._left_behind.add(task)
        task.add_done_callback(self._gone)

    def _gone(self, task: "asyncio.Task[Any]") -> None:
        self._left_behind.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("a contribution that was given up ended with %s", type(error).__name__)

    # -- ends ----------------------------------------------------------------------------------------------------

    def evict_chat(self, chat: str) -> None:
        """The chat is gone or leaves memory."""
        self.registry.mementos.evict_chat(chat)

    def evict_session(self, session: str) -> None:
        self.registry.mementos.evict_session(session)

    def close(self) -> None:
        for task in tuple(self._left_behind):
            task.cancel()
        self.registry.close()


async def _awaited(work: Any) -> Any:
    return await work


def _wants(watch: Watch, type: str | None, kind: str) -> bool:
    return (watch.types is None or type in watch.types) and (watch.kinds is None or kind in watch.kinds)


def _told(bound: Bound, hook: str, value: object) -> None:
    try:
        given = bound.call(value)
        if inspect.iscoroutine(given):
            raise _no_answer(given)
    except FAILURES as error:
        _failed(bound, hook, error)


def _failed(bound: Bound, hook: str, error: BaseException) -> HookFailed:
    log.error("contribution %s failed in %s", bound.id, hook, exc_info=error)
    return HookFailed()


def _no_answer(given: object) -> TypeError:
    if inspect.iscoroutine(given):
        given.close()  # else Python says at some other time and place that nobody awaited it
    return TypeError(f"a {type(given).__name__} is no answer here")
