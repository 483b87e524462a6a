"""Channels on their way into memory and out of it (architecture §4, the prelude; §7).

Rules
* A channel is in memory only while its owner is: a chat's session comes first and goes last.
* One reading a channel, however many wait for it. What an earlier process, or the time away, left is put right before
  anybody sees the channel: until then messages that touch it wait.
* Messages that touch a channel on its way out wait until it is gone, and then it comes back.
* A channel that cannot be read stays where it is, and harms no other; the next one who wants it tries again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from innkeeper.engine.effects import Change, Effect
from innkeeper.engine.hub import Hub
from innkeeper.ports.log import Log, StoreError
from innkeeper.wire.jsonrpc import Message

log = logging.getLogger(__name__)

Entering = Callable[[str], Awaitable[Sequence[Change]]]
"""What has to change in a channel that was just read, before anybody sees it. The channel's state is there to be looked
at; nothing may be awaited that itself waits for the channel."""
Told = Callable[[str], None]
Offers = Callable[[str], bool]
"""Whether `Opens` may make a channel of that URI."""
Opens = Callable[[str], Awaitable[None]]
"""Makes the channel, unless there is no such thing; what is there already stays."""
Commit = Callable[[Sequence[Change]], Awaitable[None]]


async def _nothing(_channel: str) -> Sequence[Change]:
    return ()


class Loading:
    """`commit` stores changes of channels that are in memory and does not wait for any that are not."""

    def __init__(self, hub: Hub, store: Log, perform: Callable[[list[Effect]], None], commit: Commit) -> None:
        self._hub = hub
        self._log = store
        self._perform = perform
        self._commit = commit
        self._on_the_way: dict[str, asyncio.Future[None]] = {}
        self._held: dict[str, int] = {}
        self._entering: Entering = _nothing
        self._came: list[Told] = []
        self._left: list[Told] = []
        self._offers: Offers = lambda _uri: False
        self._opens: Opens | None = None

    def enter_by(self, entering: Entering) -> None:
        """Who puts right what comes into memory; set once, before the first channel is read."""
        self._entering = entering

    def when_came(self, came: Told) -> None:
        """Be told each channel that was read from the store."""
        self._came.append(came)

    def when_left(self, left: Told) -> None:
        """Be told each channel that has gone from memory and is still stored."""
        self._left.append(left)

    def open_by(self, offers: Offers, opens: Opens) -> None:
        """Who makes channels that are there only once somebody names them; set once."""
        self._offers, self._opens = offers, opens

    def missing(self, message: Message) -> tuple[str, ...]:
        """The channels that must be in memory before the message is received, and are not."""
        stored = [uri for uri in self._needed(message) if self.is_out(uri)]
        return (*stored, *(uri for uri in self._hub.unknown(message) if self._offers(uri)))

    async def prepare(self, message: Message) -> None:
        """Bring in what the message touches; what is only offered is made. Never raises."""
        for uri in self._hub.unknown(message):
            if self._offers(uri) and self._opens is not None:
                try:
                    await self._opens(uri)
                except Exception:
                    log.exception("channel %s could not be made", uri)
        await self.ensure(*self._needed(message))

    def _needed(self, message: Message) -> list[str]:
        """What the message names; a turn that begins also needs its chat's siblings, whose turns have its id or not."""
        named = list(self._hub.named(message))
        params = getattr(message, "params", None)
        action = params.get("action") if isinstance(params, Mapping) else None
        if isinstance(action, Mapping) and action.get("type") == "chat/turnStarted":
            owners = [owner for uri in named if (owner := self._hub.owner(uri)) is not None]
            named += [uri for owner in owners for uri in self._hub.owned_by(owner) if self._hub.kind(uri) == "chat"]
        return named

    def is_out(self, channel: str) -> bool:
        return channel in self._on_the_way or self._hub.is_dormant(channel)

    async def ensure(self, *channels: str) -> None:
        """All of them are in memory together when this returns, but for those that are not stored or cannot be read;
        the log says why."""
        tried: set[str] = set()
        while waiting := [uri for uri in channels if self.is_out(uri) and uri not in tried]:
            for uri in waiting:
                if not await self._bring(uri):
                    tried.add(uri)

    async def _bring(self, channel: str) -> bool:
        """False when it cannot be had."""
        while (way := self._on_the_way.get(channel)) is not None:
            await asyncio.shield(way)
        if not self._hub.is_dormant(channel):
            return True
        owner = self._hub.owner(channel)
        if owner is not None and self.is_out(owner):
            return await self._bring(owner) and await self._bring(channel)
        with self._way([channel]):
            return await self._read(channel)

    async def _read(self, channel: str) -> bool:
        try:
            stored = await self._log.channel(channel)
            if stored is None:
                return not self._hub.is_dormant(channel)
            self._perform(self._hub.load(stored))
        except StoreError:
            log.exception("channel %s cannot be read", channel)
            return False
        except Exception:  # a state of any shape may be in a damaged row, and it must stop nothing else
            log.exception("channel %s is damaged", channel)
            return False
        try:
            changes = await self._entering(channel)
            if changes:
                await self._commit(changes)
        except Exception:
            log.exception("channel %s could not be put right", channel)
        for came in self._came:
            came(channel)
        return True

    @contextmanager
    def _way(self, channels: Iterable[str]) -> Iterator[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        own = [uri for uri in channels if uri not in self._on_the_way]
        self._on_the_way.update(dict.fromkeys(own, done))
        try:
            yield
        finally:
            for uri in own:
                del self._on_the_way[uri]
            done.set_result(None)

    # -- out of memory -------------------------------------------------------------------------------------------

    def is_held(self, channel: str) -> bool:
        """Whether the channel is needed where it is: on its way, watched, or held by a piece of work."""
        return channel in self._on_the_way or channel in self._held or self._hub.is_watched(channel)

    def hold(self, channel: str) -> Callable[[], None]:
        """The channel, and its owner, stay in memory until the result is called."""
        held = [uri for uri in (channel, self._hub.owner(channel)) if uri is not None]
        for uri in held:
            self._held[uri] = self._held.get(uri, 0) + 1

        def let_go() -> None:
            for uri in held:
                self._held[uri] -= 1
                if not self._held[uri]:
                    del self._held[uri]

        return let_go

    @contextmanager
    def leaving(self, channels: Iterable[str]) -> Iterator[None]:
        """The channels are on their way out: messages that touch them wait for the end of this."""
        with self._way(channels):
            yield

    def unload(self, channel: str) -> bool:
        """The channel has gone from memory, or False: it is in use. Nothing of it is lost."""
        if channel in self._held or not self._hub.unload(channel):
            return False
        for left in self._left:
            left(channel)
        return True
