"""The wire form of resolved items (C1.2, C1.4b, C3.3, C5.1, C6.6).

Rules
* Plugins and servers carry `enablement` and no `enabled`; directories and leaves carry `enabled`, made from their own
  first decision, and `enablement` beside it. A list without decisions is left out.
* A pending item carries no decision at all: nothing is made up. It says so in `_meta`, and counts as off; a pending
  container shows as loading, or with the error that keeps it pending (C4.4).
* The container never changes a child's list (C1.5). `is_on` alone reads any of these fields.
* A `Published` is made of a resolution and of nothing else.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, final

from innkeeper.customizations.discovery.items import DiscoveredChild, DiscoveredDirectory, DiscoveredPlugin
from innkeeper.customizations.discovery.items import DiscoveredServer as Server
from innkeeper.customizations.items import STOPPED, LiveServer, RawItem, ServerItem, UnreadPlugin
from innkeeper.customizations.places import Pending
from innkeeper.customizations.resolution import Enablement, Item, Resolution
from innkeeper.protocol.session.state import ChildCustomization, Customization, CustomizationLoadState

GLOBAL_OWNER: Final = "x-innkeeper/globalOwner"
PENDING: Final = "x-innkeeper/pending"
LOAD: Final = "x-innkeeper/load"

Wire = dict[str, Any]
NOT_RUNNING: Final = LiveServer(STOPPED)


@final
class Published:
    """A session's list of customizations as its state has it. `live` is what runs, by the id of a server."""

    __slots__ = ("items",)

    def __init__(self, resolution: Resolution, live: Mapping[str, LiveServer] = MappingProxyType({})) -> None:
        children: dict[str, list[Wire]] = {}
        top: list[Wire] = []
        for item in resolution.items.values():
            if item.container is not None:
                children[item.container].append(_item(item, live))
                continue
            children[item.id] = []
            top.append(_container(item, children[item.id]) if _holds(item) else _item(item, live))
        self.items: Final[Sequence[Customization]] = tuple(top)  # type: ignore[arg-type]


def publish(
    items: Sequence[RawItem], enablement: Enablement, live: Mapping[str, LiveServer] = MappingProxyType({})
) -> Published:
    """What the session publishes now."""
    return Published(Resolution(items, enablement), live)


def is_on(item: Customization | ChildCustomization | Mapping[str, object]) -> bool:
    """Whether a published item is on by its own decision, its container not counted (C1.4b). Pending is not on."""
    content: Mapping[str, object] = {**item}
    meta = content.get("_meta")
    if isinstance(meta, Mapping) and PENDING in meta:
        return False
    if content.get("type") in ("plugin", "mcpServer"):
        decisions = content.get("enablement")
        first = decisions[0] if isinstance(decisions, Sequence) and decisions else {}
        return first.get("enabled") is not False if isinstance(first, Mapping) else True
    return content.get("enabled") is not False


def child_of(item: Item, live: Mapping[str, LiveServer]) -> ChildCustomization:
    """The wire form of a child."""
    return _item(item, live)  # type: ignore[return-value]


def _holds(item: Item) -> bool:
    return item.raw.type in ("plugin", "directory")


def _container(item: Item, children: list[Wire]) -> Wire:
    raw = item.raw
    wire = _common(item)
    if item.owner.startswith("client:"):
        wire["clientId"] = item.owner.removeprefix("client:")
    assert isinstance(raw, (DiscoveredPlugin, UnreadPlugin, DiscoveredDirectory))
    wire["load"] = _load_while(item.verdict) if isinstance(item.verdict, Pending) else raw.load
    if isinstance(raw, DiscoveredDirectory):
        wire |= {"contents": raw.contents, "writable": raw.writable, "children": children}
        return wire
    if raw.version is not None:
        wire["version"] = raw.version
    if isinstance(raw, DiscoveredPlugin):
        wire["children"] = children
    return wire


def _load_while(pending: Pending) -> CustomizationLoadState:
    """What a client that does not know our mark sees of a container that is pending."""
    return {"kind": "loading"} if pending.error is None else {"kind": "error", "message": pending.error}


def _item(item: Item, live: Mapping[str, LiveServer]) -> Wire:
    raw = item.raw
    wire = _common(item)
    if isinstance(raw, ServerItem):
        return _running(wire, LiveServer(raw.state, raw.channel, raw.apps, raw.meta))
    if isinstance(raw, Server):
        return _running(wire, live.get(item.id, NOT_RUNNING))
    for attribute, field in FIELDS[raw.type]:
        value = getattr(raw, attribute)
        if value is not None:
            wire[field] = list(value) if isinstance(value, tuple) else value
    return wire


def _common(item: Item) -> Wire:
    raw, verdict = item.raw, item.verdict
    scoped = raw.type in ("plugin", "mcpServer")
    wire: Wire = {"type": raw.type, "id": item.id, "uri": raw.uri, "name": raw.name}
    if isinstance(verdict, Pending):
        wire["_meta"] = {GLOBAL_OWNER: item.owner, PENDING: verdict.reason}
        if verdict.error is not None:
            wire["_meta"][LOAD] = {"kind": "error", "message": verdict.error}
        if not scoped:
            wire["enabled"] = False
    else:
        wire["_meta"] = {GLOBAL_OWNER: item.owner}
        if verdict.enablement:
            wire["enablement"] = list(verdict.enablement)
        if not scoped:
            wire["enabled"] = verdict.enabled
    if raw.type not in ("plugin", "directory"):
        _place(raw, wire)  # type: ignore[arg-type]
    return wire


def _place(raw: DiscoveredChild | ServerItem, wire: Wire) -> None:
    if raw.range is not None:
        wire["range"] = raw.range
    if not isinstance(raw, ServerItem) and raw.load["kind"] != "loaded":
        wire["_meta"].setdefault(LOAD, raw.load)


def _running(wire: Wire, live: LiveServer) -> Wire:
    wire["state"] = live.state
    if live.channel is not None:
        wire["channel"] = live.channel
    if live.apps is not None:
        wire["mcpApp"] = live.apps
    if live.meta:
        wire["_meta"] = {**live.meta, **wire["_meta"]}
    return wire


_USE: Final = (
    ("disable_model_invocation", "disableModelInvocation"),
    ("disable_user_invocation", "disableUserInvocation"),
)
FIELDS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "agent": (("description", "description"), ("model", "model"), ("tools", "tools"), *_USE),
    "skill": (("description", "description"), *_USE),
    "prompt": (("description", "description"),),
    "rule": (("description", "description"), ("always_apply", "alwaysApply"), ("globs", "globs")),
    "hook": (),
}
"""By type: the attributes of an item that are published, with their names in AHP."""
