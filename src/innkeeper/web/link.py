"""The one in-process client of the pages: states that it mirrors, actions, commands (docs/decisions/0026-web-ui.md).

Rules
* All tabs of the person are one client, `web`. A state is subscribed while a page shows it, and for `KEEP_SECONDS`
  afterwards, so that going back costs nothing.
* `changed` is told the name of what changed: a channel's URI, `SESSIONS` for the list, `LINK` for the connection, or a
  report's name. States are values: a changed one is another object.
* A report is what a command answers, kept like a state and asked for again when a channel that it depends on changed.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.client import (
    Channel,
    ChannelLost,
    Client,
    ClientError,
    Connected,
    Disconnected,
    Lagged,
    NotificationReceived,
    RpcFailure,
    Transport,
    connect,
)
from innkeeper.web.session_index import SessionIndex
from innkeeper.web.times import Times

log = logging.getLogger(__name__)

CLIENT_ID: Final = "web"
ROOT: Final = "ahp-root://"
SESSIONS: Final = "web:sessions"
LINK: Final = "web:link"
KEEP_SECONDS: Final = 60.0
TURNS: Final = 40
"""Turns of a chat that are loaded at first; older ones on demand."""
DEBOUNCE_SECONDS: Final = 0.1

Changed = Callable[[str], None]
Fetch = Callable[[], Awaitable[Any]]


@dataclass(slots=True)
class _Held:
    """A subscribed channel: how many pages show it, and since when none does."""

    channel: Channel[Any]
    reader: "asyncio.Task[None]"
    holders: int = 0
    idle_since: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class _Report:
    fetch: Fetch
    after: Collection[str]
    value: Any = None
    failure: Exception | None = None
    task: "asyncio.Task[None] | None" = None
    stale: bool = False


class HostLink:
    """What pages know of the host. All methods belong to the loop of the host."""

    def __init__(self, transport: Transport, *, locale: str | None = None) -> None:
        self._transport = transport
        self._locale = locale
        self._client: Client | None = None
        self._stack = contextlib.AsyncExitStack()
        self._opening = asyncio.Lock()
        self._held: dict[str, _Held] = {}
        self._subscribing: dict[str, asyncio.Task[Channel[Any]]] = {}
        self._reports: dict[str, _Report] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._listeners: list[Changed] = []
        self.connected = False
        self.sessions = SessionIndex()
        self.times = Times()

    def listen(self, changed: Changed) -> None:
        """`changed` is called for every change, from now on."""
        self._listeners.append(changed)

    async def client(self) -> Client:
        """The connected client. Raises ClientError when the host takes none any more."""
        async with self._opening:
            if self._client is None:
                made = connect(
                    self._transport, client_id=CLIENT_ID, client_info={"name": "innkeeper-web"}, locale=self._locale
                )
                client = await self._stack.enter_async_context(made)
                self._client = client
                self.connected = True
                self._spawn(self._read_client(client), "web.client")
                self._adopt(client.root)
                await self._load_sessions(client)
        return self._client

    async def close(self) -> None:
        """Ends the client and what reads from it. Idempotent."""
        self._listeners.clear()
        tasks = [*self._tasks, *(held.reader for held in self._held.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stack.aclose()
        self._client = None

    @property
    def initialized(self) -> Mapping[str, Any]:
        """What the host said of itself; empty before the first page."""
        return {} if self._client is None else self._client.initialized

    # States

    async def state(self, uri: str) -> Mapping[str, Any]:
        """The state of a channel, subscribed when it is not yet. Raises RpcFailure when the host has none of it."""
        client = await self.client()
        held = self._held.get(uri)
        if held is None or held.channel.gone:
            held = await self._subscribe(client, uri)
        held.idle_since = time.monotonic()
        state: Mapping[str, Any] = held.channel.state
        return state

    def follow(self, uri: str) -> None:
        """Subscribes a channel soon, where nothing waits for it; listeners hear when its state is there."""
        if uri not in self._held and uri not in self._subscribing:
            self._spawn(self._follow(uri), f"web.follow {uri}")

    def peek(self, name: str) -> Any:
        """The state of a channel, or the value of a report, as known now; None when there is none."""
        report = self._reports.get(name)
        if report is not None:
            return report.value
        held = self._held.get(name)
        if held is None:
            return None
        try:
            return held.channel.state
        except ChannelLost:
            return None

    def gone(self, uri: str) -> bool:
        """The host has the channel no more; `peek` still gives its last state."""
        held = self._held.get(uri)
        return held is not None and held.channel.gone

    def failure(self, name: str) -> Exception | None:
        """Why the report has no fresh value; None when it has."""
        report = self._reports.get(name)
        return None if report is None else report.failure

    def hold(self, uris: Collection[str]) -> None:
        """A page shows these channels from now on."""
        for uri in uris:
            if (held := self._held.get(uri)) is not None:
                held.holders += 1

    def release(self, uris: Collection[str]) -> None:
        """The page shows them no more."""
        for uri in uris:
            if (held := self._held.get(uri)) is not None:
                held.holders = max(0, held.holders - 1)
                held.idle_since = time.monotonic()
        self._sweep()

    async def report(self, name: str, fetch: Fetch, after: Collection[str] = ()) -> Any:
        """The value of the report `name`: what `fetch` gave last; asked now when there is none. It is asked for again
        after a change of one of the channels `after`. Raises what `fetch` raised the first time."""
        known = self._reports.get(name)
        if known is None:
            known = _Report(fetch, tuple(after))
            known.value = await fetch()
            self._reports[name] = known
        return known.value

    def refresh(self, name: str) -> None:
        """Ask for the report again, soon; nothing happens when nobody wants it."""
        report = self._reports.get(name)
        if report is None:
            return
        report.stale = True
        if report.task is None or report.task.done():
            report.task = self._spawn(self._fetch(name, report), f"web.report {name}")

    def put(self, name: str, value: Any) -> None:
        """The report's value, as a command just answered it."""
        if (report := self._reports.get(name)) is not None:
            report.value, report.failure = value, None
            self._tell(name)

    def reports(self, prefix: str) -> list[str]:
        """The names of the reports that are kept and begin so."""
        return [name for name in self._reports if name.startswith(prefix)]

    # Acts

    async def dispatch(self, uri: str, action: Mapping[str, Any]) -> None:
        """Dispatches an action on a channel that is shown, and waits for what the host makes of it.

        Raises Refused with the host's reason.
        """
        await self.state(uri)
        outcome = await (await self.client()).dispatch(uri, action)
        reason = getattr(outcome, "reason", None)
        if reason is not None:
            raise Refused(str(reason))

    def say(self, uri: str, action: Mapping[str, Any]) -> None:
        """Dispatches an action and does not wait; nothing happens while there is no client."""
        if self._client is not None:
            self._client.dispatch(uri, action)

    async def request(self, method: str, params: Mapping[str, Any], **options: Any) -> Any:
        """Any command of AHP or of this host. Raises ClientError."""
        return await (await self.client()).request(method, params, **options)

    # Inside

    async def _subscribe(self, client: Client, uri: str) -> _Held:
        """One request for all who ask at once."""
        task = self._subscribing.get(uri)
        if task is None:
            turns = TURNS if uri.startswith("ahp-chat:") else None
            task = self._subscribing[uri] = asyncio.create_task(client.subscribe(uri, turns=turns))
            task.add_done_callback(lambda _: self._subscribing.pop(uri, None))
        channel = await asyncio.shield(task)
        held = self._held.get(uri)
        if held is None or held.channel is not channel:
            held = self._adopt(channel)
        return held

    def _adopt(self, channel: Channel[Any]) -> _Held:
        reader = asyncio.create_task(self._read_channel(channel), name=f"web {channel.uri}")
        held = self._held[channel.uri] = _Held(channel, reader, holders=1 if channel.uri == ROOT else 0)
        return held

    async def _follow(self, uri: str) -> None:
        try:
            await self.state(uri)
        except ClientError:
            log.info("a channel cannot be followed: %s", uri, exc_info=True)
            return
        self._tell(uri)

    async def _read_channel(self, channel: Channel[Any]) -> None:
        async for _ in channel.events(1):
            self._tell(channel.uri)
        self._tell(channel.uri)

    async def _read_client(self, client: Client) -> None:
        async for event in client.events():
            match event:
                case NotificationReceived(method, params):
                    if self.sessions.take(method, params):
                        self._tell(SESSIONS)
                case Connected():
                    self.connected = True
                    await self._load_sessions(client)
                    self._tell(LINK)
                case Disconnected():
                    self.connected = False
                    self._tell(LINK)
                case Lagged():
                    await self._load_sessions(client)

    async def _load_sessions(self, client: Client) -> None:
        try:
            self.sessions.replace([summary async for summary in client.list_sessions(200)])
        except ClientError:
            log.warning("the list of sessions could not be read", exc_info=True)
        self._tell(SESSIONS)

    async def _fetch(self, name: str, report: _Report) -> None:
        while report.stale:
            await asyncio.sleep(DEBOUNCE_SECONDS)
            report.stale = False
            try:
                report.value, report.failure = await report.fetch(), None
            except (ClientError, Refused) as error:
                report.failure = error
                if isinstance(error, RpcFailure) and error.code == -32001:
                    self._reports.pop(name, None)
            self._tell(name)

    def _tell(self, name: str) -> None:
        for report_name, report in list(self._reports.items()):
            if name in report.after:
                self.refresh(report_name)
        for listener in list(self._listeners):
            listener(name)

    def _sweep(self) -> None:
        """Ends subscriptions that no page shows any more, and reports that depend on nothing held."""
        now = time.monotonic()
        for uri, held in list(self._held.items()):
            if held.holders == 0 and now - held.idle_since > KEEP_SECONDS:
                del self._held[uri]
                self._spawn(held.channel.close(), f"web.leave {uri}")
        for name, report in list(self._reports.items()):
            if report.after and not any(uri in self._held for uri in report.after):
                del self._reports[name]

    def _spawn(self, work: Any, name: str) -> "asyncio.Task[None]":
        task: asyncio.Task[None] = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class Refused(Exception):
    """The host did not take an action; the text is its reason, for people."""
