"""The listener: one application on TCP and on a Unix socket, started, watched and stopped (issue 2, section 5).

Rules
* Sockets are opened before anything is imported or served, so that an address in use is the first thing that is said.
* Half-open clients are found by pings. Their frames wait within the outbox's bound until then.
* `stop` ends within `SHUTDOWN_SECONDS`: no new connections, what waits is sent, then close 1012; who does not take it
  is cut off.
"""

import asyncio
import contextlib
import logging
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from innkeeper import limits
from innkeeper.edge.access import Access
from innkeeper.edge.application import App
from innkeeper.edge.peer import Attach
from innkeeper.edge.sockets import open_tcp, open_unix, remove_unix

if TYPE_CHECKING:
    from innkeeper.edge.asgi import WebSocketDoor
    from innkeeper.edge.serving import HostServer

log = logging.getLogger(__name__)

SERVICE_RESTART: Final = 1012
PING_SECONDS: Final = 20.0
PONG_SECONDS: Final = 20.0
FLUSH_SECONDS: Final = 1.5


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Where to listen and whom to let in. `port` None: not on TCP. `port` 0: a free one."""

    host: str = "127.0.0.1"
    port: int | None = 0
    socket: Path | None = None
    token: str | None = field(default=None, repr=False)
    token_on_unix: bool = False
    language: str | None = None
    connections: int = limits.CONNECTIONS
    outbox_bytes: int = limits.OUTBOX_BYTES
    message_bytes: int = limits.MESSAGE_BYTES
    handshake_seconds: float = limits.HANDSHAKE_SECONDS
    ping_seconds: float = PING_SECONDS
    pong_seconds: float = PONG_SECONDS


class Listener:
    """Lets clients in and makes each known to the host by `attach`."""

    def __init__(self, attach: Attach, options: ListenOptions, pages: "App | None" = None) -> None:
        """`pages` is the web UI, an ASGI application behind the same access rules."""
        self._attach = attach
        self._pages = pages
        self._options = options
        self._sockets: list[socket.socket] = []
        self._unix_inode = 0
        self._port: int | None = None
        self._server: HostServer | None = None
        self._door: WebSocketDoor | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def port(self) -> int | None:
        """The TCP port, once started; None without TCP."""
        return self._port

    @property
    def url(self) -> str | None:
        """The WebSocket address for clients on this machine, without the token; None without TCP."""
        if self._port is None:
            return None
        host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._options.host, self._options.host)
        return f"ws://[{host}]:{self._port}/" if ":" in host and "[" not in host else f"ws://{host}:{self._port}/"

    @property
    def connections(self) -> int:
        """Open WebSockets."""
        return len(self._door.peers) if self._door is not None else 0

    def bind(self) -> None:
        """Opens the sockets; `start` does it when it was not called. Raises `HostError` (see `edge.sockets`)."""
        if self._sockets:
            return
        options = self._options
        try:
            if options.port is not None:
                self._sockets.append(open_tcp(options.host, options.port))
                self._port = self._sockets[0].getsockname()[1]
            if options.socket is not None:
                self._sockets.append(open_unix(options.socket))
                self._unix_inode = options.socket.lstat().st_ino
        except BaseException:
            self._close_sockets()
            raise

    async def start(self) -> None:
        """Returns when clients can connect. Raises `HostError`."""
        self.bind()
        from innkeeper.edge.asgi import EdgeLimits, WebSocketDoor, build_app
        from innkeeper.edge.serving import HostServer, configure

        options = self._options
        bounds = EdgeLimits(options.connections, options.outbox_bytes, options.message_bytes, options.handshake_seconds)
        self._door = WebSocketDoor(self._attach, bounds)
        app = build_app(self._door, Access(options.token, options.token_on_unix), options.language, self._pages)
        config = configure(
            app,
            message_bytes=options.message_bytes,
            ping_seconds=options.ping_seconds,
            pong_seconds=options.pong_seconds,
        )
        self._server = HostServer(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=self._sockets), name="edge.listener")
        self._serving.add_done_callback(_report)
        ready = asyncio.ensure_future(self._server.ready.wait())
        try:
            await asyncio.wait((ready, self._serving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self._serving.done():
            self._serving.result()

    async def stop(self, code: int = SERVICE_RESTART, reason: str = "the host is shutting down") -> None:
        """Ends everything within `SHUTDOWN_SECONDS`. Idempotent."""
        server, serving, door = self._server, self._serving, self._door
        self._server = None
        if server is None or serving is None or door is None:
            self._close_sockets()
            return
        server.stop_accepting()
        for peer in list(door.peers):
            peer.close(code, reason)
        with contextlib.suppress(TimeoutError):  # who is late is cut off
            async with asyncio.timeout(FLUSH_SECONDS):
                await door.idle.wait()
        for peer in list(door.peers):
            peer.abort()
        server.should_exit = True
        _, late = await asyncio.wait((serving,), timeout=limits.SHUTDOWN_SECONDS - FLUSH_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        self._close_sockets()

    def _close_sockets(self) -> None:
        for listener in self._sockets:
            with contextlib.suppress(OSError):
                listener.close()
        self._sockets = []
        if self._options.socket is not None and self._unix_inode:
            remove_unix(self._options.socket, self._unix_inode)
            self._unix_inode = 0


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.critical("the listener failed", exc_info=task.exception())
