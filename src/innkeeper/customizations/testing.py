"""Enablement that does nothing, for tests and tools of other parts (architecture §3.11).

A session cannot be resolved without an `Enablement`; who wants none says so with `everything_on`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from innkeeper.customizations.enablement import ON, ClientBase, Place, Resolved, Target
from innkeeper.customizations.places import Pending
from innkeeper.customizations.resolution import Context


@dataclass(frozen=True, slots=True)
class EverythingOn:
    """Every item is on, nobody decided, whatever is stored or said."""

    context: Context

    def decide(self, target: Target, base: ClientBase) -> Resolved | Pending:
        return ON


def everything_on(
    session: str = "ahp-session:/everything-on",
    directory: str | None = None,
    *,
    owners: Mapping[str, Sequence[str]] | None = None,
) -> EverythingOn:
    """Enablement without a decision, for a session in that directory."""
    return EverythingOn(
        Context(session=session, place=Place(session, directory), provider="console", owners=owners or {})
    )
