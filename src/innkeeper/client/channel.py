"""One subscribed channel, as a program sees it."""
# ruff: noqa: ASYNC109 - a time-out in seconds is part of this surface; asyncio.timeout keeps it

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, Generic, Protocol, TypeVar, cast

from innkeeper.client.errors import ClientError
from innkeeper.client.events import ChannelEvent, JsonObject, Outcome
from innkeeper.client.mirror import ChannelMirror
from innkeeper.client.stream import EVENT_BUFFER, EventSource, EventStream

S = TypeVar("S", bound=Mapping[str, Any])

WAIT_SECONDS = 30.0


class ChannelLost(ClientError):
    """The channel has no state to give: it is gone, or it is a channel without state."""


class Dispatch(Awaitable[Outcome]):
    """A dispatched action: already part of the channel's `state`. Awaiting it gives what the host made of it; whoever
    does not care need not await."""

    def __init__(self, client_seq: int, outcome: "asyncio.Future[Outcome]") -> None:
        self.client_seq = client_seq
        self._outcome = outcome

    def __await__(self) -> Generator[Any, None, Outcome]:
        # Shielded: a waiter that gives up must not take the answer away from another one.
        return asyncio.shield(self._outcome).__await__()

    @property
    def outcome(self) -> Outcome | None:
        """What is known now."""
        return self._outcome.result() if self._outcome.done() else None


class Owner(Protocol):
    """What a channel needs of its client."""

    @property
    def client_id(self) -> str: ...

    def dispatch(self, uri: str, action: JsonObject) -> Dispatch: ...

    async def unsubscribe(self, uri: str) -> None: ...


class Channel(Generic[S]):
    """A channel of the host. The object stays the same over reconnects; its states are replaced, never changed."""

    def __init__(self, owner: Owner, mirror: ChannelMirror) -> None:
        self._owner = owner
        self._mirror = mirror
        self._source: EventSource[ChannelEvent] = EventSource()

    @property
    def uri(self) -> str:
        return self._mirror.uri

    @property
    def client_id(self) -> str:
        """The id under which this client dispatches."""
        return self._owner.client_id

    @property
    def state(self) -> S:
        """What to show: confirmed by the host, with this client's unanswered actions on top. Raises ChannelLost."""
        return self._given(self._mirror.state)

    @property
    def confirmed(self) -> S:
        """What the host has confirmed. Raises ChannelLost when the channel has no state."""
        return self._given(self._mirror.confirmed)

    @property
    def seq(self) -> int:
        """The `serverSeq` up to which `confirmed` is complete."""
        return self._mirror.seq

    @property
    def gone(self) -> bool:
        """The host no longer has the channel; the states are the last ones."""
        return self._mirror.gone

    @property
    def unanswered(self) -> int:
        """How many dispatched actions wait for the host."""
        return len(self._mirror.pending)

    def dispatch(self, action: Mapping[str, Any]) -> Dispatch:
        """Applies `action` to `state` at once and sends it, now or after the next reconnect."""
        return self._owner.dispatch(self.uri, action)

    def events(self, capacity: int = EVENT_BUFFER) -> EventStream[ChannelEvent]:
        """What happens on the channel from now on; ends when it is closed or gone."""
        return self._source.open(capacity)

    async def wait_for(self, predicate: Callable[[S], object], timeout: float = WAIT_SECONDS) -> S:
        """The first `state` for which `predicate` is true, the present one included.

        Raises TimeoutError after `timeout` seconds, ChannelLost when the channel is gone before.
        """
        changes: EventStream[ChannelEvent] = self._source.open(1)
        async with asyncio.timeout(timeout):
            while not predicate(state := self.state):
                if self.gone or not await _next(changes):
                    raise ChannelLost(f"{self.uri} is gone")
        return state

    async def close(self) -> None:
        """Unsubscribes. Everyone who holds this channel of this client loses it."""
        await self._owner.unsubscribe(self.uri)

    def publish(self, event: ChannelEvent) -> None:
        """For the client: something happened."""
        self._source.push(event)

    def finish(self) -> None:
        """For the client: nothing will happen any more."""
        self._source.finish()

    def _given(self, state: JsonObject | None) -> S:
        if state is None:
            raise ChannelLost(f"{self.uri} has no state")
        return cast(S, state)


async def _next(stream: EventStream[ChannelEvent]) -> bool:
    async for _ in stream:
        return True
    return False
