"""A client in the same process: for tests, and for programs that embed a host (architecture §3.11).

`MemoryDoor(attach).accept` is what the client library's `MemoryTransport` is given. The peer, its outbox and its rules
are those of every other edge.
"""

import asyncio
import contextlib
from collections.abc import Sequence

from innkeeper.client.memory import MemoryEnd
from innkeeper.client.transport import TransportClosed
from innkeeper.edge.peer import Attach, OutboxPeer

GOING_AWAY = 1001


class MemoryWire:
    """`Wire` over the host's end of a pair; it is always writable, since both ends are one program."""

    def __init__(self, end: MemoryEnd) -> None:
        self._end = end
        self._messages: list[bytes] = []
        self._farewell: tuple[int, str] | None = None
        self._changed = asyncio.Event()

    def write(self, messages: Sequence[bytes]) -> None:
        self._messages += messages
        self._changed.set()

    def writable(self) -> bool:
        return True

    def close(self, code: int, reason: str) -> None:
        self._farewell = (code, reason)
        self._changed.set()

    def abort(self) -> None:
        self.close(1006, "cut off")

    async def carry(self) -> None:
        """Hands over what is written, until the end."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            messages, self._messages = self._messages, []
            for message in messages:
                await self._end.send(message)
            if self._farewell is not None:
                await self._end.close(*self._farewell)
                return


class MemoryDoor:
    """Makes in-process clients known to the host."""

    def __init__(self, attach: Attach) -> None:
        self._attach = attach
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, end: MemoryEnd) -> None:
        """A client connects; needs a running event loop."""
        task = asyncio.create_task(self._serve(end), name="edge.memory")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Ends all connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, end: MemoryEnd) -> None:
        wire = MemoryWire(end)
        peer = OutboxPeer(wire)
        carrying = asyncio.create_task(wire.carry())
        try:
            peer.attach(self._attach)
            while True:
                peer.receive(await end.receive())
        except TransportClosed:
            return
        finally:
            peer.lost()
            carrying.cancel()
            with contextlib.suppress(TransportClosed, asyncio.CancelledError):
                await carrying
            await end.close(GOING_AWAY, "the host ended")
