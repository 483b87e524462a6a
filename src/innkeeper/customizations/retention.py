"""Decisions whose session or target is gone (C2.4, C8.1).

Rules
* No decision is given up while its target exists. One whose target is gone is kept `ORPHAN_DAYS`, counted from when it
  was first missed, then reported and removed.
* A session's decisions go with the session.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from innkeeper.customizations.enablement import Overlay
from innkeeper.limits import ORPHAN_DAYS
from innkeeper.ports.decisions import Decision, DropDecision, Scope

Slot = tuple[str, Scope, str]


@dataclass(frozen=True, slots=True)
class Orphans:
    """`missed` says of each orphan since when, UTC, ISO 8601: keep it for the next report. `expired` are to be removed
    by `ops` and told."""

    missed: Mapping[Slot, str]
    expired: tuple[Decision, ...]

    @property
    def ops(self) -> tuple[DropDecision, ...]:
        return tuple(DropDecision(decision.slot) for decision in self.expired)


def report_orphans(
    overlay: Overlay, exists: Callable[[Decision], bool], missed: Mapping[Slot, str], now: str
) -> Orphans:
    """What is orphaned by `now`. `exists` says whether a decision's target, and the session or directory it is for,
    are there, or cannot be known to be gone; `missed` is that of the last report."""
    oldest = datetime.fromisoformat(now) - timedelta(days=ORPHAN_DAYS)
    since: dict[Slot, str] = {}
    expired: list[Decision] = []
    for decision in overlay.decisions.decisions:
        if exists(decision):
            continue
        first = missed.get(decision.slot, now)
        if datetime.fromisoformat(first) <= oldest:
            expired.append(decision)
        else:
            since[decision.slot] = first
    return Orphans(since, tuple(expired))


def of_session(overlay: Overlay, session: str) -> tuple[DropDecision, ...]:
    """What to drop when the session is deleted."""
    mine = (found for found in overlay.decisions.decisions if found.scope == "session" and found.target == session)
    return tuple(DropDecision(found.slot) for found in mine)
