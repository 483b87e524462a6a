"""Terminals of this machine: a shell on a pseudo-terminal of its own (contributions reference §5.10, architecture §5).

Rules
* A shell leads a session and a process group of its own. `close` ends the whole tree, and what guards processes ends it
  when the host dies, also by SIGKILL.
* A shell that the host can instruct says by marks (OSC 633) where its prompt, a command and its output begin and end.
  Each mark carries the terminal's nonce: what runs in the terminal does not know it, so it cannot forge one.
* Who reads slowly slows the programs down; nothing is read ahead without bound.
"""

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol


class Size(NamedTuple):
    """Of the window, in characters."""

    cols: int = 80
    rows: int = 24


class Opening(NamedTuple):
    """What a terminal is opened with. `directory` is a local path."""

    directory: str
    size: Size = Size()
    agent: bool = False
    """An agent's commands run in it: the environment says so, nothing pages or prompts, and nothing that is typed gets
    into the person's history."""


class Terminal(Protocol):
    """One shell that was started."""

    @property
    def pid(self) -> int: ...

    @property
    def shell(self) -> str:
        """The program, as a path."""
        ...

    @property
    def nonce(self) -> str:
        """What the shell's own marks carry. A secret: it is shown nowhere."""
        ...

    @property
    def exit_code(self) -> int | None:
        """None while the shell runs; 128 and the number for a signal, as shells count."""
        ...

    @property
    def echoes(self) -> bool:
        """Whether what is written now appears as output: no program has asked for the keys themselves."""
        ...

    def output(self) -> AsyncIterator[bytes]:
        """Everything printed, in pieces of any cut; ends when the shell has ended and its output is read. Once."""
        ...

    def write(self, data: bytes) -> bool:
        """Type. Never blocks; False when so much waits already that the data was dropped, or the shell has ended."""
        ...

    def command_input(self, command: str) -> bytes | None:
        """What is to be typed at a prompt of an instructed shell so that it runs `command`, whatever lines and quotes
        that has; its marks follow. None for what no terminal can be typed: a NUL or another control character."""
        ...

    def plain_input(self, command: str, nonce: str) -> bytes | None:
        """The same for a shell that has shown no mark: the typed line itself prints those of begin and end, with
        `nonce`, which it shows by being echoed."""
        ...

    def resize(self, size: Size) -> None: ...

    async def wait(self) -> int: ...

    async def close(self) -> None:
        """Hang up, then TERM, then KILL for all that belongs to it. Idempotent."""
        ...


class Terminals(Protocol):
    def shell(self, *, agent: bool) -> str | None:
        """The program that `open` would start, as a path; None where there is none."""
        ...

    async def open(self, opening: Opening) -> Terminal:
        """Start the person's shell. Raises OSError: no such directory, no shell, no pseudo-terminal left."""
        ...

    async def close(self) -> None:
        """End every terminal."""
        ...


class NoTerminals:
    """Where no terminal can be had."""

    def shell(self, *, agent: bool) -> str | None:
        return None

    async def open(self, opening: Opening) -> Terminal:
        raise OSError("this host has no terminals")

    async def close(self) -> None:
        return
