"""What the configuration says, from the layers that there are: own session, parent session, host (reference §5.6).

Rules
* The nearest layer that has a usable value decides; each layer is checked alone, and what is not usable in one is
  passed over and told.
* `permissions` add up: what any layer allows is allowed, what any denies is denied. Of a broken list of denials what
  can be read still denies, of a broken list of allowances nothing allows.
* An `autoApprove` of `autopilot`, which hosts once had, is the mode of that name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, get_args

from innkeeper.host.approval.values import Mode

MODES: tuple[Mode, ...] = get_args(Mode)
AUTO_APPROVE = ("default", "assisted", "autoApprove")


class Layer(NamedTuple):
    """Configuration values of one place; `name` is for the log."""

    name: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Effective:
    """What counts. `allow` and `deny` name tools; `denied_by` says by layer; `unusable` is what was passed over."""

    auto_approve: str
    mode: Mode
    allow: frozenset[str]
    deny: Mapping[str, str]
    """Denied tool to the name of the nearest layer that denies it."""
    unusable: Sequence[str]


def migrated(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values in the terms of today: an old `autoApprove` of `autopilot` is a mode."""
    if values.get("autoApprove") != "autopilot":
        return values
    return {"mode": "autopilot", **values, "autoApprove": "default"}


def effective(layers: Sequence[Layer]) -> Effective:
    """`layers` from the nearest to the farthest."""
    unusable: list[str] = []
    today = [Layer(layer.name, migrated(layer.values)) for layer in layers]
    auto_approve = _first(today, "autoApprove", AUTO_APPROVE, unusable) or "default"
    mode = cast(Mode, _first(today, "mode", MODES, unusable) or "interactive")
    allow: set[str] = set()
    deny: dict[str, str] = {}
    for layer in today:
        allow.update(_names(layer, "allow", unusable))
        for tool in _names(layer, "deny", unusable):
            deny.setdefault(tool, layer.name)
    return Effective(auto_approve, mode, frozenset(allow), deny, tuple(unusable))


def _first(layers: Iterable[Layer], name: str, known: Sequence[str], unusable: list[str]) -> str | None:
    for layer in layers:
        value = layer.values.get(name)
        if value in known and isinstance(value, str):
            return value
        if value is not None:
            unusable.append(f"{layer.name}: {name} takes one of {', '.join(known)}")
    return None


def _names(layer: Layer, key: str, unusable: list[str]) -> Sequence[str]:
    permissions = layer.values.get("permissions")
    if permissions is None:
        return ()
    listed = permissions.get(key, ()) if isinstance(permissions, Mapping) else None
    if not isinstance(listed, list | tuple):
        unusable.append(f"{layer.name}: permissions.{key} takes a list of tool names")
        return ()
    names = [name for name in listed if isinstance(name, str)]
    if len(names) < len(listed):
        unusable.append(f"{layer.name}: permissions.{key} takes a list of tool names")
        return names if key == "deny" else ()
    return names
