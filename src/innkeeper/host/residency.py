"""Which sessions are in memory: those in use, and the few that were used last (M5.8; contributions reference §5.2).

Correctness invariant, at home in the host (K1): every session passes here, and nothing of one may be lost on the way.

Rules
* Idle is a session that nobody is subscribed to, in which no turn runs or waits for anybody, and of which nothing is on
  its way: to its agent, to its servers, to the log, or held by a piece of work.
* An idle session rests a moment, so that what follows its last use finds it there. Then it leaves if it is archived;
  of the others the one least recently used does, while there are more than the limit. Nothing is deleted: what is let
  go is closed, its state is stored already, and it comes back equal.
* While a session leaves, messages that touch it wait; then it is read again for them. A session that could not leave
  stays as it was, and is looked at again with the next change, at the latest after `RESIDENCY_RETRY_SECONDS`.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol

from innkeeper.engine.effects import ChannelIdle, Released, Subscribed
from innkeeper.host.core import Core
from innkeeper.host.driver import Observed
from innkeeper.host.loading import Loading
from innkeeper.host.outcomes import StorageFailed
from innkeeper.host.running import RunningTurns
from innkeeper.host.sessions import Ends
from innkeeper.host.views import active_turn
from innkeeper.limits import RESIDENCY_REST_SECONDS, RESIDENCY_RETRY_SECONDS, RESIDENT_SESSIONS
from innkeeper.ports.clock import Clock
from innkeeper.protocol.status import IS_ARCHIVED

log = logging.getLogger(__name__)

Busy = Callable[[str], bool]

MOVING_SECONDS: Final = 0.25
"""When a session that only waits for its agent, its servers or a command is looked at again."""


class Evicts(Protocol):
    """What is remembered beside the state, and goes when the state leaves memory (K6)."""

    def evict_session(self, session: str) -> None: ...

    def evict_chat(self, chat: str) -> None: ...


class Bounds(NamedTuple):
    """`close` is for an agent that is slow to end; `rest` is for what follows a use of a session. In seconds."""

    sessions: int = RESIDENT_SESSIONS
    rest: float = RESIDENCY_REST_SECONDS
    retry: float = RESIDENCY_RETRY_SECONDS
    close: float = 2.0


class Residency:
    """One task of the driver lets sessions go, `watch`; what says that a session is used is observed."""

    def __init__(
        self,
        core: Core,
        memory: Loading,
        running: RunningTurns,
        ends: Ends,
        evicts: Evicts,
        clock: Clock,
        bounds: Bounds,
    ) -> None:
        self._core = core
        self._memory = memory
        self._running = running
        self._ends = ends
        self._evicts = evicts
        self._clock = clock
        self._bounds = bounds
        self._used: dict[str, float] = {}
        self._look = asyncio.Event()
        self._holds: list[Busy] = []
        memory.when_came(self._came)
        memory.when_left(self._evict)

    def hold_while(self, busy: Busy) -> None:
        """A session stays in memory as long as `busy` says so of it."""
        self._holds.append(busy)

    # -- what is used --------------------------------------------------------------------------------------------

    def observe(self, observed: Observed) -> None:
        """An observer of the driver."""
        match observed:
            case Subscribed(channel=channel):
                self._use(channel)
            case ChannelIdle(channel):
                self._use(channel)
                self._look.set()
            case Released(kind="session" | "chat"):
                self._released(observed)

    def _released(self, released: Released) -> None:
        ended = active_turn(released.before) is not None and active_turn(released.after) is None
        if released.kind == "session" or ended or released.origin is not None:
            self._use(released.channel)
            self._look.set()

    def _came(self, channel: str) -> None:
        self._use(channel)
        self._look.set()

    def _use(self, channel: str) -> None:
        session = self._core.owner(channel) or channel
        self._used[session] = self._clock.monotonic()

    # -- letting go ----------------------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Lets sessions go until it is cancelled."""
        wait = self._bounds.retry
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._look.wait()
            self._look.clear()
            wait = self._bounds.retry
            try:
                done = await self.sweep()
                if not done or any(self._is_settling(uri) for uri in self._core.channels("session")):
                    wait = MOVING_SECONDS
            except Exception:
                log.exception("idle sessions are not let go now")

    async def sweep(self) -> bool:
        """Let go what is due now; False when something came in between."""
        done = True
        for session in self._due():
            if not self.is_busy(session):
                done &= await self.release(session)
        return done

    def _is_settling(self, session: str) -> bool:
        """Whether it becomes idle without anything that would be observed."""
        return not self._is_needed(session) and (self._is_moving(session) or self._is_fresh(session))

    def _is_fresh(self, session: str) -> bool:
        return self._used.setdefault(session, self._clock.monotonic()) + self._bounds.rest > self._clock.monotonic()

    def _due(self) -> list[str]:
        idle = [uri for uri in self._core.channels("session") if not self.is_busy(uri) and not self._is_fresh(uri)]
        archived = [uri for uri in idle if int((self._core.head(uri) or {}).get("status") or 0) & IS_ARCHIVED]
        others = sorted(set(idle).difference(archived), key=lambda uri: (self._used.get(uri, 0.0), uri))
        return [*archived, *others[: max(0, len(others) - self._bounds.sessions)]]

    def is_busy(self, session: str) -> bool:
        """Whether the session has to stay in memory."""
        return self._is_needed(session) or self._is_moving(session)

    def _is_needed(self, session: str) -> bool:
        """Somebody looks at it, works in it, or holds it."""
        if self._running.of_session(session) or any(busy(session) for busy in self._holds):
            return True
        return any(self._core.is_watched(uri) or _is_at_work(self._core.head(uri)) for uri in self._tree(session))

    def _is_moving(self, session: str) -> bool:
        """Something of it is on its way and comes to an end by itself."""
        state = self._core.head(session)
        if state is None or state.get("lifecycle") == "creating":
            return True
        if self._ends.servers.is_busy(session) or self._ends.backings.is_opening(session):
            return True
        return any(self._memory.is_held(uri) or self._core.is_pending(uri) for uri in self._tree(session))

    async def release(self, session: str) -> bool:
        """The session has left memory, or False: it is needed after all. Nothing of it is lost either way."""
        channels = self._tree(session)
        with self._memory.leaving(channels):
            if not await self._let_go(session, channels):
                return False
            self._ends.customizations.release(session)
            gone = [self._core.unload(uri) for uri in reversed(self._tree(session)) if self._core.head(uri) is not None]
        if all(gone):
            self._used.pop(session, None)
            log.debug("%s has left memory", session)
        return all(gone)

    async def _let_go(self, session: str, channels: Iterable[str]) -> bool:
        """Close what the session has open; False when the host itself began something in it meanwhile."""
        try:
            await self._ends.servers.release(session)
            if self._is_needed(session):
                return False
            await self._ends.backings.close(session, self._bounds.close)
            await self._core.store_all(channels)
        except StorageFailed as failed:
            log.info("%s stays in memory: %s", session, failed.code)
            return False
        return not self._is_needed(session)

    def _evict(self, channel: str) -> None:
        match self._core.kind(channel):
            case "session":
                self._evicts.evict_session(channel)
            case "chat":
                self._evicts.evict_chat(channel)

    def _tree(self, session: str) -> list[str]:
        """The session and everything that goes with it, owners first."""
        found = [session]
        for uri in found:
            found.extend(self._core.owned_by(uri))
        return found


def _is_at_work(state: Any) -> bool:
    """A turn that runs, also of a subagent; a terminal whose processes have not ended."""
    if state is None:
        return False
    if "turns" in state:
        return active_turn(state) is not None
    return "claim" in state and (state.get("lifecycle") or {}).get("status") != "exited"
