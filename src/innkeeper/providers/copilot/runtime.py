"""The one runtime of a host: started with the first session, ended with the last, started again when it died.

Rules
* The process is the host's own child (`ports.processes`). It is spoken to over loopback with a secret made for it, by
  the SDK's client, which starts nothing.
* Every call has a deadline. A runtime that does not answer is ended; all its turns end with it, and the next request
  starts a new one, in which the conversations are found on disk. What waits for something else, a server that a plugin
  starts, ends no turn but its own.
* A version that was not tested is asked for the methods in `METHODS`: one that knows them all is used (M7.8).
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

from innkeeper.ports.processes import Process, Processes
from innkeeper.providers.copilot.install import AGENT, TESTED, sdk_version
from innkeeper.providers.copilot.launch import Launch
from innkeeper.providers.copilot.sdk import sdk
from innkeeper.providers.one_process import OneProcess
from innkeeper.providers.spi import ProviderError
from innkeeper.providers.telling import ending, exited, failed_to_start, unresponsive
from innkeeper.texts import text

log = logging.getLogger(__name__)

T = TypeVar("T")

START_SECONDS: Final = 60.0
"""The first start of all unpacks the agent."""
CONTROL_SECONDS: Final = 30.0
PING_SECONDS: Final = 10.0
GONE_SECONDS: Final = 2.0
METHODS: Final = (
    "session.send",
    "session.abort",
    "session.detach",
    "session.model.switchTo",
    "session.mcp.list",
    "session.mcp.disable",
    "session.mcp.startServer",
    "session.mcp.stopServer",
    "session.permissions.handlePendingPermissionRequest",
    "session.history.truncate",
    "session.tools.set",
    "sessions.fork",
)
"""Without one of these no turn can be run with enablement as C6 wants it, or no conversation be held."""
UNKNOWN_METHOD: Final = -32601
FOREIGN: Final = "protocol version"
"""What the SDK says where the agent speaks another version of their protocol than it knows."""
NOBODY: Final = "00000000-0000-4000-8000-000000000000"
_PORT: Final = re.compile(rb"listening on port (\d+)", re.I)


class Refused(Exception):
    """The runtime answered with an error. The text is its own and goes no further unmasked."""


class Listener(Protocol):
    def lost(self, error: ProviderError) -> None:
        """The process is gone, or was given up."""
        ...


class Runtime:
    """One process and the SDK's client of it. Made by `Runtimes`."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.client: Any = None
        self.version = "?"
        self.listeners: set[Listener] = set()
        self._given_up = False
        self._port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reader = asyncio.get_running_loop().create_task(self._read(), name=f"copilot {process.pid}")

    @property
    def alive(self) -> bool:
        return not self._given_up and not self._reader.done() and self.process.exit_code is None

    @property
    def spent(self) -> bool:
        return False

    async def introduce(self, token: str) -> None:
        """Raises ProviderError."""
        found = await asyncio.to_thread(sdk)
        try:
            async with asyncio.timeout(START_SECONDS):
                port = await asyncio.shield(self._port)
                where = found.RuntimeConnection.for_uri(f"127.0.0.1:{port}", connection_token=token)
                self.client = found.CopilotClient(connection=where)
                await self.client.start()
                self.version = str((await self.client.get_status()).version)
        except TimeoutError:
            raise failed_to_start(AGENT, text("agent.startTimeout")) from None
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if FOREIGN in str(error):
                missing = text("copilot.protocol")
                raise ProviderError(
                    "AGENT_UNSUPPORTED", text("error.AGENT_UNSUPPORTED.meaning", agent=AGENT, missing=missing)
                ) from None
            code = await self._exit_code()
            raise failed_to_start(AGENT, ending(code) if code is not None else type(error).__name__) from None
        if (sdk_version() or "", self.version) not in TESTED:
            await self._probe()

    async def ask(self, work: Awaitable[T], *, seconds: float | None = None, outside: bool = False) -> T:
        """The answer of the runtime. Raises Refused, and ProviderError where it is gone or does not answer. With
        `outside` it may take as long as something else takes: a late answer is Refused while the runtime is there."""
        try:
            async with asyncio.timeout(CONTROL_SECONDS if seconds is None else seconds):
                return await work
        except TimeoutError:
            if not outside:
                self.give_up()
                raise unresponsive(AGENT) from None
            await self.answers()
            raise Refused("no answer in time") from None
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if type(error).__name__ == "ProcessExitedError" or not self.alive:
                raise exited(AGENT, await self._exit_code()) from None
            raise Refused(str(error)) from None

    async def answers(self) -> None:
        """Ask whether it is there. Raises ProviderError."""
        with contextlib.suppress(Refused):
            await self.ask(self.client.ping(), seconds=PING_SECONDS)

    def give_up(self) -> None:
        """End a process that does not answer, and the turns in it."""
        if not self._given_up:
            log.warning("copilot %d does not answer; it is ended", self.process.pid)
            self._given_up = True
            self._tell(unresponsive(AGENT))
            self.keep(self.process.close())

    def keep(self, work: Any) -> "asyncio.Task[Any]":
        """Run something to its end that nobody waits for."""
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        self._given_up = True
        if self.client is not None:
            with contextlib.suppress(Exception):
                await self.client.force_stop()
        await self.process.close()
        await asyncio.wait([self._reader, *self._tasks])

    # -- inside --------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """What it says is its port; anything else is passed over, but read, so that it can go on."""
        try:
            async for line in self.process.output():
                if (found := _PORT.search(line)) and not self._port.done():
                    self._port.set_result(int(found[1]))
        finally:
            if not self._port.done():
                self._port.set_exception(ConnectionError())
                self._port.exception()
            if not self._given_up:
                self._tell(exited(AGENT, await self._exit_code()))

    def _tell(self, error: ProviderError) -> None:
        for listener in tuple(self.listeners):
            listener.lost(error)

    async def _exit_code(self) -> int | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GONE_SECONDS):
                await self.process.wait()
        return self.process.exit_code

    async def _probe(self) -> None:
        """Raises ProviderError when a method is missing."""
        missing = [method for method in METHODS if not await self._knows(method)]
        if missing:
            names = ", ".join(missing)
            raise ProviderError(
                "AGENT_UNSUPPORTED", text("error.AGENT_UNSUPPORTED.meaning", agent=AGENT, missing=names)
            )
        log.warning("Copilot %s: version unverified, capabilities confirmed", self.version)

    async def _knows(self, method: str) -> bool:
        """Asked of a session that there is not: whoever knows the method says that, and nothing happens."""
        try:
            await self.ask(self._raw(method))
        except Refused as error:
            return str(UNKNOWN_METHOD) not in str(error)
        return True

    async def _raw(self, method: str) -> Any:
        connection: Any = self.client._client  # the SDK names no other way to a method by its name
        return await connection.request(method, {"sessionId": NOBODY})


class Runtimes(OneProcess[Runtime]):
    """`launching` says what the runtime is started with."""

    def __init__(self, processes: Processes, launching: Callable[[], Awaitable[Launch]]) -> None:
        super().__init__()
        self._processes = processes
        self._launching = launching

    async def _start(self) -> Runtime:
        try:
            given = await self._launching()
            runtime = Runtime(await self._processes.spawn(given.command))
        except OSError as error:
            raise failed_to_start(AGENT, error.strerror or type(error).__name__) from None
        try:
            await runtime.introduce(given.token)
        except BaseException:
            await runtime.close()
            raise
        return runtime
