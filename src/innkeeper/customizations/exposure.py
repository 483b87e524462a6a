"""What reached the agent: the audit record of a launch or a change, and the exposure of a request (C5.4).

Rules
* A record has names, keys and verdicts; never an argument, a value of an environment variable or a definition's text.
* What the agent reported back is kept beside what it was told, so that a difference can be seen; neither is corrected
  by the other.
* `log_line` is one line a request.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from innkeeper.customizations.eligibility import verdicts
from innkeeper.customizations.explain import ProviderVerdict, Told
from innkeeper.customizations.places import Pending
from innkeeper.customizations.resolution import Resolution
from innkeeper.ports.customizations import WithheldReason

Occasion: TypeAlias = Literal["launch", "change"]


@dataclass(frozen=True, slots=True)
class AuditItem:
    """One item as it stood. `decisive`: the scope that decided, None for no decision. `tools`: of a server, offered or
    withheld with it."""

    id: str
    type: str
    name: str
    key: str | None
    decisive: str | None
    container: str | None
    told: Told
    reason: WithheldReason | None = None
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """At a launch or at a later change. `reported`: the names that the provider says its agent has; None: it says
    nothing. `at` is UTC, ISO 8601."""

    session: str
    at: str
    occasion: Occasion
    provider: str
    items: tuple[AuditItem, ...]
    reported: tuple[str, ...] | None = None

    def verdict_on(self, id: str) -> ProviderVerdict:
        """What explain says of the provider."""
        item = next((one for one in self.items if one.id == id), None)
        if item is None:
            return ProviderVerdict(self.provider, "unknown")
        listed = None if self.reported is None else item.name in self.reported
        mismatch = listed is not None and listed != (item.told == "offered")
        detail = "the agent's list differs from what it was told" if mismatch else None
        return ProviderVerdict(self.provider, item.told, listed, detail)

    @property
    def mismatches(self) -> tuple[str, ...]:
        """Ids of what was withheld and is listed all the same, or offered and is not."""
        return tuple(item.id for item in self.items if self.verdict_on(item.id).detail is not None)

    def to_json(self) -> Mapping[str, object]:
        record: dict[str, object] = {
            "session": self.session,
            "at": self.at,
            "occasion": self.occasion,
            "provider": self.provider,
            "items": [_item_json(item) for item in self.items],
        }
        return record if self.reported is None else {**record, "reported": list(self.reported)}


@dataclass(frozen=True, slots=True)
class ToolExposure:
    """The tools of one request to the model, by name."""

    session: str
    request: str
    offered: tuple[str, ...]
    withheld: tuple[str, ...]

    def log_line(self) -> str:
        """`tool exposure`, as JSON-free key=value text."""
        return (
            f"tool exposure session={self.session} request={self.request} "
            f"offered=[{','.join(self.offered)}] withheld=[{','.join(self.withheld)}]"
        )

    def to_json(self) -> Mapping[str, object]:
        return {
            "session": self.session,
            "request": self.request,
            "offered": list(self.offered),
            "withheld": list(self.withheld),
        }


def audit(
    resolution: Resolution,
    occasion: Occasion,
    at: str,
    tools: Mapping[str, Sequence[str]],
    reported: Iterable[str] | None = None,
) -> AuditRecord:
    """The record of what the provider is told now. `tools`: names by the id of a server."""
    reasons = verdicts(resolution)
    items = []
    for item in resolution.items.values():
        verdict, reason = item.verdict, reasons[item.id]
        decided = () if isinstance(verdict, Pending) else verdict.enablement
        items.append(
            AuditItem(
                id=item.id,
                type=item.raw.type,
                name=item.raw.name,
                key=None if item.target is None else item.target.key,
                decisive=decided[0]["kind"] if decided else None,
                container=item.container,
                told="offered" if reason is None else "withheld",
                reason=reason,
                tools=tuple(tools.get(item.id, ())),
            )
        )
    known = None if reported is None else tuple(reported)
    return AuditRecord(resolution.context.session, at, occasion, resolution.context.provider, tuple(items), known)


def expose(session: str, request: str, offered: Iterable[str], known: Iterable[str]) -> ToolExposure:
    """The exposure of a request: `offered` is its tool list, `known` every tool that there is."""
    given = tuple(sorted(set(offered)))
    return ToolExposure(session, request, given, tuple(sorted(set(known).difference(given))))


def _item_json(item: AuditItem) -> dict[str, object]:
    fields: dict[str, object] = {"id": item.id, "type": item.type, "name": item.name, "told": item.told}
    optional = {"key": item.key, "decisive": item.decisive, "container": item.container, "reason": item.reason}
    fields |= {name: value for name, value in optional.items() if value is not None}
    return {**fields, "tools": list(item.tools)} if item.tools else fields
