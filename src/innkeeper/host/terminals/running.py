"""Running one command in a terminal, and how that ended (contributions reference §5.10).

Rules
* It is typed when the shell has shown its prompt. A shell that shows none within ten seconds gets a line that prints
  the marks itself; the token in them is for this one command.
* Whatever ends the waiting, the command is left alone: it goes on in its terminal, but for one that is not complete,
  which is taken back.
* The output is what was printed between the marks, as text, its last 80,000 characters.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from typing import Final

from innkeeper.host.terminals.live import LiveTerminal
from innkeeper.host.terminals.marks import Mark, Piece, Screen, Text
from innkeeper.host.terminals.outcome import INTERRUPT, Kind, Outcome, Times
from innkeeper.host.terminals.plain import last_characters, plain_text
from innkeeper.limits import TERMINAL_KEPT_CHARACTERS

CAPTURED: Final = 4 * TERMINAL_KEPT_CHARACTERS
"""Characters of raw output that are kept; what a terminal is told beside the text is less than that."""


class CommandRun:
    """One command in one terminal. `take_over` ends the waiting."""

    def __init__(self, live: LiveTerminal, command: str, times: Times | None = None) -> None:
        self._live = live
        self._command = command
        self._times = times or Times()
        self._ended: asyncio.Future[tuple[Kind, int | None]] = asyncio.get_running_loop().create_future()
        self._printed: deque[str] = deque()
        self._size = 0
        self._cut = False
        self._began = False
        self._plain = False

    def take_over(self) -> None:
        """Somebody else uses the terminal from now on."""
        self._end("background")

    async def outcome(self) -> Outcome:
        """Run it. Cancelling leaves the command alone too."""
        unwatch: Callable[[], None] = self._nothing
        undo: Callable[[], None] = self._nothing
        try:
            if await self._is_ready():
                typed = self._live.terminal.command_input(self._command)
            else:
                self._plain = True
                nonce = secrets.token_hex(8)
                undo = self._live.trust(nonce)
                typed = self._live.terminal.plain_input(self._command, nonce)
            if typed is None:
                return Outcome("untypable")
            unwatch = self._live.watch(self._seen)
            kind, code = await self._run(typed)
        finally:
            unwatch()
            undo()
            self._live.transcript.flush()
        text, cut = last_characters(plain_text("".join(self._printed)), TERMINAL_KEPT_CHARACTERS)
        return Outcome(kind, code, text.strip("\n"), cut or self._cut)

    async def _is_ready(self) -> bool:
        try:
            async with asyncio.timeout(self._times.ready):
                await self._live.prompted()
        except TimeoutError:
            return False
        return True

    async def _run(self, typed: bytes) -> tuple[Kind, int | None]:
        self._live.transcript.name_next(self._command)
        if not self._live.type(typed):
            self._end("shellEnded", self._live.terminal.exit_code)
        try:
            async with asyncio.timeout(self._times.run):
                return await self._ended
        except TimeoutError:
            return "timedOut", None
        finally:
            self._live.transcript.name_next(None)

    def _seen(self, piece: Piece | None) -> None:
        match piece:
            case None:
                self._end("shellEnded", self._live.terminal.exit_code)
            case Text(text):
                self._keep(text)
            case Mark(code="C", trusted=True) if not self._began:
                self._began = True
                self._forget()
            case Mark(code="D", trusted=True, values=values) if self._began or not self._plain:
                self._end("ran", int(values[0]) if values and values[0].isdecimal() else None)
            case Mark(code="F", trusted=True) if not self._began:
                self._live.type(INTERRUPT)
                self._end("incomplete")
            case Screen(alternate=True) if self._began:
                self._end("interactive")
            case _:
                return

    @staticmethod
    def _nothing() -> None:
        return

    def _end(self, kind: Kind, exit_code: int | None = None) -> None:
        if not self._ended.done():
            self._ended.set_result((kind, exit_code))

    def _keep(self, text: str) -> None:
        if self._ended.done():
            return
        self._printed.append(text)
        self._size += len(text)
        while self._size - len(self._printed[0]) > CAPTURED:
            self._size -= len(self._printed.popleft())
            self._cut = True

    def _forget(self) -> None:
        self._printed.clear()
        self._size = 0
        self._cut = False
