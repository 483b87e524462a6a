"""Turns and tool calls, measured; nothing here ends one (contributions K7; reference §4.12).

Rules
* A turn or a call in which nothing happens for `QUIET_SECONDS` is reported in the log and counted, with one reason: it
  waits for a person, a tool runs, or there is no progress. Each reason once a turn, at most `WINDOWS` reports.
* A turn that was reported and comes to an end is reported as recovered.
* Counters live as long as the process and are told in `status`; nothing is ever sent anywhere.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from innkeeper.host.core import Core
from innkeeper.host.running import RunningTurn, RunningTurns
from innkeeper.host.views import active_turn, tool_calls
from innkeeper.ports.clock import Clock

log = logging.getLogger(__name__)

QUIET_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 30.0
WINDOWS: Final = 6
Why = Literal["waitsForPerson", "toolRuns", "noProgress"]


class Counters:
    """The `Telemetry` service."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, name: str, **attributes: str | int | bool) -> None:
        more = ",".join(f"{key}={value}" for key, value in sorted(attributes.items()))
        self._counts[f"{name}{{{more}}}" if more else name] += 1

    def all(self) -> Mapping[str, int]:
        return dict(self._counts)


@dataclass(slots=True)
class _Seen:
    """What is known of one running turn."""

    parts: object
    since: float
    reported: set[Why] = field(default_factory=set)
    windows: int = 0


class Turns:
    """The `TurnTracker` service, and the watch over quiet turns."""

    def __init__(self, core: Core, running: RunningTurns, counters: Counters, clock: Clock) -> None:
        self._core = core
        self._running = running
        self._counters = counters
        self._clock = clock
        self._blocked: dict[str, frozenset[str]] = {}
        self._seen: dict[tuple[str, str], _Seen] = {}

    def blocked(self, chat: str, by: frozenset[str]) -> None:
        if by:
            self._blocked[chat] = by
        else:
            self._blocked.pop(chat, None)

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Report what has been quiet for too long."""
        now, there = self._clock.monotonic(), set()
        for turn in self._running:
            key = (turn.chat, turn.turn_id)
            there.add(key)
            state = active_turn(self._core.head(turn.chat), turn.turn_id)
            parts = (state or {}).get("responseParts")
            seen = self._seen.get(key)
            if seen is None or seen.parts is not parts:
                kept = set() if seen is None else seen.reported
                self._seen[key] = _Seen(parts, now, kept, 0 if seen is None else seen.windows)
            elif now - seen.since >= QUIET_SECONDS:
                self._report(turn, seen, now)
        for key in self._seen.keys() - there:
            if self._seen.pop(key).reported:
                log.info("turn %s of %s went on and has ended", key[1], key[0])
                self._counters.count("turn.recovered")

    def _report(self, turn: RunningTurn, seen: _Seen, now: float) -> None:
        why = self._why(turn)
        seen.since = now
        if why in seen.reported or seen.windows >= WINDOWS:
            return
        seen.reported.add(why)
        seen.windows += 1
        log.warning("turn %s of %s: nothing for %g s (%s)", turn.turn_id, turn.chat, QUIET_SECONDS, why)
        self._counters.count("turn.quiet", why=why)

    def _why(self, turn: RunningTurn) -> Why:
        if any(self._blocked.get(chat) for chat in self._running.chats_of(turn)):
            return "waitsForPerson"
        state = active_turn(self._core.head(turn.chat), turn.turn_id)
        if any(call.get("status") == "running" for call in tool_calls(state)):
            return "toolRuns"
        return "noProgress"


class ToolCalls:
    """The `ToolCallTracker` service: how often calls had to wait for a person."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._waiting: dict[str, frozenset[str]] = {}

    def blocked(self, chat: str, calls: frozenset[str]) -> None:
        for _ in calls - self._waiting.get(chat, frozenset()):
            self._counters.count("toolCall.waited")
        if calls:
            self._waiting[chat] = calls
        else:
            self._waiting.pop(chat, None)
