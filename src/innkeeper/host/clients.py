"""Clients that take part in a session, and what happens when one goes (AHP §9.2, §9.5, §13.13).

Rules
* A client that leaves a session, or stays away beyond the grace period, is no active client of it any more; with it go
  its tools, and its running tool calls fail.
* After a restart of the host every stored active client counts as away from that moment. A session that comes back
  into memory later is rid of those whose time was up meanwhile.
* Time is the injected monotonic clock; one task waits for the next deadline.
"""

import asyncio
from typing import Any

from innkeeper.engine.effects import Act, Change
from innkeeper.host.core import Core, act
from innkeeper.host.output import failed_call
from innkeeper.host.views import State, active_turn, tool_calls
from innkeeper.ports.clock import Clock
from innkeeper.texts import text

UNFINISHED = frozenset({"streaming", "pending-confirmation", "running"})


class Grace:
    """Deadlines of clients that are away. Pure: time is given."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadlines: dict[str, float] = {}

    def away(self, client_id: str, now: float) -> None:
        self._deadlines.setdefault(client_id, now + self._seconds)

    def back(self, client_id: str) -> None:
        self._deadlines.pop(client_id, None)

    def over(self, now: float) -> list[str]:
        """The clients whose time is up; each is named once."""
        names = [client_id for client_id, deadline in self._deadlines.items() if deadline <= now]
        for client_id in names:
            del self._deadlines[client_id]
        return names

    def is_away(self, client_id: str) -> bool:
        return client_id in self._deadlines

    def next(self) -> float | None:
        return min(self._deadlines.values(), default=None)


class Clients:
    """The host's side of coming and going clients."""

    def __init__(self, core: Core, clock: Clock, *, grace: float) -> None:
        self._core = core
        self._clock = clock
        self._seconds = grace
        self._grace = Grace(grace)
        self._started = clock.monotonic()
        self._changed = asyncio.Event()

    def attached(self, client_id: str) -> None:
        self._grace.back(client_id)

    def detached(self, client_id: str) -> None:
        self._grace.away(client_id, self._clock.monotonic())
        self._changed.set()

    def left(self, client_id: str, channel: str) -> None:
        """The client has given a channel up for good."""
        if self._core.kind(channel) == "session":
            self._remove(client_id, channel)

    def removed(self, client_id: str, session: str) -> None:
        """The client is no active client of the session any more, for whatever reason."""
        for chat in self._core.owned_by(session):
            state = self._core.head(chat)
            turn = active_turn(state)
            if turn is not None:
                act(self._core, chat, *_failures(turn, client_id))

    def restored(self) -> None:
        """The host has started: who was active in an earlier process is away from now on until it comes back."""
        self._started = self._clock.monotonic()
        for session in self._core.channels("session"):
            self.entering(session)

    def entering(self, session: str) -> list[Change]:
        """The session was read from the store: what takes those out whose grace period ended while it was there."""
        gone: list[Change] = []
        for client in (self._core.head(session) or {}).get("activeClients") or ():
            client_id = str(client["clientId"])
            if self._core.is_connected(client_id) or self._grace.is_away(client_id):
                continue
            if self._clock.monotonic() < self._started + self._seconds:
                self._grace.away(client_id, self._started)
                self._changed.set()
            else:
                gone.append(Act(session, {"type": "session/activeClientRemoved", "clientId": client_id}))
        return gone

    async def watch(self) -> None:
        """Ends grace periods when they are over. Runs until cancelled."""
        while True:
            self._changed.clear()
            for client_id in self._grace.over(self._clock.monotonic()):
                self._expire(client_id)
            deadline = self._grace.next()
            wait = None if deadline is None else max(0.0, deadline - self._clock.monotonic())
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _expire(self, client_id: str) -> None:
        self._core.expire(client_id)
        for session in self._core.channels("session"):
            self._remove(client_id, session)

    def _remove(self, client_id: str, session: str) -> None:
        clients = (self._core.head(session) or {}).get("activeClients") or ()
        if any(client["clientId"] == client_id for client in clients):
            act(self._core, session, {"type": "session/activeClientRemoved", "clientId": client_id})


def _failures(turn: State, client_id: str) -> list[dict[str, Any]]:
    """The end of every unfinished call that the client would have executed."""
    return [
        failed_call(turn["id"], call["toolCallId"], text("clientTool.ownerAway"))
        for call in tool_calls(turn)
        if call.get("status") in UNFINISHED
        and (call.get("contributor") or {}).get("kind") == "client"
        and call["contributor"].get("clientId") == client_id
    ]
