"""What carries messages between a client and a host: one message a frame, in order, in both directions (AHP §1).

A `Transport` can be opened again after it ended; that is how a client reconnects. `open_target` maps what a person
writes to a transport. The network library is imported when a network target is opened for the first time.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from innkeeper.client.errors import TargetInvalid

CONNECT_SECONDS: Final = 10.0
CLEAN_CODES: Final = frozenset({1000, 1005})
"""WebSocket close codes that end a connection on purpose; after any other one the client reconnects (AHP §15)."""


class TransportClosed(Exception):
    """The connection has ended; `code` is a WebSocket close code, 1006 when there was no farewell."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"{code} {reason}".rstrip())
        self.code = code
        self.reason = reason

    @property
    def clean(self) -> bool:
        return self.code in CLEAN_CODES


class Transport(Protocol):
    """One connection at a time. `send` and `receive` are called by one task each."""

    async def open(self) -> None:
        """Connects, or connects again. Raises ConnectFailed, or AccessDenied when the host refuses this client."""
        ...

    async def send(self, message: bytes) -> None:
        """Sends one encoded message. Raises TransportClosed."""
        ...

    async def receive(self) -> bytes | str:
        """Waits for the next message. Raises TransportClosed once nothing more will come."""
        ...

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Ends the connection and frees what it held; a pending `receive` ends. Idempotent, never raises."""
        ...


Target = str | Sequence[str] | Transport
"""`ws://host:port[/path][?tkn=…]`, `wss://…`, `unix:/path/to/socket`, an argv that speaks AHP on standard input and
output, or a transport."""


def open_target(target: Target, token: str | None = None) -> Transport:
    """The transport for a target; nothing is connected yet. Raises TargetInvalid.

    `token` is sent in the `Authorization` header; it never becomes part of an address.
    """
    if isinstance(target, str):
        from innkeeper.client.websocket import WebSocketTransport

        return WebSocketTransport(target, token)
    if isinstance(target, Sequence):
        from innkeeper.client.stdio import StdioTransport

        if not target or not target[0]:
            raise TargetInvalid("the command line of a host is empty")
        return StdioTransport(tuple(target))
    return target
