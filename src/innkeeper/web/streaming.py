"""The stream of patches of one open page (server-sent events).

Rules
* It begins with `hello` (fingerprint, form token), then what changed since the page's last patch, or everything.
* Patches of one moment are one event, at most every `TICK_SECONDS`; an event's id is the page's number.
* It ends when another stream serves the same page, when the browser has gone, and when the host ends.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request

from innkeeper.client import ClientError
from innkeeper.web.asking import Fragment, Problem, problem_of
from innkeeper.web.link import Refused
from innkeeper.web.live import LivePage
from innkeeper.web.templates import Reader

if TYPE_CHECKING:
    from innkeeper.web.site import Site

TICK_SECONDS: Final = 0.05
PING_SECONDS: Final = 15.0
SHARE: Final = 4
"""A look that took t seconds is followed by a rest of at least this many times t, so that a page with much to render
does not take the whole host."""
FILES_SECONDS: Final = 2.0


def event(name: str, data: Any, id: int | None = None) -> str:
    """One server-sent event."""
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


async def stream(site: "Site", request: Request, reader: Reader, id: str, at: str, after: str) -> AsyncIterator[str]:
    """The events for the page `id`, which shows the address `at` and has had the patches up to `after`."""
    ask = site.ask(request, reader, at)
    page = site.live.get(id)
    yield event("hello", {"files": site.files.fingerprint, "form": ask.form_token, "fresh": page is None})
    if page is None:
        try:
            opened = await site.open_page(ask, at.partition("?")[0], id)
        except (Problem, ClientError, Refused) as error:
            yield event("gone", {"message": problem_of(error, reader).message})
            return
        if isinstance(opened, Fragment):
            return
        _, page = opened
        after = "none"
    page.stream += 1
    page.readers += 1
    try:
        async for sent in _patches(site, page, page.stream, whole=after != str(page.seq), had=reader.fingerprint):
            yield sent
    finally:
        page.readers -= 1
        page.seen = time.monotonic()


async def _patches(site: "Site", page: LivePage, number: int, *, whole: bool, had: str) -> AsyncIterator[str]:
    pinged = time.monotonic()
    while not site.closing and page.stream == number:
        began = time.monotonic()
        patches = page.whole() if whole else page.update()
        whole = False
        site.hold(page)
        if patches:
            page.seq += 1
            yield event("patch", patches, page.seq)
        if page.noticed is not None:
            page.noticed()
        await asyncio.sleep(max(TICK_SECONDS, SHARE * (time.monotonic() - began)))
        try:
            async with asyncio.timeout(FILES_SECONDS):
                await page.stirred.wait()
        except TimeoutError:
            if site.files.fingerprint != had:
                had = site.files.fingerprint
                yield event("stale", {"files": had})
            elif time.monotonic() - pinged > PING_SECONDS:
                pinged = time.monotonic()
                yield ": still here\n\n"
