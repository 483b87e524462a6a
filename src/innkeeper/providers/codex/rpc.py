"""The conversation with `codex app-server`: JSON-RPC without the `jsonrpc` field, one object a line (providers.spi).

Rules
* Each line is read once and in order. A request of the server is answered by a task of its own: a person who thinks
  about an answer holds up nothing.
* Every call has a deadline. What the server says that cannot be read is dropped and counted, never raised.
* When the process ends every open call fails with `Gone`, and `gone` is called once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from innkeeper.limits import MIB
from innkeeper.ports.processes import Process
from innkeeper.wire.json import JsonError, decode, encode
from innkeeper.wire.limits import Limits

log = logging.getLogger(__name__)

LINES: Final = Limits(64 * MIB, 512)
METHOD_NOT_FOUND: Final = -32601

Message = Mapping[str, Any]
OnNote = Callable[[str, Message], None]
OnRequest = Callable[[str, Message], Awaitable[Mapping[str, object]]]


class Refused(Exception):
    """The server answered with an error. The text may hold anything the server knows; it is not for a log."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(message)
        self.method = method
        self.code = code
        self.message = message


class Gone(Exception):
    """The process has ended, or its output has."""


class NotOffered(Exception):
    """A request of the server that this host does not answer."""


class Rpc:
    """One process of the app-server. `note` and `request` are called on the event loop."""

    def __init__(self, process: Process, *, note: OnNote, request: OnRequest, gone: Callable[[], None]) -> None:
        self._process = process
        self._note = note
        self._request = request
        self._gone = gone
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._serving: dict[object, asyncio.Task[None]] = {}
        self._number = 0
        self._writing = asyncio.Lock()
        self._reader = asyncio.create_task(self._read(), name=f"codex {process.pid}")
        self.ended = False

    async def call(self, method: str, params: Mapping[str, object], *, seconds: float) -> Message:
        """The result. Raises Refused, Gone and TimeoutError."""
        if self.ended:
            raise Gone(method)
        self._number += 1
        number = self._number
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            async with asyncio.timeout(seconds):
                await self._send({"id": number, "method": method, "params": params})
                result = await future
        finally:
            self._waiting.pop(number, None)
        return result if isinstance(result, Mapping) else {}

    async def notify(self, method: str) -> None:
        await self._send({"method": method})

    def stop_serving(self, thread: str) -> None:
        """What the server still waits for in that thread is not answered by anybody any more."""
        for key, task in tuple(self._serving.items()):
            if task.get_name() == thread:
                task.cancel()
                self._serving.pop(key, None)

    async def close(self) -> None:
        """Stop reading. The process is the caller's."""
        self._reader.cancel()
        for task in self._serving.values():
            task.cancel()
        await asyncio.gather(self._reader, *self._serving.values(), return_exceptions=True)
        self._end()

    async def _send(self, message: Mapping[str, object]) -> None:
        try:
            async with self._writing:
                await self._process.write(encode(message) + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            raise Gone("the process does not read any more") from None

    async def _read(self) -> None:
        try:
            async for line in self._process.output():
                self._take(line)
        finally:
            self._end()

    def _take(self, line: bytes) -> None:
        try:
            message = decode(line, LINES)
        except JsonError:
            log.warning("codex: a line of %d bytes is no message", len(line))
            return
        if not isinstance(message, dict):
            return
        method, params = message.get("method"), message.get("params")
        given = params if isinstance(params, Mapping) else {}
        try:
            if isinstance(method, str) and "id" in message:
                self._serve(message["id"], method, given)
            elif isinstance(method, str):
                self._note(method, given)
            else:
                self._answered(message)
        except Exception:
            log.exception("codex: %s could not be used", method)

    def _answered(self, message: Message) -> None:
        future = self._waiting.get(message.get("id", -1))
        if future is None or future.done():
            return
        error = message.get("error")
        if isinstance(error, Mapping):
            future.set_exception(Refused("", int(error.get("code", 0)), str(error.get("message", ""))))
        else:
            future.set_result(message.get("result"))

    def _serve(self, id: object, method: str, params: Message) -> None:
        task = asyncio.create_task(self._answer(id, method, params), name=str(params.get("threadId", "")))
        self._serving[id] = task
        task.add_done_callback(lambda _: self._serving.pop(id, None))

    async def _answer(self, id: object, method: str, params: Message) -> None:
        answer: dict[str, object] = {"id": id}
        try:
            answer["result"] = await self._request(method, params)
        except NotOffered:
            answer["error"] = {"code": METHOD_NOT_FOUND, "message": f"{method} is not offered"}
        except Exception:
            log.exception("codex: %s could not be answered", method)
            answer["error"] = {"code": -32603, "message": "the host failed to answer"}
        try:
            await self._send(answer)
        except Gone:
            log.debug("codex: the answer to %s came too late", method)

    def _end(self) -> None:
        if self.ended:
            return
        self.ended = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Gone("the process has ended"))
        self._gone()
