"""One connection: an owner task that holds the SDK's client, and callers that wait on futures (architecture §5).

Rules
* Every scope of the SDK begins and ends in the owner task, so a dying server can cancel nobody but the owner.
* A caller that is cancelled cancels its own request and nothing else. A request once sent is never sent again (M7.5).
* The SDK, and what it runs on, is imported when the first connection starts, not before.
* States carry a code and at most a number: no output of the server, no address, no value (M7.7).
* A connection starts once; whoever wants another try makes another connection.
* Once it is known to be lost its state says so and nothing is accepted, also while its process is still being ended.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from innkeeper.mcp.connections import listing
from innkeeper.mcp.connections.exchanges import Exchanges
from innkeeper.mcp.connections.values import (
    CallFailed,
    Catalogue,
    ConnectionLost,
    ConnectionState,
    JsonObject,
    Limits,
    RawResult,
    Signals,
    StartFailed,
    TokenWanted,
    Use,
)
from innkeeper.mcp.declarations.model import HttpLaunch, Launch, StdioLaunch
from innkeeper.mcp.oauth.access import ServerAccess
from innkeeper.mcp.oauth.calls import Calling, calling
from innkeeper.ports.mcp import Exchange
from innkeeper.ports.processes import Command, Process, Processes
from innkeeper.ports.questions import Caller
from innkeeper.protocol.session.state import McpAuthRequirement

if TYPE_CHECKING:
    import anyio
    from mcp.client._transport import Transport
    from mcp.client.client import Client

logger = logging.getLogger(__name__)

T = TypeVar("T")

EXIT_GRACE = 0.5
"""Seconds between the end of a child's output and its exit code."""
TREE_INTERVAL = 10.0
"""Seconds between two looks at a process's tree."""
EXIT_NOTICE = 0.1
"""The same, before others are told that the connection is lost."""


class _Scope(AbstractContextManager["_Scope", bool | None], Protocol):
    """What is used of anyio's `CancelScope`."""

    def cancel(self) -> None: ...


@dataclass(eq=False, slots=True)
class _Request:
    run: Callable[[Any], Awaitable[Any]]
    answer: "asyncio.Future[Any]"
    scope: _Scope


class Connection:
    """A server being connected, connected, or gone. `changed` is called after each change of state or catalogue, `used`
    when requests begin, succeed, and when none runs any more; on the event loop, and they must not raise. `confirm`
    says before a call whether the server still answers. With `refused` it comes to that code and starts nothing."""

    def __init__(
        self,
        name: str,
        launch: Launch,
        processes: Processes,
        environment: Callable[[Mapping[str, str]], Mapping[str, str]],
        changed: Callable[["Connection"], None],
        limits: Limits = Limits(),  # noqa: B008 - a frozen value
        access: ServerAccess | None = None,
        used: Callable[["Connection", Use], None] = lambda _connection, _use: None,
        refused: str | None = None,
    ) -> None:
        self.name = name
        self.running = 0
        """Requests that were accepted and have no outcome yet."""
        self.confirm: Callable[[], Awaitable[bool]] | None = None
        self._used = used
        self._refusal = refused
        self._access = access
        self.state = ConnectionState("starting")
        self.catalogue = Catalogue()
        self.confirmed_dead = True
        self._launch = launch
        self._processes = processes
        self._environment = environment
        self._changed = changed
        self._limits = limits
        self._signals = Signals()
        self._process: Process | None = None
        self._owner: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._wake = asyncio.Event()
        self._stopping = False
        self._requests: list[_Request] = []
        self._stale: set[listing.Part] = set()
        self._listing = False
        self._noted = 0.0
        self.exchanges = Exchanges()
        """What passes beside the calls; set up before `start`."""

    @property
    def pid(self) -> int | None:
        return None if self._process is None or self._process.exit_code is not None else self._process.pid

    def start(self) -> None:
        """Begin to connect; `settled` says when it has come to something. Only once; nothing after `close`."""
        if self._stopping:
            return
        assert self._owner is None
        self._owner = asyncio.create_task(self._own(), name=f"mcp {self.name}")

    async def settled(self) -> ConnectionState:
        """The state once it is no longer `starting`; bounded by the start limit and the end of the process."""
        await self._settled.wait()
        return self.state

    @property
    def url(self) -> str | None:
        """The address of an HTTP server, which may hold credentials; None for a process."""
        return self._launch.url if isinstance(self._launch, HttpLaunch) else None

    def stderr_tail(self) -> bytes:
        """The end of the process's standard error, unmasked (M7.7)."""
        return b"" if self._process is None else self._process.stderr_tail()

    def drop(self, code: str) -> None:
        """What watches the server found that it is gone: end, with that code as the reason."""
        self._signals.ended.append(ConnectionState("error", code))
        self._wake.set()

    async def close(self) -> None:
        """End the connection and its process tree. Idempotent; a caller that is cancelled does not stop it."""
        self._stopping = True
        self._wake.set()
        if self._owner is None:
            if self.state.kind == "starting":
                self._set(ConnectionState("stopped"))
            return
        done, _ = await asyncio.wait([self._owner], timeout=self._limits.stop)
        if not done:
            self._owner.cancel()
            await asyncio.wait([self._owner])

    async def call_tool(
        self, tool: str, arguments: JsonObject, caller: Caller | None = None, exchange: Exchange | None = None
    ) -> RawResult:
        """Raises ConnectionLost, CallFailed and TokenWanted. A `caller` may wait in its conversation for a token."""
        if self.confirm is not None and not await self.confirm():
            raise ConnectionLost(self.name, "ENDPOINT_UNREACHABLE")
        present = Calling(caller)

        async def call(client: "Client") -> RawResult:
            with calling(present):
                result = cast(Any, await self.exchanges.call(client, tool, arguments, exchange))
            dumped = listing.dump(result)
            structured = dumped.get("structuredContent")
            return RawResult(
                content=cast(list[JsonObject], dumped.get("content", [])),
                is_error=bool(result.is_error),
                structured=cast(JsonObject, structured) if isinstance(structured, dict) else None,
                whole=dumped,
            )

        try:
            return await self.request(call)
        except (ConnectionLost, CallFailed):
            if present.refused:
                raise TokenWanted(self.name) from None
            raise

    async def read_resource(self, uri: str) -> list[JsonObject]:
        """The contents in MCP's shape. Raises ConnectionLost and CallFailed."""

        async def read(client: "Client") -> list[JsonObject]:
            return [listing.dump(content) for content in (await client.session.read_resource(uri)).contents]

        return await self.request(read)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> JsonObject:
        async def get(client: "Client") -> JsonObject:
            return listing.dump(await client.session.get_prompt(name, dict(arguments)))

        return await self.request(get)

    async def set_log_level(self, level: str) -> None:
        """Raises ConnectionLost and CallFailed."""
        await self.request(lambda client: self.exchanges.set_log_level(client, level))

    async def request(self, run: Callable[["Client"], Awaitable[T]]) -> T:
        """Run one request in the owner's task group. Raises ConnectionLost when there is no connection (any more)."""
        if self.state.kind != "ready" or self._stopping or self._signals.ended:
            raise ConnectionLost(self.name)
        import anyio

        request = _Request(run, asyncio.get_running_loop().create_future(), anyio.CancelScope())
        self._requests.append(request)
        self._wake.set()
        self.running += 1
        self._used(self, "began")
        try:
            answer = cast(T, await request.answer)
            self._used(self, "answered")
            return answer
        except asyncio.CancelledError:
            request.scope.cancel()
            raise
        finally:
            self.running -= 1
            if not self.running:
                self._used(self, "idle")

    async def _own(self) -> None:
        import anyio

        end = ConnectionState("stopped")
        try:
            async with AsyncExitStack() as stack:
                client = await self._open(stack)
                await self._note_tree()
                self._set(ConnectionState("ready"))
                async with anyio.create_task_group() as group:
                    group.start_soon(listing.follow, client, self._list_changed)
                    group.start_soon(self._watch_process)
                    await self._serve(client, group)
                    end = self._end_of_service()
                    group.cancel_scope.cancel()
                self._fail_waiting()
                self._set(await self._with_exit_code(end))
        except StartFailed as failed:
            end = ConnectionState("stopped") if self._stopping else failed.state
        except asyncio.CancelledError:
            self._stopping = True
        except BaseExceptionGroup as group_error:
            end = self._end_of_service()
            logger.debug("mcp server %s: connection ended by %s", self.name, _names(group_error))
        except Exception as error:
            end = self._end_of_service()
            logger.debug("mcp server %s: connection ended by %s", self.name, type(error).__name__)
        await self._finish(end)

    async def _open(self, stack: AsyncExitStack) -> "Client":
        """Raises StartFailed; every other way out is a cancelled owner."""
        if self._refusal is not None:
            raise StartFailed(ConnectionState("error", self._refusal))
        try:
            async with asyncio.timeout(self._limits.start):
                client = await self._handshake(stack)
                self.catalogue = await listing.list_all(client)
                return client
        except TimeoutError:
            raise StartFailed(ConnectionState("error", "START_TIMEOUT")) from None
        except OSError as error:
            code = "SPAWN_FAILED" if isinstance(self._launch, StdioLaunch) else "ENDPOINT_UNREACHABLE"
            detail = type(error).__name__ if error.errno is None else f"errno {error.errno}"
            raise StartFailed(ConnectionState("error", code, detail)) from None
        except Exception:
            raise StartFailed(await self._why_not_started()) from None

    async def _handshake(self, stack: AsyncExitStack) -> "Client":
        from innkeeper.mcp.connections.sdk import make_client

        transport = await self._transport()
        return await stack.enter_async_context(make_client(transport, self._notified, self.exchanges.answers))

    async def _transport(self) -> "Transport":
        from innkeeper.mcp.connections.http import http_streams
        from innkeeper.mcp.connections.stdio import process_streams

        match self._launch:
            case StdioLaunch() as launch:
                environment = self._environment(launch.environment)
                command = Command(launch.program, launch.arguments, environment, launch.directory)
                self._process = await self._processes.spawn(command)
                return cast("Transport", process_streams(self._process, self._ended))
            case HttpLaunch() as launch:
                assert self._access is not None, "an HTTP server has its access"
                return cast("Transport", http_streams(launch, self._signals, self._refused, self._access))

    async def _why_not_started(self) -> ConnectionState:
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                code = await asyncio.wait_for(self._process.wait(), EXIT_GRACE)
                return ConnectionState("error", "SPAWN_FAILED", f"exit {code}")
            return ConnectionState("error", "HANDSHAKE_FAILED")
        if self._signals.http_status == 401 or self._requirement is not None:
            return self._auth_required()
        if self._signals.http_status is not None:
            return ConnectionState("error", "ENDPOINT_UNREACHABLE", f"HTTP {self._signals.http_status}")
        return ConnectionState("error", "ENDPOINT_UNREACHABLE")

    async def _serve(self, client: "Client", group: "anyio.abc.TaskGroup") -> None:
        while not self._stopping and not self._signals.ended:
            await self._wake.wait()
            self._wake.clear()
            requests, self._requests = self._requests, []
            for request in requests:
                group.start_soon(self._answer, client, request)
            if self._stale and not self._listing:
                self._listing = True
                group.start_soon(self._list_again, client)

    async def _watch_process(self) -> None:
        """A child may be gone while a grandchild still holds its output open."""
        if self._process is not None:
            await self._process.wait()
            self._ended()

    async def _note_tree(self) -> None:
        """After the start, and after calls, which may have started processes of their own."""
        if self._process is not None:
            self._noted = asyncio.get_running_loop().time()
            await self._process.note_tree()

    async def _answer(self, client: "Client", request: _Request) -> None:
        answer = request.answer
        try:
            with request.scope:
                if not answer.done():
                    result = await request.run(client)
                    if not answer.done():
                        answer.set_result(result)
        except Exception as error:
            if not answer.done():
                answer.set_exception(_call_error(error))
        finally:
            if not answer.done():
                answer.set_exception(ConnectionLost(self.name))
        if asyncio.get_running_loop().time() - self._noted > TREE_INTERVAL:
            await self._note_tree()

    async def _list_again(self, client: "Client") -> None:
        """One at a time: what changes meanwhile, however often it is said, is listed once more after it."""
        try:
            while self._stale:
                stale, self._stale = self._stale, set()
                for part in sorted(stale):
                    self.catalogue = await listing.list_part(client, self.catalogue, part)
                self._changed(self)
        except Exception as error:
            logger.info("mcp server %s: listing again failed: %s", self.name, type(error).__name__)
        finally:
            self._listing = False

    async def _notified(self, message: object) -> None:
        await self.exchanges.notified(message)
        if (part := listing.changed_part(message)) is not None:
            self._list_changed(part)

    def _list_changed(self, part: listing.Part) -> None:
        self._stale.add(part)
        self._wake.set()

    def _ended(self) -> None:
        self._signals.ended.append(ConnectionState("error", "CONNECTION_LOST"))
        self._wake.set()

    def _refused(self, status: int) -> None:
        """An answer of 400 or more: 401 and a session that is gone end a connection that was ready."""
        if self.state.kind != "ready" or status not in (401, 404):
            return
        state = self._auth_required() if status == 401 else ConnectionState("error", "CONNECTION_LOST", "HTTP 404")
        self._signals.ended.append(state)
        self._wake.set()

    def _auth_required(self) -> ConnectionState:
        wanted = self._requirement
        if wanted is None:
            return ConnectionState("error", "AUTH_REQUIRED", None if self._access is None else self._access.problem)
        return ConnectionState("authRequired", "AUTH_REQUIRED", requirement=wanted)

    @property
    def _requirement(self) -> McpAuthRequirement | None:
        return None if self._access is None else self._access.requirement

    def _end_of_service(self) -> ConnectionState:
        """Stopped by us, or how it was lost as far as that is known."""
        if self.state.kind not in ("starting", "ready"):
            return self.state
        if self._stopping:
            return ConnectionState("stopped")
        end = self._signals.ended[0] if self._signals.ended else ConnectionState("error", "CONNECTION_LOST")
        code = None if self._process is None else self._process.exit_code
        return end if code is None or end.detail else replace(end, detail=f"exit {code}")

    async def _with_exit_code(self, end: ConnectionState) -> ConnectionState:
        """The end of its output is often noticed a moment before the exit of a process."""
        if self._process is None or end.code != "CONNECTION_LOST" or end.detail is not None:
            return end
        with contextlib.suppress(TimeoutError):
            return replace(end, detail=f"exit {await asyncio.wait_for(self._process.wait(), EXIT_NOTICE)}")
        return end

    async def _finish(self, end: ConnectionState) -> None:
        """Kill the tree, answer who still waits, publish the end. Not to be cancelled: the owner is shielded here."""
        if self._process is not None:
            outcome = await _shielded(self._process.close())
            self.confirmed_dead = outcome.confirmed
            if not outcome.confirmed:
                end = ConnectionState("error", "CLOSE_UNCONFIRMED")
            elif end.code == "CONNECTION_LOST" and end.detail is None and outcome.exit_code is not None:
                end = replace(end, detail=f"exit {outcome.exit_code}")
        self._fail_waiting()
        self._set(end)

    def _fail_waiting(self) -> None:
        requests, self._requests = self._requests, []
        for request in requests:
            if not request.answer.done():
                request.answer.set_exception(ConnectionLost(self.name))

    def _set(self, state: ConnectionState) -> None:
        self.state = state
        if state.kind not in ("starting", "ready"):
            self.catalogue = Catalogue()
        self._settled.set()
        self._changed(self)


async def _shielded(work: Awaitable[T]) -> T:
    """Wait for it through any number of cancellations of this task."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    return task.result()


def _call_error(error: Exception) -> Exception:
    import anyio
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED

    if isinstance(error, MCPError):
        return ConnectionLost() if error.code == CONNECTION_CLOSED else CallFailed(error.message, error.code)
    if isinstance(error, (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)):
        return ConnectionLost()
    return CallFailed(f"unusable answer ({type(error).__name__})")


def _names(group: BaseExceptionGroup[BaseException]) -> str:
    """The kinds of what went wrong, without their texts."""
    names: set[str] = set()
    for error in group.exceptions:
        names.add(_names(error) if isinstance(error, BaseExceptionGroup) else type(error).__name__)
    return ", ".join(sorted(names))
