"""The one app-server of a host: started with the first session, ended with the last, started again when it died.

Rules
* Messages go to the turn whose thread they name. What comes for a thread that nobody has claimed yet is kept, bounded,
  until somebody does: an agent's child speaks before it is introduced.
* A turn that nobody asked for is interrupted: nothing runs in a thread that no client can see.
* A process that does not answer a control request in time is ended; all its turns end with it, and the next request
  starts a new one, in which the threads are found on disk.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from innkeeper._version import running_version
from innkeeper.ports.processes import Command, Process, Processes
from innkeeper.providers.codex.install import AGENT, NEEDED, TESTED, WANTED, methods_of, version_of
from innkeeper.providers.codex.rpc import Gone, Message, NotOffered, Refused, Rpc
from innkeeper.providers.one_process import OneProcess
from innkeeper.providers.spi import ProviderError
from innkeeper.providers.telling import ending, exited, failed_to_start, unresponsive
from innkeeper.texts import text
from innkeeper.wire.json import JsonError, decode
from innkeeper.wire.limits import Limits

log = logging.getLogger(__name__)

START_SECONDS: Final = 20.0
CONTROL_SECONDS: Final = 30.0
EARLY: Final = 256
"""Messages kept for a thread that nobody has claimed."""
CLAIM_SECONDS: Final = 5.0
SCHEMA_LIMITS: Final = Limits(16 * 1024 * 1024, 512)


class Listener(Protocol):
    """A running turn, for its own thread and for those of its children."""

    def note(self, method: str, params: Message) -> None: ...

    async def request(self, method: str, params: Message) -> Mapping[str, object]: ...

    def lost(self) -> None:
        """The process is gone."""
        ...


class AppServer:
    """One process, its threads and what is known of it. Made by `AppServers`."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.loaded: dict[str, object] = {}
        """Threads in its memory, by id, with what they were loaded with."""
        self.missing: frozenset[str] = frozenset()
        self.own_servers: Sequence[str] = ()
        """Names of MCP servers in its own `config.toml`."""
        self.version = "?"
        self.retires = False
        """It is replaced as soon as no turn runs in it."""
        self._given_up = False
        self._listeners: dict[str, Listener] = {}
        self._claimed: dict[str, asyncio.Event] = {}
        self._early: dict[str, deque[tuple[str, Message]]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._rpc = Rpc(process, note=self._note, request=self._request, gone=self._gone)

    @property
    def alive(self) -> bool:
        return not (self._rpc.ended or self._given_up)

    @property
    def spent(self) -> bool:
        """It is to be replaced, and no turn runs in it."""
        return self.retires and not self._listeners

    async def introduce(self) -> None:
        info = {"name": "innkeeper", "title": "Innkeeper", "version": running_version()}
        given = {"clientInfo": info, "capabilities": {"experimentalApi": True}}
        answer = await self._rpc.call("initialize", given, seconds=START_SECONDS)
        await self._rpc.notify("initialized")
        self.version = version_of(str(answer.get("userAgent", "")))

    async def call(self, method: str, /, **params: Any) -> Message:
        """The result. Raises Refused, and ProviderError where the process is gone or does not answer."""
        try:
            return await self._rpc.call(method, params, seconds=CONTROL_SECONDS)
        except Gone:
            raise exited(AGENT, self.process.exit_code) from None
        except TimeoutError:
            log.warning("codex %d does not answer %s; it is ended", self.process.pid, method)
            self._given_up = True
            self._keep(self.process.close())
            raise unresponsive(AGENT) from None

    def claim(self, thread: str, listener: Listener) -> None:
        """What concerns the thread goes to `listener` from now on, beginning with what came before."""
        self._listeners[thread] = listener
        self._claimed.pop(thread, asyncio.Event()).set()
        for method, params in self._early.pop(thread, ()):
            listener.note(method, params)

    def release(self, thread: str) -> None:
        self._listeners.pop(thread, None)
        self._rpc.stop_serving(thread)

    def interrupt(self, thread: str, turn: str) -> "asyncio.Task[None]":
        """Stop a turn; the task ends when the server has said so or cannot any more."""
        return self._keep(self._interrupted(thread, turn))

    def unload(self, thread: str) -> "asyncio.Task[None]":
        """Let go of a thread that nobody needs in memory; its commands go with it."""
        self.loaded.pop(thread, None)
        return self._keep(self._unloaded(thread))

    async def close(self) -> None:
        await self._rpc.close()
        await self.process.close()
        if self._tasks:
            await asyncio.wait(self._tasks)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _interrupted(self, thread: str, turn: str) -> None:
        """The commands of the turn go with it: Codex would keep one that is just starting as a background terminal."""
        with contextlib.suppress(Refused, ProviderError):
            await self.call("turn/interrupt", threadId=thread, turnId=turn)
            await self.call("thread/backgroundTerminals/clean", threadId=thread)

    async def _unloaded(self, thread: str) -> None:
        with contextlib.suppress(Refused, ProviderError):
            await self.call("thread/backgroundTerminals/clean", threadId=thread)
            await self.call("thread/unsubscribe", threadId=thread)

    def _note(self, method: str, params: Message) -> None:
        thread = params.get("threadId")
        if not isinstance(thread, str):
            return
        listener = self._listeners.get(thread)
        if listener is not None:
            listener.note(method, params)
            return
        if method == "turn/started" and thread in self.loaded:
            self.interrupt(thread, str((params.get("turn") or {}).get("id")))
        elif thread not in self.loaded:
            self._early.setdefault(thread, deque(maxlen=EARLY)).append((method, params))
            while len(self._early) > EARLY:
                self._early.pop(next(iter(self._early)))

    async def _request(self, method: str, params: Message) -> Mapping[str, object]:
        thread = str(params.get("threadId") or params.get("conversationId") or "")
        if thread not in self._listeners and thread not in self.loaded:
            claimed = self._claimed.setdefault(thread, asyncio.Event())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLAIM_SECONDS):
                    await claimed.wait()
        listener = self._listeners.get(thread)
        if listener is None:
            raise NotOffered(method)
        return await listener.request(method, params)

    def _gone(self) -> None:
        listeners, self._listeners = self._listeners, {}
        for listener in dict.fromkeys(listeners.values()):
            listener.lost()

    def _keep(self, work: Any) -> "asyncio.Task[Any]":
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class AppServers(OneProcess[AppServer]):
    """`launching` says what the app-server is started with; `started` is given it when it is ready to be asked."""

    def __init__(
        self,
        processes: Processes,
        launching: Callable[[], tuple[Command, Path]],
        started: Callable[[AppServer], Any],
    ) -> None:
        super().__init__()
        self._processes = processes
        self._launching = launching
        self._started = started

    async def _start(self) -> AppServer:
        given, directory = self._launching()
        try:
            server = AppServer(await self._processes.spawn(given))
        except OSError as error:
            raise failed_to_start(AGENT, error.strerror or type(error).__name__) from None
        try:
            await server.introduce()
            if server.version not in TESTED:
                server.missing = await self._missing(given, directory)
                _admit(server)
            await self._started(server)
        except BaseException as error:
            await server.close()
            if isinstance(error, Gone | TimeoutError | Refused):
                raise failed_to_start(AGENT, ending(server.process.exit_code)) from None
            raise
        return server

    async def _missing(self, given: Command, directory: Path) -> frozenset[str]:
        """Which methods that we call the binary does not have, by the schema that it writes."""
        out = directory / "schema"
        arguments = ["app-server", "generate-json-schema", "--experimental", "--out", str(out)]
        process = await self._processes.spawn(given._replace(arguments=arguments))
        try:
            async with asyncio.timeout(START_SECONDS):
                await process.wait()
            schema = await asyncio.to_thread((out / "ClientRequest.json").read_bytes)
            return (NEEDED | WANTED.keys()) - methods_of(decode(schema, SCHEMA_LIMITS))
        except (OSError, TimeoutError, JsonError):
            return NEEDED
        finally:
            await process.close()


def _admit(server: AppServer) -> None:
    if lacking := server.missing & NEEDED:
        missing = ", ".join(sorted(lacking))
        raise ProviderError("AGENT_UNSUPPORTED", text("error.AGENT_UNSUPPORTED.meaning", agent=AGENT, missing=missing))
    for method in sorted(server.missing):
        log.warning("Codex %s has no %s: %s are off", server.version, method, WANTED[method])
    log.warning("Codex %s: version unverified, capabilities confirmed", server.version)
