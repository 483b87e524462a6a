"""What clients see does not depend on which sessions are in memory (contributions reference §5.2, S3; K6, K17).

Two hosts get the same messages. One keeps every session in memory, the other none that nobody looks at; now and then
both are killed and started again. Lists, snapshots and every client's own copies are equal after each step.
"""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from innkeeper.host.settings import HostSettings
from innkeeper.store.memory import MemoryLog
from scripted.fakes import CountingIds, FakeMcp, FakeServer
from scripted.world import ROOT, Client, World, plain

EXAMPLES = 200 if os.environ.get("INNKEEPER_SOAK") else 8
STEPS = 30
NAMES = ("alice", "bob")
SESSIONS = tuple(f"ahp-session:/{name}" for name in "abcd")
PROMPTS = (
    "hello",
    "tool",
    "think",
    "title Named by the agent",
    "usage",
    "fail",
    "fail resumable",
    "subagent",
    "many 20",
)
USER = {"kind": "user"}
WAIT = 20.0


class StepClock:
    """The time is the number of the step: the same in both hosts, whatever each of them has to do in it."""

    def __init__(self) -> None:
        self.step = 0

    def now(self) -> str:
        return f"2026-01-01T{self.step // 3600:02}:{self.step // 60 % 60:02}:{self.step % 60:02}.000Z"

    def monotonic(self) -> float:
        return float(self.step)


class Host:
    """One of the two, with its clients; a life is the time between two kills."""

    def __init__(self, clock: StepClock, *, keeps: bool) -> None:
        self.clock = clock
        self.keeps = keeps
        self.settings = HostSettings(resident_sessions=0, rest_seconds=0.0, summary_delay=0.0005, close_timeout=0.2)
        self.clients: dict[str, Client] = {}
        self.seen: dict[str, int] = {}
        self.wanted: dict[str, list[str]] = {name: [ROOT] for name in NAMES}
        self.lives = 0
        self.turns = 0
        self.releases = 0

    async def start(self, log: MemoryLog | None = None) -> None:
        self.lives += 1
        mcp = FakeMcp(declared={"memo": FakeServer("memo")})
        world = World(log=log, mcp=mcp, settings=self.settings, ids=CountingIds(f"life{self.lives}-"))
        world.clock = self.clock  # type: ignore[assignment]
        self.world = await world.start()
        self.world.service.residency.hold_while(lambda _session: self.keeps)
        self.world.driver.loading.when_left(self._left)

    def _left(self, channel: str) -> None:
        self.releases += 1

    # -- clients -------------------------------------------------------------------------------------------------

    async def come(self, name: str) -> None:
        if name in self.clients:
            return
        client = self.clients[name] = Client(self.world, name)
        client._seq = 1_000 * self.clock.step
        try:
            answer = await client.request(
                "reconnect", clientId=name, lastSeenServerSeq=self.seen.get(name, 0), subscriptions=self.wanted[name]
            )
        except Exception:
            await client.initialize()
            answer = {"type": "snapshot", "missing": ()}
            for uri in self.wanted[name]:
                if uri != ROOT and self.world.hub.kind(uri) is not None:
                    await client.subscribe(uri)
        if answer["type"] == "replay":
            for uri in set(self.wanted[name]).difference(answer["missing"]):
                await client.subscribe(uri)
        self.wanted[name] = [uri for uri in self.wanted[name] if self.world.hub.kind(uri) is not None]

    def go(self, name: str) -> None:
        client = self.clients.pop(name, None)
        if client is not None:
            numbers = [e["serverSeq"] for e in client.actions()]
            self.seen[name] = max([self.seen.get(name, 0), *numbers])
            client.lose()

    async def watch(self, name: str, uri: str) -> None:
        if name in self.clients and self.world.hub.kind(uri) is not None and uri not in self.wanted[name]:
            self.wanted[name].append(uri)
            await self.clients[name].subscribe(uri)

    def unwatch(self, name: str, uri: str) -> None:
        if name in self.clients and uri in self.wanted[name]:
            self.wanted[name].remove(uri)
            self.clients[name].unsubscribe(uri)

    def forget(self, uri: str) -> None:
        gone = (uri, *self.world.hub.owned_by(uri))
        for name, wanted in self.wanted.items():
            self.wanted[name] = [one for one in wanted if one not in gone]
            for one in gone:
                if name in self.clients:
                    self.clients[name].states.pop(one, None)

    # -- looking -------------------------------------------------------------------------------------------------

    async def quiet(self) -> None:
        """Everything that goes on by itself has come to its end."""
        async with asyncio.timeout(WAIT):
            calm = 0
            while calm < 3:
                await asyncio.sleep(0.0015)
                calm = calm + 1 if self._is_calm() else 0

    def _is_calm(self) -> bool:
        world = self.world
        ledger, residency = world.hub._ledger, world.service.residency
        reading = world.service._servers._reading.values()
        moving = world.driver.loading._on_the_way or len(world.conversation.running) or world.service._mirror._timers
        return (
            not moving
            and ledger.released_seq == world.hub.last_seq
            and not ledger._queue
            and not [task for task in reading if not task.done()]
            and not residency._due()
        )

    async def listed(self) -> Any:
        asker = await self.world.client("asker")
        found, cursor = [], {}
        while True:
            page = await asker.request("listSessions", limit=2, **cursor)
            found += page["items"]
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        asker.lose()
        return plain(found)

    async def look(self, uri: str) -> Any:
        """The session and its chats, for somebody new."""
        if self.world.hub.kind(uri) is None:
            return None
        asker = await self.world.client("asker")
        state = await asker.subscribe(uri)
        chats = {chat["resource"]: await asker.subscribe(chat["resource"]) for chat in state["chats"]}
        asker.lose()
        return plain([state, chats])

    async def close(self) -> None:
        await self.world.close()


Step = Callable[[Host], Coroutine[Any, Any, Any]]


class Equality(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock = StepClock()
        self.hosts = (Host(self.clock, keeps=True), Host(self.clock, keeps=False))
        for host in self.hosts:
            self.loop.run_until_complete(host.start())
        for name in NAMES:
            self.both(lambda host, name=name: host.come(name))
        self.create("alice", SESSIONS[0])

    def both(self, step: Step) -> None:
        """The same on each, and what can be seen is the same afterwards."""
        self.clock.step += 1
        seen = [self.loop.run_until_complete(self._one(host, step)) for host in self.hosts]
        assert seen[0] == seen[1]

    async def _one(self, host: Host, step: Step) -> Any:
        found = await step(host)
        await host.quiet()
        host.world.check_mirrors(*host.clients.values())
        copies = {name: plain(client.states) for name, client in host.clients.items()}
        return found, copies, await host.listed()

    def chat_of(self, session: str) -> str | None:
        """Their identifiers are counted, so both have the same."""
        rows = self.hosts[0].world.hub.owned_by(session)
        return rows[0] if rows else None

    # -- sessions ------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS))
    def create(self, name: str, session: str) -> None:
        async def step(host: Host) -> None:
            if name in host.clients and host.world.hub.kind(session) is None:
                await host.clients[name].request("createSession", session, provider="scripted")
                await host.world.until(lambda: (host.world.hub.head(session) or {}).get("lifecycle") != "creating")

        self.both(step)

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS))
    def dispose(self, name: str, session: str) -> None:
        async def step(host: Host) -> None:
            if name in host.clients and host.world.hub.kind(session) is not None:
                host.forget(session)
                await host.clients[name].request("disposeSession", session)
                await host.world.until(lambda: session not in host.world.service._joined.sessions._ending)

        if self.clock.step % 3 == 0:
            self.both(step)

    # -- watching ------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS), chat=st.booleans())
    def watch(self, name: str, session: str, chat: bool) -> None:
        uri = self.chat_of(session) if chat else session
        if uri is not None:
            self.both(lambda host: host.watch(name, uri))

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS), chat=st.booleans())
    def unwatch(self, name: str, session: str, chat: bool) -> None:
        uri = self.chat_of(session) if chat else session

        async def step(host: Host) -> None:
            if uri is not None:
                host.unwatch(name, uri)

        self.both(step)

    @rule(session=st.sampled_from(SESSIONS))
    def look(self, session: str) -> None:
        self.both(lambda host: host.look(session))

    @rule(name=st.sampled_from(NAMES))
    def go(self, name: str) -> None:
        async def step(host: Host) -> None:
            host.go(name)

        self.both(step)

    @rule(name=st.sampled_from(NAMES))
    def come(self, name: str) -> None:
        self.both(lambda host: host.come(name))

    # -- acting --------------------------------------------------------------------------------------------------

    def dispatch(self, name: str, channel: str | None, type: str, **fields: Any) -> None:
        async def step(host: Host) -> None:
            if channel is not None and name in host.clients and host.world.hub.kind(channel) is not None:
                host.clients[name].dispatch(channel, type, **fields)
                await host.clients[name].request("listSessions", limit=1)

        self.both(step)

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS), on=st.booleans(), flag=st.booleans())
    def flag(self, name: str, session: str, on: bool, flag: bool) -> None:
        kind, field = ("session/isReadChanged", "isRead") if flag else ("session/isArchivedChanged", "isArchived")
        self.dispatch(name, session, kind, **{field: on})

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS), title=st.sampled_from(["A", "B"]))
    def retitle(self, name: str, session: str, title: str) -> None:
        self.dispatch(name, session, "session/titleChanged", title=title)

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS), text=st.sampled_from(["", "half", "more"]))
    def draft(self, name: str, session: str, text: str) -> None:
        self.dispatch(name, self.chat_of(session), "chat/draftChanged", draft={"text": text, "origin": USER})

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS))
    def take_part(self, name: str, session: str) -> None:
        client = {"clientId": name, "tools": []}
        self.dispatch(name, session, "session/activeClientSet", activeClient=client)

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS), prompt=st.sampled_from(PROMPTS))
    def turn(self, name: str, session: str, prompt: str) -> None:
        message = {"text": prompt, "origin": USER}
        at = self.clock.now()
        self.dispatch(
            name, self.chat_of(session), "chat/turnStarted", turnId=f"t{self.clock.step}", startedAt=at, message=message
        )

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS))
    def queue(self, name: str, session: str) -> None:
        message = {"text": "hello", "origin": USER}
        self.dispatch(
            name,
            self.chat_of(session),
            "chat/pendingMessageSet",
            kind="queued",
            id=f"q{self.clock.step}",
            message=message,
        )

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS))
    def truncate(self, name: str, session: str) -> None:
        self.dispatch(name, self.chat_of(session), "chat/truncated")

    @rule(name=st.sampled_from(NAMES), session=st.sampled_from(SESSIONS))
    def connect(self, name: str, session: str) -> None:
        async def step(host: Host) -> Any:
            if name in host.clients and host.world.hub.kind(session) is not None:
                return await host.clients[name].request("x-innkeeper/customizations/list", session)

        self.both(step)

    # -- the end of a process ------------------------------------------------------------------------------------

    @precondition(lambda self: self.clock.step % 4 == 0)
    @rule()
    def kill(self) -> None:
        async def step(host: Host) -> None:
            assert await host.world.driver.settle(5)
            for name in tuple(host.clients):
                host.go(name)
            survivor = host.world.log.crash()
            for task in tuple(host.world.driver._tasks):
                task.cancel()
            await host.start(survivor)

        self.both(step)

    def teardown(self) -> None:
        if not hasattr(self, "hosts"):
            return
        try:
            for session in SESSIONS:
                self.look(session)
            assert self.hosts[0].releases == 0
            Equality.releases += self.hosts[1].releases
        finally:
            for host in self.hosts:
                self.loop.run_until_complete(host.close())
            self.loop.close()

    releases = 0


def test_what_clients_see_does_not_depend_on_what_is_in_memory() -> None:
    began = time.monotonic()
    case = Equality.TestCase
    case.settings = settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None)
    case().runTest()
    assert Equality.releases > EXAMPLES, f"sessions have left memory ({time.monotonic() - began:.0f} s)"
