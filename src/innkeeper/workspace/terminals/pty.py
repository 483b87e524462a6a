"""One shell on a pseudo-terminal of its own. Imported when the first one is opened.

Rules
* The shell's controlling terminal is its own. It is taken by opening it in the new session, by a small `sh` that
  becomes the shell: no code of ours runs between fork and exec (threads may hold locks there).
* The guardian that guards the other children knows the shell as soon as it exists (M5.6), and holds the terminal: when
  the host dies, nothing is hung up before its programs have been found. A hang-up that the host wants comes after them
  too.
* The host keeps the far side of the terminal open until the shell has ended, so that a pause between two programs is no
  end. What was printed before the end is read; what a program left behind prints later is not.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
import subprocess
import termios
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from innkeeper.ports.terminals import Opening, Size
from innkeeper.workspace.guarding import Guard
from innkeeper.workspace.processes import LocalProcess
from innkeeper.workspace.terminals.shells import Shell, launch, typed_command, typed_with_marks

READ_BYTES: Final = 64 * 1024
WAITING_BYTES: Final = 1024 * 1024
"""What is typed and not yet taken; more is dropped."""
LAST_WORDS_SECONDS: Final = 0.3
"""How long output is still waited for when the shell has ended and something it left behind holds the terminal."""
IUTF8: Final = 0o040000
TRAMPOLINE: Final = 't=$1; shift; exec "$@" <"$t" >"$t" 2>&1'


def start(shell: Shell, environment: Mapping[str, str], opening: Opening, guard: Guard) -> "LocalTerminal":
    """Raises OSError; nothing is left behind then."""
    nonce = secrets.token_hex(16)
    master, slave = os.openpty()
    folder: Path | None = None
    try:
        _set_up(master, opening.size)
        arguments, environment, folder = launch(shell, nonce, environment, private=opening.agent)
        popen = subprocess.Popen(
            ["/bin/sh", "-c", TRAMPOLINE, "sh", os.ttyname(slave), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=opening.directory,
            env=dict(environment),
            start_new_session=True,
        )
    except BaseException:
        os.close(master)
        os.close(slave)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    guard.add(popen.pid, held=master)
    return LocalTerminal(LocalProcess(popen, guard), guard, (master, slave), shell, nonce, folder)


def _set_up(descriptor: int, size: Size) -> None:
    termios.tcsetwinsize(descriptor, (size.rows, size.cols))
    modes = termios.tcgetattr(descriptor)
    modes[0] |= IUTF8
    termios.tcsetattr(descriptor, termios.TCSANOW, modes)
    os.set_blocking(descriptor, False)


class LocalTerminal:
    """One shell. Made by `start`."""

    def __init__(
        self,
        process: LocalProcess,
        guard: Guard,
        ends: tuple[int, int],
        shell: Shell,
        nonce: str,
        folder: Path | None,
    ) -> None:
        self.process = process
        self._guard = guard
        self._master, self._slave = ends
        self._shell = shell
        self._nonce = nonce
        self._folder = folder
        self._loop = asyncio.get_running_loop()
        self._readable = asyncio.Event()
        self._waiting = bytearray()
        self._closed = False
        process.exited.add_done_callback(lambda _: self._shell_ended())

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def shell(self) -> str:
        return self._shell.path

    @property
    def nonce(self) -> str:
        return self._nonce

    @property
    def exit_code(self) -> int | None:
        code = self.process.exit_code
        return 128 - code if code is not None and code < 0 else code

    @property
    def echoes(self) -> bool:
        if self._closed:
            return True
        try:
            return bool(termios.tcgetattr(self._master)[3] & (termios.ECHO | termios.ICANON))
        except termios.error:
            return True

    async def output(self) -> AsyncIterator[bytes]:
        while True:
            piece = self._read()
            if piece is None:
                if not await self._more():
                    return
            elif piece:
                yield piece
            else:
                await self.wait()
                return

    def write(self, data: bytes) -> bool:
        if self._closed or self.process.exited.done() or len(self._waiting) + len(data) > WAITING_BYTES:
            return False
        if not self._waiting:
            self._loop.add_writer(self._master, self._send)
        self._waiting += data
        return True

    def command_input(self, command: str) -> bytes | None:
        return typed_command(self._shell.kind, command)

    def plain_input(self, command: str, nonce: str) -> bytes | None:
        return typed_with_marks(command, nonce)

    def resize(self, size: Size) -> None:
        if not self._closed:
            with contextlib.suppress(termios.error):
                termios.tcsetwinsize(self._master, (size.rows, size.cols))

    async def wait(self) -> int:
        await self.process.wait()
        code = self.exit_code
        assert code is not None
        return code

    async def close(self) -> None:
        """The hang-up comes from closing the host's side, when the programs that it would part are known."""
        await self.process.note_tree()
        self._hang_up()
        await self.process.close()
        self._remove_scripts()

    # -- inside --------------------------------------------------------------------------------------------------

    def _read(self) -> bytes | None:
        """What is there; None when nothing is yet, empty at the end."""
        if self._closed:
            return b""
        try:
            return os.read(self._master, READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""  # EIO: the far side is closed

    async def _more(self) -> bool:
        """Wait for more; False when the shell has ended and nothing comes any more."""
        self._readable.clear()
        self._loop.add_reader(self._master, self._readable.set)
        ended = self.process.exited.done()
        try:
            async with asyncio.timeout(LAST_WORDS_SECONDS if ended else None):
                await self._readable.wait()
        except TimeoutError:
            return False
        finally:
            if not self._closed:
                self._loop.remove_reader(self._master)
        return True

    def _send(self) -> None:
        try:
            sent = os.write(self._master, self._waiting)
        except BlockingIOError:
            return
        except OSError:
            self._waiting.clear()
        else:
            del self._waiting[:sent]
        if not self._waiting:
            self._loop.remove_writer(self._master)

    def _shell_ended(self) -> None:
        self._close_far_side()
        self._readable.set()

    def _close_far_side(self) -> None:
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def _hang_up(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._master)
        self._loop.remove_writer(self._master)
        self._readable.set()
        self._close_far_side()
        self._guard.let_go(self.pid)
        os.close(self._master)

    def _remove_scripts(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
