"""The host's side of the guardian (architecture §5): starts it, feeds it, replaces it when it died."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

logger = logging.getLogger(__name__)

SCRIPT = Path(__file__).with_name("guardian.py")


class Guard:
    """One guardian process. Not started before `ensure`; every call is short and does not block."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._groups: dict[int, int | None] = {}

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def ensure(self) -> None:
        """Start the guardian unless it runs; a new one is told of every living group. Raises OSError."""
        if self._process is not None and self._process.poll() is None:
            return
        if self._process is not None:
            logger.warning("the guardian process ended with %s; starting another", self._process.returncode)
            self._forget()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", os.fspath(SCRIPT)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        self._channel = ours
        for group, held in self._groups.items():
            self._tell_added(group, held)

    def add(self, group: int, held: int | None = None) -> None:
        """`held`: a descriptor that stays open after the host's death until the group has been found. It is the
        caller's until `remove`."""
        self._groups[group] = held
        self._tell_added(group, held)

    def remove(self, group: int) -> None:
        self._groups.pop(group, None)
        self._tell(f"-{group}\n")

    def let_go(self, group: int) -> None:
        """The group is still guarded, its descriptor held no longer."""
        if self._groups.get(group) is not None:
            self.add(group)

    async def close(self) -> None:
        """End the guardian. It ends whatever is still registered."""
        process = self._process
        self._forget()
        if process is not None:
            await asyncio.to_thread(process.wait)

    def _tell_added(self, group: int, held: int | None) -> None:
        if held is None:
            self._tell(f"+{group}\n")
        else:
            self._tell(f"*{group}\n", held)

    def _tell(self, line: str, *descriptors: int) -> None:
        if self._channel is None:
            return
        try:
            if descriptors:
                socket.send_fds(self._channel, [line.encode()], descriptors)
            else:
                self._channel.sendall(line.encode())
        except OSError:
            logger.warning("the guardian process does not listen; it is started anew with the next child")

    def _forget(self) -> None:
        if self._channel is not None:
            self._channel.close()
        self._process = self._channel = None
