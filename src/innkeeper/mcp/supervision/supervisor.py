"""One task that keeps one project server connected, as `course`, `endings` and `probing` say (M7.1-M7.5).

Rules
* It makes a connection, waits until that ends by itself, ends its process, and makes the next one when its time has
  come; never two at a time. It repeats no request: what a lost connection was asked fails (M7.5).
* Before each further try it asks whether that is still what was allowed; if not it pauses with the reason.
* Nothing wakes it while a connection is idle: a process by its exit, an HTTP server by the looks that `probing` plans.
* One log line a change of state.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from innkeeper.mcp.connections.connection import Connection
from innkeeper.mcp.connections.values import ConnectionState, Use
from innkeeper.mcp.supervision.course import Course
from innkeeper.mcp.supervision.endings import is_permanent
from innkeeper.mcp.supervision.probing import Probing

logger = logging.getLogger(__name__)


UNDECIDED: Final = frozenset({"connecting", "connected"})
"""Phases in which it has not been said yet what follows from an end."""


async def wait_for_event(event: asyncio.Event, seconds: float | None) -> None:
    """Until the event is set, at most so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


@dataclass(frozen=True, slots=True)
class Timing:
    """Time and chance, as arguments. `monotonic` gives seconds, `unit` a number in 0..1, `later` the timestamp of so
    many seconds from now."""

    monotonic: Callable[[], float]
    later: Callable[[float], str]
    unit: Callable[[], float] = random.random
    wait: Callable[[asyncio.Event, float | None], Awaitable[None]] = wait_for_event


@dataclass(frozen=True, slots=True)
class Orders:
    """What a supervisor is told. `make` gives a connection that has not been started; `supervised` says whether policy
    allows the server now; `obstacle` the code that forbids another try now; `changed` is called after each change."""

    make: Callable[[], Connection]
    supervised: Callable[[], bool]
    obstacle: Callable[[], Awaitable[str | None]]
    changed: Callable[[], None]
    probe: Callable[[str], Awaitable[bool]] | None
    """None: no way to tell that an HTTP server is gone."""
    starts: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """How many servers may be starting at once."""


class Supervisor:
    """`connection` is the last one that was tried. After `close` nothing is started any more."""

    def __init__(self, name: str, orders: Orders, timing: Timing, course: Course = Course()) -> None:  # noqa: B008
        self.name = name
        self.course = course
        self.connection: Connection | None = None
        self.blocked = False
        """The old process may live: no other one is started (CLOSE_UNCONFIRMED)."""
        self._due = ""
        self._silent_since = ""
        self._orders = orders
        self._timing = timing
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._retry = asyncio.Event()
        self._tried = asyncio.Event()
        self._probing: Probing | None = None
        self._asking: list[asyncio.Future[bool]] = []

    @property
    def state(self) -> ConnectionState | None:
        """What clients are told of the connection."""
        if self.blocked:
            return ConnectionState("error", "CLOSE_UNCONFIRMED")
        if self.course.phase == "paused" and self.course.code == "DECLARATION_CHANGED":
            return ConnectionState("error", "DECLARATION_CHANGED")
        return None if self.connection is None else self.connection.state

    @property
    def live(self) -> bool:
        """Whether it is connected or in a try."""
        return self.connection is not None and self.connection.state.kind in ("starting", "ready")

    @property
    def next_try(self) -> str | None:
        """When the next try is due, as a timestamp."""
        return None if self.course.next_try is None else self._due

    @property
    def unverified(self) -> bool:
        return self._probing is not None and self._probing.health != "confirmed"

    @property
    def confirmed_at(self) -> str | None:
        """The last proof of life of an unverified server, as a timestamp; None while it is confirmed."""
        return self._silent_since if self.unverified else None

    def start(self) -> None:
        """Begin a try now, unless one is under way or the server is connected. Refused while it is `blocked`."""
        if self.blocked or self.live:
            return
        self._retry.set()
        self._tried.clear()
        if self._task is None or self._task.done():
            self._begin()
            self._task = asyncio.create_task(self._run(), name=f"supervise mcp {self.name}")

    async def tried(self) -> None:
        """The try that is under way has come to something, if there is one."""
        if self._task is not None and not self._task.done():
            await self._tried.wait()

    async def close(self) -> None:
        """End the connection with its process tree, and the supervision. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        await self._close_connection()
        self.course = Course()
        self._tried.set()

    async def confirm(self) -> bool:
        """Whether the server still answers; looks when the last proof is older than five seconds (M7.4)."""
        if self._probing is None or not self._probing.stale(self._timing.monotonic()):
            return True
        asking: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._asking.append(asking)
        self._news.set()
        return await asking

    def look(self) -> None:
        """Look at the server soon, unless that is needless (M7.4)."""
        if self._probing is not None and self._probing.stale(self._timing.monotonic()):
            self._asking.append(asyncio.get_running_loop().create_future())
            self._news.set()

    def used(self, connection: Connection, use: Use) -> None:
        """A request of the connection began, succeeded, or none runs any more."""
        if self._probing is None or connection is not self.connection:
            return
        now, before = self._timing.monotonic(), self._probing
        if use == "answered":
            self._probing = before.answered(now)
            self._answer_asking(True)
        self._probing = self._probing.working(now)
        if before.due() is None:
            self._news.set()
        if before.health != self._probing.health:
            self._orders.changed()

    def connection_changed(self, connection: Connection) -> None:
        """State or catalogue of the connection changed."""
        if connection is self.connection:
            self.blocked = self.blocked or not connection.confirmed_dead
            self._news.set()
            ending = connection.state.kind not in ("starting", "ready") and self.course.phase in UNDECIDED
            if not (ending and self._task is not None):
                self._orders.changed()

    def _begin(self) -> None:
        self._tried.clear()
        self.connection = self._orders.make()
        self._probing = None
        self.course = self.course.begun(self._timing.monotonic())
        self._orders.changed()

    async def _run(self) -> None:
        try:
            while True:
                await self._one()
                if self.blocked or (self.course.next_try is None and not self._retry.is_set()):
                    return
                if not await self._pause():
                    return
                self._begin()
        finally:
            self._probing = None
            self._answer_asking(False)
            self._tried.set()

    async def _one(self) -> None:
        """From a try to its end, and to what follows from it."""
        connection = self.connection
        assert connection is not None
        self._retry.clear()
        async with self._orders.starts:
            connection.start()
            state = await connection.settled()
        if state.kind == "ready":
            self.course = self.course.connected(self._timing.monotonic())
            logger.info("mcp server %s: connected", self.name)
            self._tried.set()
            self._orders.changed()
            await self._watch(connection)
        self._failed(connection.state)
        self._orders.changed()
        await self._close_connection()
        if self.blocked:
            self.course = self.course.paused(self._timing.monotonic(), "CLOSE_UNCONFIRMED")
            self._orders.changed()
        if not self._retry.is_set():
            self._tried.set()

    async def _watch(self, connection: Connection) -> None:
        """Until the connection ends by itself."""
        now = self._timing.monotonic()
        if connection.url is not None and self._orders.probe is not None:
            self._probing = Probing(confirmed=now, worked=now)
            connection.confirm = self.confirm
        while connection.state.kind == "ready":
            self._news.clear()
            seconds = self._until_look()
            if seconds != 0.0:
                await self._timing.wait(self._news, seconds)
            elif self._probing is not None:
                self._probing = await self._look(connection, self._probing)
        self._probing = None
        self._answer_asking(False)

    def _until_look(self) -> float | None:
        """Seconds until the next look; None: not before something happens."""
        if self._probing is None or self._probing.health == "gone":
            return None
        if self._asking and self._probing.health == "confirmed":
            return 0.0
        due = self._probing.due()
        return None if due is None else max(0.0, due - self._timing.monotonic())

    async def _look(self, connection: Connection, before: Probing) -> Probing:
        assert self._orders.probe is not None and connection.url is not None
        alive = await self._orders.probe(connection.url)
        now, present = self._timing.monotonic(), self._probing or before
        found = present.answered(now) if alive else present.unanswered(now)
        if alive:
            self._answer_asking(True)
        if present.health != found.health:
            logger.info("mcp server %s: %s", self.name, found.health)
            self._probing = found
            self._silent_since = self._timing.later(found.confirmed - now)
            self._orders.changed()
        if found.health == "gone":
            connection.drop("ENDPOINT_UNREACHABLE")
        return found

    def _failed(self, state: ConnectionState) -> None:
        code = "CLOSE_UNCONFIRMED" if self.blocked else state.code or "CONNECTION_LOST"
        self.course = self.course.failed(
            self._timing.monotonic(),
            code,
            permanent=self.blocked or is_permanent(state),
            supervised=self._orders.supervised(),
            unit=self._timing.unit(),
        )
        if self.course.next_try is not None:
            self._due = self._timing.later(self.course.next_try - self.course.since)
        logger.info("mcp server %s: %s (%s)", self.name, self.course.phase, code)

    async def _pause(self) -> bool:
        """Wait for the next try; False when there is none."""
        if self.course.next_try is not None and not self._retry.is_set():
            await self._timing.wait(self._retry, max(0.0, self.course.next_try - self._timing.monotonic()))
        obstacle = await self._orders.obstacle()
        if obstacle is None:
            return True
        self.course = self.course.paused(self._timing.monotonic(), obstacle)
        logger.info("mcp server %s: paused (%s)", self.name, obstacle)
        self._orders.changed()
        return False

    async def _close_connection(self) -> None:
        if self.connection is not None:
            await self.connection.close()
            self.blocked = self.blocked or not self.connection.confirmed_dead

    def _answer_asking(self, alive: bool) -> None:
        asking, self._asking = self._asking, []
        for future in asking:
            if not future.done():
                future.set_result(alive)
