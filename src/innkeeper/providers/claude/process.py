"""The agent's process, and what the SDK needs of it (architecture §5, providers.spi).

Rules
* It is spawned through `ports.processes`: exact environment, a group of its own, known to the guardian, closed as a
  whole tree. The SDK makes the command line and speaks the protocol over this.
* Lines that are no JSON object are not for us and are passed over. What it says on standard error is never logged.
* The end of the process is the end of the messages, with its exit code.
"""

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from innkeeper.ports.processes import Command, Process, Processes

log = logging.getLogger(__name__)

Message = dict[str, Any]


class Ended(Exception):
    """The process has ended; `code` is negative for a signal."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class ProcessTransport:
    """The SDK's `Transport` on a process of the host."""

    def __init__(self, processes: Processes, command: Command) -> None:
        self._processes = processes
        self._command = command
        self.process: Process | None = None
        self.refusal = ""
        """What the agent said last of a request that it could not carry out."""
        self._closed = False

    async def connect(self) -> None:
        """Raises OSError."""
        self.process = await self._processes.spawn(self._command)

    async def write(self, data: str) -> None:
        """Raises Ended where nobody reads any more."""
        if self.process is None or self._closed:
            raise Ended(None)
        try:
            await self.process.write(data.encode())
        except (BrokenPipeError, ConnectionResetError):
            raise Ended(self.process.exit_code) from None

    async def read_messages(self) -> AsyncIterator[Message]:
        """Raises Ended when the process has ended, unless it was closed."""
        if self.process is None:
            raise Ended(None)
        async for line in self.process.output():
            message = _message(line)
            if message is None:
                continue
            if message.get("type") == "result":
                self.refusal = "; ".join(map(str, message.get("errors") or ()))
            yield message
        if not self._closed:
            raise Ended(await self.process.wait())

    async def close(self) -> None:
        self._closed = True
        if self.process is not None:
            await self.process.close()

    def is_ready(self) -> bool:
        return self.process is not None and self.process.exit_code is None and not self._closed

    async def end_input(self) -> None:
        """Nothing: the end of input comes with `close`."""


def _message(line: bytes) -> Message | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        log.warning("the agent wrote a line that is no message (%d bytes)", len(line))
        return None
    return found if isinstance(found, dict) else None
