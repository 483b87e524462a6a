"""Who may come in: the checks before any endpoint sees a request (architecture §5). Plain ASGI, no framework.

Rules
* Only this listener's own address in `Host`, and no `Origin` at all: no browser page is an agent. There is no CORS.
* A path that is no endpoint is 404, everything else that is wrong is 403. Neither says more, and neither is 401, which
  would send agents looking for an authorization server.
* The secret is compared in constant time. Nothing of a request is logged.
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, Protocol

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

KEY_HEADER: Final = "x-innkeeper-key"
_BEARER: Final = b"bearer "


class Behind(Protocol):
    """An endpoint behind the door."""

    @property
    def secret(self) -> bytes: ...

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Door:
    """The ASGI application. `endpoints` is the live table, by path; `hosts` are the permitted `Host` headers."""

    def __init__(self, endpoints: Mapping[str, Behind]) -> None:
        self.hosts: frozenset[bytes] = frozenset()
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        if headers is None or headers.get(b"host") not in self.hosts or b"origin" in headers:
            await _refuse(send, 403)
            return
        endpoint = self._endpoints.get(scope["path"])
        if endpoint is None:
            await _refuse(send, 404)
        elif not hmac.compare_digest(_shown(headers), endpoint.secret):
            await _refuse(send, 403)
        else:
            await endpoint.serve(scope, receive, send)


def _headers(scope: Scope) -> dict[bytes, bytes] | None:
    """The headers that count; None when one of them is there twice."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in (b"host", b"origin", b"authorization", KEY_HEADER.encode()):
            if name in found:
                return None
            found[name] = value
    return found


def _shown(headers: Mapping[bytes, bytes]) -> bytes:
    key = headers.get(KEY_HEADER.encode())
    if key is not None:
        return key
    bearer = headers.get(b"authorization", b"")
    return bearer[len(_BEARER) :].strip() if bearer[: len(_BEARER)].lower() == _BEARER else b""


async def _refuse(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
