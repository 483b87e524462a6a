"""Terminals without processes: a shell that knows a few words, with the promises of `ports.terminals`."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from innkeeper.ports.terminals import Opening, Size, Terminal
from innkeeper.workspace.guarding import Guard
from innkeeper.workspace.terminals import LocalTerminals
from scripted.world import World

LIMIT = 15.0


class FakeTerminals:
    """`missing` are folders that are not there; `refuse` makes every opening fail with it."""

    def __init__(self, *, missing: tuple[str, ...] = ("/missing",), refuse: OSError | None = None) -> None:
        self.missing = missing
        self.refuse = refuse
        self.opened: list[FakeTerminal] = []

    def shell(self, *, agent: bool) -> str | None:
        return "/bin/bash"

    async def open(self, opening: Opening) -> "FakeTerminal":
        await asyncio.sleep(0)
        if self.refuse is not None:
            raise self.refuse
        if opening.directory in self.missing:
            raise NotADirectoryError(f"there is no folder {opening.directory}")
        terminal = FakeTerminal(opening, len(self.opened) + 1)
        self.opened.append(terminal)
        return terminal

    async def close(self) -> None:
        for terminal in self.opened:
            await terminal.close()


class FakeTerminal:
    def __init__(self, opening: Opening, number: int) -> None:
        self.opening = opening
        self.pid = 100_000 + number
        self.shell = "/bin/fake"
        self.nonce = f"nonce{number}"
        self.echoes = True
        self.size = opening.size
        self.typed = b""
        self._line = ""
        self._busy = False
        self._exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._prompt(0)

    @property
    def exit_code(self) -> int | None:
        return self._exit.result() if self._exit.done() else None

    async def output(self) -> AsyncIterator[bytes]:
        while (piece := await self._pieces.get()) is not None:
            yield piece

    def write(self, data: bytes) -> bool:
        if self._exit.done():
            return False
        self.typed += data
        for character in data.decode():
            self._key(character)
        return True

    def command_input(self, command: str) -> bytes | None:
        if any(c < " " and c not in "\n\t" for c in command):
            return None
        return f"{command}\r".encode()

    def plain_input(self, command: str, nonce: str) -> bytes | None:
        return self.command_input(command)

    def resize(self, size: Size) -> None:
        self.size = size

    async def wait(self) -> int:
        return await asyncio.shield(self._exit)

    async def close(self) -> None:
        self._end(129)

    def put(self, text: str) -> None:
        """Print."""
        self._pieces.put_nowait(text.encode())

    def mark(self, mark: str) -> None:
        self.put(f"\x1b]633;{mark};{self.nonce}\x07")

    def _key(self, character: str) -> None:
        if character == "\x03" and self._busy:
            self._prompt(130)
        elif character == "\r" and not self._busy:
            line, self._line = self._line, ""
            self.put(f"{line}\r\n")
            self._run(line)
        elif not self._busy:
            self._line += character

    def _run(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        escaped = line.replace("\\", "\\\\").replace(";", "\\x3b")
        self.mark(f"E;{escaped}")
        self.mark("C")
        match word:
            case "exit":
                self._end(int(rest or 0))
            case "sleep":
                self._busy = True
            case "false":
                self._prompt(1)
            case "print":
                self.put(rest.encode().decode("unicode_escape"))
                self._prompt(0)
            case "echo":
                self.put(f"{rest}\r\n")
                self._prompt(0)
            case "stty":
                self.put(f"{self.size.rows} {self.size.cols}\r\n")
                self._prompt(0)
            case _:
                self.put(f"{word}: not found\r\n")
                self._prompt(127)

    def _prompt(self, code: int) -> None:
        self._busy = False
        self.mark(f"D;{code}")
        self.mark(f"P;Cwd={self.opening.directory}")
        self.mark("A")
        self.put("$ ")
        self.mark("B")

    def _end(self, code: int) -> None:
        if not self._exit.done():
            self._exit.set_result(code)
            self._pieces.put_nowait(None)


class Reader:
    """Everything a terminal has printed."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.text = ""
        self.ended = False
        self._news = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        async for piece in self.terminal.output():
            self.text += piece.decode("utf-8", "replace")
            self._news.set()
        self.ended = True
        self._news.set()

    async def until(self, found: Callable[[str], bool]) -> str:
        async with asyncio.timeout(LIMIT):
            while not found(self.text):
                assert not self.ended, self.text
                self._news.clear()
                await self._news.wait()
        return self.text

    def mark(self, code: str) -> str:
        return f"\x1b]633;{code};{self.terminal.nonce}\x07"

    async def prompt(self, count: int = 1) -> str:
        """The text once the prompt has come after so many commands, the first prompt counting as one."""

        def there(text: str) -> bool:
            commands = text.split("\x1b]633;D;")
            return len(commands) > count and self.mark("B") in "".join(commands[count:])

        return await self.until(there)

    async def run(self, command: str) -> str:
        """What is printed from the typing to the next prompt."""
        commands, at = self.text.count("\x1b]633;D;"), len(self.text)
        typed = self.terminal.command_input(command)
        assert typed is not None
        assert self.terminal.write(typed)
        return (await self.prompt(commands + 1))[at:]


class ShellWorld(World):
    """A host whose terminals are real: bash, with `home` as home."""

    def __init__(self, home: Path, **more: Any) -> None:
        self.home = home
        self.guard = Guard()
        environment = {"PATH": os.environ["PATH"], "HOME": os.fspath(home), "SHELL": "/bin/bash"}
        super().__init__(terminals=LocalTerminals(self.guard, environment), **more)

    async def close(self) -> None:
        await super().close()
        await self.guard.close()


@asynccontextmanager
async def shell_world(home: Path, **more: Any) -> AsyncIterator[ShellWorld]:
    world = ShellWorld(home, **more)
    await world.start()
    yield world
    async with asyncio.timeout(LIMIT):
        await world.close()
