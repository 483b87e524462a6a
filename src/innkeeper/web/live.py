"""What a page shows that changes, and how an open page is told: patches by DOM id (docs/decisions/0026-web-ui.md).

Rules
* A region is a list of nodes below one element, or a single block. A node is rendered again only when its key is
  another one; a patch names the node that changed and nothing around it (design, ui.md §8.3).
* What was sent is remembered, numbered. A page that comes back with the number of the last patch gets what changed
  since; any other gets its regions whole and ends up the same.
* Pages that are not looked at for `FORGET_SECONDS` are forgotten; they are made anew when they come back.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

FORGET_SECONDS: Final = 120.0
PAGES: Final = 200
"""Pages that are remembered at most."""

Patch = Mapping[str, Any]


class Node(NamedTuple):
    """One element with the DOM id `id`. Equal keys mean equal markup. With `children`, `render` gives the opening tag
    and `close` the rest."""

    id: str
    key: object
    render: Callable[[], str]
    children: "tuple[Node, ...] | None" = None
    close: str = "</div>"


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a page that is kept up to date.

    `nodes` gives what is to be shown now; `channels` what it depends on. A `block` is one node, which stands for
    itself; otherwise the nodes are all children of the element with the region's id.
    """

    id: str
    nodes: Callable[[], Sequence[Node]]
    channels: Callable[[], Collection[str]]
    block: bool = False


def block(
    id: str,
    render: Callable[[], str],
    channels: Collection[str] | Callable[[], Collection[str]],
    key: Callable[[], object] | None = None,
) -> Region:
    """A region of one element: `render` gives its markup, whose outermost element has the id `id`. `key` gives all that
    the markup is made of: as long as it is equal nothing is rendered. Without it the markup itself is compared."""

    def nodes() -> Sequence[Node]:
        if key is not None:
            return (Node(id, key(), render),)
        html = render()
        return (Node(id, html, lambda: html),)

    wanted = channels if callable(channels) else lambda: channels
    return Region(id, nodes, wanted, block=True)


def markup(node: Node) -> str:
    """A node with what is in it."""
    if node.children is None:
        return node.render()
    return node.render() + "".join(markup(child) for child in node.children) + node.close


def differences(container: str, old: Sequence[Node], new: Sequence[Node]) -> list[Patch]:
    """Patches that turn the children `old` of the element `container` into `new`."""
    wanted = {node.id for node in new}
    patches: list[Patch] = [{"op": "del", "id": node.id} for node in old if node.id not in wanted]
    known = {node.id: node for node in old}
    present = [node.id for node in old if node.id in wanted]
    for place, node in enumerate(new):
        before = present[place] if place < len(present) else None
        if node.id not in known:
            patches.append({"op": "add", "in": container, "before": before, "html": markup(node)})
            present.insert(place, node.id)
            continue
        if before != node.id:
            patches.append({"op": "move", "in": container, "before": before, "id": node.id})
            present.remove(node.id)
            present.insert(place, node.id)
        patches += _changes(known[node.id], node)
    return patches


def _changes(old: Node, new: Node) -> list[Patch]:
    if old.key != new.key or (old.children is None) != (new.children is None):
        return [{"op": "put", "id": new.id, "html": markup(new)}]
    if new.children is not None:
        return differences(new.id, old.children or (), new.children)
    return []


@dataclass(slots=True)
class LivePage:
    """One page in one browser tab. `choices` is what the tab has set (a search, how far back it reads)."""

    id: str
    regions: Sequence[Region]
    choices: dict[str, str]
    seq: int = 0
    shown: dict[str, Sequence[Node]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    readers: int = 0
    stream: int = 0
    """The number of the stream that serves it; an older one ends."""
    seen: float = field(default_factory=time.monotonic)
    dirty: set[str] = field(default_factory=set)
    noticed: Callable[[], None] | None = None
    """Called after each look at the page while somebody looks at it."""
    prepare: Callable[[], Awaitable[None]] | None = None

    def html(self, region_id: str) -> str:
        """The markup of a region, for the page's first paint; nothing for a slot that nobody fills."""
        region = next((one for one in self.regions if one.id == region_id), None)
        if region is None:
            return ""
        nodes = self.shown[region_id] = tuple(region.nodes())
        return "".join(markup(node) for node in nodes)

    def stir(self, name: str) -> None:
        """Something changed: a channel, a report, a choice of the page (`choice:NAME`)."""
        self.dirty.add(name)
        self.stirred.set()

    def update(self) -> list[Patch]:
        """Patches for what changed since the last look."""
        dirty, self.dirty = self.dirty, set()
        self.stirred.clear()
        chosen = any(name.startswith("choice:") for name in dirty)
        patches: list[Patch] = []
        for region in self.regions:
            if region.id in self.shown and (chosen or not dirty.isdisjoint(region.channels())):
                new = tuple(region.nodes())
                patches += differences(region.id, self.shown[region.id], new)
                self.shown[region.id] = new
        return patches

    def whole(self) -> list[Patch]:
        """Patches that make every region what it is now, whatever the page shows."""
        self.dirty.clear()
        self.stirred.clear()
        patches: list[Patch] = []
        for region in self.regions:
            html = self.html(region.id)
            patches.append({"op": "put" if region.block else "fill", "id": region.id, "html": html})
        return patches

    def channels(self) -> set[str]:
        """All that the page depends on."""
        return {name for region in self.regions for name in region.channels()}


class LivePages:
    """The pages that are remembered."""

    def __init__(self) -> None:
        self._pages: dict[str, LivePage] = {}

    def add(self, page: LivePage) -> list[LivePage]:
        """Remembers a page; gives those that are forgotten for it."""
        self._pages[page.id] = page
        return self._forget()

    def get(self, id: str) -> LivePage | None:
        page = self._pages.get(id)
        if page is not None:
            page.seen = time.monotonic()
        return page

    def stir(self, name: str) -> None:
        """Tells the pages that show it."""
        for page in self._pages.values():
            if name in page.held or name.startswith("web:"):
                page.stir(name)

    def all(self) -> list[LivePage]:
        return list(self._pages.values())

    def _forget(self) -> list[LivePage]:
        now = time.monotonic()
        idle = sorted((page for page in self._pages.values() if page.readers == 0), key=lambda page: page.seen)
        surplus = max(0, len(self._pages) - PAGES)
        gone = [page for at, page in enumerate(idle) if at < surplus or now - page.seen > FORGET_SECONDS]
        for page in gone:
            del self._pages[page.id]
        return gone
