"""The loopback listener of the endpoints: its own port, the host's main one may be a Unix socket (architecture §5).

uvicorn is imported when the first endpoint is offered. No signal handler is installed, nothing is logged of a request.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from typing import Final

from uvicorn import Config, Server

from innkeeper.mcp.endpoint.door import Door
from innkeeper.mcp.endpoint.gathering import Gathering

ADDRESS: Final = "127.0.0.1"
KEEP_ALIVE_SECONDS: Final = 3600
"""An agent that calls on a connection which the host is just closing would see a call fail; so the host never does."""
CLOSE_SECONDS: Final = 2
HEADER_BYTES: Final = 64 * 1024
BACKLOG: Final = 128


class _Quiet(Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Listener:
    """Serves `door` on a free port of the loopback address."""

    def __init__(self, door: Door) -> None:
        self.port = 0
        self._door = door
        self._server = _Quiet(
            Config(
                door,
                interface="asgi3",
                http=Gathering,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=CLOSE_SECONDS,
                h11_max_incomplete_event_size=HEADER_BYTES,
            )
        )
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listens when this returns; what connects before the first request waits in the socket's queue."""
        for name in ("uvicorn", "uvicorn.error", "sse_starlette", "mcp"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        found = _listening_socket()
        self.port = found.getsockname()[1]
        self._door.hosts = frozenset(f"{name}:{self.port}".encode() for name in (ADDRESS, "localhost"))
        self._serving = asyncio.create_task(self._server.serve([found]), name="mcp endpoints")

    async def stop(self) -> None:
        """Stop listening and end the connections. Idempotent."""
        if self._serving is not None:
            self._server.should_exit = True
            await asyncio.wait([self._serving])


def _listening_socket() -> socket.socket:
    """asyncio switches the delay of small writes off only where the protocol is named, and an answer is two of them."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.bind((ADDRESS, 0))
        found.listen(BACKLOG)
    except OSError:
        found.close()
        raise
    found.setblocking(False)
    return found
