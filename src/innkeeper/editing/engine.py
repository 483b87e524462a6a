"""parse, path, span, splice: the engine behind every editor of a person's file (M8.1, M8.4).

Rules
* The output is the old text with disjoint spans replaced: prefix + new + suffix. A byte order mark, line ends and the
  final newline are part of what is kept.
* Nothing leaves here unproved: the new text parses, its data is the old data with the one change, and every byte
  outside the spans is equal. The parser that proves is not the scanner that found the spans. Else `EditUnsafe`.
* A table or list that is written down nowhere itself may vanish with its last entry; that is the one other outcome
  that is accepted for a deletion.
"""

import codecs
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from innkeeper.editing.edits import Delete, Edit, NoSuchPlace, Path, applied, prunings, same
from innkeeper.editing.refusals import EditUnsafe


@dataclass(frozen=True, slots=True)
class Splice:
    """What stands between two offsets is replaced by a text."""

    start: int
    end: int
    text: str = ""


class Format(Protocol):
    """A front end of the engine: one syntax."""

    def parse(self, text: str) -> Any:
        """The data of a text. Raises `EditUnsafe` (syntax, duplicate)."""
        ...

    def steps(self, text: str, data: Any, edit: Edit) -> Sequence[Edit]:
        """The edit as a sequence of small ones, each of which is one step of `splices`. Equal values are no step."""
        ...

    def splices(self, text: str, step: Edit) -> Sequence[Splice]:
        """Where the text changes for one step. Raises `EditUnsafe`."""
        ...

    def obstacle(self, text: str, path: Path) -> EditUnsafe:
        """Why the path leads nowhere, with the place that is in the way."""
        ...


def edit_bytes(syntax: Format, old: bytes, edits: Iterable[Edit]) -> bytes:
    """The file with the edits, one after the other; the same bytes when nothing changes. Raises `EditUnsafe`."""
    mark = codecs.BOM_UTF8 if old.startswith(codecs.BOM_UTF8) else b""
    text = decoded(old)
    data = syntax.parse(text)
    for edit in edits:
        try:
            wanted = applied(data, edit)
            for step in syntax.steps(text, data, edit):
                text, data = _one_step(syntax, text, data, step)
        except NoSuchPlace as error:
            raise syntax.obstacle(text, edit.path) from error
        if not _proved(data, wanted, edit):
            raise EditUnsafe("proof")
    return mark + text.encode()


def decoded(data: bytes) -> str:
    """The text of a file without its byte order mark. Raises `EditUnsafe` unless it is UTF-8."""
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise EditUnsafe("encoding", line=data[: error.start].count(b"\n") + 1) from error


def version_of(data: bytes | None) -> str:
    """The version token of a file's content; None is a file that does not exist."""
    return "none" if data is None else hashlib.sha256(data).hexdigest()[:16]


def _one_step(syntax: Format, old: str, data: Any, step: Edit) -> tuple[str, Any]:
    """The new text and its data, proved."""
    splices = sorted(syntax.splices(old, step), key=lambda splice: (splice.start, splice.end))
    new = spliced(old, splices)
    found = syntax.parse(new)
    if not _kept(old, new, splices) or not _proved(found, applied(data, step), step):
        raise EditUnsafe("proof")
    return new, found


def spliced(old: str, splices: Sequence[Splice]) -> str:
    """The text with its spans replaced. Raises `EditUnsafe` when spans overlap or leave the text."""
    parts, position = [], 0
    for splice in splices:
        if not position <= splice.start <= splice.end <= len(old):
            raise EditUnsafe("proof")
        parts += [old[position : splice.start], splice.text]
        position = splice.end
    return "".join([*parts, old[position:]])


def _kept(old: str, new: str, splices: Sequence[Splice]) -> bool:
    """Whether every byte of the old text outside the spans stands in the new one, in its place."""
    before, after = 0, 0
    for splice in (*splices, Splice(len(old), len(old))):
        length = splice.start - before
        if old[before : splice.start].encode() != new[after : after + length].encode():
            return False
        before, after = splice.end, after + length + len(splice.text)
    return after == len(new)


def _proved(found: Any, wanted: Any, edit: Edit) -> bool:
    if same(found, wanted):
        return True
    return isinstance(edit, Delete) and any(same(found, less) for less in prunings(wanted, edit.path))
