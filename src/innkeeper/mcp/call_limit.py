"""How long a call may take where its declaration says so (M2.8b).

Rules
* The clock runs while the server works, and stands while a person is asked what the server wants to know.
* A call that is over its limit is cancelled at the server and never made again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from innkeeper.ports.mcp import Exchange, JsonObject
from innkeeper.ports.questions import Caller

T = TypeVar("T")


class _Standing:
    """The exchange of a call, whose clock stands while its person is asked."""

    def __init__(self, exchange: Exchange, clock: asyncio.Timeout) -> None:
        self._exchange = exchange
        self._clock = clock
        self._asking = 0
        self._left = 0.0

    @property
    def caller(self) -> Caller:
        return self._exchange.caller

    @property
    def log_level(self) -> str | None:
        return self._exchange.log_level

    @property
    def wants_progress(self) -> bool:
        return self._exchange.wants_progress

    def began(self) -> None:
        self._exchange.began()

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        await self._exchange.progress(progress, total, message)

    async def elicit(self, request: JsonObject) -> JsonObject:
        self._stop()
        try:
            return await self._exchange.elicit(request)
        finally:
            self._go_on()

    def answered(self, result: JsonObject) -> None:
        self._exchange.answered(result)

    def _stop(self) -> None:
        self._asking += 1
        ends = self._clock.when()
        if self._asking == 1 and ends is not None:
            self._left = ends - asyncio.get_running_loop().time()
            self._clock.reschedule(None)

    def _go_on(self) -> None:
        self._asking -= 1
        if not self._asking:
            self._clock.reschedule(asyncio.get_running_loop().time() + self._left)


async def within(
    seconds: float | None, exchange: Exchange | None, call: Callable[[Exchange | None], Awaitable[T]]
) -> T:
    """What `call` gives; it is handed the exchange to use. Raises TimeoutError after `seconds`, if there are any."""
    if seconds is None:
        return await call(exchange)
    async with asyncio.timeout(seconds) as clock:
        return await call(None if exchange is None else _Standing(exchange, clock))
