"""A host that only records what it hears, and clients on real sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from websockets.asyncio.client import ClientConnection, connect, unix_connect

from innkeeper.edge.peer import OutboxPeer
from innkeeper.edge.websocket import Listener, ListenOptions
from innkeeper.engine.effects import Frame

PATIENCE = 5.0
T = TypeVar("T")
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@dataclass
class RecordedLink:
    """A `Link` that remembers, and can answer each message by `reply`."""

    peer: OutboxPeer
    heard: list[bytes | str] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    heard_something: asyncio.Event = field(default_factory=asyncio.Event)
    reply: Callable[[bytes | str], bytes] | None = None

    def receive(self, data: bytes | str) -> None:
        self.heard.append(data)
        self.heard_something.set()
        if data == b"boom":
            raise RuntimeError("planted")
        if self.reply is not None:
            self.peer.send(Frame(self.reply(data)))

    def lost(self) -> None:
        assert not self.gone.is_set(), "lost is told once"
        self.gone.set()


class RecordingHost:
    """Attaches peers as the driver would."""

    def __init__(self) -> None:
        self.links: list[RecordedLink] = []
        self.reply: Callable[[bytes | str], bytes] | None = lambda data: b"echo " + bytes(data)  # type: ignore[arg-type]

    def attach(self, peer: OutboxPeer) -> RecordedLink:
        link = RecordedLink(peer, reply=self.reply)
        self.links.append(link)
        return link


class Edge:
    """A started listener with a recording host."""

    def __init__(self, options: ListenOptions) -> None:
        self.host = RecordingHost()
        self.options = options
        self.listener = Listener(self.host.attach, options)

    @property
    def port(self) -> int:
        assert self.listener.port is not None
        return self.listener.port

    def client(self, query: str = "", **more: Any) -> connect:
        more.setdefault("compression", None)
        return connect(f"ws://127.0.0.1:{self.port}/{query}", proxy=None, open_timeout=PATIENCE, **more)

    def unix_client(self, **more: Any) -> unix_connect:
        return unix_connect(str(self.options.socket), "ws://localhost/", compression=None, **more)

    async def connected(self, **more: Any) -> tuple[ClientConnection, RecordedLink]:
        """A client that the host has heard once."""
        client = await self.client(**more)
        await client.send("hello")
        assert await within(client.recv()) == "echo hello"
        return client, self.host.links[-1]

    async def http(self, request: str) -> tuple[int, dict[str, str], str]:
        """Sends the lines of a request (`Host`, `Connection: close` are added) and reads the whole answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = [line.strip() for line in request.strip().splitlines()]
        names = {line.partition(":")[0].lower() for line in lines[1:]}
        lines += [] if "host" in names else [f"Host: 127.0.0.1:{self.port}"]
        lines += [] if "connection" in names else ["Connection: close"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        answer = (await within(reader.read())).decode()
        writer.close()
        head, _, body = answer.partition("\r\n\r\n")
        first, *rest = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        return int(first.split()[1]), headers, body

    @asynccontextmanager
    async def raw(self, *, receive_buffer: int | None = None, upgrade: bool = True) -> AsyncIterator[socket.socket]:
        """A TCP connection that reads nothing by itself, upgraded to a WebSocket."""
        client = socket.socket()
        if receive_buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_connect(client, ("127.0.0.1", self.port))
            if upgrade:
                await loop.sock_sendall(client, UPGRADE % self.port)
                assert b" 101 " in await within(loop.sock_recv(client, 4096))
            yield client
        finally:
            client.close()

    @staticmethod
    async def within(waiting: Awaitable[T], seconds: float = PATIENCE) -> T:
        return await within(waiting, seconds)


@pytest.fixture
def recording() -> type[RecordingHost]:
    """A host for edges that are no listener."""
    return RecordingHost


@pytest.fixture
async def edges() -> AsyncIterator[Callable[..., Coroutine[Any, Any, Edge]]]:
    """Starts listeners that are stopped after the test."""
    async with AsyncExitStack() as stack:

        async def start(options: ListenOptions | None = None, **more: Any) -> Edge:
            edge = Edge(replace(options or ListenOptions(), **more))
            await edge.listener.start()
            stack.push_async_callback(edge.listener.stop)
            return edge

        yield start


async def within(waiting: Awaitable[T], seconds: float = PATIENCE) -> T:
    async with asyncio.timeout(seconds):
        return await waiting


@pytest.fixture
def short_tmp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose path is short enough for a Unix socket."""
    return tmp_path_factory.mktemp("s")
