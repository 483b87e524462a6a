"""The turns that run, by chat; workers of subagents lead to the turn that spawned them (AHP §9.3)."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class Flushes(Protocol):
    """The output of a turn: what it still holds back can be put into the state."""

    def flush(self) -> None: ...


@dataclass(eq=False, slots=True)
class RunningTurn:
    """One turn of one chat; `began` is monotonic, `earlier` the milliseconds of the attempts before a resume."""

    session: str
    chat: str
    turn_id: str
    began: float
    earlier: int = 0
    earlier_usage: Mapping[str, Any] | None = None
    """What the attempts before a resume used."""
    output: Flushes | None = None
    task: asyncio.Task[None] | None = None
    sent: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the agent has been given the turn, and at its end."""
    steered: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Steering messages that the agent has, or is being given, by their ids."""

    def duration(self, now: float) -> int:
        """Milliseconds of work, by the host's clock (AHP §6)."""
        return self.earlier + max(0, round((now - self.began) * 1000))

    def whole_usage(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        """The usage of all attempts, where this one has used `usage` so far."""
        earlier = self.earlier_usage or {}
        counts = {name: value for name, value in earlier.items() if isinstance(value, int) and name in usage}
        return {**earlier, **usage, **{name: usage[name] + value for name, value in counts.items()}}


class RunningTurns:
    """At most one turn a chat."""

    def __init__(self) -> None:
        self._turns: dict[str, RunningTurn] = {}
        self._workers: dict[str, RunningTurn] = {}

    def add(self, turn: RunningTurn) -> None:
        self._turns[turn.chat] = turn

    def add_worker(self, chat: str, turn: RunningTurn) -> None:
        """`chat` is the chat of a subagent of `turn`."""
        self._workers[chat] = turn

    def remove(self, turn: RunningTurn) -> None:
        """The turn is over, or will be without having run: whoever waits for it to be sent goes on."""
        turn.sent.set()
        if self._turns.get(turn.chat) is turn:
            del self._turns[turn.chat]
        for chat in [chat for chat, owner in self._workers.items() if owner is turn]:
            del self._workers[chat]

    def get(self, chat: str) -> RunningTurn | None:
        return self._turns.get(chat)

    def behind(self, chat: str) -> RunningTurn | None:
        """The turn that works in `chat`: its own, or the one whose subagent it is."""
        return self._turns.get(chat) or self._workers.get(chat)

    def chats_of(self, turn: RunningTurn) -> tuple[str, ...]:
        """The chats in which the turn works: its own, and its subagents'."""
        return (turn.chat, *(chat for chat, owner in self._workers.items() if owner is turn))

    def of_session(self, session: str) -> tuple[RunningTurn, ...]:
        return tuple(turn for turn in self._turns.values() if turn.session == session)

    def __iter__(self) -> Iterator[RunningTurn]:
        return iter(tuple(self._turns.values()))

    def __len__(self) -> int:
        return len(self._turns)
