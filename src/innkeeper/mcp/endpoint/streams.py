"""Watching HTTP requests: an agent's stream opens, ends, or the agent says goodbye; answers in one piece."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from innkeeper.mcp.endpoint.door import Message, Receive, Scope, Send

App = Callable[[Scope, Receive, Send], Awaitable[None]]

_SESSION = b"mcp-session-id"


class Followed(Protocol):
    def opened(self, id: str) -> None: ...

    def closed(self, id: str) -> None: ...

    def forget(self, id: str) -> None: ...


async def follow_stream(app: App, agents: Followed, scope: Scope, receive: Receive, send: Send) -> None:
    """Let `app` answer, and tell `agents` what that means for the session the request names."""
    if scope["method"] == "POST":
        await app(scope, receive, _with_its_head(send))
        return
    id = next((value.decode("latin-1") for name, value in scope["headers"] if name == _SESSION), None)
    if id is None or scope["method"] not in ("GET", "DELETE"):
        await app(scope, receive, send)
        return
    status = 0

    async def watched(message: Message) -> None:
        nonlocal status
        await send(message)
        if message["type"] == "http.response.start":
            status = message["status"]
            if scope["method"] == "GET" and status == 200:
                agents.opened(id)

    try:
        await app(scope, receive, watched)
    finally:
        if scope["method"] == "GET" and status == 200:
            agents.closed(id)
        elif scope["method"] == "DELETE" and status == 200:
            agents.forget(id)


def _with_its_head(send: Send) -> Send:
    """The head of an answer goes with the first of its body: nobody can use it alone."""
    head: list[Message] = []

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            head.append(message)
            return
        while head:
            await send(head.pop())
        await send(message)

    return sent
