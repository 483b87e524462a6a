"""The client: one host, any number of channels (docs/guide/client-library.md)."""
# ruff: noqa: ASYNC109 - a time-out in seconds is part of this surface; asyncio.timeout keeps it

import asyncio
import random as chance
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from innkeeper.client.channel import Channel, Dispatch
from innkeeper.client.connection import REQUEST_SECONDS, Connection, Handler, Identity, Timing, dispatch_params
from innkeeper.client.errors import ClientError, ConnectionLost, RequestTimeout
from innkeeper.client.events import (
    ActionRejected,
    Change,
    ChannelGone,
    ClientEvent,
    Connected,
    Disconnected,
    JsonObject,
    NotificationReceived,
    Outcome,
    Settled,
    Unconfirmed,
)
from innkeeper.client.mirror import ROOT, Mirror
from innkeeper.client.stream import EVENT_BUFFER, EventSource, EventStream
from innkeeper.client.transport import Target, Transport, open_target
from innkeeper.protocol.chat.state import ChatState
from innkeeper.protocol.root.state import RootState
from innkeeper.protocol.session.state import SessionState, SessionSummary
from innkeeper.wire.json import encode

VERSIONS: Final = ("1.1.0", "1.0.0", "0.9.0")
"""Offered by default; the host takes the highest that it speaks (AHP §2.2)."""


@asynccontextmanager
async def connect(
    target: Target,
    *,
    token: str | None = None,
    client_id: str | None = None,
    client_info: Mapping[str, Any] | None = None,
    versions: Sequence[str] = VERSIONS,
    subscriptions: Sequence[str] = (ROOT,),
    locale: str | None = None,
    capabilities: Mapping[str, Any] | None = None,
    reconnect: bool = True,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    random: Callable[[], float] = chance.random,
) -> AsyncIterator["Client"]:
    """Connects to a host and keeps the connection until the block is left.

    `target` is `ws://…`, `wss://…`, `unix:/path`, the command line of a host that speaks on standard input and output,
    or a `Transport`. `token` is sent as a bearer token. `client_id` names this client over reconnects and is random by
    default; two connections at once need two ids. `subscriptions` are there from the first moment, by
    `client.channel(uri)`.

    Raises TargetInvalid, AccessDenied, VersionRefused and other ConnectFailed, RpcFailure, RequestTimeout. Later losses
    raise nothing: the client connects again (events `Disconnected`, `Connected`), unless `reconnect` is false.
    """
    identity = Identity(
        client_id=client_id or f"client-{secrets.token_hex(8)}",
        versions=tuple(versions),
        info=dict(client_info or {"name": "innkeeper-client"}),
        locale=locale,
        capabilities=capabilities,
    )
    client = Client(open_target(target, token), identity, Timing(sleep, random), keep=reconnect)
    await client.open(subscriptions)
    try:
        yield client
    finally:
        await client.close()


class Client:
    """A connected client; made by `connect`. All methods belong to the event loop that connected."""

    def __init__(self, transport: Transport, identity: Identity, timing: Timing, *, keep: bool) -> None:
        self._client_id = identity.client_id
        self._mirror = Mirror(identity.client_id)
        self._channels: dict[str, Channel[Any]] = {}
        self._outcomes: dict[int, asyncio.Future[Outcome]] = {}
        self._source: EventSource[ClientEvent] = EventSource()
        self._connection = Connection(transport, self._mirror, identity, self._publish, timing=timing, keep=keep)

    async def open(self, subscriptions: Sequence[str]) -> None:
        """Connects; `connect` calls it."""
        for uri in subscriptions:
            self._channel(uri)
        await self._connection.start(subscriptions)

    async def close(self) -> None:
        """Ends the connection; channels keep their last states, waiting calls raise ConnectionLost. Idempotent."""
        await self._connection.close()
        self._give_up("the client is closed")
        for channel in self._channels.values():
            channel.finish()
        self._source.finish()

    async def closed(self) -> None:
        """Waits until the client has stopped connecting: a clean close of the host, or a refused version."""
        await self._connection.closed()

    @property
    def client_id(self) -> str:
        """The id under which the host knows this client."""
        return self._client_id

    @property
    def initialized(self) -> JsonObject:
        """The result of the last `initialize`: server name, version, capabilities, default directory (AHP §2.1)."""
        return self._connection.result

    @property
    def protocol_version(self) -> str:
        """The version that the host chose."""
        return str(self._connection.result.get("protocolVersion", ""))

    @property
    def last_seen(self) -> int:
        """The largest `serverSeq` seen."""
        return self._mirror.last_seen

    def events(self, capacity: int = EVENT_BUFFER) -> EventStream[ClientEvent]:
        """Notifications, connection changes and rejections from now on."""
        return self._source.open(capacity)

    def on_request(self, method: str, handler: Handler) -> None:
        """Lets `handler` answer requests of the host for `method` (the `resource*` family); without one they are
        answered with -32601. A handler gets the params; it raises RpcFailure to answer with an error."""
        self._connection.handlers[method] = handler

    async def request(self, method: str, params: Mapping[str, Any], timeout: float = REQUEST_SECONDS) -> Any:
        """Any request, known to the protocol or not; `params` needs its `channel`.

        Waits for a reconnect when there is no connection. Raises RpcFailure, RequestTimeout, ConnectionLost (the
        connection ended before the answer came).
        """
        return await self._connection.request(method, params, timeout=timeout)

    def notify(self, method: str, params: Mapping[str, Any]) -> bool:
        """Any notification; false, and not sent, when there is no connection now."""
        return self._connection.notify(method, params)

    def channel(self, uri: str) -> Channel[Any]:
        """A channel that is subscribed. Raises KeyError."""
        return self._channels[uri]

    @property
    def root(self) -> Channel[RootState]:
        """The root channel, which `connect` subscribes unless told otherwise. Raises KeyError."""
        return self._channels[ROOT]

    async def subscribe(
        self,
        uri: str,
        *,
        turns: int | None = None,
        max_latency_ms: int | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> Channel[Any]:
        """The channel `uri`, with its state when it has one; the same object for every caller.

        `turns` asks for about that many of the newest turns of a chat, `max_latency_ms` allows the host to join deltas.
        Raises RpcFailure when the host has no such channel, RequestTimeout, ConnectionLost once the client has ended.
        """
        known = self._channels.get(uri)
        if known is not None and not known.gone and self._mirror.follow(uri).active:
            return known
        channel = self._channel(uri)
        params: dict[str, Any] = {"channel": uri}
        if turns is not None:
            params["view"] = {"turns": turns}
        if max_latency_ms is not None:
            params["delivery"] = {"maxLatencyMs": max_latency_ms}
        try:
            async with asyncio.timeout(timeout):
                await self._subscribed(uri, params, timeout)
        except (ClientError, TimeoutError) as error:
            self._forget(uri)
            if isinstance(error, ClientError):
                raise
            raise RequestTimeout(f"subscribe was not answered within {timeout:g} s") from error
        return channel

    async def subscribe_session(self, uri: str, **options: Any) -> Channel[SessionState]:
        """`subscribe` with the type of a session's state."""
        return cast("Channel[SessionState]", await self.subscribe(uri, **options))

    async def subscribe_chat(self, uri: str, **options: Any) -> Channel[ChatState]:
        """`subscribe` with the type of a chat's state."""
        return cast("Channel[ChatState]", await self.subscribe(uri, **options))

    async def unsubscribe(self, uri: str) -> None:
        """Ends a subscription; nothing happens when there is none."""
        if self._forget(uri):
            self._connection.notify("unsubscribe", {"channel": uri})

    def dispatch(self, uri: str, action: Mapping[str, Any]) -> Dispatch:
        """Dispatches an action. On a subscribed channel it shows at once and is sent again after a lost connection.

        On another channel (an answer to `inputNeeded`, say) the host reports only a rejection, so that awaiting an
        action that is taken would not end; without a connection it is not sent and its outcome is `Unconfirmed`.
        Raises ValueError when the action cannot be written as JSON.
        """
        encode(action)  # what cannot be sent must not be shown
        entry = self._mirror.dispatch(uri, action)
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._outcomes[entry.client_seq] = future
        sent = self._connection.notify("dispatchAction", dispatch_params(entry))
        if self._connection.over:
            self._give_up("the client has ended")
        elif not sent and uri not in self._channels:
            self._settle(entry.client_seq, Unconfirmed("there is no connection"))
        return Dispatch(entry.client_seq, future)

    async def ping(self, timeout: float = REQUEST_SECONDS) -> None:
        """Returns when the host has answered."""
        await self.request("ping", {"channel": ROOT}, timeout)

    async def create_session(
        self,
        uri: str | None = None,
        *,
        provider: str | None = None,
        working_directories: Sequence[str] | None = None,
        config: Mapping[str, Any] | None = None,
        active_client: Mapping[str, Any] | None = None,
        progress_token: str | None = None,
    ) -> str:
        """Creates a session and gives its URI. Raises RpcFailure: -32003 taken, -32002 unknown provider."""
        uri = uri or f"ahp-session:/{secrets.token_hex(16)}"
        optional = {
            "provider": provider,
            "workingDirectories": None if working_directories is None else list(working_directories),
            "config": config,
            "activeClient": active_client,
            "progressToken": progress_token,
        }
        await self.request("createSession", _without_none({"channel": uri}, optional))
        return uri

    async def dispose_session(self, uri: str) -> None:
        """Deletes a session with its chats. Raises RpcFailure -32001."""
        await self.request("disposeSession", {"channel": uri})

    async def list_sessions(self, limit: int | None = None) -> AsyncIterator[SessionSummary]:
        """The sessions, last changed first, page by page."""
        cursor: str | None = None
        while True:
            page = await self.request(
                "listSessions", _without_none({"channel": ROOT}, {"limit": limit, "cursor": cursor})
            )
            for summary in page.get("items", ()):
                yield cast(SessionSummary, summary)
            cursor = page.get("nextCursor")
            if not cursor:
                return

    async def create_chat(
        self,
        session: str,
        chat: str | None = None,
        *,
        initial_message: Mapping[str, Any] | None = None,
        source: Mapping[str, Any] | None = None,
        working_directories: Sequence[str] | None = None,
    ) -> str:
        """Creates a further chat in a session and gives its URI (AHP §9.3)."""
        chat = chat or f"ahp-chat:/{secrets.token_hex(16)}"
        optional = {
            "initialMessage": initial_message,
            "source": source,
            "workingDirectories": None if working_directories is None else list(working_directories),
        }
        await self.request("createChat", _without_none({"channel": session, "chat": chat}, optional))
        return chat

    async def dispose_chat(self, uri: str) -> None:
        """Deletes a chat that is not the session's last."""
        await self.request("disposeChat", {"channel": uri})

    async def fetch_turns(self, chat: Channel[ChatState]) -> bool:
        """Loads the next older turns into the chat's state; False when there are none."""
        cursor = chat.confirmed.get("turnsNextCursor")
        if not cursor:
            return False
        await self.request("fetchTurns", {"channel": chat.uri, "cursor": cursor})
        return True

    async def _subscribed(self, uri: str, params: JsonObject, timeout: float) -> None:
        while True:
            try:
                await self._connection.request(
                    "subscribe",
                    params,
                    timeout=timeout,
                    on_result=lambda result: self._take(self._mirror.subscribed(uri, result or {})),
                )
            except ConnectionLost:
                # Subscribing twice is subscribing once, so that the question may be asked again; a client that has
                # ended says so at the next request, without a wait.
                if self._connection.over:
                    raise
            else:
                return

    def _channel(self, uri: str) -> Channel[Any]:
        known = self._channels.get(uri)
        if known is None or known.gone:
            self._mirror.forget(uri)
            known = self._channels[uri] = Channel(self, self._mirror.follow(uri))
        return known

    def _forget(self, uri: str) -> bool:
        self._take(self._mirror.forget(uri))
        channel = self._channels.pop(uri, None)
        if channel is not None:
            channel.finish()
        return channel is not None

    def _take(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._publish(change)

    def _publish(self, event: Change | Connected | Disconnected | NotificationReceived) -> None:
        if isinstance(event, Settled):
            self._settle(event.client_seq, event.outcome)
        elif isinstance(event, Connected | Disconnected | NotificationReceived):
            if isinstance(event, Disconnected) and event.retry_in is None:
                self._give_up("the connection has ended")
            self._source.push(event)
        else:
            if isinstance(event, ActionRejected):
                self._source.push(event)
            if (channel := self._channels.get(event.channel)) is not None:
                channel.publish(event)
                if isinstance(event, ChannelGone):
                    channel.finish()

    def _give_up(self, reason: str) -> None:
        """No answer will come to anything any more."""
        self._take(self._mirror.abandon(self._mirror.unanswered(), reason))
        for client_seq in list(self._outcomes):
            self._settle(client_seq, Unconfirmed(reason))

    def _settle(self, client_seq: int, outcome: Outcome) -> None:
        future = self._outcomes.pop(client_seq, None)
        if future is not None and not future.done():
            future.set_result(outcome)


def _without_none(required: dict[str, Any], optional: Mapping[str, Any]) -> dict[str, Any]:
    return required | {name: value for name, value in optional.items() if value is not None}
