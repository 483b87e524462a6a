"""uvicorn, as this host uses it. Imported when a listener starts, since it and its libraries take a tenth of a second.

Rules
* All frames that wait leave in one write, without a task switch; a message arrives by a call.
* Everything else of the WebSocket protocol (handshake, fragments, control frames, limits, closing) is uvicorn's and
  websockets' own.
* A closed connection is cut off when the other side does not let it end (`CUT_OFF_SECONDS`): a client that stopped
  reading holds no buffer for ever.
* No signal handler is installed, and nothing is logged about a request: its address may hold the token.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from innkeeper import limits
from innkeeper.edge.asgi import EXTENSION
from innkeeper.edge.peer import OutboxPeer

CUT_OFF_SECONDS: Final = 2.0
REASON_BYTES: Final = 123
_TEXT_FRAME: Final = 0x81


def frame_header(length: int) -> bytes:
    """The header of an unmasked, unfragmented text frame (RFC 6455 §5.2)."""
    if length < 126:
        return bytes((_TEXT_FRAME, length))
    if length < 65536:
        return struct.pack("!BBH", _TEXT_FRAME, 126, length)
    return struct.pack("!BBQ", _TEXT_FRAME, 127, length)


class SocketWire:
    """`Wire` over one WebSocket."""

    __slots__ = ("_farewell", "_protocol", "_transport")

    def __init__(self, protocol: "FrameProtocol") -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        self._farewell: asyncio.Task[None] | None = None

    def write(self, messages: Sequence[bytes]) -> None:
        if self._protocol.close_sent or self._transport.is_closing():
            return
        parts: list[bytes] = []
        for message in messages:
            parts += (frame_header(len(message)), message)
        self._transport.write(b"".join(parts))

    def writable(self) -> bool:
        return self._protocol.writable.is_set()

    def close(self, code: int, reason: str) -> None:
        self._farewell = self._protocol.loop.create_task(self._protocol.say_goodbye(code, reason))

    def abort(self) -> None:
        self._transport.abort()


class FrameProtocol(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket, with a door for whole messages beside ASGI."""

    peer: OutboxPeer | None = None
    cut_off: asyncio.TimerHandle | None = None
    late_pong: bytes = b""

    def open_peer(self, limit_bytes: int) -> OutboxPeer:
        self.peer = OutboxPeer(SocketWire(self), limit_bytes=limit_bytes)
        return self.peer

    async def say_goodbye(self, code: int, reason: str) -> None:
        """Sends the close frame once the wire is writable; the connection ends when it is answered, or soon."""
        short = reason.encode()[:REASON_BYTES].decode("utf-8", "ignore")
        with contextlib.suppress(OSError):  # the client was faster
            await self.send({"type": "websocket.close", "code": code, "reason": short})
        self.cut_off_later()

    def cut_off_later(self) -> None:
        if self.cut_off is None:
            self.cut_off = self.loop.call_later(CUT_OFF_SECONDS, self.transport.abort)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.handshake_complete:
            extensions: dict[str, Any] = self.scope["extensions"]
            extensions[EXTENSION] = self

    def send_receive_event_to_app(self) -> None:
        if self.peer is None:
            super().send_receive_event_to_app()
            return
        message = self.frames[0] if len(self.frames) == 1 else b"".join(self.frames)
        self.frames = []
        if not self.close_sent:
            self.peer.receive(message if type(message) is bytes else bytes(message))

    def handle_ping(self) -> None:
        """While the client does not read, only the newest ping is answered, so that pings cannot fill the memory."""
        if self.writable.is_set():
            super().handle_ping()
        elif pongs := self.conn.data_to_send():
            self.late_pong = pongs[-1]

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.late_pong and not self.transport.is_closing():
            self.transport.write(self.late_pong)
            self.late_pong = b""
        if self.peer is not None:
            self.peer.resume()

    def handle_close(self, event: Any) -> None:
        super().handle_close(event)
        self.cut_off_later()

    def handle_parser_exception(self) -> None:
        super().handle_parser_exception()
        self.cut_off_later()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.cut_off_later()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.cut_off is not None:
            self.cut_off.cancel()
        super().connection_lost(exc)


class ImpatientHttp(H11Protocol):
    """uvicorn's HTTP, which also ends a connection that asks for nothing."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(limits.HANDSHAKE_SECONDS, self._end_if_silent)

    def _end_if_silent(self) -> None:
        asked: object = self.cycle
        if asked is None and self.transport.get_protocol() is self:
            self.transport.abort()


class HostServer(Server):
    """uvicorn's server without its signal handlers; `ready` is set once it listens."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop_accepting(self) -> None:
        """Closes the listening sockets; what is connected stays."""
        for server in self.servers:
            server.close()


def configure(app: Any, *, message_bytes: int, ping_seconds: float, pong_seconds: float) -> Config:
    """uvicorn's configuration for `app`."""
    return Config(
        app,
        interface="asgi3",
        http=ImpatientHttp,
        ws=FrameProtocol,
        ws_max_size=message_bytes,
        ws_ping_interval=ping_seconds,
        ws_ping_timeout=pong_seconds,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
