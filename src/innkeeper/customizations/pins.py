"""Holding a choice against a later base, on purpose (C2.3b).

Rules
* A pinned entry is stored although it equals what it would inherit, and no base wins over it.
* `unpin`, `[]` or another value ends it; sending the same value back does not.
"""

from innkeeper.customizations.enablement import (
    ClientBase,
    InvalidSet,
    Overlay,
    Place,
    Target,
    inherit,
    put,
    slot_in,
    stored,
    within_limit,
)
from innkeeper.ports.decisions import Decision, DecisionOp, PutDecision, Scope


def pin(
    scope: Scope, target: Target, place: Place, overlay: Overlay, base: ClientBase, now: str
) -> tuple[tuple[DecisionOp, ...], Overlay]:
    """The change that holds what the scope has now, its own or inherited, and the overlay after it. Raises InvalidSet:
    no such scope in this session, or no room."""
    slot = slot_in(scope, place)
    if slot is None:
        raise InvalidSet("this session has no working directory to decide for")
    current = overlay.find(target, scope, slot)
    if current is not None and current.pinned:
        return (), overlay
    value = inherit(scope, target, place, overlay, base) if current is None else current.enabled
    ops = stored(Decision(target.key, scope, slot, value, now, pinned=True), target, overlay)
    after = overlay.after(ops)
    within_limit(after, ops)
    return ops, after


def unpin(
    scope: Scope, target: Target, place: Place, overlay: Overlay, base: ClientBase, now: str
) -> tuple[tuple[DecisionOp, ...], Overlay]:
    """The change that lets the scope follow again: its value stays where it differs from what it would inherit."""
    slot = slot_in(scope, place)
    current = None if slot is None else overlay.find(target, scope, slot)
    if current is None or not current.pinned:
        return (), overlay
    loose = PutDecision(current._replace(pinned=False))
    follows = put(scope, current.enabled, target, place, overlay.after((loose,)), base, now)
    ops: tuple[DecisionOp, ...] = follows or (loose,)
    return ops, overlay.after(ops)
