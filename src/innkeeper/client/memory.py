"""A pair of ends in one process: for tests, and for a host that runs inside the program that uses it."""

import asyncio
from collections import deque
from collections.abc import Callable

from innkeeper.client.errors import ConnectFailed
from innkeeper.client.transport import TransportClosed


class Pipe:
    """Messages in one direction, in order. Unbounded: both ends are the same program."""

    def __init__(self) -> None:
        self._messages: deque[bytes | str] = deque()
        self._closed: TransportClosed | None = None
        self._ready = asyncio.Event()

    def put(self, message: bytes | str) -> None:
        """Raises TransportClosed."""
        if self._closed is not None:
            raise self._closed
        self._messages.append(message)
        self._ready.set()

    def close(self, code: int, reason: str) -> None:
        if self._closed is None:
            self._closed = TransportClosed(code, reason)
        self._ready.set()

    async def get(self) -> bytes | str:
        """The next message; what was sent before the end is still delivered. Raises TransportClosed."""
        while not self._messages:
            if self._closed is not None:
                raise self._closed
            self._ready.clear()
            await self._ready.wait()
        return self._messages.popleft()


class MemoryEnd:
    """The other end of a `MemoryTransport`: what a host in this process, or a test, reads and writes."""

    def __init__(self, incoming: Pipe, outgoing: Pipe) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    async def send(self, message: bytes | str) -> None:
        self._outgoing.put(message)

    async def receive(self) -> bytes | str:
        return await self._incoming.get()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self._incoming.close(code, reason)
        self._outgoing.close(code, reason)


class MemoryTransport:
    """Connects by calling `accept` with the other end; an exception of `accept` is a refused connection."""

    def __init__(self, accept: Callable[[MemoryEnd], None]) -> None:
        self._accept = accept
        self._end: MemoryEnd | None = None

    async def open(self) -> None:
        there, back = Pipe(), Pipe()
        try:
            self._accept(MemoryEnd(there, back))
        except OSError as error:
            raise ConnectFailed(str(error)) from error
        self._end = MemoryEnd(back, there)

    async def send(self, message: bytes) -> None:
        await self._open_end().send(message)

    async def receive(self) -> bytes | str:
        return await self._open_end().receive()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        if self._end is not None:
            await self._end.close(code, reason)

    def _open_end(self) -> MemoryEnd:
        if self._end is None:
            raise TransportClosed(1006, "not open")
        return self._end
