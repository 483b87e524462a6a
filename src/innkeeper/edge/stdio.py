"""AHP over standard input and output: one JSON message a line, for programs that start a host of their own (AHP §1).

Rules
* Nothing but messages is written to the output: no READY line. Lines without content are ignored.
* The end of the input is the end of the connection and of the host; what was sent before is still written.
* A thread reads and one writes, so that files, pipes and terminals all work and their flags, which they share with
  other processes, stay as they were.
* A line beyond the message limit is handed on cut off, which the wire layer answers as too large, and skipped.
"""

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Final

from innkeeper import limits
from innkeeper.edge.peer import Attach, OutboxPeer

READ_BYTES: Final = 64 * 1024
FULL_BYTES: Final = 256 * 1024
LINES_AHEAD: Final = 256
"""How many lines may be read before the loop has taken them."""
FLUSH_SECONDS: Final = 1.5


class LineWire:
    """`Wire` over a file descriptor that one thread writes to."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._closed = False
        self.peer: OutboxPeer | None = None
        self.ended = asyncio.Event()
        """Everything was written after `close`, or nobody reads any more."""
        self._thread = threading.Thread(target=self._run, name="edge.stdio.write", daemon=True)
        self._thread.start()

    def write(self, messages: Sequence[bytes]) -> None:
        if self._closed:
            return
        data = b"\n".join((*messages, b""))
        self._waiting += len(data)
        self._queue.put(data)

    def writable(self) -> bool:
        return self._waiting < FULL_BYTES

    def close(self, code: int, reason: str) -> None:
        if not self._closed:
            self._closed = True
            self._queue.put(None)

    def abort(self) -> None:
        self._closed = True
        self.ended.set()
        self._queue.put(None)

    def _run(self) -> None:
        while (data := self._queue.get()) is not None:
            try:
                _write_all(self._descriptor, data)
            except OSError:
                break
            self._tell(self._written, len(data))
        self._tell(self.abort)

    def _written(self, size: int) -> None:
        was_writable = self.writable()
        self._waiting -= size
        if not was_writable and self.writable() and self.peer is not None:
            self.peer.resume()

    def _tell(self, call: Callable[..., None], *arguments: int) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call, *arguments)


class StdioConnection:
    """The one connection of `serve --stdio`."""

    def __init__(
        self, attach: Attach, *, read_from: int = 0, write_to: int = 1, message_bytes: int = limits.MESSAGE_BYTES
    ) -> None:
        self._attach = attach
        self._read_from, self._write_to = read_from, write_to
        self._longest = message_bytes
        self._room = threading.BoundedSemaphore(LINES_AHEAD)
        self._stopping = asyncio.Event()

    async def serve(self) -> None:
        """Returns when the input has ended, the output cannot be written any more, or after `stop`."""
        wire = LineWire(self._write_to)
        wire.peer = peer = OutboxPeer(wire)
        peer.attach(self._attach)
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop, peer), name="edge.stdio.read", daemon=True).start()
        ends = [asyncio.ensure_future(event.wait()) for event in (self._stopping, wire.ended)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            peer.close(1000, "end of input")
            with contextlib.suppress(TimeoutError):  # nobody reads; the host ends all the same
                async with asyncio.timeout(FLUSH_SECONDS):
                    await wire.ended.wait()
        finally:
            for end in ends:
                end.cancel()
            peer.lost()
            wire.abort()

    def stop(self) -> None:
        """Ends `serve` after what was sent is written."""
        self._stopping.set()

    def _read(self, loop: asyncio.AbstractEventLoop, peer: OutboxPeer) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # unreadable input has ended; the loop may have, too
            for line in Lines(self._read_from, self._longest):
                self._room.acquire()
                loop.call_soon_threadsafe(self._take, peer, line)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._stopping.set)

    def _take(self, peer: OutboxPeer, line: bytes) -> None:
        self._room.release()
        peer.receive(line)


class Lines:
    """Iterates over the lines of a descriptor that hold something; each is cut off one byte beyond `longest`."""

    def __init__(self, descriptor: int, longest: int) -> None:
        self._descriptor = descriptor
        self._longest = longest
        self._buffer = bytearray()
        self._skipping = False
        self._ended = False

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> bytes:
        while True:
            end = self._buffer.find(b"\n")
            if end < 0 and not self._ended:
                found = self._overlong()
                if found is None:
                    self._fill()
                    continue
                return found
            if end < 0:
                end = len(self._buffer)
                if not end:
                    raise StopIteration
            line = bytes(self._buffer[: min(end, self._longest + 1)])
            del self._buffer[: end + 1]
            skipped, self._skipping = self._skipping, False
            if not skipped and line.strip():
                return line

    def _overlong(self) -> bytes | None:
        """The beginning of a line that is too long already; what follows of it is dropped as it comes."""
        if len(self._buffer) <= self._longest:
            return None
        beginning = bytes(self._buffer[: self._longest + 1])
        self._buffer.clear()
        skipped, self._skipping = self._skipping, True
        return None if skipped else beginning

    def _fill(self) -> None:
        data = os.read(self._descriptor, READ_BYTES)
        self._buffer += data
        self._ended = not data


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
