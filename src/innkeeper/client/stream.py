"""Events for a program that reads at its own pace.

Rules
* A stream holds a bounded number of events. When it is full the oldest go, and the reader finds one `Lagged` with their
  number in their place: the connection and the states never wait for a reader.
* A stream gets what happens from the moment it is opened, not from the first `async for` step.
* A stream that nobody holds any more is forgotten.
"""

import asyncio
from collections import deque
from typing import Final, Generic, TypeVar
from weakref import WeakSet

from innkeeper.client.events import Lagged

E = TypeVar("E")

EVENT_BUFFER: Final = 1024
"""Events that one stream holds for its reader."""


class EventStream(Generic[E]):
    """An asynchronous iterator over events for one reader; it ends when its source does, or after `close()`."""

    def __init__(self, capacity: int = EVENT_BUFFER) -> None:
        if capacity < 1:
            raise ValueError("a stream holds at least one event")
        self._capacity = capacity
        self._events: deque[E] = deque()
        self._missed = 0
        self._finished = False
        self._ready = asyncio.Event()

    def push(self, event: E) -> None:
        """Adds an event; never blocks."""
        if self._finished:
            return
        if len(self._events) == self._capacity:
            self._events.popleft()
            self._missed += 1
        self._events.append(event)
        self._ready.set()

    def finish(self) -> None:
        """No more events will come; those that are held can still be read."""
        self._finished = True
        self._ready.set()

    def close(self) -> None:
        """The reader has had enough: what is held is dropped, and the iteration ends."""
        self._events.clear()
        self._missed = 0
        self.finish()

    def __aiter__(self) -> "EventStream[E]":
        return self

    async def __anext__(self) -> E | Lagged:
        while True:
            if self._missed:
                missed, self._missed = self._missed, 0
                return Lagged(missed)
            if self._events:
                return self._events.popleft()
            if self._finished:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()


class EventSource(Generic[E]):
    """Gives every event to every open stream."""

    def __init__(self) -> None:
        self._streams: WeakSet[EventStream[E]] = WeakSet()
        self._finished = False

    def open(self, capacity: int = EVENT_BUFFER) -> EventStream[E]:
        stream: EventStream[E] = EventStream(capacity)
        if self._finished:
            stream.finish()
        else:
            self._streams.add(stream)
        return stream

    def push(self, event: E) -> None:
        for stream in list(self._streams):
            stream.push(event)

    def finish(self) -> None:
        self._finished = True
        for stream in list(self._streams):
            stream.finish()
