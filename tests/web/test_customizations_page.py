"""What the Customizations page shows before its rows are there (design, ui.md §4)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from innkeeper.client.memory import MemoryTransport
from innkeeper.web.asking import Ask, WebOptions
from innkeeper.web.files import Files
from innkeeper.web.link import HostLink, Refused
from innkeeper.web.pages import customizations
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


class Held(HostLink):
    """A host that holds every toggle until `go`."""

    def __init__(self) -> None:
        super().__init__(MemoryTransport(_nobody))
        self.go = asyncio.Event()

    async def dispatch(self, uri: str, action: Mapping[str, Any]) -> None:
        await self.go.wait()
        raise Refused("a newer change of the item came")


async def test_a_toggle_that_the_host_holds_is_told_as_queued_and_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C4.3: what becomes of it later, a refusal too, raises nothing."""
    monkeypatch.setattr(customizations, "ANSWER_SECONDS", 0.05)
    link = Held()
    told = await customizations.answered(page_of(link).ask, SESSION, {"type": "session/customizationToggled"})
    assert told == {"said": "Queued until it is known whose it is. It is applied whole then."}
    link.go.set()
    await asyncio.sleep(0.05)
    await link.close()


async def test_the_switch_of_an_item_that_waits_says_queued() -> None:
    """The unanswered toggle is in the session's state of this client, and not in the host's list."""
    link = HostLink(MemoryTransport(_nobody))
    page = page_of(link)
    on = [{"kind": "session", "enabled": True}]
    state = {"customizations": [{**ITEM, "enablement": on}]}

    async def listed() -> Sequence[Any]:
        return [{**ITEM, "on": False, "withheld": "discovery"}]

    async def published() -> Any:
        return state

    await page.soon(page.list, listed)
    await link.report(SESSION, published)
    (row,) = page.nodes()
    assert "Queued" in row.render() and "Waiting for its owner" in row.render()
    await link.close()


async def _nobody(*given: Any) -> None:
    raise AssertionError("nothing connects in these tests")
