"""What a person changes, as a value, and what comes of it (C1.3, C2.3b, C4.3, C4.4, C6.6, C8.1; issue 4 item 6).

Rules
* `apply` stores nothing: it gives the rows to store with the envelope, and the list that is published then.
* What cannot be applied is refused with a sentence for its sender; nothing is dropped in silence.
* An item that is pending, or of which it is not clear whose it is, takes no decision: the edit waits (`waiting`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from innkeeper.customizations.enablement import (
    SCOPES,
    ClientBase,
    InvalidSet,
    Overlay,
    Resolved,
    Target,
    replace,
    resolve,
    with_value,
)
from innkeeper.customizations.pins import pin, unpin
from innkeeper.customizations.places import Pending, Place
from innkeeper.customizations.resolution import Resolution
from innkeeper.ports.decisions import DecisionOp, DropDecision, PutDecision, Scope
from innkeeper.protocol.session.state import CustomizationEnablement


@dataclass(frozen=True, slots=True)
class Replace:
    """A toggle: the complete set, `()` clears all."""

    wanted: Sequence[CustomizationEnablement]


@dataclass(frozen=True, slots=True)
class SetScope:
    """One scope, the others as they are; None lets it inherit."""

    scope: Scope
    value: bool | None


@dataclass(frozen=True, slots=True)
class Pin:
    scope: Scope


@dataclass(frozen=True, slots=True)
class Unpin:
    scope: Scope


Edit: TypeAlias = Replace | SetScope | Pin | Unpin


@dataclass(frozen=True, slots=True)
class Stored:
    """The edit can be made: `ops` go into the transaction of its envelope, `overlay` is what holds then, `resolved`
    what is published of the item. `unchanged` when it says what held before."""

    ops: tuple[DecisionOp, ...]
    overlay: Overlay
    resolved: Resolved

    @property
    def unchanged(self) -> bool:
        return not self.ops


@dataclass(frozen=True, slots=True)
class Refused:
    """`reason` is a sentence for the sender."""

    reason: str


def apply(id: str, edit: Edit, resolution: Resolution, overlay: Overlay, now: str) -> Stored | Refused | Pending:
    """What comes of an edit of the item with that id. Pending: it has to wait. Never raises."""
    wrong = fault_of(edit)
    if wrong is not None:
        return Refused(wrong)
    item = resolution.items.get(id)
    if item is None:
        return Refused(f"there is no customization {id}") if resolution.context.discovered else Pending("discovery")
    place = resolution.context.place
    pending = item.verdict if isinstance(item.verdict, Pending) else place if isinstance(place, Pending) else None
    if pending is not None and pending.error is not None:
        return Refused(f"its decisions cannot be read, so none can be stored: {pending.error}")
    if pending is not None or item.target is None or isinstance(place, Pending):
        return pending or Pending("discovery")
    try:
        ops, after = _made(edit, item.target, place, overlay, resolution.base, now)
    except InvalidSet as invalid:
        return Refused(str(invalid))
    return Stored(ops, after, resolve(item.target, place, after, resolution.base))


def edit_of(action: Mapping[str, Any]) -> Edit | None:
    """What a `session/customizationToggled` asks for. In the shape before 0.8 it says `enabled` and names no scope:
    that is the session's, and the other scopes stay. None: it says nothing that can be understood."""
    if action.get("enablement") is not None:
        return Replace(tuple(action["enablement"]))
    enabled = action.get("enabled")
    return SetScope("session", enabled) if isinstance(enabled, bool) else None


def fault_of(edit: Edit) -> str | None:
    """What is wrong with the edit whatever it is about; None for nothing."""
    if isinstance(edit, Replace):
        kinds = [entry["kind"] for entry in edit.wanted]
        if any(kind not in SCOPES for kind in kinds):
            return "an entry has a kind other than session, workspace and global"
        twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
        return None if twice is None else f"the set has two {twice} entries"
    return None if edit.scope in SCOPES else "the scope is none of session, workspace and global"


def affected(ops: Iterable[DecisionOp], sessions: Mapping[str, Place | Pending]) -> tuple[str, ...]:
    """The sessions that have to resolve again after these changes, in the order of `sessions`: all for a global one,
    those in the workspace, that session. None for no change."""
    slots = [
        op.decision.slot if isinstance(op, PutDecision) else op.slot
        for op in ops
        if isinstance(op, (PutDecision, DropDecision))
    ]
    everywhere = any(scope == "global" for _, scope, _ in slots)
    workspaces = {target for _, scope, target in slots if scope == "workspace"}
    single = {target for _, scope, target in slots if scope == "session"}

    def touched(session: str, place: Place | Pending) -> bool:
        there = None if isinstance(place, Pending) else place.workspace
        return everywhere or session in single or there in workspaces

    return tuple(session for session, place in sessions.items() if touched(session, place))


def _made(
    edit: Edit, target: Target, place: Place, overlay: Overlay, base: ClientBase, now: str
) -> tuple[tuple[DecisionOp, ...], Overlay]:
    match edit:
        case Replace(wanted):
            return replace(wanted, target, place, overlay, base, now)
        case SetScope(scope, value):
            now_set = resolve(target, place, overlay, base).enablement
            return replace(with_value(now_set, scope, value, place), target, place, overlay, base, now)
        case Pin(scope):
            return pin(scope, target, place, overlay, base, now)
        case Unpin(scope):
            return unpin(scope, target, place, overlay, base, now)
