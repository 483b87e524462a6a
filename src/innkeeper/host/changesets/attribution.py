"""Whose change is it: snapshots of a turn and the edit logs of all that worked beside it, combined (§10.11). Pure.

Rules
* A turn that worked alone in a repository has what differs between its two snapshots; its log adds what git does not
  see (ignored files, files outside of a repository).
* Turns that overlapped: a file that this turn's tools reported is its own; one that another turn's reports explain from
  first to last byte is the other's; one that both reported is shown under both, each with what its own edits made of
  it; one that nothing explains is shown under every turn that was there. Nothing is left out of all views.
* A chain of reports explains a change when it leads from the file's content in the first snapshot to that in the
  second, without a gap. Where contents are unknown, or are named differently by git (filters), it does not.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from innkeeper.host.changesets.book import ABSENT, Absent, Content, Edit, Known
from innkeeper.ports.git import FileChange

Why: TypeAlias = Literal["alone", "own", "shared", "unattributed"]


@dataclass(frozen=True, slots=True)
class Shown:
    """One file of a turn: `change` by snapshots, else `before` and `after` by reports."""

    path: str
    """Absolute."""
    why: Why
    change: FileChange | None = None
    old_path: str | None = None
    before: Known = None
    after: Known = None
    shared_with: tuple[str, ...] = ()
    """Turns that reported the same file."""
    lines: tuple[int, int] | None = None
    """Added and removed, as the reports counted them."""


@dataclass(frozen=True, slots=True)
class Net:
    """What a sequence of edits made of one file."""

    path: str
    old_path: str | None
    before: Known
    after: Known
    turns: tuple[str, ...]
    lines: tuple[int, int] | None = None

    @property
    def nothing(self) -> bool:
        """The file is as it was."""
        return self.old_path is None and self.before is not None and _same(self.before, self.after)


def net(edits: Iterable[Edit]) -> dict[str, Net]:
    """The edits of each file as one, by its last path; moves are followed."""
    found: dict[str, Net] = {}
    for edit in edits:
        earlier = found.pop(edit.old_path, None) if edit.old_path is not None else found.get(edit.path)
        if earlier is None:
            found[edit.path] = Net(edit.path, edit.old_path, edit.before, edit.after, (edit.turn,), edit.lines)
            continue
        began = earlier.old_path or edit.old_path
        turns = earlier.turns if edit.turn in earlier.turns else (*earlier.turns, edit.turn)
        began = None if began == edit.path else began
        lines = _sum(earlier.lines, edit.lines)
        found[edit.path] = Net(edit.path, began, earlier.before, edit.after, turns, lines)
    return found


def attribute(
    root: str,
    changes: Sequence[FileChange],
    own: Sequence[Edit],
    others: Sequence[Edit],
    *,
    overlapped: bool,
    tracked: frozenset[str] = frozenset(),
) -> list[Shown]:
    """The files of one turn in the repository at `root`: `changes` between its snapshots, `own` and `others` the edits
    of the turn and of those beside it, oldest first. `tracked` are files that the snapshots have: of those the
    snapshots know better than a report whether they changed, as long as the turn was alone."""
    mine, theirs = net(own), _by_path(others)
    shown: list[Shown] = []
    for change in changes:
        path = f"{root}/{change.path}"
        old = f"{root}/{change.old_path}" if change.old_path is not None else None
        reported = mine.pop(path, None) or (mine.pop(old, None) if old is not None else None)
        other = [*theirs.get(path, ()), *(theirs.get(old, ()) if old is not None else ())]
        found = _one(path, old, change, reported, other, overlapped)
        if found is not None:
            shown.append(found)
    left = [of for of in mine.values() if overlapped or of.path not in tracked]
    shown.extend(reported_only(left, theirs))
    return sorted(shown, key=lambda file: file.path)


def _one(
    path: str, old: str | None, change: FileChange, reported: Net | None, other: Sequence[Edit], overlapped: bool
) -> Shown | None:
    if not overlapped:
        return Shown(path, "alone", change, old)
    if reported is None:
        return None if explains(change, other) else Shown(path, "unattributed", change, old)
    if not other:
        return Shown(path, "own", change, old)
    beside = tuple(dict.fromkeys(edit.turn for edit in other))
    if reported.nothing:
        return None if explains(change, other) else Shown(path, "unattributed", change, old)
    if reported.before is None or reported.after is None:
        return Shown(path, "shared", change, old, shared_with=beside)
    return Shown(path, "shared", None, reported.old_path, reported.before, reported.after, beside)


def explains(change: FileChange, edits: Sequence[Edit]) -> bool:
    """Whether the edits, oldest first, lead from one snapshot's content to the other's. Edits before the first one that
    begins there are of an earlier time."""
    current, end = _id_before(change), _id_after(change)
    begun = False
    for edit in edits:
        before, after = _id(edit.before), _id(edit.after)
        if before is None or after is None:
            return False
        if before != current:
            if begun:
                return False
            continue
        begun, current = True, after
        if current == end:
            return True
    return False


def reported_only(nets: Iterable[Net], theirs: Mapping[str, Sequence[Edit]] | None = None) -> Iterable[Shown]:
    """What was reported and does not differ between the snapshots: git does not see it, or somebody changed it back."""
    for of in nets:
        if of.nothing:
            continue
        beside = tuple(dict.fromkeys(edit.turn for edit in (theirs or {}).get(of.path, ())))
        why: Why = "shared" if beside else "own"
        yield Shown(of.path, why, None, of.old_path, of.before, of.after, beside, of.lines)


def _sum(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if one is None or other is None else (one[0] + other[0], one[1] + other[1])


def _by_path(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    found: defaultdict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        if edit.old_path is None:
            found[edit.path].append(edit)
        else:
            found[edit.path].append(replace(edit, before=ABSENT))
            found[edit.old_path].append(replace(edit, path=edit.old_path, after=ABSENT))
    return found


def _id_before(change: FileChange) -> str:
    return "" if change.before is None or change.kind == "renamed" else change.before.id


def _id_after(change: FileChange) -> str:
    return "" if change.after is None else change.after.id


def _id(known: Known) -> str | None:
    match known:
        case Content(id=id):
            return id
        case Absent():
            return ""
        case None:
            return None


def _same(one: Known, other: Known) -> bool:
    return one is not None and other is not None and _id(one) == _id(other)
