"""What other subjects add to the page of a chat: regions in its bar and tool row, and drawers.

Rules
* The conversation knows none of them. A slot that nobody fills shows nothing.
* A drawer is opened by the tab's choice `drawer` (`changes`, `terminal`, `why:ID`, …): the part before the colon names
  it here. Only an open drawer is looked after.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from innkeeper.web.asking import Ask
from innkeeper.web.live import Node, Region


class Place(NamedTuple):
    """A chat in its session, with the session's state as it was when the page was asked for."""

    session: str
    chat: str
    state: Mapping[str, Any]
    path: str
    """Of the chat's page; its actions are below it."""


class Drawer(NamedTuple):
    """One kind of drawer. `argument` is what follows the colon in the choice."""

    prepare: Callable[[Ask, Place, str], Awaitable[None]]
    """Subscribes what the drawer shows, before it is shown."""
    nodes: Callable[[Ask, Place, str], Sequence[Node]]
    channels: Callable[[Ask, Place, str], Collection[str]]


Regions = Callable[[Ask, Place], Awaitable[Sequence[Region]]]

REGIONS: Final[list[Regions]] = []
"""Each gives regions with ids of the slots in `chat.html` and `composer.html`: `bar-changes`, `bar-terminal`,
`mcp-control`, `mcp-panel`."""

DRAWERS: Final[dict[str, Drawer]] = {}


async def chat_regions(ask: Ask, place: Place) -> list[Region]:
    """Everything that others add to the page."""
    found = [region for more in REGIONS for region in await more(ask, place)]
    return [*found, Region("drawer", lambda: _drawer_nodes(ask, place), lambda: _drawer_channels(ask, place))]


async def prepare_drawer(ask: Ask, place: Place) -> None:
    """Subscribes what the chosen drawer needs."""
    drawer, argument = _chosen(ask)
    if drawer is not None:
        await drawer.prepare(ask, place, argument)


def _chosen(ask: Ask) -> tuple[Drawer | None, str]:
    kind, _, argument = ask.choices.get("drawer", "").partition(":")
    return DRAWERS.get(kind), argument


def _drawer_nodes(ask: Ask, place: Place) -> Sequence[Node]:
    drawer, argument = _chosen(ask)
    return drawer.nodes(ask, place, argument) if drawer is not None else ()


def _drawer_channels(ask: Ask, place: Place) -> Collection[str]:
    drawer, argument = _chosen(ask)
    return drawer.channels(ask, place, argument) if drawer is not None else ()
