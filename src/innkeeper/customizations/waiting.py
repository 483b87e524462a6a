"""Edits that wait until their item is no longer pending (C4.3).

Rules
* An edit waits whole and is applied whole, or refused whole: nothing of it, not even its global part, happens early.
* A complete set replaces what waits for the item; of single scopes the newest counts. A live write to the item replaces
  all that waits for it.
* Each edit is answered in the end: stored, refused with a reason, or replaced by a newer one. Until then its sender has
  no echo, so a host that ends in between has acknowledged nothing that it did not store. Nothing here raises.
"""

from collections.abc import Collection
from dataclasses import dataclass

from innkeeper.customizations.edits import Edit, Refused, Replace, Stored, apply
from innkeeper.customizations.enablement import Overlay
from innkeeper.customizations.places import Pending
from innkeeper.customizations.resolution import Resolution
from innkeeper.ports.decisions import DecisionOp

REPLACED = Refused("a newer change of this item came before it could be applied")
WAITING_EDITS = 100
FULL = Refused(f"{WAITING_EDITS} changes wait for this session already; try again")


@dataclass(frozen=True, slots=True)
class WaitingEdit:
    """`ticket` tells whom to answer."""

    ticket: str
    session: str
    id: str
    edit: Edit


@dataclass(frozen=True, slots=True)
class Answer:
    to: WaitingEdit
    outcome: Stored | Refused


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits, oldest first. Each change gives the next value, and the answers that are due."""

    edits: tuple[WaitingEdit, ...] = ()

    def add(self, new: WaitingEdit) -> tuple["Waiting", tuple[Answer, ...]]:
        """With one more. It is refused when too many wait for its session."""
        replaced = tuple(edit for edit in self.edits if _replaces(new, edit))
        kept = tuple(edit for edit in self.edits if edit not in replaced)
        if sum(edit.session == new.session for edit in kept) >= WAITING_EDITS:
            return self, (Answer(new, FULL),)
        return Waiting((*kept, new)), tuple(Answer(edit, REPLACED) for edit in replaced)

    def overtaken(self, session: str, ids: Collection[str]) -> tuple["Waiting", tuple[Answer, ...]]:
        """After a live write to an item; `ids` are all under which it is known (`Resolution.sharing`)."""
        replaced = tuple(edit for edit in self.edits if edit.session == session and edit.id in ids)
        return self._without(replaced), tuple(Answer(edit, REPLACED) for edit in replaced)

    def closed(self, session: str) -> "Waiting":
        """After a session was deleted."""
        return self._without(tuple(edit for edit in self.edits if edit.session == session))

    def settle(
        self, session: str, resolution: Resolution, overlay: Overlay, now: str
    ) -> tuple["Waiting", tuple[Answer, ...], Overlay]:
        """Apply what no longer has to wait, item by item in the order in which the edits came. Call it whenever a
        reason for pending has ended. Gives the overlay after all of it; each `Stored` has the rows of its item."""
        answers: list[Answer] = []
        groups: dict[str, list[WaitingEdit]] = {}
        for edit in self.edits:
            if edit.session == session:
                item = resolution.items.get(edit.id)
                key = edit.id if item is None or item.target is None else item.target.key
                groups.setdefault(key, []).append(edit)
        for group in groups.values():
            outcome = _together(group, resolution, overlay, now)
            if isinstance(outcome, Pending):
                continue
            if isinstance(outcome, Stored):
                overlay = outcome.overlay
                answers += [Answer(edit, Stored((), overlay, outcome.resolved)) for edit in group[:-1]]
                answers.append(Answer(group[-1], outcome))
            else:
                answers += [Answer(edit, outcome) for edit in group]
        return self._without([answer.to for answer in answers]), tuple(answers), overlay

    def _without(self, gone: Collection[WaitingEdit]) -> "Waiting":
        return Waiting(tuple(edit for edit in self.edits if edit not in gone)) if gone else self


def _replaces(new: WaitingEdit, old: WaitingEdit) -> bool:
    if (new.session, new.id) != (old.session, old.id):
        return False
    if isinstance(new.edit, Replace):
        return True
    return not isinstance(old.edit, Replace) and old.edit.scope == new.edit.scope


def _together(
    edits: list[WaitingEdit], resolution: Resolution, overlay: Overlay, now: str
) -> Stored | Refused | Pending:
    """All edits of one item, or none: the first that cannot be made decides."""
    ops: list[DecisionOp] = []
    outcome: Stored | Refused | Pending = Pending("discovery")
    for edit in edits:
        outcome = apply(edit.id, edit.edit, resolution, overlay, now)
        if not isinstance(outcome, Stored):
            return outcome
        ops += outcome.ops
        overlay = outcome.overlay
    return Stored(tuple(ops), overlay, outcome.resolved) if isinstance(outcome, Stored) else outcome
