"""What the Customizations page shows before its rows are there (design, ui.md §4)."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from innkeeper.client.memory import MemoryTransport
from innkeeper.web.asking import Ask, WebOptions
from innkeeper.web.files import Files
from innkeeper.web.link import HostLink
from innkeeper.web.pages.customizations import CustomizationsPage
from innkeeper.web.templates import Reader, Templates

pytestmark = pytest.mark.anyio
SESSION = "ahp-session:/x"
ITEM = {"id": "a", "type": "skill", "name": "a", "uri": "file:///a", "on": True, "owner": "host"}


def page_of(link: HostLink) -> CustomizationsPage:
    files = Files()
    reader = Reader(lang="en", base="", fingerprint=files.fingerprint)
    return CustomizationsPage(Ask(link, Templates(files), reader, WebOptions(), "/", {}, {}, "token"), SESSION)


async def test_rows_that_do_not_come_soon_have_skeletons_and_are_told_when_they_come() -> None:
    link, heard, go = HostLink(MemoryTransport(_nobody)), asyncio.Event(), asyncio.Event()
    link.listen(lambda name: heard.set())
    page = page_of(link)

    async def slow() -> Sequence[Any]:
        await go.wait()
        return [ITEM]

    await page.soon(page.list, slow)
    waiting = page.nodes()
    assert len(waiting) == 8 and all("skeleton" in node.render() for node in waiting)
    assert "Looking for customizations" in waiting[0].render()
    go.set()
    async with asyncio.timeout(5):
        await heard.wait()
    (row,) = page.nodes()
    assert "Session decision for a" in row.render()
    await link.close()


async def test_rows_that_come_at_once_are_there_at_the_first_paint_and_none_says_so() -> None:
    link = HostLink(MemoryTransport(_nobody))
    page = page_of(link)

    async def nothing() -> Sequence[Any]:
        return []

    await page.soon(page.list, nothing)
    (none,) = page.nodes()
    assert "Nothing found in this folder." in none.render()
    await link.close()


async def _nobody(*given: Any) -> None:
    raise AssertionError("nothing connects in these tests")
