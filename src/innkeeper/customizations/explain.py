"""Why an item is on, off or undecided: the whole chain, as a value (C5.3).

Rules
* An explanation is made from the same resolution that decides; it decides nothing.
* It has every scope, also those without a decision, with what they would inherit, who owns it and the stored key.
* `to_json` has names and states only: what a definition contains is not in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from innkeeper.customizations.eligibility import verdicts
from innkeeper.customizations.enablement import SCOPES, Overlay, Target, base_value, inherit, slot_in
from innkeeper.customizations.places import Pending, PendingReason, Place
from innkeeper.customizations.resolution import HOST, Item, Resolution
from innkeeper.ports.customizations import WithheldReason
from innkeeper.ports.decisions import Scope

Told: TypeAlias = Literal["offered", "withheld", "unknown"]
DecidedBy: TypeAlias = Literal["session", "workspace", "global", "client", "default", "nobody"]


@dataclass(frozen=True, slots=True)
class ProviderVerdict:
    """What the session's provider did about it, from the last exposure record: what it was told, and whether its agent
    listed it since (None: it does not say)."""

    provider: str
    told: Told
    listed: bool | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ScopeStep:
    """One scope. `stored` None: no decision of its own, it holds `inherited`. `target`: the session, the workspace's
    key or "" under which it stands; None: there is no such scope here."""

    scope: Scope
    owner: str
    key: str
    target: str | None
    stored: bool | None
    inherited: bool
    decided_at: str | None = None
    pinned: bool = False
    follows_client: bool = False
    """It has the client's value because it has none of its own."""
    overrides_client: bool = False
    """It is the host's, and differs from what the owning client says; the client's value, written, removes it."""


@dataclass(frozen=True, slots=True)
class ContainerStep:
    """The plugin or directory that it is in. Off, pending or unreadable, it withholds the item whatever that says."""

    id: str
    name: str
    on: bool
    withheld: WithheldReason | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """The chain of one item in one session. `on`: it may reach the model. `withheld`: why it may not."""

    session: str
    id: str
    type: str
    name: str
    uri: str
    owner: str
    key: str | None
    on: bool
    own: bool | None
    """By its own decisions; None while pending."""
    decided_by: DecidedBy | None
    withheld: WithheldReason | None
    pending: PendingReason | None = None
    error: str | None = None
    directory: str | None = None
    default: bool = True
    client: bool | None = None
    """What the owning client says."""
    scopes: tuple[ScopeStep, ...] = ()
    container: ContainerStep | None = None
    provider: ProviderVerdict | None = None

    def to_json(self) -> Mapping[str, object]:
        """For `why --json` and the extension command: camel case, absent where there is nothing to say."""
        return _json(self)


def explain(
    id: str, resolution: Resolution, overlay: Overlay, provider: ProviderVerdict | None = None
) -> Explanation | None:
    """The chain of the item with that id; None for no such item."""
    item = resolution.items.get(id)
    if item is None:
        return None
    withheld = verdicts(resolution)
    place = resolution.context.place
    known = None if isinstance(place, Pending) else place
    pending = item.verdict if isinstance(item.verdict, Pending) else None
    steps = () if known is None or item.target is None else _steps(item, item.target, known, overlay, resolution)
    return Explanation(
        session=resolution.context.session,
        id=id,
        type=item.raw.type,
        name=item.raw.name,
        uri=item.raw.uri,
        owner=item.owner,
        key=None if item.target is None else item.target.key,
        on=withheld[id] is None,
        own=None if pending else item.on,
        decided_by=None if pending else _decided_by(item, steps, resolution),
        withheld=withheld[id],
        pending=None if pending is None else pending.reason,
        error=None if pending is None else pending.error,
        directory=None if known is None else known.directory,
        default=True if item.target is None else item.target.default,
        client=None if item.target is None else base_value(item.target, resolution.base),
        scopes=steps,
        container=_container(item, resolution, withheld),
        provider=provider,
    )


def find(name: str, resolution: Resolution) -> tuple[str, ...]:
    """The ids that a person may mean by a name: an id, else every item of that name, else of `container/name`."""
    if name in resolution.items:
        return (name,)
    named = tuple(item.id for item in resolution.items.values() if item.raw.name == name)
    if named:
        return named
    full = {item.id: _path(item, resolution) for item in resolution.items.values()}
    return tuple(id for id, path in full.items() if path == name)


def _path(item: Item, resolution: Resolution) -> str:
    if item.container is None:
        return item.raw.name
    return f"{resolution.items[item.container].raw.name}/{item.raw.name}"


def _steps(item: Item, target: Target, place: Place, overlay: Overlay, resolution: Resolution) -> tuple[ScopeStep, ...]:
    return tuple(_step(scope, item, target, place, overlay, resolution) for scope in SCOPES)


def _step(
    scope: Scope, item: Item, target: Target, place: Place, overlay: Overlay, resolution: Resolution
) -> ScopeStep:
    slot = slot_in(scope, place)
    found = overlay.find(target, scope, slot)
    said = base_value(target, resolution.base)
    inherited = inherit(scope, target, place, overlay, resolution.base)
    is_global = scope == "global"
    return ScopeStep(
        scope=scope,
        owner=item.owner if is_global else HOST,
        key=target.key if found is None else found.key,
        target=slot,
        stored=None if found is None else found.enabled,
        inherited=inherited,
        decided_at=None if found is None else found.decided_at,
        pinned=found is not None and found.pinned,
        follows_client=is_global and found is None and said is not None,
        overrides_client=is_global and found is not None and said is not None and found.enabled != said,
    )


def _decided_by(item: Item, steps: tuple[ScopeStep, ...], resolution: Resolution) -> DecidedBy:
    first = next((step.scope for step in steps if step.stored is not None), None)
    if first is not None or item.target is None:
        return first or "nobody"
    if base_value(item.target, resolution.base) is not None:
        return "client"
    return "nobody" if item.target.default else "default"


def _container(
    item: Item, resolution: Resolution, withheld: Mapping[str, WithheldReason | None]
) -> ContainerStep | None:
    found = None if item.container is None else resolution.items[item.container]
    if found is None and item.plugin is not None:
        plugins = (one for one in resolution.items.values() if one.raw.type == "plugin" and one.raw.uri == item.plugin)
        found = next(plugins, None)
    return None if found is None else ContainerStep(found.id, found.raw.name, found.on, withheld[found.id])


def _json(value: object) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name in value.__dataclass_fields__:  # type: ignore[attr-defined]
        content = getattr(value, name)
        if content is None:
            continue
        head, *rest = name.split("_")
        key = head + "".join(word.capitalize() for word in rest)
        if isinstance(content, tuple):
            fields[key] = [_json(one) for one in content]
        else:
            fields[key] = _json(content) if hasattr(content, "__dataclass_fields__") else content
    return fields
