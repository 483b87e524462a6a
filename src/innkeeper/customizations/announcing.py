"""The actions that bring a session's list from what its state has to what is published now (C7.3, AHP §10.1).

Rules
* It takes a `Published`, so nothing that is not resolved is announced (C5.1). An equal list needs no action.
* Only entries that differ are sent; a server of which only state and channel differ gets the narrow action. The whole
  list is sent where the entries would else come in another order, or where most of them changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from innkeeper.customizations.publishing import Published

Action: TypeAlias = Mapping[str, Any]
Entry: TypeAlias = Mapping[str, Any]

MOVING: Final = ("state", "channel")


def announce(before: Sequence[Entry], after: Published) -> tuple[Action, ...]:
    """The actions, in order; `before` is `customizations` of the session's state."""
    known = {entry["id"]: entry for entry in before}
    wanted: dict[str, Entry] = {entry["id"]: entry for entry in after.items}
    kept = [entry["id"] for entry in before if entry["id"] in wanted]
    added = [id for id in wanted if id not in known]
    changed = [id for id in wanted if known.get(id) != wanted[id]]
    if [*kept, *added] != list(wanted) or len(changed) > max(1, len(wanted) // 2):
        return ({"type": "session/customizationsChanged", "customizations": list(after.items)},)
    removed = tuple({"type": "session/customizationRemoved", "id": id} for id in known if id not in wanted)
    return (*removed, *(_changed(known.get(id), wanted[id]) for id in changed))


def _changed(old: Entry | None, new: Entry) -> Action:
    if old is None or new["type"] != "mcpServer" or _resting(old) != _resting(new):
        return {"type": "session/customizationUpdated", "customization": new}
    moved = {"type": "session/mcpServerStateChanged", "id": new["id"], "state": new["state"]}
    return moved | ({"channel": new["channel"]} if "channel" in new else {})


def _resting(entry: Entry) -> Entry:
    return {key: value for key, value in entry.items() if key not in MOVING}
