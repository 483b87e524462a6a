"""Which tool call a request of a connection belongs to.

The SDK runs each outgoing message in the context of its sender, so what is set around a call is seen where its HTTP
request is refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from innkeeper.ports.questions import Caller


@dataclass(eq=False, slots=True)
class Calling:
    """One tool call. `caller` None: a person calls by hand. `refused` says that it failed for want of a token."""

    caller: Caller | None
    refused: bool = False
    ended: bool = False


_calling: ContextVar[Calling | None] = ContextVar("innkeeper_mcp_calling", default=None)


@contextmanager
def calling(call: Calling) -> Iterator[None]:
    """Requests that are sent inside belong to `call`."""
    token = _calling.set(call)
    try:
        yield
    finally:
        call.ended = True
        _calling.reset(token)


def present_call() -> Calling | None:
    return _calling.get()
