"""One write for what is written in one step of the event loop: head and body of an answer leave together.

An agent is then woken once for an answer, and not twice; on a call of a few milliseconds that counts.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class Gathering(H11Protocol):
    """uvicorn's HTTP over such a transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(_Gathered(transport, self.loop))  # type: ignore[arg-type]


class _Gathered:
    """The transport as uvicorn uses it. Nothing waits longer than the present step; closing writes first."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
