"""The host's side of the guardian (architecture §5): starts it, feeds it, replaces it when it died."""

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path

logger = logging.getLogger(__name__)

SCRIPT = Path(__file__).with_name("guardian.py")


class Guard:
    """One guardian process. Not started before `ensure`; every call is short and does not block."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

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
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", os.fspath(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
            bufsize=0,
        )
        for group in self._groups:
            self._tell(f"+{group}\n")

    def add(self, group: int) -> None:
        self._groups.add(group)
        self._tell(f"+{group}\n")

    def remove(self, group: int) -> None:
        self._groups.discard(group)
        self._tell(f"-{group}\n")

    async def close(self) -> None:
        """End the guardian. It ends whatever is still registered."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.to_thread(process.wait)

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(line.encode())
        except OSError:
            logger.warning("the guardian process does not listen; it is started anew with the next child")

    def _forget(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None
