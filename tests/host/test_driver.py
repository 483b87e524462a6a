"""The driver: performing effects, inboxes, commits, requests to clients (architecture §4)."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from innkeeper.engine.effects import Act, Admit, Command, Create, Drop, Frame, Released
from innkeeper.engine.hub import Hub
from innkeeper.engine.settings import HubSettings
from innkeeper.host.driver import Driver
from innkeeper.host.link import Link
from innkeeper.host.outcomes import ClientGone, ClientRefused, ClientTimeout, StorageFailed
from innkeeper.ports.decisions import Decision, PutDecision
from innkeeper.ports.log import StoreFull
from innkeeper.protocol.errors import CONFLICT, RpcError
from innkeeper.store.memory import MemoryLog
from innkeeper.workspace.system import SystemClock

pytestmark = pytest.mark.anyio
ROOT, SESSION, CHAT = "ahp-root://", "ahp-session:/s", "ahp-chat:/c"
TITLE = {"type": "session/titleChanged", "title": "t"}
STATE = {"provider": "x", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [], "chats": []}
CHAT_STATE = {"resource": CHAT, "title": "", "status": 1, "modifiedAt": "2026-11-30T12:00:00.000Z", "turns": []}
METHODS = frozenset({"createSession", "disposeSession", "listSessions"})


class AllowAll:
    def admit(self, view: Hub, channel: str, kind: str, action: Any, client_id: str, now: str) -> Admit:
        return Admit(action)


class Screen:
    """A peer that keeps what it is sent; `wait` returns the first message that fits."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.closed: tuple[int, str] | None = None
        self._news = asyncio.Event()

    def send(self, frame: Frame, delay_ms: int = 0) -> None:
        self.messages.append(json.loads(frame.body))
        self._news.set()

    def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)
        self._news.set()

    async def wait(self, fits: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        async with asyncio.timeout(5):
            while True:
                for message in self.messages:
                    if fits(message):
                        return message
                self._news.clear()
                await self._news.wait()


class Desk:
    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.screen = Screen()
        self.link: Link = driver.attach(self.screen)
        self.next_id = 0

    def send(self, method: str, **params: Any) -> int:
        self.next_id += 1
        self.link.receive(json.dumps({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}))
        return self.next_id

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        request_id = self.send(method, **params)
        return await self.screen.wait(lambda m: m.get("id") == request_id and "method" not in m)

    def dispatch(self, channel: str, action: dict[str, Any], seq: int) -> None:
        params = {"channel": channel, "clientSeq": seq, "action": action}
        self.link.receive(json.dumps({"jsonrpc": "2.0", "method": "dispatchAction", "params": params}))

    async def hello(self, name: str, *subscriptions: str) -> "Desk":
        await self.ask(
            "initialize",
            channel=ROOT,
            protocolVersions=["1.0.0"],
            clientId=name,
            initialSubscriptions=list(subscriptions),
        )
        return self


async def start(log: MemoryLog) -> Driver:
    hub = Hub(await log.open(), settings=HubSettings(), policy=AllowAll(), methods=METHODS)
    driver = Driver(hub, log, SystemClock())
    driver.start()
    return driver


@pytest.fixture
async def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
async def driver(log: MemoryLog) -> AsyncIterator[Driver]:
    driver = await start(log)
    await driver.commit(Create(ROOT, "root", None, {"agents": []}))
    await driver.commit(Create(SESSION, "session", None, STATE), Create(CHAT, "chat", SESSION, CHAT_STATE))
    yield driver
    await driver.close(seconds=1)


async def test_a_commit_returns_when_its_changes_are_durable_and_seen(driver: Driver) -> None:
    """Architecture §3.13."""
    desk = await Desk(driver).hello("a", SESSION)
    await driver.commit(Act(SESSION, TITLE))
    assert desk.screen.messages[-1]["params"]["action"] == TITLE


async def test_a_commit_that_cannot_be_stored_raises_and_changes_nothing(driver: Driver, log: MemoryLog) -> None:
    """Issue 2, bad input: a full disk."""
    log.fail_next(StoreFull("no space"))
    with pytest.raises(StorageFailed) as caught:
        await driver.commit(Create("ahp-session:/n", "session", None, STATE))
    assert caught.value.code == "STORAGE_FULL"
    assert driver.head("ahp-session:/n") is None
    await driver.commit(Create("ahp-session:/n", "session", None, STATE))


async def test_a_post_survives_a_failure_of_the_log(driver: Driver, log: MemoryLog) -> None:
    """Architecture §7: what the host itself decided is applied again and stored later."""
    log.fail_next(StoreFull("no space"))
    driver.post(Act(SESSION, TITLE))
    assert await driver.settle(5)
    assert (driver.hub.released(SESSION) or {})["title"] == "t"


async def test_a_post_for_a_channel_that_is_gone_is_passed_over(driver: Driver) -> None:
    """A session may be disposed of while its turn still reports."""
    await driver.commit(Drop(SESSION))
    driver.post(Act(SESSION, TITLE))
    assert driver.head(SESSION) is None


async def test_observers_are_told_after_the_echo_in_order_and_one_that_fails_harms_nobody(driver: Driver) -> None:
    """Architecture §4; effects that follow come after the ones they follow from."""
    desk = await Desk(driver).hello("a", SESSION)
    seen: list[str] = []

    def follow(observed: object) -> None:
        if isinstance(observed, Released):
            seen.append(observed.action["title"])
            assert desk.screen.messages[-1]["params"]["action"]["title"] == observed.action["title"]
            if observed.action["title"] == "t":
                driver.post(Act(SESSION, {**TITLE, "title": "followed"}))

    def broken(observed: object) -> None:
        raise ValueError("broken observer")

    driver.observe(broken)
    driver.observe(follow)
    await driver.commit(Act(SESSION, TITLE))
    await driver.commit(Act(SESSION, {**TITLE, "title": "last"}))
    assert seen == ["t", "followed", "last"]


def serve(driver: Driver, answers: dict[str, Callable[[Command], Awaitable[object]]]) -> None:
    async def handle(command: Command) -> object:
        return await answers[command.method](command)

    driver.serve_commands(handle)


async def test_messages_after_a_request_that_creates_a_channel_wait_for_it(driver: Driver) -> None:
    """AHP §15: clients may pipeline `createSession` and `subscribe`."""
    gate = asyncio.Event()

    async def create(command: Command) -> None:
        await gate.wait()
        await driver.commit(Create("ahp-session:/n", "session", None, STATE))

    async def listing(command: Command) -> object:
        return {"items": []}

    serve(driver, {"createSession": create, "listSessions": listing})
    desk = await Desk(driver).hello("a")
    desk.send("createSession", channel="ahp-session:/n")
    subscribed = desk.send("subscribe", channel="ahp-session:/n")
    other = await Desk(driver).hello("b")
    assert (await other.ask("listSessions", channel=ROOT))["result"] == {"items": []}
    gate.set()
    answer = await desk.screen.wait(lambda m: m.get("id") == subscribed)
    assert answer["result"]["snapshot"]["resource"] == "ahp-session:/n"


async def test_a_command_that_breaks_gives_a_clean_error_and_one_that_refuses_its_own(driver: Driver) -> None:
    """AHP §8: never a stack trace to a client."""

    async def broken(command: Command) -> object:
        raise ValueError("secret internals")

    async def refusing(command: Command) -> object:
        raise RpcError(CONFLICT, "not now")

    serve(driver, {"createSession": broken, "listSessions": refusing})
    desk = await Desk(driver).hello("a")
    answer = await desk.ask("createSession", channel="ahp-session:/n")
    assert answer["error"]["code"] == -32603
    assert "secret" not in json.dumps(answer)
    assert (await desk.ask("listSessions", channel=ROOT))["error"] == {"code": CONFLICT, "message": "not now"}


async def test_a_stored_channel_is_loaded_before_the_message_that_touches_it(driver: Driver, log: MemoryLog) -> None:
    """Architecture §4, the prelude."""
    await driver.settle(5)
    again = await start(log.crash())
    assert again.head(CHAT) is None
    desk = await Desk(again).hello("a")
    first = desk.send("subscribe", channel=CHAT)
    desk.dispatch(CHAT, {"type": "chat/isReadChanged", "isRead": True}, 1)
    await desk.screen.wait(lambda m: m.get("id") == first)
    echo = await desk.screen.wait(lambda m: m.get("method") == "action")
    assert echo["params"]["action"]["isRead"] is True
    await again.commit(Act(CHAT, {"type": "chat/movableChanged", "movable": True}))
    await again.close(seconds=1)


async def test_a_change_of_the_host_loads_a_stored_channel_first(driver: Driver, log: MemoryLog) -> None:
    """Architecture §4."""
    await driver.settle(5)
    again = await start(log.crash())
    again.post(Act(CHAT, {"type": "chat/movableChanged", "movable": True}))
    await again.commit(Act(SESSION, TITLE))
    state = await again.load(CHAT)
    while state is not None and "movable" not in state:
        await asyncio.sleep(0)
        state = again.head(CHAT)
    assert state is not None
    await again.close(seconds=1)


async def test_a_client_can_be_asked_and_its_refusal_silence_and_absence_are_told_apart(driver: Driver) -> None:
    """AHP §4: requests from host to client, with time-out and cancellation."""
    desk = await Desk(driver).hello("a")
    asking = asyncio.create_task(driver.ask("a", "resourceRead", {"uri": "x:/1"}, seconds=5))
    request = await desk.screen.wait(lambda m: m.get("method") == "resourceRead")
    desk.link.receive(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"data": "d"}}))
    assert await asking == {"data": "d"}
    desk.screen.messages.clear()
    asking = asyncio.create_task(driver.ask("a", "resourceRead", {"uri": "x:/1"}, seconds=5))
    request = await desk.screen.wait(lambda m: m.get("method") == "resourceRead")
    error = {"code": -32601, "message": "no"}
    desk.link.receive(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}))
    with pytest.raises(ClientRefused) as refused:
        await asking
    assert refused.value.code == -32601
    with pytest.raises(ClientTimeout):
        await driver.ask("a", "resourceRead", {"uri": "x:/1"}, seconds=0.01)
    with pytest.raises(ClientGone):
        await driver.ask("nobody", "resourceRead", {"uri": "x:/1"}, seconds=5)


async def test_a_client_that_goes_while_it_is_asked_is_gone_at_once(driver: Driver) -> None:
    """No call may hang."""
    desk = await Desk(driver).hello("a")
    asking = asyncio.create_task(driver.ask("a", "resourceRead", {"uri": "x:/1"}, seconds=60))
    await desk.screen.wait(lambda m: m.get("method") == "resourceRead")
    desk.link.lost()
    async with asyncio.timeout(5):
        with pytest.raises(ClientGone):
            await asking


async def test_an_answer_to_the_host_passes_messages_that_wait(driver: Driver) -> None:
    """A command may ask its own client while that client's later messages wait."""

    async def create(command: Command) -> object:
        return await driver.ask(command.client_id, "resourceRead", {"uri": "x:/1"}, seconds=5)

    serve(driver, {"createSession": create})
    desk = await Desk(driver).hello("a")
    created = desk.send("createSession", channel="ahp-session:/n")
    desk.send("ping", channel=ROOT)
    request = await desk.screen.wait(lambda m: m.get("method") == "resourceRead")
    desk.link.receive(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"data": "d"}}))
    assert (await desk.screen.wait(lambda m: m.get("id") == created and "method" not in m))["result"] == {"data": "d"}


async def test_malformed_frames_are_answered_and_harm_nobody(driver: Driver) -> None:
    """Issue 2, bad input."""
    desk = await Desk(driver).hello("a", SESSION)
    for frame, code in ((b"\xff\xfe", -32700), ("{", -32700), ("[]", -32600), ("7", -32600), ("[" * 100_000, -32700)):
        desk.screen.messages.clear()
        desk.link.receive(frame)
        assert desk.screen.messages[0]["error"]["code"] == code
        assert desk.screen.messages[0]["id"] is None
    desk.dispatch(SESSION, TITLE, 1)
    await desk.screen.wait(lambda m: m.get("method") == "action")


async def test_closing_stores_everything_and_tells_the_clients(driver: Driver, log: MemoryLog) -> None:
    """Issue 2, section 5: flush, close 1012."""
    desk = await Desk(driver).hello("a", SESSION)
    driver.post(Act(SESSION, {"type": "session/activityChanged", "activity": "volatile"}))
    await driver.close(seconds=1)
    assert desk.screen.closed is not None
    assert desk.screen.closed[0] == 1012
    again = await start(log)
    assert (await again.load(SESSION) or {})["activity"] == "volatile"
    await again.close(seconds=1)


async def test_decisions_count_when_they_are_accepted_and_are_taken_back_when_they_cannot_be_stored(
    driver: Driver, log: MemoryLog
) -> None:
    """C8.1: one transaction with the envelope; never half applied."""
    row = Decision("k", "global", "", False, "2026-11-30T12:00:00.000Z")
    log.fail_next(StoreFull("no space"))
    driver.post(Act(SESSION, TITLE))
    with pytest.raises(StorageFailed):
        await driver.store([PutDecision(row)])
    assert driver.decisions.decisions == ()
    await driver.store([PutDecision(row)])
    assert driver.decisions.decisions == (row,)
    await driver.settle(5)
    assert (await log.crash().open()).decisions.decisions == (row,)


async def test_a_chat_that_nobody_looks_at_leaves_memory_and_comes_back_with_the_next_message(log: MemoryLog) -> None:
    """Architecture §4, the prelude."""
    hub = Hub(await log.open(), settings=HubSettings(), policy=AllowAll(), methods=METHODS)
    driver = Driver(hub, log, SystemClock(), idle_seconds=0.02)
    driver.start()
    await driver.commit(Create(ROOT, "root", None, {"agents": []}))
    await driver.commit(Create(SESSION, "session", None, STATE), Create(CHAT, "chat", SESSION, CHAT_STATE))
    desk = await Desk(driver).hello("a", CHAT, SESSION)
    desk.dispatch(CHAT, {"type": "chat/isReadChanged", "isRead": True}, 1)
    await desk.screen.wait(lambda m: m.get("method") == "action")
    desk.link.lost()
    async with asyncio.timeout(5):
        while driver.head(CHAT) is not None:
            await driver.settle(5)
            await asyncio.sleep(0.01)
    assert driver.head(SESSION) is not None
    assert driver.kind(CHAT) == "chat"
    again = await Desk(driver).hello("b")
    answer = await again.ask("subscribe", channel=CHAT)
    assert answer["result"]["snapshot"]["state"]["status"] == 33
    await driver.close(seconds=1)
