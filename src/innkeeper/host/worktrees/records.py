"""What the host knows of the worktrees that it made (C3.3): one record a session, kept in a note.

Rules
* A record is written before git is asked, with what is about to be done, so that a host that was killed in the middle
  finds it. Written means read back equal: what could not be written is not begun.
* A note that is damaged is not guessed at: what it names badly is left out, and the worktree stays where it is.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, get_args

from innkeeper.ports.notes import Notes

Stage = Literal["making", "made", "archiving", "removing", "archived", "deleting"]
"""`archiving`: all is there, and is going to be committed and removed. From `removing` on the directory may be half."""
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Record:
    """One worktree. `directory` and `place` are URIs: what the person opened, and what the session works in."""

    session: str
    stage: Stage
    root: str
    """A working tree of the repository that stays; git is run there."""
    common: str
    path: str
    branch: str
    at: str
    """The commit that a new branch began at."""
    new_branch: bool
    directory: str
    place: str
    include: Sequence[str] = ()
    """Globs of ignored files that are copied."""
    source: str = ""
    """The working tree that they are copied from."""
    follow: str = ""
    """The branch that a new one has for upstream, empty for none."""


class NotWritten(Exception):
    """The note could not be written."""


class Records:
    """All of them, in memory and in the note."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._records: dict[str, Record] = {}
        self._writing = asyncio.Lock()

    async def load(self) -> None:
        document = await asyncio.to_thread(self._notes.load)
        rows = document.get("worktrees") if isinstance(document, Mapping) else None
        for row in rows if isinstance(rows, list) else ():
            record = _record(row)
            if record is not None:
                self._records[record.session] = record

    def get(self, session: str) -> Record | None:
        return self._records.get(session)

    def all(self) -> Sequence[Record]:
        return tuple(self._records.values())

    async def put(self, record: Record) -> None:
        """Raises NotWritten; the record is as it was then."""
        await self._change(record.session, record)

    async def drop(self, session: str) -> None:
        """Raises NotWritten."""
        await self._change(session, None)

    async def _change(self, session: str, record: Record | None) -> None:
        async with self._writing:
            changed = {key: value for key, value in self._records.items() if key != session}
            if record is not None:
                changed[session] = record
            document = {"version": VERSION, "worktrees": [_row(one) for one in changed.values()]}
            # Shielded: a turn that is cancelled here must not leave note and memory different.
            written = await asyncio.shield(asyncio.to_thread(_written, self._notes, document))
            if not written:
                raise NotWritten
            self._records = changed


def _written(notes: Notes, document: Mapping[str, Any]) -> bool:
    notes.save(document)
    return notes.load() == document


def _row(record: Record) -> dict[str, Any]:
    return {**asdict(record), "include": list(record.include)}


def _record(row: Any) -> Record | None:
    known = {field.name for field in fields(Record)}
    if not isinstance(row, Mapping) or row.get("stage") not in get_args(Stage):
        return None
    values = {name: value for name, value in row.items() if name in known}
    include = values.pop("include", [])
    new_branch = values.pop("new_branch", None)
    if not isinstance(include, list) or not isinstance(new_branch, bool):
        return None
    if not all(isinstance(value, str) for value in (*values.values(), *include)):
        return None
    try:
        return Record(**values, new_branch=new_branch, include=tuple(include))
    except TypeError:
        return None
