"""Child processes with pipes, exact environment and a sure end: the adapter of `ports.processes` (architecture §5).

Rules
* A child gets the given program, arguments, environment and directory and nothing else; it leads a session and group
  of its own. A bare program name is looked up on the PATH of the given environment only (M2.8).
* The guardian runs before the first child does, and knows each child as soon as it exists.
* `close` is: end of input, 0.5 s, TERM, 1 s, KILL, for the whole tree as `process_tree` finds it, including members
  that changed their group. What still lives after that is reported, not hidden.
* Exit is learnt from a pidfd where the system has one, so a child costs no thread there.
"""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from innkeeper.limits import SERVER_END_OF_INPUT_SECONDS, SERVER_STDERR_BYTES, SERVER_TERMINATE_SECONDS
from innkeeper.ports.processes import CloseOutcome, Command
from innkeeper.workspace.guarding import Guard

if TYPE_CHECKING:
    import psutil

logger = logging.getLogger(__name__)

KILL_LIMIT = 3.0
POLL = 0.02
LINE_LIMIT = 32 * 1024 * 1024
"""Bytes of one line of standard output; a longer one ends the stream."""


class LocalProcesses:
    """Starts children of this machine. One guardian an instance, started with the first child."""

    def __init__(self) -> None:
        self._guard = Guard()
        self._children: set[LocalProcess] = set()

    @property
    def guardian_pid(self) -> int | None:
        return self._guard.pid

    @property
    def guard(self) -> Guard:
        """Also for children that others start."""
        return self._guard

    async def spawn(self, command: Command) -> "LocalProcess":
        """Raises OSError when the program cannot be run, or when no guardian can be had."""
        self._guard.ensure()
        # Not in a thread: starting takes a millisecond, and nothing may come between it and the guardian's knowing.
        popen = subprocess.Popen(  # noqa: ASYNC220
            [command.program, *command.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=command.directory,
            env=dict(command.environment),
            start_new_session=True,
        )
        assert popen.stdin is not None
        # A child that ends with its input does so after the host's death only when what it started has been found.
        self._guard.add(popen.pid, held=popen.stdin.fileno())
        child = LocalProcess(popen, self._guard)
        self._children.add(child)
        try:
            await child.open_pipes()
        except BaseException:
            await child.close()
            self._children.discard(child)
            raise
        child.ended.add_done_callback(lambda _: self._children.discard(child))
        return child

    async def close(self) -> None:
        """End every child, all at once, then the guardian."""
        await asyncio.gather(*(child.close() for child in tuple(self._children)))
        await self._guard.close()


class LocalProcess:
    """One child. Made by `LocalProcesses.spawn`."""

    def __init__(self, popen: "subprocess.Popen[bytes]", guard: Guard) -> None:
        self._popen = popen
        self._guard = guard
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self.ended: asyncio.Future[CloseOutcome] = self._loop.create_future()
        self._closing: asyncio.Task[CloseOutcome] | None = None
        self._stdin: asyncio.StreamWriter | None = None
        self._stdout = asyncio.StreamReader(limit=256 * 1024)
        self._stderr = bytearray()
        self._noted: set[psutil.Process] = set()
        self._transports: list[asyncio.BaseTransport] = []
        self._watch_exit()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        return self._popen.returncode

    async def open_pipes(self) -> None:
        assert self._popen.stdin and self._popen.stdout and self._popen.stderr
        loop = self._loop
        out, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._stdout), self._popen.stdout)
        err, _ = await loop.connect_read_pipe(lambda: _Tail(self._stderr), self._popen.stderr)
        into, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), self._popen.stdin
        )
        self._stdin = asyncio.StreamWriter(into, protocol, None, loop)
        self._transports = [out, err, into]

    async def write(self, data: bytes) -> None:
        """Raises BrokenPipeError or ConnectionResetError when the child no longer reads."""
        if self._stdin is None or self._stdin.is_closing():
            raise BrokenPipeError("standard input is closed")
        self._stdin.write(data)
        await self._stdin.drain()

    async def output(self) -> AsyncIterator[bytes]:
        """Lines without their end; a last line without one is given too. A line beyond LINE_LIMIT ends the stream."""
        buffer = bytearray()
        while chunk := await self._stdout.read(64 * 1024):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                buffer += line
                yield bytes(buffer)
                buffer.clear()
            buffer += rest
            if len(buffer) > LINE_LIMIT:
                logger.warning("process %d wrote a line of more than %d bytes", self.pid, LINE_LIMIT)
                return
        if buffer:
            yield bytes(buffer)

    def stderr_tail(self) -> bytes:
        return bytes(self._stderr)

    async def note_tree(self) -> None:
        from innkeeper.workspace import process_tree

        self._noted |= await asyncio.to_thread(process_tree.find_tree, self.pid, reaped=self.exited.done())

    async def wait(self) -> int:
        return await asyncio.shield(self.exited)

    async def close(self) -> CloseOutcome:
        """Idempotent; a caller that is cancelled does not stop it."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._end(), name=f"close process {self.pid}")
        return await asyncio.shield(self._closing)

    async def _end(self) -> CloseOutcome:
        from innkeeper.workspace import process_tree

        found = await asyncio.to_thread(process_tree.find_tree, self.pid, reaped=self.exited.done())
        tree = found | process_tree.living(self._noted)
        self._guard.let_go(self.pid)
        if self._stdin is not None:
            self._stdin.close()
        elif self._popen.stdin is not None:
            self._popen.stdin.close()

        async def gone(limit: float) -> bool:
            deadline = self._loop.time() + limit
            while True:
                reaped = self.exited.done()
                tree.update(await asyncio.to_thread(process_tree.find_tree, self.pid, reaped=reaped))
                if reaped and not process_tree.living(tree):
                    return True
                left = deadline - self._loop.time()
                if left <= 0:
                    return False
                if reaped:
                    await asyncio.sleep(min(left, POLL))
                else:
                    await asyncio.wait([self.exited], timeout=min(left, 0.1))

        confirmed = await gone(SERVER_END_OF_INPUT_SECONDS)
        for number, limit in ((signal.SIGTERM, SERVER_TERMINATE_SECONDS), (signal.SIGKILL, KILL_LIMIT)):
            if not confirmed:
                process_tree.send(number, process_tree.living(tree))
                confirmed = await gone(limit)
        if confirmed:
            self._guard.remove(self.pid)
        else:
            logger.warning("process %d or a descendant is still alive after SIGKILL", self.pid)
        self._release()
        outcome = CloseOutcome(self.exit_code, confirmed)
        if not self.ended.done():
            self.ended.set_result(outcome)
        return outcome

    def _release(self) -> None:
        for transport in self._transports:
            if isinstance(transport, asyncio.WriteTransport) and transport.get_write_buffer_size():
                transport.abort()
            else:
                transport.close()
        if not self._transports:
            for pipe in (self._popen.stdout, self._popen.stderr):
                if pipe is not None:
                    pipe.close()

    def _watch_exit(self) -> None:
        opener = getattr(os, "pidfd_open", None)
        if opener is None:
            threading.Thread(target=self._wait_in_thread, name=f"wait for {self.pid}", daemon=True).start()
            return
        descriptor: int = opener(self.pid)

        def readable() -> None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)
            self._exit_seen(self._popen.wait())

        self._loop.add_reader(descriptor, readable)

    def _wait_in_thread(self) -> None:
        code = self._popen.wait()
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._exit_seen, code)

    def _exit_seen(self, code: int) -> None:
        if not self.exited.done():
            self.exited.set_result(code)


class _Tail(asyncio.Protocol):
    """Keeps the last bytes of standard error; the child never blocks on it."""

    def __init__(self, kept: bytearray) -> None:
        self._kept = kept

    def data_received(self, data: bytes) -> None:
        self._kept += data
        del self._kept[: max(0, len(self._kept) - SERVER_STDERR_BYTES)]
