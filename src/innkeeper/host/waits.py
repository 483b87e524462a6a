"""Waiting for what clients do in a running turn (AHP §9.2, §9.8).

Rules
* A wait looks at the running turn after every action that left, in order, so no answer can be missed.
* A wait ends: with what was looked for, or with None when its turn ends, is truncated, or its chat goes. No wait hangs
  on a turn that is over (M6.4b).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from innkeeper.host.views import State, active_turn

Look = Callable[[State], Any]
"""Called with the running turn; anything but None ends the wait."""


@dataclass(eq=False, slots=True)
class _Wait:
    turn_id: str
    look: Look
    future: asyncio.Future[Any]


class Waits:
    """All open waits of a host."""

    def __init__(self) -> None:
        self._by_chat: dict[str, list[_Wait]] = {}

    def open(self, chat: str, turn_id: str, look: Look) -> asyncio.Future[Any]:
        """A future of what `look` finds. Cancelling it gives the wait up."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        wait = _Wait(turn_id, look, future)
        self._by_chat.setdefault(chat, []).append(wait)
        future.add_done_callback(lambda _: self._forget(chat, wait))
        return future

    def changed(self, chat: str, state: State) -> None:
        """The chat is now `state`."""
        for wait in tuple(self._by_chat.get(chat, ())):
            if wait.future.done():
                continue
            turn = active_turn(state, wait.turn_id)
            found = None if turn is None else wait.look(turn)
            if turn is None or found is not None:
                self._settle(chat, wait, found)

    def gone(self, chat: str) -> None:
        """The chat does not exist any more."""
        for wait in tuple(self._by_chat.get(chat, ())):
            if not wait.future.done():
                self._settle(chat, wait, None)

    def count(self) -> int:
        return sum(map(len, self._by_chat.values()))

    def _settle(self, chat: str, wait: _Wait, found: Any) -> None:
        self._forget(chat, wait)
        wait.future.set_result(found)

    def _forget(self, chat: str, wait: _Wait) -> None:
        waits = self._by_chat.get(chat, [])
        if wait in waits:
            waits.remove(wait)
        if not waits:
            self._by_chat.pop(chat, None)
