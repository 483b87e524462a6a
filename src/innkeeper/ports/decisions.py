"""Decisions and grants as they are stored (spec C1.1-C1.3, C2.1-C2.3, C3.1-C3.3, C8.1, M4.2b, M6.1).

A decision says whether one customization is on in one scope; a grant says that a person allowed one declared server,
or one of its tools, in one workspace, for the declaration with that fingerprint. Both are written in the same
transaction as the envelope that announces them (`ports.log`), and read from memory.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from innkeeper.engine.records import Row

Scope = Literal["session", "workspace", "global"]
GrantKind = Literal["server", "tool"]


class Decision(NamedTuple):
    """One durable decision. `key` comes from `customizations.identity` alone (C3.1)."""

    key: str
    scope: Scope
    target: str
    """Session URI, normalised workspace URI, or "" for the global scope."""
    enabled: bool
    decided_at: str
    """UTC, ISO 8601."""
    pinned: bool = False
    """Held although it equals the client's base (C2.3b)."""

    @property
    def slot(self) -> tuple[str, Scope, str]:
        return (self.key, self.scope, self.target)


class Grant(NamedTuple):
    """One stored permission of a person (M4.2b): void once the declaration's fingerprint differs."""

    workspace: str
    """Normalised URI of the directory that the user opened (M4.1c)."""
    kind: GrantKind
    name: str
    """Server name, or `mcp__<server>__<tool>`."""
    fingerprint: str
    granted_at: str

    @property
    def slot(self) -> tuple[str, GrantKind, str]:
        return (self.workspace, self.kind, self.name)


@dataclass(frozen=True, slots=True)
class PutDecision(Row):
    decision: Decision


@dataclass(frozen=True, slots=True)
class DropDecision(Row):
    slot: tuple[str, Scope, str]


@dataclass(frozen=True, slots=True)
class PutGrant(Row):
    grant: Grant


@dataclass(frozen=True, slots=True)
class DropGrant(Row):
    slot: tuple[str, GrantKind, str]


DecisionOp = PutDecision | DropDecision | PutGrant | DropGrant
DECISION_OPS = (PutDecision, DropDecision, PutGrant, DropGrant)


@dataclass(frozen=True)
class Decisions:
    """All decisions and grants of a host, as a value: `apply` gives the next one, the same one when nothing changes."""

    decisions: tuple[Decision, ...] = ()
    grants: tuple[Grant, ...] = ()

    @cached_property
    def by_key(self) -> Mapping[str, Mapping[tuple[Scope, str], Decision]]:
        """The decisions by key, then by scope and target. Made once a value: reading is frequent, writing is not."""
        index: dict[str, dict[tuple[Scope, str], Decision]] = {}
        for decision in self.decisions:
            index.setdefault(decision.key, {})[decision.scope, decision.target] = decision
        return index

    def apply(self, ops: Iterable[DecisionOp]) -> "Decisions":
        result = self
        for op in ops:
            match op:
                case PutDecision(decision):
                    kept = tuple(d for d in result.decisions if d.slot != decision.slot)
                    result = replace(result, decisions=(*kept, decision))
                case DropDecision(slot):
                    result = replace(result, decisions=tuple(d for d in result.decisions if d.slot != slot))
                case PutGrant(grant):
                    kept_grants = tuple(g for g in result.grants if g.slot != grant.slot)
                    result = replace(result, grants=(*kept_grants, grant))
                case DropGrant(slot):
                    result = replace(result, grants=tuple(g for g in result.grants if g.slot != slot))
        return result


NO_DECISIONS = Decisions()
