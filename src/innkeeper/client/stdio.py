"""AHP with a host that this client starts: one JSON message a line on its standard input and output.

The child dies with the connection: end of input first, then, if it stays, a signal. Its standard error is ours.
"""

import asyncio
import contextlib
import os
import signal
from typing import Final

from innkeeper.client.errors import ConnectFailed
from innkeeper.client.transport import TransportClosed

LONGEST_LINE: Final = 256 * 1024 * 1024
END_SECONDS: Final = 3.0
"""How long the host may take to end by itself after its input ended; then it is terminated, then killed."""


class StdioTransport:
    """A client's end of a child's pipes; see `innkeeper.client.transport` for what the methods guarantee."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None

    async def open(self) -> None:
        await self.close()
        try:
            # A group of its own: the terminal's Ctrl-C is for the program that uses the client, which then closes.
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,
            )
        except OSError as error:
            raise ConnectFailed(f"{self._command[0]}: {error.strerror or error}") from error

    async def send(self, message: bytes) -> None:
        if self._process is None or self._process.stdin is None:
            raise TransportClosed(1006, "not open")
        try:
            self._process.stdin.write(message + b"\n")
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise TransportClosed(1006, "the host ended") from error

    async def receive(self) -> bytes | str:
        if self._process is None or self._process.stdout is None:
            raise TransportClosed(1006, "not open")
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError as error:
                raise TransportClosed(1009, "a line without end") from error
            if not line:
                raise TransportClosed(1006, "the host ended")
            if line.strip():
                return line

    async def close(self, code: int = 1000, reason: str = "") -> None:
        # Kept until it has ended: a close that is cancelled half-way is finished by the next one.
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        for ending in (signal.SIGTERM, signal.SIGKILL):
            if await _ends(process):
                break
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, ending)
        await process.wait()
        self._process = None


async def _ends(process: asyncio.subprocess.Process) -> bool:
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        return False
    return True
