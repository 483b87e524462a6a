"""The one ASGI application: the WebSocket of the protocol, the page, and a health check, behind the access rules.

Rules
* Everything but `/healthz` passes `Access` first; a refused WebSocket gets its HTTP status at the upgrade. A browser
  that brings the token in the address is sent on with a cookie, so that no page and no history has the token.
* What is neither is for `pages`, the web UI; without one there is the page that says how to connect.
* A connection that says nothing within `HANDSHAKE_SECONDS`, or comes when `limit` are open, is not kept.
* A web framework is not needed for this and not imported: it comes with the web UI, when somebody opens a page.
* Messages bypass ASGI: the server's protocol object, which it offers as the extension `EXTENSION`, hands each one to
  the peer and takes all frames that wait at once (figures: benchmarks/bench_edge.py). ASGI does accepting and ending.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from innkeeper import limits
from innkeeper.edge import page
from innkeeper.edge.access import Access, Refusal
from innkeeper.edge.application import App, Receive, Scope, Send
from innkeeper.edge.peer import Attach, OutboxPeer
from innkeeper.errors import HostError

log = logging.getLogger(__name__)

EXTENSION: Final = "innkeeper.frames"
_TEXT: Final[Mapping[str, str]] = MappingProxyType({"content-type": "text/plain; charset=utf-8"})
_HTML: Final[Mapping[str, str]] = MappingProxyType({"content-type": "text/html; charset=utf-8"})


class Frames(Protocol):
    """What the server's protocol object offers beside ASGI."""

    def open_peer(self, limit_bytes: int) -> OutboxPeer:
        """The peer of this connection; from now on messages go to it."""
        ...


@dataclass(frozen=True, slots=True)
class EdgeLimits:
    """What one listener grants: open connections, and bytes that wait for one client."""

    connections: int = limits.CONNECTIONS
    outbox_bytes: int = limits.OUTBOX_BYTES
    message_bytes: int = limits.MESSAGE_BYTES
    handshake_seconds: float = limits.HANDSHAKE_SECONDS


class WebSocketDoor:
    """The ASGI endpoint of the protocol's WebSocket. `peers` are those that are open; `idle` is set while none is."""

    def __init__(self, attach: Attach, bounds: EdgeLimits) -> None:
        self._attach = attach
        self._bounds = bounds
        self.peers: set[OutboxPeer] = set()
        self.idle = asyncio.Event()
        self.idle.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self.peers) >= self._bounds.connections:
            await refuse(scope, receive, send, Refusal(503, "CONNECTIONS_FULL", str(self._bounds.connections)))
            return
        frames: Frames = scope["extensions"][EXTENSION]
        await receive()
        await send({"type": "websocket.accept"})
        peer = frames.open_peer(self._bounds.outbox_bytes)
        self.peers.add(peer)
        self.idle.clear()
        try:
            peer.attach(self._attach, silence_seconds=self._bounds.handshake_seconds)
            while (event := await receive())["type"] != "websocket.disconnect":
                peer.receive(event.get("bytes") or event.get("text") or b"")
        finally:
            self.peers.discard(peer)
            if not self.peers:
                self.idle.set()
            peer.lost()


class Guard:
    """Access rules in front of an application."""

    def __init__(self, app: App, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        open_to_all = scope["type"] == "http" and scope["path"] == "/healthz"
        refusal = None if open_to_all else self._access.refusal(scope)
        if refusal is not None:
            await refuse(scope, receive, send, refusal)
        elif not open_to_all and (arrival := self._access.arrival(scope)) is not None:
            await _send_on(send, *arrival)
        else:
            await self._app(scope, receive, send)


async def refuse(scope: Scope, receive: Receive, send: Send, refusal: Refusal) -> None:
    """Answers with the refusal's status, at the upgrade when the scope is a WebSocket's."""
    log.warning("a connection was refused: %s %r", refusal.code, refusal.detail[:100])
    body = _reason(refusal).encode()
    prefix = "websocket.http" if scope["type"] == "websocket" else "http"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": f"{prefix}.response.start", "status": refusal.status, "headers": headers})
    await send({"type": f"{prefix}.response.body", "body": body})


async def _send_on(send: Send, where: str, cookie: str) -> None:
    headers = [
        (b"location", where.encode("latin-1")),
        (b"set-cookie", cookie.encode("latin-1")),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
        (b"content-length", b"0"),
    ]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _reason(refusal: Refusal) -> str:
    values = {"host": refusal.detail, "origin": refusal.detail, "limit": refusal.detail}
    error = HostError(refusal.code, **values)
    return f"{error}\n{error.remedy()}\n"


def build_app(door: WebSocketDoor, access: Access, language: str | None = None, pages: App | None = None) -> App:
    """The application. `language` is the operator's, for readers whose browser names none of ours; `pages` takes every
    HTTP request that is not the health check."""

    async def connect(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/":
            await door(scope, receive, send)
        else:
            await send({"type": "websocket.http.response.start", "status": 404, "headers": []})
            await send({"type": "websocket.http.response.body", "body": b"nothing here\n"})

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/healthz":
            await _show(scope, send, "ok", {**_TEXT, "cache-control": "no-store"})
        elif pages is not None:
            await pages(scope, receive, send)
        elif scope["path"] == "/":
            await _show(scope, send, _page(scope, language), {**_HTML, **page.HEADERS})
        else:
            await _respond(send, 404, "nothing here\n", _TEXT)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await (connect if scope["type"] == "websocket" else answer)(scope, receive, send)

    return Guard(app, access)


def _page(scope: Scope, language: str | None) -> str:
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    return page.render(
        host=headers.get(b"host", ""), accept_language=headers.get(b"accept-language"), language=language
    )


async def _show(scope: Scope, send: Send, body: str, headers: Mapping[str, str]) -> None:
    """What is only there to be read."""
    if scope["method"] in ("GET", "HEAD"):
        await _respond(send, 200, body, headers)
    else:
        await _respond(send, 405, "Method Not Allowed", {**_TEXT, "allow": "GET, HEAD"})


async def _respond(send: Send, status: int, body: str, headers: Mapping[str, str]) -> None:
    content = body.encode()
    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    fields.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": content})
