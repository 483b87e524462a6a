"""What to dispatch so that a session's list becomes the resolved one (C7.3, AHP §10.1). Pure.

Rules
* Only what is different is sent; an equal list sends nothing.
* A server that only moved sends its state. A container is sent with its children, because AHP has no smaller unit.
* Another order, or a change of most of the list, sends the list.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Entry = Mapping[str, Any]

SINGLE_CHANGES = 8
"""Beyond so many differences the whole list is sent."""

MOVING = frozenset({"state", "channel"})


def changes(old: Sequence[Entry], new: Sequence[Entry]) -> list[dict[str, Any]]:
    """The actions from one list to the other; none when they are equal."""
    before = {entry["id"]: entry for entry in old}
    after = {entry["id"]: entry for entry in new}
    if len(before) != len(old) or not _keeps_order(list(before), list(after)):
        return [_whole(new)]
    removed = [id for id in before if id not in after]
    actions: list[dict[str, Any]] = [{"type": "session/customizationRemoved", "id": id} for id in removed]
    for id, entry in after.items():
        if before.get(id) != entry:
            actions.extend(_difference(before.get(id), entry))
    return [_whole(new)] if len(actions) > SINGLE_CHANGES else actions


def _keeps_order(before: list[str], after: list[str]) -> bool:
    """Whether removing and appending lead from one to the other."""
    kept = [id for id in before if id in set(after)]
    return after[: len(kept)] == kept


def _whole(new: Sequence[Entry]) -> dict[str, Any]:
    return {"type": "session/customizationsChanged", "customizations": list(new)}


def _difference(old: Entry | None, new: Entry) -> list[dict[str, Any]]:
    moved = None if old is None else _moves(old, new)
    return [{"type": "session/customizationUpdated", "customization": new}] if moved is None else moved


def _moves(old: Entry, new: Entry) -> list[dict[str, Any]] | None:
    """The moves of servers that are all the difference; None when there is more."""
    if new.get("type") == "mcpServer":
        return [_move(new)] if _at_rest(old) == _at_rest(new) else None
    earlier, later = old.get("children"), new.get("children")
    if earlier is None or later is None or len(earlier) != len(later) or {**old, "children": later} != new:
        return None
    moved: list[dict[str, Any]] = []
    for before, after in zip(earlier, later, strict=True):
        if before == after:
            continue
        if after.get("type") != "mcpServer" or _at_rest(before) != _at_rest(after):
            return None
        moved.append(_move(after))
    return moved


def _at_rest(server: Entry) -> Entry:
    return {name: value for name, value in server.items() if name not in MOVING}


def _move(server: Entry) -> dict[str, Any]:
    action = {"type": "session/mcpServerStateChanged", "id": server["id"], "state": server["state"]}
    return {**action, "channel": server["channel"]} if "channel" in server else action
