"""A connection on a scripted process: what cannot be had from a real one on demand (M7.3, M7.5)."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from innkeeper.mcp.connections.connection import Connection
from innkeeper.mcp.connections.values import CallFailed, ConnectionLost, ConnectionState, Limits
from innkeeper.mcp.declarations.model import StdioLaunch
from innkeeper.mcp.servers import ProjectServers
from innkeeper.ports.processes import CloseOutcome, Command

pytestmark = pytest.mark.anyio

LAUNCH = StdioLaunch("server", (), {}, "/")


class ScriptedProcess:
    """Speaks the first protocol generation; `answer` makes the result of what is not the handshake."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any] | None], confirmed: bool = True) -> None:
        self.pid = 4711
        self.exit_code: int | None = None
        self.received: list[dict[str, Any]] = []
        self.closed = 0
        self._answer = answer
        self._confirmed = confirmed
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._gone = asyncio.Event()

    def say(self, message: dict[str, Any]) -> None:
        self._lines.put_nowait(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def end(self, code: int) -> None:
        self.exit_code = code
        self._gone.set()
        self._lines.put_nowait(None)

    async def write(self, data: bytes) -> None:
        if self._gone.is_set():
            raise BrokenPipeError
        message = json.loads(data)
        self.received.append(message)
        if "id" not in message or "method" not in message:
            return
        result = self._reply(message)
        if result is not None:
            self.say({"id": message["id"], **result})

    def _reply(self, message: dict[str, Any]) -> dict[str, Any] | None:
        match message["method"]:
            case "server/discover":
                return {"error": {"code": -32601, "message": "no such method"}}
            case "initialize":
                version = message["params"]["protocolVersion"]
                info = {"name": "scripted", "version": "1"}
                capabilities = {"tools": {"listChanged": True}}
                return {"result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}}
            case _:
                return self._answer(message)

    async def output(self) -> AsyncIterator[bytes]:
        while (line := await self._lines.get()) is not None:
            yield line

    def stderr_tail(self) -> bytes:
        return b""

    async def note_tree(self) -> None:
        """There is none."""

    async def wait(self) -> int:
        await self._gone.wait()
        assert self.exit_code is not None
        return self.exit_code

    async def close(self) -> CloseOutcome:
        self.closed += 1
        if self.exit_code is None:
            self.end(0)
        return CloseOutcome(self.exit_code, self._confirmed)


class ScriptedProcesses:
    def __init__(self, process: ScriptedProcess) -> None:
        self.process = process
        self.commands: list[Command] = []

    async def spawn(self, command: Command) -> ScriptedProcess:
        self.commands.append(command)
        return self.process

    async def close(self) -> None:
        await self.process.close()


def tools(*names: str) -> dict[str, Any]:
    return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}}


def only_lists(message: dict[str, Any]) -> dict[str, Any] | None:
    return tools("one") if message["method"] == "tools/list" else None


async def connect(process: ScriptedProcess, changed: Callable[[Connection], None] = lambda _: None) -> Connection:
    connection = Connection("s", LAUNCH, ScriptedProcesses(process), dict, changed, Limits(start=5, stop=1))
    connection.start()
    await asyncio.wait_for(connection.settled(), 5)
    return connection


async def test_server_of_the_first_generation_is_connected_and_its_changes_are_followed() -> None:
    """M5.7"""
    offered = ["one"]

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        return tools(*offered) if message["method"] == "tools/list" else None

    process = ScriptedProcess(answer)
    news = asyncio.Event()
    connection = await connect(process, lambda _: news.set())
    assert [tool["name"] for tool in connection.catalogue.tools] == ["one"]
    news.clear()
    offered.append("two")
    process.say({"method": "notifications/tools/list_changed"})
    await asyncio.wait_for(news.wait(), 5)
    assert [tool["name"] for tool in connection.catalogue.tools] == ["one", "two"]
    await asyncio.wait_for(connection.close(), 5)
    assert connection.state == ConnectionState("stopped")
    assert process.closed == 1


async def test_every_page_of_a_list_is_taken() -> None:
    """Reference X1"""

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        page = int((message.get("params") or {}).get("cursor") or 0)
        more = {"nextCursor": str(page + 1)} if page < 4 else {}
        return {"result": {**tools(f"t{page}")["result"], **more}}

    connection = await connect(ScriptedProcess(answer))
    assert [tool["name"] for tool in connection.catalogue.tools] == ["t0", "t1", "t2", "t3", "t4"]
    await connection.close()


async def test_storm_of_list_changes_is_two_listings_and_ends_with_the_newest() -> None:
    """Reference X2: what is said while a list is on its way is listed once more, however often it is said."""
    waiting: list[dict[str, Any]] = []
    held = False

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        if not held:
            return only_lists(message)
        waiting.append(message)
        asked.set()
        return None

    asked, changes = asyncio.Event(), asyncio.Event()
    process = ScriptedProcess(answer)
    connection = await connect(process, lambda _: changes.set())
    held = True
    process.say({"method": "notifications/tools/list_changed"})
    await asyncio.wait_for(asked.wait(), 5)
    for _ in range(200):
        process.say({"method": "notifications/tools/list_changed"})
    for names in (("one", "two"), ("one", "three")):
        changes.clear()
        asked.clear()
        process.say({"id": waiting[-1]["id"], **tools(*names)})
        await asyncio.wait_for(changes.wait(), 5)
        assert [tool["name"] for tool in connection.catalogue.tools] == list(names)
        if names == ("one", "two"):
            await asyncio.wait_for(asked.wait(), 5)
    assert len(waiting) == 2
    await connection.close()


async def test_huge_description_is_cut_and_says_so() -> None:
    """Reference X3"""
    huge = {"name": "one", "inputSchema": {"type": "object"}, "description": "d" * 30_000}

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        return {"result": {"tools": [huge]}} if message["method"] == "tools/list" else None

    connection = await connect(ScriptedProcess(answer))
    description = str(connection.catalogue.tools[0].get("description"))
    assert description == "d" * 20_000 + "… [cut: 20000 of 30000 characters]"
    await connection.close()


async def test_list_that_never_ends_is_cut_and_does_not_hang() -> None:
    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        return {"result": {**tools("one")["result"], "nextCursor": "again"}}

    connection = await connect(ScriptedProcess(answer))
    assert connection.state.kind == "ready"
    assert len(connection.catalogue.tools) == 100
    await connection.close()


async def test_error_answer_of_the_server_is_the_callers() -> None:
    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        return only_lists(message) or {"error": {"code": -32602, "message": "bad arguments"}}

    connection = await connect(ScriptedProcess(answer))
    with pytest.raises(CallFailed) as failed:
        await asyncio.wait_for(connection.call_tool("one", {}), 5)
    assert (failed.value.message, failed.value.code) == ("bad arguments", -32602)
    assert connection.state.kind == "ready"
    await connection.close()


async def test_answer_that_makes_no_sense_fails_the_call_only() -> None:
    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        return only_lists(message) or {"result": {"content": "no list"}}

    connection = await connect(ScriptedProcess(answer))
    with pytest.raises(CallFailed):
        await asyncio.wait_for(connection.call_tool("one", {}), 5)
    assert connection.state.kind == "ready"
    await connection.close()


async def test_calls_that_wait_fail_when_the_process_ends_and_each_was_sent_once() -> None:
    """M7.5"""
    process = ScriptedProcess(only_lists)
    connection = await connect(process)
    calls = [asyncio.create_task(connection.call_tool("one", {"n": n})) for n in range(3)]
    async with asyncio.timeout(5):
        while sum(m.get("method") == "tools/call" for m in process.received) < 3:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)
    process.end(9)
    results = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 5)
    assert [type(result) for result in results] == [ConnectionLost] * 3
    await asyncio.wait_for(connection.close(), 5)
    sent = [m["params"]["arguments"]["n"] for m in process.received if m.get("method") == "tools/call"]
    assert sorted(sent) == [0, 1, 2]
    with pytest.raises(ConnectionLost):
        await connection.call_tool("one", {})


async def test_process_that_ends_while_its_output_stays_open_is_seen() -> None:
    process = ScriptedProcess(only_lists)
    ended = asyncio.Event()

    def changed(connection: Connection) -> None:
        if connection.state.kind == "error":
            ended.set()

    connection = await connect(process, changed)
    process.exit_code = 5
    process._gone.set()
    await asyncio.wait_for(ended.wait(), 5)
    assert connection.state == ConnectionState("error", "CONNECTION_LOST", "exit 5")
    assert connection.pid is None


async def test_close_before_start_and_twice_is_quiet() -> None:
    process = ScriptedProcess(only_lists)
    connection = Connection("s", LAUNCH, ScriptedProcesses(process), dict, lambda _: None)
    await connection.close()
    connection.start()
    assert await connection.settled() == ConnectionState("stopped")
    await connection.close()
    assert process.received == []


async def test_owner_that_is_cancelled_still_ends_its_process() -> None:
    process = ScriptedProcess(only_lists)
    connection = await connect(process)
    assert connection._owner is not None
    connection._owner.cancel()
    await asyncio.wait([connection._owner], timeout=5)
    assert (process.closed, connection.state.kind) == (1, "stopped")


async def test_old_process_that_may_live_blocks_another_start_in_the_session(host: Any) -> None:
    """M7.3: CLOSE_UNCONFIRMED, even for a manual retry and a changed declaration."""
    processes = ScriptedProcesses(ScriptedProcess(only_lists, confirmed=False))
    servers = ProjectServers(
        processes=processes,
        clock=host.servers._clock,
        decisions=lambda: host.decisions,
        store=host.store,
        settings=lambda: host.settings,
        environment={},
    )
    uri = host.declare("ws", {"one": {"command": "server"}})
    await servers.open_session("session:/s", uri)
    await servers.start("session:/s", "mcp:one")
    await servers.stop("session:/s", "mcp:one")
    host.declare("ws", {"one": {"command": "server", "args": ["changed"]}})
    for _ in range(2):
        await servers.start("session:/s", "mcp:one")
    (row,) = servers.report("session:/s")
    assert (row.status, row.reason) == ("failed", "CLOSE_UNCONFIRMED")
    assert len(processes.commands) == 1
    await servers.close()
