"""The way back from an authorization server: a listener on a loopback address (RFC 8252 §7.3).

Rules
* Bound to 127.0.0.1 only. One path, GET only, and only with a Host header of this listener (no DNS rebinding).
* Only an answer with the state of the request that is open is taken, compared in constant time; everything else is
  refused and leaves the sign-in as it is, so no web page can end it.
* What came is never logged, and the page that the browser shows has no script and no value in it.
"""

import asyncio
import hmac
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from typing import Final
from urllib.parse import parse_qs, urlsplit

from innkeeper.texts import text

PATH: Final = "/callback"
HEAD_LIMIT: Final = 16 * 1024
HEAD_SECONDS: Final = 5.0

_PAGE: Final = """<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>Innkeeper</title>
<body style="font: 1.1rem system-ui; margin: 15vh auto; max-width: 32rem; padding: 0 1rem"><p>{words}</p></body></html>
"""


@dataclass(frozen=True, slots=True)
class Returned:
    """What the authorization server sent back: a code, or why there is none."""

    code: str | None = field(repr=False)
    state: str = field(repr=False)
    issuer: str | None = None
    error: str | None = None


class RedirectListener:
    """Open from `open` to `close`; takes one answer."""

    def __init__(self, lang: str = "en") -> None:
        self._lang = lang
        self._server: asyncio.Server | None = None
        self._state: str | None = None
        self._returned: asyncio.Future[Returned] = asyncio.get_running_loop().create_future()
        self.port = 0
        self._name = "127.0.0.1"

    async def open(self, port: int = 0, name: str = "127.0.0.1") -> None:
        """Raises OSError when the port is taken; 0 picks a free one. `name` stands for this machine in the address:
        what the client is registered with."""
        self._name = name
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=HEAD_LIMIT)
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def uri(self) -> str:
        return f"http://{self._name}:{self.port}{PATH}"

    def expect(self, state: str) -> None:
        """The state that the answer must carry."""
        self._state = state

    async def returned(self) -> Returned:
        return await self._returned

    async def close(self) -> None:
        """Idempotent."""
        if self._server is not None:
            self._server.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), 1.0)
        if not self._returned.done():
            self._returned.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                status, words = self._answer(head)
                writer.write(_response(status, words, self._lang))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return  # a visitor that says nothing, too much, or leaves
        finally:
            writer.close()

    def _answer(self, head: str) -> tuple[int, str]:
        request, *lines = head.split("\r\n")
        method, _, rest = request.partition(" ")
        target = rest.partition(" ")[0]
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        if hosts not in ([f"127.0.0.1:{self.port}"], [f"localhost:{self.port}"]):
            return 421, "refused"
        address = urlsplit(target)
        if method != "GET" or address.path != PATH:
            return 404, "refused"
        values = {name: found[0] for name, found in parse_qs(address.query).items()}
        state = values.get("state", "")
        if self._state is None or not hmac.compare_digest(state.encode(), self._state.encode()):
            return 400, "refused"
        if not self._returned.done():
            error = values.get("error") or (None if values.get("code") else "invalid_request")
            self._returned.set_result(Returned(values.get("code"), state, values.get("iss"), error))
        return 200, "failed" if values.get("error") else "returned"


def _response(status: int, words: str, lang: str) -> bytes:
    shown = {
        "returned": text("oauth.returned", lang=lang),
        "failed": text("oauth.notSignedIn", lang=lang),
        "refused": text("oauth.strayRequest", lang=lang),
    }[words]
    page = _PAGE.format(lang="zh" if lang == "zh_Hans" else "en", words=escape(shown)).encode()
    head = (
        f"HTTP/1.1 {status} -\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(page)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + page
