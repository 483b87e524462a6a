"""Requests of this client and what waits for the answers.

A result may be taken in the moment it is read, before the next message is: a snapshot and the envelopes after it must
meet the mirror in the order in which the host sent them (AHP §2.5).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from innkeeper.client.errors import ClientError, RpcFailure
from innkeeper.wire.jsonrpc import Correlator, Response

OnResult = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class _Waiter:
    method: str
    future: "asyncio.Future[Any]"
    on_result: OnResult | None

    def take(self, response: Response) -> None:
        if self.future.done():
            return
        if response.error is not None:
            error = response.error
            self.future.set_exception(RpcFailure(self.method, error.code, error.message, error.data))
            return
        try:
            if self.on_result is not None:
                self.on_result(response.result)
        except ValueError as problem:
            reason = f"the host's answer is not valid: {problem}"
            self.future.set_exception(RpcFailure(self.method, 0, reason))
        else:
            self.future.set_result(response.result)


class Calls:
    """The requests of one client that have no answer yet; ids are never used twice."""

    def __init__(self) -> None:
        self._correlator: Correlator[_Waiter] = Correlator()

    def add(self, method: str, on_result: OnResult | None = None) -> tuple[int, "asyncio.Future[Any]"]:
        """A new id, and the future of its result. `on_result` is called with the result before the future is done; a
        ValueError of it means that the result is not what the method gives, and becomes an RpcFailure of code 0."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        return self._correlator.open(_Waiter(method, future, on_result)), future

    def drop(self, id: int) -> None:
        """Nobody waits for the answer any more."""
        self._correlator.cancel(id)

    def answer(self, response: Response) -> bool:
        """Takes a response; False when nothing waits for it."""
        waiter = self._correlator.resolve(response)
        if waiter is not None:
            waiter.take(response)
        return waiter is not None

    def fail(self, error: ClientError) -> None:
        """No answer will come to what waits now."""
        for waiter in self._correlator.fail_all():
            if not waiter.future.done():
                waiter.future.set_exception(error)
                # Whoever asked may have been cancelled meanwhile: that is no lost error.
                waiter.future.exception()
