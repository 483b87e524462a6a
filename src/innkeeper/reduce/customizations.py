"""What session actions do to the list of customizations (AHP §10.1, §10.2).

Ids are unique in a session, over top-level entries and children. A top-level entry is found before any child.
Types this version does not know are toggled by `enabled`, and every top-level entry with `children` counts as a
container, so that newer customizations keep working.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from innkeeper.reduce.fields import drop, find, put, put_all, replaced, same_items

Entry = Mapping[str, Any]
S = TypeVar("S", bound=Mapping[str, Any])

SCOPED_TYPES = frozenset({"plugin", "mcpServer"})
"""Types that carry scoped decisions in `enablement` instead of one `enabled`."""


def toggled(state: S, customization_id: str, enablement: Sequence[Mapping[str, Any]] | None) -> S:
    """Replace all decisions of one entry; an empty list returns it to its default.

    Clients from before 0.8 name no scope; the host turns that into decisions, so none at all changes nothing here.
    """
    if enablement is None:
        return state

    def change(entry: Entry) -> Entry:
        if entry.get("type") in SCOPED_TYPES:
            return put(entry, "enablement", enablement or None)
        first = enablement[0].get("enabled") if enablement else None
        return put(entry, "enabled", first if isinstance(first, bool) else True)

    return _changed(state, customization_id, change)


def without(state: S, customization_id: str) -> S:
    """Remove a top-level entry with its children, else the child of that id from every container."""
    rest = drop(state, "customizations", customization_id)
    if rest is not state:
        return rest
    entries: Sequence[Entry] = state.get("customizations") or ()
    kept = [drop(entry, "children", customization_id) if _children(entry) else entry for entry in entries]
    return state if same_items(kept, entries) else put(state, "customizations", kept)


def server_moved(state: S, server_id: str, server_state: Mapping[str, Any], channel: str | None) -> S:
    """Give an MCP server another state and channel, both replaced; other types are left alone."""

    def change(entry: Entry) -> Entry:
        is_server = entry.get("type") == "mcpServer"
        return put_all(entry, {"state": server_state, "channel": channel}) if is_server else entry

    return _changed(state, server_id, change)


def server_requested(state: S, server_id: str, kind: Literal["starting", "stopped"]) -> S:
    """What a client expects of a start or stop it asked for, until the host says how it went."""

    def change(entry: Entry) -> Entry:
        if entry.get("type") != "mcpServer":
            return entry
        asked = {"kind": kind}
        moved = entry if entry.get("state") == asked else put(entry, "state", asked)
        return put(moved, "channel", None)

    return _changed(state, server_id, change)


def server_unblocked(state: S, server_id: str) -> S:
    """Let a starting server that holds back the next turn start in the background."""

    def change(entry: Entry) -> Entry:
        server_state: Mapping[str, Any] = entry.get("state") or {}
        if entry.get("type") != "mcpServer" or server_state.get("kind") != "starting":
            return entry
        return put(entry, "state", put(server_state, "blocking", False)) if server_state.get("blocking") else entry

    return _changed(state, server_id, change)


def _children(container: Entry) -> Sequence[Entry]:
    """What a container holds; in one of a newer type the field may be anything."""
    children = container.get("children")
    if isinstance(children, Sequence) and all(isinstance(child, Mapping) for child in children):
        return children
    return ()


def _changed(state: S, customization_id: str, change: Callable[[Entry], Entry]) -> S:
    """Apply `change` to the first entry of that id: top level, then the children of each container in order."""
    entries: Sequence[Entry] = state.get("customizations") or ()
    index = find(entries, "id", customization_id)
    if index >= 0:
        return put(state, "customizations", replaced(entries, index, change(entries[index])))
    for index, container in enumerate(entries):
        children = _children(container)
        child = find(children, "id", customization_id)
        if child >= 0:
            kept = replaced(children, child, change(children[child]))
            return put(state, "customizations", replaced(entries, index, put(container, "children", kept)))
    return state
