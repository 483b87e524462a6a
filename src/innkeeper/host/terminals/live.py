"""One terminal that runs: what its shell prints as actions of its channel, what is typed as keys of its shell.

Rules
* Output is collected for a moment and is then one change; what must be cut (S26) is cut before it is said, so that a
  flood costs its end only. While one waits nothing is read on, which slows the program, not the host.
* A command is told by its marks. Its line is the one that the host itself typed, else the one that a trusted mark says,
  else unknown (S27). Once a shell has shown one trusted mark, others count for nothing.
* Replies to queries are typed by nobody but the host: the least that programs wait for, and only while they read keys.
* The end of the shell leaves the state as it is, with the exit code.
"""

import asyncio
import codecs
import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from innkeeper.host.core import Core, act
from innkeeper.host.summaries import moment
from innkeeper.host.terminals.content import cut, said_again, size
from innkeeper.host.terminals.marks import Mark, Marks, Piece, Query, Text, Title
from innkeeper.limits import (
    TERMINAL_CHARACTERS,
    TERMINAL_FLOOD_SECONDS,
    TERMINAL_FLUSH_SECONDS,
    TERMINAL_KEPT_CHARACTERS,
)
from innkeeper.ports.clock import Clock
from innkeeper.ports.terminals import Size, Terminal
from innkeeper.protocol.uris import file_uri
from innkeeper.reduce import reduce

log = logging.getLogger(__name__)

Action = dict[str, Any]
Watcher = Callable[[Piece | None], None]
"""Told each piece, and None when the shell has ended."""

CONTENT: Final = frozenset(
    {"terminal/data", "terminal/cleared", "terminal/commandExecuted", "terminal/commandFinished"}
)
READ_AHEAD: Final = 1024 * 1024
"""Characters that wait to be said before nothing more is read."""
TITLE_SECONDS: Final = 0.2
TITLE_CHARACTERS: Final = 200
REPLIES: Final[Mapping[str, bytes]] = MappingProxyType(
    {"\x1b[c": b"\x1b[?1;2c", "\x1b[0c": b"\x1b[?1;2c", "\x1bZ": b"\x1b[?1;2c", "\x1b[5n": b"\x1b[0n"}
)


class Transcript:
    """Says on the channel `uri` what a terminal prints. `titled` lets programs change the title."""

    def __init__(self, core: Core, clock: Clock, uri: str, *, titled: bool = True) -> None:
        self._core = core
        self._clock = clock
        self._uri = uri
        self._titled = titled
        self._pending: list[Action] = []
        self._texts: list[str] = []
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._not_before = 0.0
        self._instructed = False
        self._commands = 0
        self._open: tuple[str, float] | None = None
        self._line = ""
        self._named: str | None = None
        self._title: str | None = None
        self._title_timer: asyncio.TimerHandle | None = None

    @property
    def is_running(self) -> bool:
        """Whether a command runs, as far as marks tell."""
        return self._open is not None

    def name_next(self, line: str | None) -> None:
        """The host types this line itself: it is what the next command is called."""
        self._named = line

    async def room(self) -> None:
        """Wait until more may be said."""
        await self._room.wait()

    def add(self, piece: Piece) -> None:
        match piece:
            case Text(text):
                self._say(text)
            case Mark():
                self._mark(piece)
            case Title(title) if self._titled:
                self._retitle(title)
            case _:
                return

    def end(self, exit_code: int | None) -> None:
        """The last thing that is said."""
        self._finish_command(None)
        self._apply_title()
        self._do({"type": "terminal/exited", **({} if exit_code is None else {"exitCode": exit_code})})
        self.flush()

    def flush(self) -> None:
        """Say what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._close_text()
        actions, self._pending, self._waiting = self._pending, [], 0
        self._room.set()
        state = self._core.head(self._uri)
        if not actions or state is None:
            return
        after = state
        for action in actions:
            after = reduce("terminal", after, action)
        if size(after["content"]) > TERMINAL_CHARACTERS:
            self._not_before = asyncio.get_running_loop().time() + TERMINAL_FLOOD_SECONDS
            others = [action for action in actions if action["type"] not in CONTENT]
            actions = [*said_again(cut(after["content"], TERMINAL_KEPT_CHARACTERS)), *others]
        act(self._core, self._uri, *actions)

    # -- inside --------------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._texts.append(text)
        self._waiting += len(text)
        if self._waiting > READ_AHEAD:
            self._room.clear()
        self._soon()

    def _do(self, action: Action) -> None:
        self._close_text()
        self._pending.append(action)
        self._soon()

    def _close_text(self) -> None:
        if self._texts:
            self._pending.append({"type": "terminal/data", "data": "".join(self._texts)})
            self._texts = []

    def _soon(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time() + TERMINAL_FLUSH_SECONDS, self._not_before), self.flush)

    def _mark(self, mark: Mark) -> None:
        if mark.trusted and not self._instructed:
            self._instructed = True
            self._do({"type": "terminal/commandDetectionAvailable"})
        if not mark.trusted and self._instructed:
            return
        match mark.code:
            case "A":
                self._finish_command(None)
            case "E" if mark.trusted and mark.values:
                self._line = mark.values[0]
            case "C" if self._open is None:
                self._begin_command()
            case "D":
                self._finish_command(_number(mark.values))
            case "P" if mark.trusted and mark.values and mark.values[0].startswith("Cwd=/"):
                self._moved(mark.values[0].removeprefix("Cwd="))
            case _:
                return

    def _begin_command(self) -> None:
        self._commands += 1
        now = moment(self._clock.now())
        self._open = (f"{self._uri}#{self._commands}", now)
        line, self._line = self._named if self._named is not None else self._line, ""
        self._named = None
        self._do(
            {
                "type": "terminal/commandExecuted",
                "commandId": self._open[0],
                "commandLine": line,
                "timestamp": round(now * 1000),
            }
        )

    def _finish_command(self, exit_code: int | None) -> None:
        self._line = ""
        if self._open is None:
            return
        (id, began), self._open = self._open, None
        result: Action = {} if exit_code is None else {"exitCode": exit_code}
        duration = max(0, round((moment(self._clock.now()) - began) * 1000))
        self._do({"type": "terminal/commandFinished", "commandId": id, **result, "durationMs": duration})

    def _moved(self, directory: str) -> None:
        if "\N{REPLACEMENT CHARACTER}" in directory:
            return  # no text: which folder it is cannot be told
        cwd = file_uri(directory)
        if (self._core.head(self._uri) or {}).get("cwd") != cwd:
            self._do({"type": "terminal/cwdChanged", "cwd": cwd})

    def _retitle(self, title: str) -> None:
        self._title = "".join(c for c in title if c.isprintable())[:TITLE_CHARACTERS]
        if self._title_timer is None:
            loop = asyncio.get_running_loop()
            self._title_timer = loop.call_later(TITLE_SECONDS, self._apply_title)

    def _apply_title(self) -> None:
        title, self._title = self._title, None
        if self._title_timer is not None:
            self._title_timer.cancel()
            self._title_timer = None
        if title and (self._core.head(self._uri) or {}).get("title") != title:
            self._do({"type": "terminal/titleChanged", "title": title})


class LiveTerminal:
    """A shell and its channel."""

    def __init__(self, uri: str, terminal: Terminal, transcript: Transcript) -> None:
        self.uri = uri
        self.terminal = terminal
        self.transcript = transcript
        self._marks = Marks([terminal.nonce])
        self.taken_over: Callable[[], None] | None = None
        """Told when a client takes the terminal from what holds it."""
        self._watchers: list[Watcher] = []
        self._prompt = asyncio.Event()

    @property
    def is_idle(self) -> bool:
        """The shell has begun, lives, and runs no command."""
        return self._prompt.is_set() and not self.transcript.is_running and self.terminal.exit_code is None

    async def prompted(self) -> None:
        """Wait for the first prompt that the shell marks."""
        await self._prompt.wait()

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Tell `watcher` what comes from now on; the result ends that."""
        self._watchers.append(watcher)

        def end() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return end

    def trust(self, nonce: str) -> Callable[[], None]:
        """Let marks with `nonce` count as the shell's; the result ends that."""
        self._marks.trust(nonce)
        return lambda: self._marks.distrust(nonce)

    def type(self, data: bytes) -> bool:
        return self.terminal.write(data)

    def resize(self, size: Size) -> None:
        self.terminal.resize(size)

    async def run(self) -> int:
        """Say everything that is printed, until the shell has ended; its exit code."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            async for data in self.terminal.output():
                self._take(self._marks.feed(decoder.decode(data)))
                await self.transcript.room()
            self._take([*self._marks.feed(decoder.decode(b"", final=True)), *self._marks.end()])
            code = await self.terminal.wait()
            self.transcript.end(code)
            return code
        finally:
            self._prompt.set()
            self._tell(None)

    def _take(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            self.transcript.add(piece)
            match piece:
                case Mark(code="B", trusted=True):
                    self._prompt.set()
                case Query(sequence) if sequence in REPLIES and not self.terminal.echoes:
                    self.terminal.write(REPLIES[sequence])
                case _:
                    pass
            self._tell(piece)

    def _tell(self, piece: Piece | None) -> None:
        for watcher in tuple(self._watchers):
            try:
                watcher(piece)
            except Exception:
                log.exception("a watcher of %s", self.uri)


class Shown:
    """A terminal without a shell: what it is given is its output."""

    def __init__(self, uri: str, transcript: Transcript) -> None:
        self.uri = uri
        self._transcript = transcript
        self._marks = Marks()

    def write(self, text: str) -> None:
        for piece in self._marks.feed(text):
            if not isinstance(piece, Mark):
                self._transcript.add(piece)

    def end(self, exit_code: int | None) -> None:
        """The command has ended; the terminal stays as it is."""
        for piece in self._marks.end():
            self._transcript.add(piece)
        self._transcript.end(exit_code)


def _number(values: tuple[str, ...]) -> int | None:
    try:
        return int(values[0]) if values else None
    except ValueError:
        return None
