"""The customizations of a session as the CLI and other own clients are told of them (C5.3). Pure.

Names and states only; what a definition contains is not in it. A host and a command without one say the same.
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.customizations.eligibility import verdicts
from innkeeper.customizations.enablement import SCOPES, Overlay, slot_in
from innkeeper.customizations.explain import ProviderVerdict, explain
from innkeeper.customizations.items import ServerItem
from innkeeper.customizations.places import Pending
from innkeeper.customizations.resolution import Item, Resolution
from innkeeper.ports.customizations import WithheldReason
from innkeeper.ports.decisions import Scope


def tree(resolution: Resolution, overlay: Overlay | None = None) -> list[dict[str, Any]]:
    """Every item, children in their containers; with the scopes that `overlay` holds pinned."""
    reasons = verdicts(resolution)
    top: list[dict[str, Any]] = []
    children: dict[str, list[dict[str, Any]]] = {}
    for item in resolution.items.values():
        row = _row(item, reasons[item.id], _pinned(item, resolution, overlay))
        if item.container is None:
            children[item.id] = []
            top.append({**row, "children": children[item.id]})
        else:
            children[item.container].append(row)
    return [row if row["children"] else {k: v for k, v in row.items() if k != "children"} for row in top]


def explained(
    id: str, resolution: Resolution, overlay: Overlay, provider: ProviderVerdict | None = None
) -> Mapping[str, Any] | None:
    """The whole chain of one item; None for no such item."""
    explanation = explain(id, resolution, overlay, provider)
    return None if explanation is None else explanation.to_json()


def _row(item: Item, reason: WithheldReason | None, pinned: list[Scope]) -> dict[str, Any]:
    verdict = item.verdict
    decided = () if isinstance(verdict, Pending) else verdict.enablement
    raw = item.raw
    source = raw.source if isinstance(raw, ServerItem) else getattr(raw, "source", None)
    fields: dict[str, Any] = {
        "id": item.id,
        "type": raw.type,
        "name": raw.name,
        "uri": raw.uri,
        "on": reason is None,
        "own": None if isinstance(verdict, Pending) else verdict.enabled,
        "scope": decided[0]["kind"] if decided else None,
        "enablement": list(decided) or None,
        "withheld": reason,
        "source": source,
        "owner": item.owner,
        "pinned": pinned or None,
        "fault": _fault(raw),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _pinned(item: Item, resolution: Resolution, overlay: Overlay | None) -> list[Scope]:
    """The scopes whose decision is held although it equals what it would inherit (C2.3b)."""
    target, place = item.target, resolution.context.place
    if overlay is None or target is None or isinstance(place, Pending) or not overlay.kept(target):
        return []
    found = [(scope, overlay.find(target, scope, slot_in(scope, place))) for scope in SCOPES]
    return [scope for scope, decision in found if decision is not None and decision.pinned]


def _fault(raw: Any) -> str | None:
    load: Mapping[str, Any] = getattr(raw, "load", None) or {}
    return load.get("message") if load.get("kind") in ("error", "degraded") else None
