"""Real carriers: WebSocket on TCP and on a Unix socket, a child's pipes (AHP §1)."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve, unix_serve
from websockets.http11 import Request, Response

from innkeeper.client import AccessDenied, ConnectFailed, ConnectionLost, TargetInvalid, TransportClosed, connect
from innkeeper.client.memory import MemoryEnd, MemoryTransport
from innkeeper.client.transport import open_target

pytestmark = pytest.mark.anyio

STDIO_HOST = """
import json, sys
print(flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []}
    elif message["method"] == "end":
        break
    else:
        result = message["params"]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Sockets:
    """A server that answers `initialize` and `ping`, checks a token, and notes what it saw."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token
        self.frames: list[str | bytes] = []
        self.paths: list[str] = []

    async def answer(self, connection: ServerConnection) -> None:
        async for frame in connection:
            self.frames.append(frame)
            message = json.loads(frame)
            if message["method"] == "bye":
                await connection.close(1012, "restart")
                return
            result = {"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []}
            if message["method"] != "initialize":
                result = message["params"]
            await connection.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))

    def check(self, connection: ServerConnection, request: Request) -> Response | None:
        self.paths.append(request.path)
        if request.path == "/elsewhere":
            return connection.respond(HTTPStatus.NOT_FOUND, "")
        if request.path == "/moved":
            response = connection.respond(HTTPStatus.FOUND, "")
            response.headers["Location"] = "/"
            return response
        if self.token is not None and request.headers.get("Authorization") != f"Bearer {self.token}":
            return connection.respond(HTTPStatus.FORBIDDEN, "")
        return None


Serve = Callable[..., AbstractAsyncContextManager[tuple[Sockets, str]]]


@pytest.fixture(params=["tcp", "unix"])
def serving(request: pytest.FixtureRequest, tmp_path: Path) -> Serve:
    """A running server on each carrier, with its address."""

    @asynccontextmanager
    async def run(token: str | None = None) -> AsyncIterator[tuple[Sockets, str]]:
        sockets = Sockets(token)
        if request.param == "unix":
            path = str(tmp_path / "s")
            async with unix_serve(sockets.answer, path, process_request=sockets.check):
                yield sockets, f"unix:{path}"
        else:
            async with serve(sockets.answer, "127.0.0.1", 0, process_request=sockets.check) as server:
                yield sockets, f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    return run


@pytest.fixture
def tcp(tmp_path: Path) -> Callable[[], AbstractAsyncContextManager[tuple[Sockets, str]]]:
    @asynccontextmanager
    async def run() -> AsyncIterator[tuple[Sockets, str]]:
        sockets = Sockets()
        async with serve(sockets.answer, "127.0.0.1", 0, process_request=sockets.check) as server:
            yield sockets, f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    return run


async def test_one_message_is_one_text_frame(serving: Serve) -> None:
    """AHP §1"""
    async with asyncio.timeout(5), serving() as (sockets, target), connect(target, subscriptions=()) as client:
        assert await client.request("echo", {"channel": "ahp-root://", "text": "grüße"}) == {
            "channel": "ahp-root://",
            "text": "grüße",
        }
    assert [type(frame) for frame in sockets.frames] == [str, str]


async def test_the_token_travels_in_the_header(serving: Serve) -> None:
    async with asyncio.timeout(5), serving(token="s3cret") as (sockets, target):
        async with connect(target, token="s3cret", subscriptions=()) as client:
            await client.ping()
        assert all("s3cret" not in path for path in sockets.paths)


async def test_a_wrong_token_is_told_apart_from_an_absent_host(serving: Serve) -> None:
    """AHP §1: 403 at the upgrade; the message does not repeat the token."""
    async with asyncio.timeout(5), serving(token="s3cret") as (_, target):
        with pytest.raises(AccessDenied) as caught:
            async with connect(target, token="wrong"):
                raise AssertionError("not connected")
        assert "wrong" not in str(caught.value)


async def test_a_connection_that_breaks_is_opened_again(serving: Serve) -> None:
    sleeps: list[float] = []

    async def sleep(seconds: float) -> None:
        sleeps.append(seconds)

    async with asyncio.timeout(5), serving() as (sockets, target):
        async with connect(target, subscriptions=(), sleep=sleep, random=lambda: 0.0) as client:
            with pytest.raises(ConnectionLost):
                await client.request("bye", {"channel": "ahp-root://"})
            await client.ping()
        assert (sleeps, len(sockets.paths)) == ([1.0], 2)


async def test_nobody_listening_is_a_failed_connection(tmp_path: Path) -> None:
    for target in ("ws://127.0.0.1:1", f"unix:{tmp_path / 'none'}", ["/no/such/program"]):
        with pytest.raises(ConnectFailed):
            async with asyncio.timeout(5), connect(target):
                raise AssertionError("not connected")


async def test_a_server_that_is_no_host_is_a_failed_connection(tcp: Any) -> None:
    async with asyncio.timeout(5), tcp() as (_, target):
        with pytest.raises(ConnectFailed, match="404"):
            async with connect(target + "/elsewhere"):
                raise AssertionError("not connected")


async def test_a_redirect_is_not_followed_so_that_the_token_stays_here(tcp: Any) -> None:
    async with asyncio.timeout(5), tcp() as (sockets, target):
        with pytest.raises(ConnectFailed, match="302"):
            async with connect(target + "/moved", token="s3cret"):
                raise AssertionError("not connected")
        assert sockets.paths == ["/moved"]


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:1", "127.0.0.1:1", "ws://", "ws://127.0.0.1:99999", "ws://[::1", "unix:", "", [], [""]]
)
def test_a_target_that_is_no_address_is_refused_at_once(target: Any) -> None:
    with pytest.raises(TargetInvalid):
        open_target(target)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "naïve"])
def test_a_token_that_no_header_can_carry_is_refused_without_repeating_it(token: str) -> None:
    with pytest.raises(TargetInvalid) as caught:
        open_target("ws://127.0.0.1:1", token)
    assert not token or token not in str(caught.value)


async def test_a_host_on_standard_input_and_output_lives_as_long_as_the_client() -> None:
    """AHP §1: stdio is as legal as a socket; an empty line is passed over."""
    command = [sys.executable, "-c", STDIO_HOST]
    async with asyncio.timeout(5), connect(command, subscriptions=()) as client:
        assert await client.request("echo", {"channel": "ahp-root://", "a": 1}) == {"channel": "ahp-root://", "a": 1}
        transport = client._connection._transport
        assert isinstance(transport._process, asyncio.subprocess.Process)  # type: ignore[attr-defined]
        process = transport._process  # type: ignore[attr-defined]
    assert process.returncode == 0


async def test_a_child_that_ends_is_a_lost_connection() -> None:
    command = [sys.executable, "-c", STDIO_HOST]
    async with asyncio.timeout(5), connect(command, subscriptions=(), reconnect=False) as client:
        with pytest.raises(ConnectionLost):
            await client.request("end", {"channel": "ahp-root://"})


async def test_every_carrier_says_when_it_is_not_open() -> None:
    for target in ("ws://127.0.0.1:1", "unix:/tmp/none", [sys.executable], MemoryTransport(lambda end: None)):
        transport = open_target(target)
        with pytest.raises(TransportClosed):
            await transport.receive()
        with pytest.raises(TransportClosed):
            await transport.send(b"{}")
        await transport.close()


async def test_what_was_sent_before_the_end_still_arrives_in_memory() -> None:
    ends: list[MemoryEnd] = []
    transport = MemoryTransport(ends.append)
    await transport.open()
    await ends[0].send("last")
    await ends[0].close(1001, "away")
    assert await transport.receive() == "last"
    with pytest.raises(TransportClosed) as caught:
        await transport.receive()
    assert (caught.value.code, caught.value.reason, caught.value.clean) == (1001, "away", False)
    with pytest.raises(TransportClosed):
        await transport.send(b"{}")
