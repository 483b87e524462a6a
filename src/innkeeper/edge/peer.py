"""One connected client as the host sees it: a bounded outbox over something that carries messages.

Rules
* `send` never waits and never raises: what cannot leave now waits in the outbox (architecture §3.5).
* Everything that was sent in one step of the event loop leaves in one write: a callback a connection, not a task, and
  one system call for all frames that wait (figures: benchmarks/bench_edge.py).
* While the wire is full, frames stay in the outbox, where deltas merge. One that overflows is closed with 1013 and the
  reason; the client reconnects and is brought up to date. Nobody else is delayed.
* Order is kept, also between frames that may be delayed and those that may not.
* `close` lets go what was sent before it; a client that does not read it away within `LINGER_SECONDS` is cut off.
* After `lost` nothing is written, and the link is told once.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from innkeeper import limits
from innkeeper.engine.effects import Frame
from innkeeper.engine.outbox import Outbox

log = logging.getLogger(__name__)

TRY_AGAIN_LATER: Final = 1013
TOO_SLOW: Final = "too slow; reconnect to resynchronise"
INTERNAL_ERROR: Final = 1011
POLICY_VIOLATION: Final = 1008
TOO_QUIET: Final = "nothing was said"
WRITE_BYTES: Final = 256 * 1024
"""How much is handed to the wire at once; what a full wire holds beside the outbox is bounded by it and one frame."""
LINGER_SECONDS: Final = 5.0


class Wire(Protocol):
    """What carries the messages of one connection. All methods return at once and never raise."""

    def write(self, messages: Sequence[bytes]) -> None:
        """Takes the messages, in order, whether or not it is writable."""
        ...

    def writable(self) -> bool:
        """False while more should not be written; the peer's `resume` is called when that ends."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Says good-bye after what was written, and ends the connection when the other side agrees."""
        ...

    def abort(self) -> None:
        """Ends the connection now; what was not sent is lost."""
        ...


class Link(Protocol):
    """The host's end of a connection."""

    def receive(self, data: bytes | str) -> None: ...

    def lost(self) -> None: ...


class OutboxPeer:
    """The host's `Peer` over a wire, and the wire's door to the host.

    The wire's owner calls `attach` once, then `receive` for each message, `resume` when it can be written again, and
    `lost` when it ended.
    """

    def __init__(self, wire: Wire, *, limit_bytes: int = limits.OUTBOX_BYTES) -> None:
        self._wire = wire
        self._outbox = Outbox(limit_bytes)
        self._loop = asyncio.get_running_loop()
        self._flush: asyncio.Handle | None = None
        self._flush_at = 0.0
        self._closing: tuple[int, str] | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._link: Link | None = None
        self._parted = False
        self._ended = False

    @property
    def waiting_bytes(self) -> int:
        """What waits in the outbox."""
        return self._outbox.waiting_bytes

    @property
    def closing(self) -> bool:
        """It is being closed, or gone; nothing more is taken."""
        return self._closing is not None or self._ended

    def attach(self, attach: "Attach", *, silence_seconds: float | None = None) -> None:
        """Makes the connection known to the host; one whose first message does not come in time is closed."""
        self._link = attach(self)
        if silence_seconds is not None:
            self._silence = self._loop.call_later(silence_seconds, self.close, POLICY_VIOLATION, TOO_QUIET)

    def send(self, frame: Frame, delay_ms: int = 0) -> None:
        if self.closing:
            return
        if self._outbox.put(frame, delay_ms) == "overflow":
            self._overflow()
        elif self._outbox.delay() <= 0:
            if self._flush is None or self._flush_at:
                self._schedule(0)
        elif self._flush is None or self._loop.time() + delay_ms / 1000 < self._flush_at:
            self._schedule(delay_ms)

    def close(self, code: int, reason: str) -> None:
        if self.closing:
            return
        self._closing = (code, reason)
        self._unschedule()
        self._linger = self._loop.call_later(LINGER_SECONDS, self._wire.abort)
        self._write()

    def receive(self, data: bytes | str) -> None:
        """One message of the client; ignored while the connection is being closed."""
        if self._link is None or self._closing is not None:
            return
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        try:
            self._link.receive(data)
        except Exception:
            log.exception("a message could not be handled")
            self.close(INTERNAL_ERROR, "internal error")

    def resume(self) -> None:
        """The wire can be written again; what may be delayed still waits for its time."""
        if not self._flush_at and not self._ended:
            self._write()

    def abort(self) -> None:
        """Cuts the connection off."""
        if not self._ended:
            self._wire.abort()

    def lost(self) -> None:
        """The wire has ended."""
        if self._ended:
            return
        self._ended = True
        self._unschedule()
        self._outbox.clear()
        for timer in (self._linger, self._silence):
            if timer is not None:
                timer.cancel()
        link, self._link = self._link, None
        if link is not None:
            link.lost()

    def _overflow(self) -> None:
        log.warning("a client read too slowly and was closed: %d bytes were waiting", self._outbox.waiting_bytes)
        self._outbox.clear()
        self.close(TRY_AGAIN_LATER, TOO_SLOW)

    def _schedule(self, delay_ms: int) -> None:
        self._unschedule()
        if delay_ms > 0:
            self._flush_at = self._loop.time() + delay_ms / 1000
            self._flush = self._loop.call_at(self._flush_at, self._write)
        else:
            self._flush = self._loop.call_soon(self._write)

    def _unschedule(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        self._flush_at = 0.0

    def _write(self) -> None:
        self._flush = None
        self._flush_at = 0.0
        outbox, wire = self._outbox, self._wire
        while outbox and wire.writable():
            wire.write(outbox.take(WRITE_BYTES))
        if self._closing is not None and not outbox and not self._parted:
            self._parted = True
            wire.close(*self._closing)


Attach = Callable[[OutboxPeer], Link]
"""How a new connection is made known to the host; `Driver.attach` is one."""
