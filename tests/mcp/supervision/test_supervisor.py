"""The supervisor's task in virtual time, on connections that are scripted (M7.1-M7.5)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from innkeeper.mcp.connections.values import ConnectionState
from innkeeper.mcp.supervision.course import DELAYS
from innkeeper.mcp.supervision.supervisor import Orders, Supervisor, Timing

pytestmark = pytest.mark.anyio

LOST = ConnectionState("error", "CONNECTION_LOST")
READY = ConnectionState("ready")


class Time:
    """Waiting moves the clock to the moment at once, unless the event is set; `until` ends the world."""

    def __init__(self, until: float = 600.0) -> None:
        self.now = 0.0
        self.until = until
        self.over = asyncio.Event()

    def monotonic(self) -> float:
        return self.now

    async def wait(self, event: asyncio.Event, seconds: float | None) -> None:
        await asyncio.sleep(0)
        if event.is_set():
            return
        if seconds is None or self.now + seconds > self.until:
            self.over.set()
            await event.wait()
            return
        self.now += seconds

    def timing(self, unit: float = 1.0) -> Timing:
        return Timing(self.monotonic, lambda seconds: f"in {seconds:g}", lambda: unit, self.wait)


class Scripted:
    """A connection that comes to `outcome`, and ends when told."""

    def __init__(self, world: "World", outcome: ConnectionState, url: str | None) -> None:
        self.world = world
        self.outcome = outcome
        self.url = url
        self.state = ConnectionState("starting")
        self.confirmed_dead = True
        self.confirm: Callable[[], Awaitable[bool]] | None = None
        self.closed = 0

    def start(self) -> None:
        self.world.starts.append(self.world.time.now)

    async def settled(self) -> ConnectionState:
        self.move(self.outcome)
        return self.state

    def move(self, state: ConnectionState) -> None:
        self.state = state
        self.world.supervisor.connection_changed(self)  # type: ignore[arg-type]

    def drop(self, code: str) -> None:
        self.move(ConnectionState("error", code))

    async def close(self) -> None:
        self.closed += 1
        self.confirmed_dead = self.world.confirmed
        if self.state.kind in ("starting", "ready"):
            self.move(ConnectionState("stopped"))


class World:
    """A supervisor with all that it is told; `outcomes` are those of the tries, the last one for ever."""

    def __init__(self, outcomes: list[ConnectionState], *, url: str | None = None, until: float = 600.0) -> None:
        self.time = Time(until)
        self.outcomes = outcomes
        self.url = url
        self.starts: list[float] = []
        self.made: list[Scripted] = []
        self.told: list[tuple[str, int, str | None]] = []
        self.looks: list[float] = []
        self.alive: Callable[[float], bool] = lambda _: True
        self.supervised = True
        self.obstacle: str | None = None
        self.confirmed = True
        orders = Orders(self.make, lambda: self.supervised, self.ask, self.tell, self.look)
        self.supervisor = Supervisor("s", orders, self.time.timing())

    def make(self) -> Any:
        outcome = self.outcomes[min(len(self.made), len(self.outcomes) - 1)]
        self.made.append(Scripted(self, outcome, self.url))
        return self.made[-1]

    async def ask(self) -> str | None:
        return self.obstacle

    def tell(self) -> None:
        course = self.supervisor.course
        self.told.append((course.phase, course.attempt, course.code))

    async def look(self, url: str) -> bool:
        self.looks.append(round(self.time.now, 3))
        return self.alive(self.time.now)

    async def run(self) -> None:
        """Until nothing is left to happen before the end of the world."""
        self.supervisor.start()
        over = asyncio.ensure_future(self.time.over.wait())
        task = self.supervisor._task
        assert task is not None
        async with asyncio.timeout(5):
            await asyncio.wait([over, task], return_when=asyncio.FIRST_COMPLETED)
        over.cancel()


async def test_spawns_within_ten_minutes_are_bounded_and_go_on_for_ever() -> None:
    """R2, R3: the schedule, then one a minute; one told state a change."""
    world = World([LOST])
    await world.run()
    expected = [0.0]
    for n in range(1, 100):
        expected.append(expected[-1] + DELAYS[min(n, 7) - 1])
    assert world.starts == [moment for moment in expected if moment <= 600]
    assert len(world.starts) == 15
    assert len(world.told) == len(set(world.told)), "each state is told once"
    await world.supervisor.close()
    assert all(one.closed for one in world.made)


async def test_recovered_server_is_connected_and_its_row_ends_after_thirty_seconds() -> None:
    world = World([LOST, LOST, READY])
    await world.run()
    assert (world.supervisor.course.phase, world.supervisor.course.attempt) == ("connected", 2)
    world.time.now += 30
    world.outcomes = [LOST]
    world.time.over.clear()
    world.made[-1].drop("CONNECTION_LOST")
    async with asyncio.timeout(5):
        while world.supervisor.course.phase == "connected":  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0)
    assert world.supervisor.course.attempt >= 1
    assert world.told.count(("waiting", 1, "CONNECTION_LOST")) == 2
    await world.supervisor.close()


async def test_never_two_connections_at_a_time() -> None:
    world = World([LOST, READY, LOST])
    await world.run()
    for one in world.made[:-1]:
        assert one.closed
    await world.supervisor.close()


async def test_server_that_policy_does_not_allow_gets_one_try() -> None:
    """M7.1"""
    world = World([LOST])
    world.supervised = False
    await world.run()
    assert (len(world.starts), world.supervisor.course.phase) == (1, "ended")
    world.supervisor.start()
    await asyncio.wait_for(world.supervisor.tried(), 5)
    assert len(world.starts) == 2


async def test_refused_token_and_missing_program_pause_until_a_person_retries() -> None:
    """M7.3, R6"""
    for state in (ConnectionState("error", "AUTH_REQUIRED"), ConnectionState("error", "SPAWN_FAILED", "errno 2")):
        world = World([state, READY])
        await world.run()
        assert (len(world.starts), world.supervisor.course.phase) == (1, "paused")
        world.supervisor.start()
        await asyncio.wait_for(world.supervisor.tried(), 5)
        assert world.supervisor.course.phase == "connected"
        await world.supervisor.close()


async def test_retry_that_is_no_longer_what_was_allowed_pauses_with_the_reason() -> None:
    """M7.3: DECLARATION_CHANGED."""
    world = World([LOST])
    world.obstacle = "DECLARATION_CHANGED"
    await world.run()
    assert len(world.starts) == 1
    assert world.supervisor.state == ConnectionState("error", "DECLARATION_CHANGED")
    assert world.supervisor.course.next_try is None


async def test_process_that_may_live_refuses_even_a_retry_by_hand() -> None:
    """M7.3, R4: CLOSE_UNCONFIRMED."""
    world = World([LOST])
    world.confirmed = False
    await world.run()
    assert world.supervisor.blocked
    assert world.supervisor.state == ConnectionState("error", "CLOSE_UNCONFIRMED")
    world.supervisor.start()
    await asyncio.wait_for(world.supervisor.tried(), 5)
    assert len(world.starts) == 1


async def test_retry_now_does_not_wait_and_does_not_reset_the_row() -> None:
    world = World([LOST, LOST, LOST, READY], until=0.5)
    await world.run()
    assert (world.supervisor.course.phase, world.supervisor.next_try) == ("waiting", "in 1")
    for attempt in (2, 3):
        world.supervisor.start()
        await asyncio.wait_for(world.supervisor.tried(), 5)
        assert (world.supervisor.course.attempt, world.time.now) == (attempt, 0.0)
    world.supervisor.start()
    await asyncio.wait_for(world.supervisor.tried(), 5)
    assert world.supervisor.course.phase == "connected"
    await world.supervisor.close()


async def test_idle_process_wakes_nobody_and_idle_endpoint_after_five_minutes_neither() -> None:
    """M7.4: stdio relies on child exit."""
    process = World([READY], until=100_000)
    await process.run()
    assert (process.time.now, process.looks) == (0.0, [])
    await process.supervisor.close()
    endpoint = World([READY], url="http://x/", until=100_000)
    await endpoint.run()
    assert endpoint.looks == [*range(10, 130, 10), 150, 180, 210, 240, 270, 300]
    assert endpoint.time.now == 300
    await endpoint.supervisor.close()


async def test_two_silent_looks_hand_the_endpoint_to_the_back_off() -> None:
    """M7.4"""
    world = World([READY, LOST], url="http://x/", until=12.0)
    world.alive = lambda _: False
    await world.run()
    assert world.looks == [10.0, 11.2]
    assert [told for told in world.told if told[0] == "waiting"] == [("waiting", 1, "ENDPOINT_UNREACHABLE")]
    await world.supervisor.close()


async def test_one_silent_look_is_unverified_and_the_next_answer_confirms() -> None:
    world = World([READY], url="http://x/", until=11.0)
    world.alive = lambda _: False
    await world.run()
    assert (world.supervisor.unverified, world.supervisor.course.phase) == (True, "connected")
    assert world.supervisor.confirmed_at == "in -10", "the last proof is ten seconds old"
    world.alive = lambda _: True
    world.time.until, world.time.now = 15.0, 11.2
    world.supervisor.look()
    world.made[-1].move(READY)
    async with asyncio.timeout(5):
        while world.supervisor.unverified:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0)
    assert world.supervisor.confirmed_at is None
    await world.supervisor.close()


@pytest.mark.parametrize("alive", [True, False])
async def test_call_after_a_pause_looks_first_and_learns_of_a_dead_endpoint_at_once(alive: bool) -> None:
    """M7.4: never waits for the tool time-out."""
    world = World([READY, LOST], url="http://x/", until=400)
    await world.run()
    looked = len(world.looks)
    world.time.now, world.time.until = 1000.0, 1001.5
    world.alive = lambda _: alive
    confirm = world.made[-1].confirm
    assert confirm is not None
    assert await asyncio.wait_for(confirm(), 5) is alive
    assert world.looks[looked:] == ([1000.0] if alive else [1000.0, 1001.2])
    if alive:
        assert await asyncio.wait_for(confirm(), 5)
        assert len(world.looks) == looked + 1, "fresh for five seconds"
    await world.supervisor.close()


async def test_close_during_a_wait_and_during_a_try_starts_nothing_more() -> None:
    world = World([LOST], until=0.5)
    await world.run()
    await asyncio.wait_for(world.supervisor.close(), 5)
    assert len(world.starts) == 1
    await asyncio.wait_for(world.supervisor.tried(), 5)
