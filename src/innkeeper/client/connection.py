"""The shell around the mirror: one transport, kept connected (AHP §2, §15).

Rules
* One task owns the transport, connects it, reads it and connects it again: 1, 2, 4 … 30 s between attempts, by an
  injected sleep and random source. A clean close (1000, 1005) or a refused version ends it.
* On a new connection `reconnect` comes first; any error of the host's leads to `initialize` with the same
  subscriptions. Then what the host has not answered is sent again under its old `clientSeq`.
* Messages are taken in the order of arrival: a response is taken by whoever asked before the next message is read.
* A message that cannot be understood is logged and passed over; it never ends the connection.
"""
# ruff: noqa: ASYNC109 - a time-out in seconds is part of this surface; asyncio.timeout keeps it

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.client.backoff import delays
from innkeeper.client.calls import Calls, OnResult
from innkeeper.client.errors import (
    ClientError,
    ConnectFailed,
    ConnectionLost,
    RequestTimeout,
    RpcFailure,
    TargetInvalid,
    VersionRefused,
)
from innkeeper.client.events import Change, Connected, Disconnected, JsonObject, NotificationReceived
from innkeeper.client.mirror import ROOT, Mirror, Pending
from innkeeper.client.transport import Transport, TransportClosed
from innkeeper.wire.jsonrpc import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    InvalidMessage,
    Message,
    Notification,
    Request,
    Response,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    read,
)
from innkeeper.wire.limits import Limits

LOG: Final = logging.getLogger(__name__)
REQUEST_SECONDS: Final = 30.0
FLUSH_SECONDS: Final = 1.0
"""How long a client that ends waits for its last messages to be written."""
ABNORMAL: Final = 1006
FROM_HOST: Final = Limits(max_bytes=256 * 1024 * 1024)
"""A snapshot may be larger than what a client may send; a host is trusted that far."""
UNSUPPORTED_VERSION: Final = -32005

Handler = Callable[[JsonObject], Awaitable[Any]]
"""Answers a request of the host: gets its params, gives the result; a raised RpcFailure becomes the error answer."""

Publish = Callable[[Change | Connected | Disconnected | NotificationReceived], None]


@dataclass(frozen=True, slots=True)
class Identity:
    """What `initialize` says of this client, apart from its subscriptions."""

    client_id: str
    versions: Sequence[str]
    info: Mapping[str, Any]
    locale: str | None = None
    capabilities: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Time and chance, so that tests need neither."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = field(default=lambda: 0.0)


class Connection:
    """A connection that outlives its transports; see the module's rules."""

    def __init__(
        self, transport: Transport, mirror: Mirror, identity: Identity, publish: Publish, *, timing: Timing, keep: bool
    ) -> None:
        self.result: JsonObject = {}
        """The result of the last `initialize`."""
        self.handlers: dict[str, Handler] = {}
        self._transport, self._mirror, self._identity = transport, mirror, identity
        self._publish, self._timing, self._keep = publish, timing, keep
        self._calls = Calls()
        self._outgoing: deque[bytes] = deque()
        self._to_write = asyncio.Event()
        self._flushed = asyncio.Event()
        self._ready = asyncio.Event()
        self._ended: ConnectionLost | None = None
        self._task: asyncio.Task[None] | None = None
        self._initialized = False

    async def start(self, subscriptions: Iterable[str]) -> None:
        """Connects for the first time. Raises ConnectFailed and its kin, TargetInvalid, RpcFailure, RequestTimeout."""
        for uri in subscriptions:
            self._mirror.follow(uri).active = True
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(first), name="ahp client")
        try:
            await first
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Ends the connection and its task once what was dispatched is written; waiting requests raise ConnectionLost.
        Idempotent."""
        if self._ready.is_set() and not self.over:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._flushed.wait()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            await self._transport.close()
        self._end(ConnectionLost("the client is closed"))

    @property
    def over(self) -> bool:
        """No connection, and none will be made."""
        return self._ended is not None

    async def closed(self) -> None:
        """Waits until no further attempt to connect will be made."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def request(
        self, method: str, params: JsonObject, *, timeout: float = REQUEST_SECONDS, on_result: OnResult | None = None
    ) -> Any:
        """Asks the host, after a reconnect when there is no connection now. `timeout` covers both.

        Raises RpcFailure, RequestTimeout, and ConnectionLost when the connection ends after the request was written.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._connected()
                return await self._call(method, params, on_result)
        except TimeoutError as error:
            raise RequestTimeout(f"{method} was not answered within {timeout:g} s") from error

    def notify(self, method: str, params: JsonObject) -> bool:
        """Sends a notification; False when there is no connection now."""
        connected = self._ready.is_set() and not self.over
        if connected:
            self._write(encode_notification(method, params))
        return connected

    async def _connected(self) -> None:
        await self._ready.wait()
        if self._ended is not None:
            raise self._ended

    async def _call(self, method: str, params: JsonObject, on_result: OnResult | None = None) -> Any:
        id, future = self._calls.add(method, on_result)
        try:
            self._write(encode_request(id, method, params))
            return await future
        finally:
            self._calls.drop(id)

    def _write(self, frame: bytes) -> None:
        self._outgoing.append(frame)
        self._flushed.clear()
        self._to_write.set()

    async def _run(self, first: "asyncio.Future[None]") -> None:
        try:
            await self._stay_connected(first)
        except Exception as error:
            LOG.exception("the client failed")
            if not first.done():
                first.set_exception(error)
        finally:
            self._end(ConnectionLost("the client has ended"))

    async def _stay_connected(self, first: "asyncio.Future[None]") -> None:
        waits = delays(self._timing.random)
        lasting: Exception | None = None
        while lasting is None:
            failed, closed = await self._attempt(first)
            if not first.done():
                lasting = failed or ConnectFailed(f"the host closed the connection ({closed})")
                first.set_exception(lasting)
            elif isinstance(failed, VersionRefused | TargetInvalid) or not self._keep:
                lasting = failed or ConnectionLost(f"the host closed the connection ({closed})")
            elif closed is not None:
                waits = delays(self._timing.random)
                if closed.clean:
                    lasting = ConnectionLost(f"the host closed the connection ({closed})")
            await self._pause(closed or TransportClosed(ABNORMAL, str(failed)), waits, lasting)

    async def _pause(self, closed: TransportClosed, waits: Iterator[float], lasting: Exception | None) -> None:
        if lasting is not None:
            self._publish(Disconnected(closed.code, closed.reason, None))
            self._end(ConnectionLost(str(lasting)))
            return
        delay = next(waits)
        self._publish(Disconnected(closed.code, closed.reason, delay))
        await self._timing.sleep(delay)

    async def _attempt(self, first: "asyncio.Future[None]") -> tuple[Exception | None, TransportClosed | None]:
        """One connection from its opening to its end: why it could not be made, or how it ended."""
        try:
            await self._transport.open()
        except (ConnectFailed, TargetInvalid) as error:
            return error, None
        failed: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._write_all())
                tasks.create_task(self._read_all(tasks))
                await self._shake_hands(tasks)
                if not first.done():
                    first.set_result(None)
        except* (TransportClosed, ClientError) as group:
            failed = _first_of(group)
        finally:
            connected = self._ready.is_set()
            self._ready.clear()
            self._calls.fail(ConnectionLost("the connection ended before the answer came"))
            self._outgoing.clear()
            self._flushed.set()
            await self._transport.close()
        if isinstance(failed, TransportClosed):
            return (None, failed) if connected else (ConnectFailed(f"the host closed the connection ({failed})"), None)
        return (failed if isinstance(failed, ClientError) else ConnectFailed("the connection ended")), None

    async def _write_all(self) -> None:
        while True:
            while self._outgoing:
                await self._transport.send(self._outgoing.popleft())
            self._flushed.set()
            self._to_write.clear()
            await self._to_write.wait()

    async def _read_all(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            self._take(read(await self._transport.receive(), FROM_HOST), tasks)

    def _take(self, message: Message, tasks: asyncio.TaskGroup) -> None:
        match message:
            case Response():
                if not self._calls.answer(message):
                    LOG.debug("an answer that nobody waits for: %r", message.id)
            case Notification("action", params):
                self._guarded(lambda: self._mirror.envelope(params))
            case Notification(method, params):
                self._publish(NotificationReceived(method, params))
            case Request():
                tasks.create_task(self._serve(message))
            case InvalidMessage(code, problem):
                LOG.warning("a message of the host cannot be used: %s (%d)", problem, code)

    def _guarded(self, take: Callable[[], list[Change]]) -> None:
        try:
            self._tell(take())
        except ValueError as error:
            LOG.warning("a message of the host is not valid: %s", error)

    def _tell(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._publish(change)

    async def _serve(self, request: Request) -> None:
        """Answers a request of the host; what has no handler is answered at once with -32601 (AHP §4)."""
        handler = self.handlers.get(request.method)
        if request.method == "ping":
            answer = encode_result(request.id, None)
        elif handler is None:
            answer = encode_error(request.id, METHOD_NOT_FOUND, f"{request.method} is not served by this client")
        else:
            try:
                answer = encode_result(request.id, await handler(request.params))
            except RpcFailure as error:
                answer = encode_error(request.id, error.code, error.message, error.data)
            except Exception:
                LOG.exception("the handler of %s failed", request.method)
                answer = encode_error(request.id, INTERNAL_ERROR, "the handler failed")
        self._write(answer)

    async def _shake_hands(self, tasks: asyncio.TaskGroup) -> None:
        resumed = self._initialized and await self._resume()
        if not resumed:
            await self._initialize()
        self._ready.set()
        self._publish(Connected(resumed))
        if again := self._mirror.unanswered():
            for entry in again:
                self._write(encode_notification("dispatchAction", dispatch_params(entry)))
            tasks.create_task(self._settle(again))

    async def _settle(self, again: Sequence[Pending]) -> None:
        """What the host had taken before is answered by nothing: once it answers a `ping` sent afterwards, the action
        has been dealt with, and the confirmed state holds it if it was taken."""
        reason = "the connection was lost before the answer came"
        try:
            await self._call("ping", {"channel": ROOT}, lambda _: self._tell(self._mirror.abandon(again, reason)))
        except RpcFailure:
            self._tell(self._mirror.abandon(again, reason))
        except ConnectionLost:
            LOG.debug("the connection ended before the answers to repeated actions")

    async def _resume(self) -> bool:
        params = {
            "channel": ROOT,
            "clientId": self._identity.client_id,
            "lastSeenServerSeq": self._mirror.last_seen,
            "subscriptions": self._mirror.subscriptions(),
        }
        try:
            await self._bounded("reconnect", params, lambda result: self._tell(self._mirror.resumed(_object(result))))
        except RpcFailure as error:
            LOG.info("the host does not resume this client (%d); initialising", error.code)
            return False
        return True

    async def _initialize(self) -> None:
        identity = self._identity
        params: dict[str, Any] = {
            "channel": ROOT,
            "protocolVersions": list(identity.versions),
            "clientId": identity.client_id,
            "clientInfo": dict(identity.info),
            "initialSubscriptions": self._mirror.subscriptions(),
            "capabilities": identity.capabilities or None,
            "locale": identity.locale,
        }
        try:
            await self._bounded(
                "initialize", {k: v for k, v in params.items() if v is not None}, self._initialized_with
            )
        except RpcFailure as error:
            if error.code != UNSUPPORTED_VERSION:
                raise
            data = error.data if isinstance(error.data, Mapping) else {}
            raise VersionRefused(error.message, [str(v) for v in data.get("supportedVersions") or ()]) from error

    def _initialized_with(self, result: Any) -> None:
        self.result = _object(result)
        self._tell(self._mirror.initialized(self.result))
        self._initialized = True

    async def _bounded(self, method: str, params: JsonObject, on_result: OnResult) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._call(method, params, on_result)
        except TimeoutError as error:
            raise RequestTimeout(f"{method} was not answered within {REQUEST_SECONDS:g} s") from error

    def _end(self, error: ConnectionLost) -> None:
        if self._ended is None:
            self._ended = error
        self._calls.fail(error)
        # Whoever waits for a connection wakes up and finds that there will be none.
        self._ready.set()


def dispatch_params(entry: Pending) -> dict[str, Any]:
    """The params of `dispatchAction`."""
    return {"channel": entry.channel, "clientSeq": entry.client_seq, "action": entry.action}


def _object(result: Any) -> JsonObject:
    if not isinstance(result, Mapping):
        raise ValueError("not an object")
    return result


def _first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
