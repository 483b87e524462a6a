"""What git writes with `-z`, as values of the port.

Rules
* Pure functions of bytes. What a newer git adds (unknown headers, attributes) is passed over.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from innkeeper.ports.git import Branch, ChangeKind, FileType, Status, StatusEntry, Worktree

KINDS: Final[dict[str, ChangeKind]] = {
    "M": "edited",
    "T": "edited",
    "A": "added",
    "C": "added",
    "D": "deleted",
    "R": "renamed",
}
TYPES: Final[dict[str, FileType]] = {
    "100644": "file",
    "100664": "file",
    "100755": "executable",
    "120000": "symlink",
    "160000": "submodule",
}
BRANCH_FIELDS: Final = (
    "refname",
    "objectname",
    "HEAD",
    "upstream",
    "upstream:track,nobracket",
    "worktreepath",
)
BRANCH_FORMAT: Final = "".join(f"%({field})%00" for field in BRANCH_FIELDS)
LOCAL: Final = "refs/heads/"
REMOTE: Final = "refs/remotes/"


class RawChange(NamedTuple):
    """One record of `--raw`; ids are all zeros where a side has nothing, types are None there."""

    kind: ChangeKind
    path: str
    old_path: str | None
    before: tuple[FileType, str] | None
    after: tuple[FileType, str] | None


class Lines(NamedTuple):
    added: int | None
    removed: int | None


def parse_status(out: bytes, limit: int) -> Status:
    """`status --porcelain=v2 --branch -z`."""
    records = iter(out.split(b"\0"))
    entries: list[StatusEntry] = []
    upstream, ahead, behind = None, 0, 0
    for record in records:
        kind, _, rest = record.partition(b" ")
        if kind == b"#":
            name, _, value = rest.decode("utf-8", "surrogateescape").partition(" ")
            if name == "branch.upstream":
                upstream = value
            elif name == "branch.ab" and (numbers := re.fullmatch(r"\+(\d+) -(\d+)", value)):
                ahead, behind = int(numbers[1]), int(numbers[2])
        elif kind == b"1":
            fields = rest.split(b" ", 7)
            entries.append(_entry(fields[0], fields[7]))
        elif kind == b"2":
            fields = rest.split(b" ", 8)
            entries.append(_entry(fields[0], fields[8], os.fsdecode(next(records))))
        elif kind == b"u":
            entries.append(StatusEntry(os.fsdecode(rest.split(b" ", 9)[9]), unmerged=True))
        elif kind == b"?":
            entries.append(StatusEntry(os.fsdecode(rest), untracked=True))
    entries.sort(key=lambda entry: os.fsencode(entry.path))
    return Status(entries[:limit], max(0, len(entries) - limit), upstream, ahead, behind)


def _entry(letters: bytes, path: bytes, old_path: str | None = None) -> StatusEntry:
    staged, unstaged = (KINDS.get(letter) for letter in letters.decode("ascii"))
    return StatusEntry(os.fsdecode(path), old_path, staged, unstaged)


def parse_raw_and_lines(out: bytes) -> tuple[list[RawChange], dict[str, Lines]]:
    """`diff-tree -z --raw --numstat`: the changes, and lines by the new path."""
    changes: list[RawChange] = []
    lines: dict[str, Lines] = {}
    records = iter(out.split(b"\0"))
    for record in records:
        if record.startswith(b":"):
            changes.append(_raw(record, records))
        elif record:
            added, removed, path = record.split(b"\t", 2)
            if not path:
                next(records)
                path = next(records)
            lines[os.fsdecode(path)] = Lines(_number(added), _number(removed))
    return changes, lines


def _raw(record: bytes, records: Iterator[bytes]) -> RawChange:
    old_mode, new_mode, old_id, new_id, status = record[1:].decode("ascii").split(" ")
    kind = KINDS[status[0]]
    path = os.fsdecode(next(records))
    old_path = None
    if status[0] in "RC":
        old_path, path = path, os.fsdecode(next(records))
    before, after = _side(old_mode, old_id), _side(new_mode, new_id)
    return RawChange(kind, path, old_path if kind == "renamed" else None, before, after)


def _side(mode: str, identity: str) -> tuple[FileType, str] | None:
    return None if mode == "000000" else (TYPES.get(mode, "file"), identity)


def _number(text: bytes) -> int | None:
    return None if text == b"-" else int(text)


def parse_branches(out: bytes) -> list[Branch]:
    """`for-each-ref --format=BRANCH_FORMAT`."""
    fields = out.split(b"\0")
    count = len(BRANCH_FIELDS)
    return [_branch(fields[start : start + count]) for start in range(0, len(fields) - count, count)]


def _branch(fields: Sequence[bytes]) -> Branch:
    ref, commit, head, upstream, track, worktree = (os.fsdecode(field) for field in fields)
    ref = ref.removeprefix("\n")
    ahead, behind = (re.search(rf"{word} (\d+)", track) for word in ("ahead", "behind"))
    return Branch(
        name=short(ref),
        commit=commit,
        remote=ref.startswith(REMOTE),
        current=head == "*",
        upstream=short(upstream) if upstream and track != "gone" else None,
        ahead=int(ahead[1]) if ahead else 0,
        behind=int(behind[1]) if behind else 0,
        worktree=worktree or None,
    )


def short(ref: str) -> str:
    """The name of a branch without where it is kept."""
    return ref.removeprefix(LOCAL).removeprefix(REMOTE)


def parse_worktrees(out: bytes, separator: bytes = b"\0") -> list[Worktree]:
    """`worktree list --porcelain`, with `-z` or, before git 2.36, in lines."""
    found: list[Worktree] = []
    for block in out.split(separator * 2):
        attributes = dict(_attribute(line) for line in block.split(separator) if line)
        if "worktree" not in attributes:
            continue
        head = attributes.get("HEAD")
        branch = attributes.get("branch")
        found.append(
            Worktree(
                path=attributes["worktree"],
                head=head if head and head.strip("0") else None,
                branch=short(branch) if branch else None,
                main=not found,
                locked="locked" in attributes,
                prunable="prunable" in attributes,
            )
        )
    return found


def _attribute(line: bytes) -> tuple[str, str]:
    name, _, value = line.partition(b" ")
    return name.decode("ascii", "replace"), os.fsdecode(value)
