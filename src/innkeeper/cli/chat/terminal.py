"""The person's side of a chat: lines from a terminal, or from a pipe.

Rules
* The loop is never blocked by a person who thinks: lines are read by a thread of their own, answers by the loop, so
  that a question which another client answered can be withdrawn.
* The terminal is left as it was found, also when the thread is still reading; the history is kept with mode 0600.
"""

import asyncio
import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import Any, Final

import click

HISTORY_LINES: Final = 1000


class Terminal:
    """Standard input and output; `interactive` when a person sits there."""

    def __init__(self, history: Path | None) -> None:
        self.interactive = sys.stdin.isatty() and sys.stderr.isatty()
        self._history = history if self.interactive else None
        self._mode = _terminal_mode() if self.interactive else None
        self._readline: Any = None
        self._rest = b""

    def __enter__(self) -> "Terminal":
        if self._history is not None:
            with contextlib.suppress(ImportError, OSError):  # a chat without history is still a chat
                import readline

                self._readline = readline
                readline.set_history_length(HISTORY_LINES)
                if self._history.exists():
                    readline.read_history_file(self._history)
        return self

    def __exit__(self, *_: object) -> None:
        if self._mode is not None:
            import termios

            with contextlib.suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._mode)
        if self._readline is not None and self._history is not None:
            with contextlib.suppress(OSError):
                self._history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(self._history, os.O_WRONLY | os.O_CREAT, 0o600))
                self._readline.write_history_file(self._history)

    async def line(self, prompt: str) -> str | None:
        """The next line without its end; None when the input has ended."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str | None] = loop.create_future()

        def deliver(value: str | None) -> None:
            if not future.done():
                future.set_result(value)

        def read() -> None:
            value = self._read(prompt)
            with contextlib.suppress(RuntimeError):  # the chat ended while we were reading
                loop.call_soon_threadsafe(deliver, value)

        threading.Thread(target=read, name="prompt", daemon=True).start()
        return await future

    async def answer(self, prompt: str) -> str | None:
        """One line of a person who is asked something; None when the input has ended. Cancelling takes it back."""
        click.echo(prompt, nl=False, err=True)
        loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
        future: asyncio.Future[str | None] = loop.create_future()

        def read() -> None:
            data = os.read(descriptor, 4096)
            if not future.done():
                future.set_result(data.decode(errors="replace").strip() if data else None)

        loop.add_reader(descriptor, read)
        try:
            return await future
        finally:
            loop.remove_reader(descriptor)

    def _read(self, prompt: str) -> str | None:
        if not self.interactive:
            return self._read_plain()
        try:
            return input(prompt)
        except EOFError:
            return None

    def _read_plain(self) -> str | None:
        """By the descriptor: a thread that waits inside `sys.stdin` would abort the interpreter when it ends."""
        while b"\n" not in self._rest:
            try:
                data = os.read(sys.stdin.fileno(), 65536)
            except OSError:
                data = b""
            if not data:
                line, self._rest = self._rest, b""
                return line.decode(errors="replace") if line else None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")


def _terminal_mode() -> list[Any] | None:
    try:
        import termios

        return termios.tcgetattr(sys.stdin)
    except (ImportError, OSError):
        return None
