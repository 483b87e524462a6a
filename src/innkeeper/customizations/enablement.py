"""Scoped decisions: what is stored, what is inherited, what is published (C1.1-C1.4, C2.1-C2.3, C8.1).

Rules
* Base and overlay are different types: the base is what the owning client says (memory, per session), the overlay is
  what the host's users decided (durable). Nothing writes a base into an overlay.
* Inheritance: overlay, base, discovery default, on. A write that equals what it would inherit removes the entry.
* A toggle replaces the complete set: global, then workspace, then session, each compared with the new outer ones; a
  scope that is left out is cleared. Storing a global decision drops the workspace entries that equal it, everywhere.
* Published is most specific first, at most one a scope; the first one decides, none means on.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from innkeeper.customizations.identity import workspace_key
from innkeeper.limits import DECISIONS
from innkeeper.ports.decisions import Decision, DecisionOp, Decisions, DropDecision, PutDecision, Scope
from innkeeper.protocol.session.state import Customization, CustomizationEnablement

SCOPES: Final[tuple[Scope, ...]] = ("session", "workspace", "global")
"""Most specific first."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is decided about. `default` is the discovery default; `bundled` says that a client owns its global value."""

    key: str
    default: bool = True
    bundled: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where: a session, and its primary directory as the session states it (None: a session without one)."""

    session: str
    directory: str | None = None
    ignores_case: bool = False

    @property
    def workspace(self) -> str | None:
        """The directory's key."""
        return None if self.directory is None else workspace_key(self.directory, ignores_case=self.ignores_case)


@dataclass(frozen=True, slots=True)
class Base:
    """What clients say about what they bundled, in one session: key to value (C2.2)."""

    values: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overlay:
    """The host's durable decisions (C2.2)."""

    decisions: Decisions = field(default_factory=Decisions)

    def value(self, key: str, scope: Scope, target: str | None) -> bool | None:
        """The decision of that slot; None when there is none, or no such scope here."""
        slot = (key, scope, target)
        return next((found.enabled for found in self.decisions.decisions if found.slot == slot), None)


@dataclass(frozen=True, slots=True)
class Resolved:
    """`enablement` as it is published: sorted, empty when nothing was decided."""

    enablement: tuple[CustomizationEnablement, ...]
    enabled: bool


class InvalidSet(Exception):
    """A set of decisions cannot be stored; the text says why."""


def resolve(target: Target, place: Place, overlay: Overlay, base: Base) -> Resolved:
    """What holds for the target in that place."""
    found: list[CustomizationEnablement] = []
    session = overlay.value(target.key, "session", place.session)
    if session is not None:
        found.append({"kind": "session", "enabled": session})
    workspace = overlay.value(target.key, "workspace", place.workspace)
    if workspace is not None and place.directory is not None:
        found.append({"kind": "workspace", "uri": place.directory, "enabled": workspace})
    everywhere = _effective_global(target, overlay, base)
    if everywhere is not None:
        found.append({"kind": "global", "enabled": everywhere})
    return Resolved(tuple(found), found[0]["enabled"] if found else True)


def inherit(scope: Scope, target: Target, place: Place, overlay: Overlay, base: Base) -> bool:
    """What holds in that scope while it has no decision of its own (C2.3)."""
    outer = base.values.get(target.key) if target.bundled else None
    match scope:
        case "global":
            return target.default if outer is None else outer
        case "workspace":
            effective = _effective_global(target, overlay, base)
            return target.default if effective is None else effective
        case "session":
            workspace = overlay.value(target.key, "workspace", place.workspace)
            return inherit("workspace", target, place, overlay, base) if workspace is None else workspace
        case _:
            assert_never(scope)


def put(
    scope: Scope, value: bool | None, target: Target, place: Place, overlay: Overlay, base: Base, now: str
) -> tuple[DecisionOp, ...]:
    """The change that gives the scope this value; None, or what it would inherit, removes the entry. Nothing to do is
    an empty change. A workspace value needs a directory. `now` is UTC, ISO 8601."""
    slot_target = {"session": place.session, "workspace": place.workspace, "global": ""}[scope]
    if slot_target is None:
        if value is None:
            return ()
        raise InvalidSet("this session has no working directory to decide for")
    current = overlay.value(target.key, scope, slot_target)
    if value is None or value == inherit(scope, target, place, overlay, base):
        return () if current is None else (DropDecision((target.key, scope, slot_target)),)
    if value == current:
        return ()
    stored = PutDecision(Decision(target.key, scope, slot_target, value, now))
    if scope != "global":
        return (stored,)
    equal = (
        DropDecision(found.slot)
        for found in overlay.decisions.decisions
        if found.key == target.key and found.scope == "workspace" and found.enabled == value
    )
    return (stored, *equal)


def replace(
    wanted: Sequence[CustomizationEnablement], target: Target, place: Place, overlay: Overlay, base: Base, now: str
) -> tuple[tuple[DecisionOp, ...], Overlay]:
    """The change that makes `wanted` the complete set, and the overlay after it. Raises InvalidSet."""
    values = _by_scope(wanted, place)
    ops: list[DecisionOp] = []
    for scope in reversed(SCOPES):
        change = put(scope, values.get(scope), target, place, overlay, base, now)
        ops.extend(change)
        overlay = Overlay(overlay.decisions.apply(change))
    if len(overlay.decisions.decisions) > DECISIONS and any(isinstance(op, PutDecision) for op in ops):
        raise InvalidSet(f"the host keeps {DECISIONS} decisions and has no room for another")
    return tuple(ops), overlay


def set_client_base(base: Base, target: Target, value: bool | None) -> Base:
    """The base after the owning client said so, or stopped saying anything; the same one when nothing changes. What a
    client says about an item that it did not bundle is ignored (C2.1)."""
    if not target.bundled or base.values.get(target.key) is value:
        return base
    others = {key: kept for key, kept in base.values.items() if key != target.key}
    return Base(others if value is None else {**others, target.key: value})


def is_on(item: Customization | Mapping[str, object]) -> bool:
    """Whether a published item is on by its own decision, its container not counted (C1.4b)."""
    content: Mapping[str, object] = {**item}
    if content.get("type") in ("plugin", "mcpServer"):
        decisions = content.get("enablement")
        first = decisions[0] if isinstance(decisions, Sequence) and decisions else {}
        return first.get("enabled") is not False if isinstance(first, Mapping) else True
    return content.get("enabled") is not False


def _effective_global(target: Target, overlay: Overlay, base: Base) -> bool | None:
    """The global value to publish: overlay, base, a default that is off; None when it is on by nothing but default."""
    stored = overlay.value(target.key, "global", "")
    if stored is not None:
        return stored
    said = base.values.get(target.key) if target.bundled else None
    if said is not None:
        return said
    return None if target.default else False


def _by_scope(wanted: Iterable[CustomizationEnablement], place: Place) -> Mapping[Scope, bool]:
    values: dict[Scope, bool] = {}
    for entry in wanted:
        kind = entry["kind"]
        if kind not in SCOPES:
            raise InvalidSet("an entry has a kind other than session, workspace and global")
        if kind in values:
            raise InvalidSet(f"the set has two {kind} entries")
        if entry["kind"] == "workspace" and _key(entry["uri"], place) != place.workspace:
            raise InvalidSet("the workspace entry names another directory than the session's primary one")
        values[kind] = entry["enabled"]
    return values


def _key(uri: str, place: Place) -> str | None:
    return None if place.directory is None else workspace_key(uri, ignores_case=place.ignores_case)
