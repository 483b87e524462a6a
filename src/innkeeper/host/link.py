"""One connection's way in: an inbox that keeps order and delays nobody else (architecture §4, the prelude).

Rules
* Messages are received in the order in which they came. A message that touches a stored channel waits until it is in
  memory; after a request that creates or removes channels the next message waits for its answer, so that a client may
  send `createSession` and `subscribe` in one go.
* Answers to the host's own requests never wait.
* At most `INBOX_MESSAGES` wait; a client beyond that is closed, because it would only grow.
"""

from collections import deque
from typing import Any, Protocol

from innkeeper.engine.effects import Command, Effect, Frame
from innkeeper.engine.hub import Hub
from innkeeper.wire.jsonrpc import Message, Response, read
from innkeeper.wire.limits import Limits

INBOX_MESSAGES = 16_384
CLOSE_OVERLOAD = 1013
ORDERED = frozenset({"createSession", "disposeSession", "createChat", "disposeChat", "createTerminal", "moveChat"})
"""Requests after which the connection's next message waits."""


class Peer(Protocol):
    """The other end of a connection, as the host sends to it."""

    def send(self, frame: Frame, delay_ms: int = 0) -> None:
        """Queue a message; never blocks. Up to `delay_ms` may be waited for a frame to merge with."""
        ...

    def close(self, code: int, reason: str) -> None:
        """End the connection after what was sent before. Idempotent."""
        ...


class Receiver(Protocol):
    """The driver, as far as a link goes."""

    hub: Hub
    limits: Limits

    def now(self) -> str: ...

    def perform(self, effects: list[Effect]) -> None: ...

    def spawn(self, work: Any, name: str) -> object: ...

    def missing(self, message: Message) -> bool: ...

    async def prepare(self, message: Message) -> None: ...

    def detach(self, connection: int) -> None: ...

    def close_connection(self, connection: int, code: int, reason: str) -> None: ...


class Link:
    def __init__(self, connection: int, driver: Receiver) -> None:
        self.connection = connection
        self._driver = driver
        self._waiting: deque[Message] = deque()
        self._ordered: Command | None = None
        self._loading = False
        self._lost = False

    def receive(self, data: bytes | str) -> None:
        """One frame from the peer. Never raises and never blocks."""
        if self._lost:
            return
        message = read(data, self._driver.limits)
        if isinstance(message, Response):
            self._take(message)
            return
        if not self._waiting and self._ordered is None and not self._loading:
            self._receive(message)
            return
        self._waiting.append(message)
        if len(self._waiting) > INBOX_MESSAGES:
            self._driver.close_connection(self.connection, CLOSE_OVERLOAD, "too many messages wait; reconnect")
            self.lost()

    def lost(self) -> None:
        """The connection is gone. Idempotent."""
        if not self._lost:
            self._lost = True
            self._waiting.clear()
            self._driver.detach(self.connection)

    def _receive(self, message: Message) -> None:
        if self._driver.missing(message):
            self._loading = True
            self._driver.spawn(self._load(message), "load channels")
            return
        self._take(message)

    def _take(self, message: Message) -> None:
        driver = self._driver
        driver.perform(driver.hub.receive(self.connection, message, driver.now()))

    async def _load(self, message: Message) -> None:
        try:
            await self._driver.prepare(message)
        finally:
            self._loading = False
        if not self._lost:
            self._take(message)
            self._drain()

    def _drain(self) -> None:
        while self._waiting and self._ordered is None and not self._loading and not self._lost:
            self._receive(self._waiting.popleft())

    def command_began(self, command: Command) -> None:
        if command.method in ORDERED:
            self._ordered = command

    def command_ended(self, command: Command) -> None:
        if self._ordered is command:
            self._ordered = None
            self._drain()
