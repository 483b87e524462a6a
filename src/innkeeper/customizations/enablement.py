"""Scoped decisions: what is stored, what is inherited, what is published (C1.1-C1.3, C2.1-C2.3b, C8.1).

Rules
* Base and overlay are different types: the base is what the owning client says (memory, per session), the overlay is
  what the host's users decided (durable). Nothing writes a base into an overlay.
* Inheritance: overlay, base, discovery default, on. A write that equals what it would inherit removes the entry, unless
  the entry is pinned; nothing is ever compared with a bare *on*.
* A toggle replaces the complete set: global, then workspace, then session, each compared with the new outer ones; a
  scope that is left out is cleared. Storing a global decision drops the workspace entries that equal it, everywhere.
* Published is most specific first, at most one a scope; the first one decides, none means on.
* What an older key says counts where the present key says nothing; a write to a scope replaces it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, assert_never

from innkeeper.customizations.places import Place as Place
from innkeeper.limits import DECISIONS
from innkeeper.ports.decisions import Decision, DecisionOp, Decisions, DropDecision, PutDecision, Scope
from innkeeper.protocol.session.state import CustomizationEnablement

SCOPES: Final[tuple[Scope, ...]] = ("session", "workspace", "global")
"""Most specific first."""


class Target(NamedTuple):
    """What is decided about. `default` is the discovery default; `bundled` says that a client owns its global value;
    `older` are keys and ids under which earlier versions stored decisions about it."""

    key: str
    default: bool = True
    bundled: bool = False
    older: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClientBase:
    """What clients say about what they bundled, in one session: key to value (C2.2)."""

    values: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overlay:
    """The host's durable decisions (C2.2)."""

    decisions: Decisions = field(default_factory=Decisions)

    def find(self, target: Target, scope: Scope, place: str | None) -> Decision | None:
        """The decision in a scope; `place` is the session, the workspace's key, or "" for global. None when there is
        none, or no such scope here."""
        return None if place is None else _first(self.kept(target), scope, place)

    def kept(self, target: Target) -> list[Mapping[tuple[Scope, str], Decision]]:
        """Its decisions by scope and place: those under its key, then those under older ones; empty for none."""
        index = self.decisions.by_key
        kept = [index[target.key]] if target.key in index else []
        for key in target.older:
            if key in index:
                kept.append(index[key])  # noqa: PERF401 - most have none, and this runs for every item
        return kept

    def about(self, target: Target) -> tuple[Decision, ...]:
        """Every decision about it, under any of its keys."""
        return tuple(found for kept in self.kept(target) for found in kept.values())

    def after(self, ops: Iterable[DecisionOp]) -> "Overlay":
        """The overlay that these changes make; the same one when nothing changes."""
        decisions = self.decisions.apply(ops)
        return self if decisions is self.decisions else Overlay(decisions)


@dataclass(frozen=True, slots=True)
class Resolved:
    """`enablement` as it is published: sorted, empty when nothing was decided."""

    enablement: tuple[CustomizationEnablement, ...]
    enabled: bool


ON: Final = Resolved((), True)
"""Nobody decided."""


class InvalidSet(Exception):
    """A set of decisions cannot be stored; the text says why."""


def resolve(target: Target, place: Place, overlay: Overlay, base: ClientBase) -> Resolved:
    """What holds for the target in that place."""
    kept = overlay.kept(target)
    if not kept and target.default and target.key not in base.values:
        return ON
    found: list[CustomizationEnablement] = []
    session = _first(kept, "session", place.session)
    if session is not None:
        found.append({"kind": "session", "enabled": session.enabled})
    if place.workspace is not None and place.directory is not None:
        workspace = _first(kept, "workspace", place.workspace)
        if workspace is not None:
            found.append({"kind": "workspace", "uri": place.directory, "enabled": workspace.enabled})
    everywhere = _global(_first(kept, "global", ""), target, base)
    if everywhere is not None:
        found.append({"kind": "global", "enabled": everywhere})
    return Resolved(tuple(found), found[0]["enabled"]) if found else ON


def inherit(scope: Scope, target: Target, place: Place, overlay: Overlay, base: ClientBase) -> bool:
    """What holds in that scope while it has no decision of its own (C2.3)."""
    match scope:
        case "global":
            said = base_value(target, base)
            return target.default if said is None else said
        case "workspace":
            effective = _effective_global(target, overlay, base)
            return target.default if effective is None else effective
        case "session":
            workspace = overlay.find(target, "workspace", place.workspace)
            return inherit("workspace", target, place, overlay, base) if workspace is None else workspace.enabled
        case _:
            assert_never(scope)


def put(
    scope: Scope, value: bool | None, target: Target, place: Place, overlay: Overlay, base: ClientBase, now: str
) -> tuple[DecisionOp, ...]:
    """The change that gives the scope this value; None, or what it would inherit, removes the entry. A pinned entry
    stays as long as its value does (C2.3b). Nothing to do is an empty change. A workspace value needs a directory.
    `now` is UTC, ISO 8601."""
    slot = slot_in(scope, place)
    if slot is None:
        if value is None:
            return ()
        raise InvalidSet("this session has no working directory to decide for")
    current = overlay.find(target, scope, slot)
    if current is not None and current.pinned and value == current.enabled:
        return ()
    if value is None or value == inherit(scope, target, place, overlay, base):
        return _dropped(overlay, target, scope, slot)
    if current is not None and value == current.enabled:
        return ()
    return stored(Decision(target.key, scope, slot, value, now), target, overlay)


def replace(
    wanted: Sequence[CustomizationEnablement],
    target: Target,
    place: Place,
    overlay: Overlay,
    base: ClientBase,
    now: str,
) -> tuple[tuple[DecisionOp, ...], Overlay]:
    """The change that makes `wanted` the complete set, and the overlay after it. Raises InvalidSet."""
    values = _by_scope(wanted, place)
    ops: list[DecisionOp] = []
    for scope in reversed(SCOPES):
        change = put(scope, values.get(scope), target, place, overlay, base, now)
        ops.extend(change)
        overlay = overlay.after(change)
    within_limit(overlay, ops)
    return tuple(ops), overlay


def with_value(
    enablement: Sequence[CustomizationEnablement], scope: Scope, value: bool | None, place: Place
) -> tuple[CustomizationEnablement, ...]:
    """The complete set with one scope changed, sorted. Raises InvalidSet for a workspace value without a directory."""
    kept: dict[str, CustomizationEnablement] = {entry["kind"]: entry for entry in enablement if entry["kind"] != scope}
    if value is not None:
        if scope == "workspace":
            if place.directory is None:
                raise InvalidSet("this session has no working directory to decide for")
            kept[scope] = {"kind": "workspace", "uri": place.directory, "enabled": value}
        else:
            kept[scope] = {"kind": "global", "enabled": value} if scope == "global" else _session(value)
    return tuple(kept[kind] for kind in SCOPES if kind in kept)


def set_client_base(base: ClientBase, target: Target, value: bool | None) -> ClientBase:
    """The base after the owning client said so, or stopped saying anything; the same one when nothing changes. What a
    client says about an item that it did not bundle is ignored (C2.1)."""
    if not target.bundled or base.values.get(target.key) is value:
        return base
    others = {key: kept for key, kept in base.values.items() if key != target.key}
    return ClientBase(others if value is None else {**others, target.key: value})


def base_value(target: Target, base: ClientBase) -> bool | None:
    """What the owning client says of it; None when none owns it, or it says nothing."""
    return base.values.get(target.key) if target.bundled else None


def slot_in(scope: Scope, place: Place) -> str | None:
    """Where a decision of that scope stands for this place; None when there is no such scope here."""
    match scope:
        case "session":
            return place.session
        case "workspace":
            return place.workspace
        case "global":
            return ""
        case _:
            assert_never(scope)


def stored(decision: Decision, target: Target, overlay: Overlay) -> tuple[DecisionOp, ...]:
    """The change that stores a decision, with what it makes superfluous. What is pinned stays."""
    ops: list[DecisionOp] = [PutDecision(decision)]
    for found in overlay.about(target):
        same_scope = found.scope == decision.scope and found.target == decision.target
        equal_below = decision.scope == "global" and found.scope == "workspace" and found.enabled == decision.enabled
        if (same_scope and found.key != decision.key) or (equal_below and not found.pinned):
            ops.append(DropDecision(found.slot))
    return tuple(ops)


def within_limit(overlay: Overlay, ops: Iterable[DecisionOp]) -> None:
    """Raises InvalidSet when these changes, which led to this overlay, are more than the host keeps (C8.1)."""
    if len(overlay.decisions.decisions) > DECISIONS and any(isinstance(op, PutDecision) for op in ops):
        raise InvalidSet(f"the host keeps {DECISIONS} decisions and has no room for another")


def _dropped(overlay: Overlay, target: Target, scope: Scope, slot: str) -> tuple[DecisionOp, ...]:
    mine = (found for found in overlay.about(target) if found.scope == scope and found.target == slot)
    return tuple(DropDecision(found.slot) for found in mine)


def _first(kept: list[Mapping[tuple[Scope, str], Decision]], scope: Scope, place: str) -> Decision | None:
    for decisions in kept:
        if (scope, place) in decisions:
            return decisions[scope, place]
    return None


def _effective_global(target: Target, overlay: Overlay, base: ClientBase) -> bool | None:
    return _global(overlay.find(target, "global", ""), target, base)


def _global(decided: Decision | None, target: Target, base: ClientBase) -> bool | None:
    """The global value to publish: overlay, base, a default that is off; None when it is on by nothing but default."""
    if decided is not None:
        return decided.enabled
    said = base_value(target, base)
    if said is not None:
        return said
    return None if target.default else False


def _session(value: bool) -> CustomizationEnablement:
    return {"kind": "session", "enabled": value}


def _by_scope(wanted: Iterable[CustomizationEnablement], place: Place) -> Mapping[Scope, bool]:
    values: dict[Scope, bool] = {}
    for entry in wanted:
        kind = entry["kind"]
        if kind not in SCOPES:
            raise InvalidSet("an entry has a kind other than session, workspace and global")
        if kind in values:
            raise InvalidSet(f"the set has two {kind} entries")
        if entry["kind"] == "workspace":
            if place.directory is None:
                raise InvalidSet("this session has no working directory to decide for")
            if not place.accepts(entry["uri"]):
                raise InvalidSet("the workspace entry names another directory than the session's primary one")
        values[kind] = entry["enabled"]
    return values
