"""The web UI as the listener gets it: imported when somebody opens it, refused when it is not whole.

Rules
* A host whose pages nobody opens pays nothing for them: no import, no client (its start is measured).
* An installation that lacks files of the web UI says so at the page, in the log and in `doctor`; the host runs.
* Its client is one of the host's in-process clients, by the same door as every other.
"""

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from innkeeper._version import running_version
from innkeeper.edge.peer import Attach
from innkeeper.settings.config import Settings

if TYPE_CHECKING:
    from innkeeper.edge.memory import MemoryDoor
    from innkeeper.web.site import Site

log = logging.getLogger(__name__)

Event = MutableMapping[str, Any]


class WebPages:
    """An ASGI application for HTTP; `token` is the access token, of which form tokens are made."""

    def __init__(self, attach: Attach, settings: Settings, token: str | None, home: str | None) -> None:
        self._attach = attach
        self._door: MemoryDoor | None = None
        self._settings = settings
        self._secret = (token or "").encode("utf-8", "surrogatepass")
        self._home = home
        self._site: Site | None = None
        self._refused: list[str] = []

    async def __call__(
        self, scope: Event, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]
    ) -> None:
        site = self._open()
        if site is None:
            await _say(send, _incomplete(self._refused))
        else:
            await site(scope, receive, send)

    async def close(self) -> None:
        """Ends open pages and the client. Idempotent."""
        if self._site is not None:
            await self._site.close()
        if self._door is not None:
            await self._door.close()

    def _open(self) -> "Site | None":
        if self._site is None and not self._refused:
            from innkeeper.web.files import missing

            self._refused = missing()
            if self._refused:
                log.error("the web UI is not complete: %s", ", ".join(self._refused))
            else:
                self._site = self._make()
        return self._site

    def _make(self) -> "Site":
        from innkeeper.client.memory import MemoryTransport
        from innkeeper.edge.memory import MemoryDoor
        from innkeeper.web.asking import WebOptions
        from innkeeper.web.site import Site

        options = WebOptions(
            language=self._settings.language,
            web_control=self._settings.web_control,
            version=running_version(),
            home=self._home,
            secret=self._secret,
        )
        self._door = MemoryDoor(self._attach)
        return Site(MemoryTransport(self._door.accept), options)


def _incomplete(missing: list[str]) -> str:
    from innkeeper.errors import HostError

    error = HostError("WEB_INCOMPLETE", files=", ".join(missing))
    return f"{error}\n{error.remedy()}\n"


async def _say(send: Callable[[Event], Awaitable[None]], words: str) -> None:
    body = words.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
