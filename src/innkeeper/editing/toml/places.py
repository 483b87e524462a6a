"""Where a path stands in a document, whatever form it is written in.

A value has one place (`slot`). A table may also be spread: over entries with dotted keys (`dotted`) and over sections.
"""

from dataclasses import dataclass
from typing import TypeAlias

from innkeeper.editing.edits import Path
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.model import Document, Entry, Item, Section, Value
from innkeeper.editing.toml.scanner import scan

Holder: TypeAlias = Section | Value


@dataclass(frozen=True, slots=True)
class Slot:
    """Member `index` of a section, an inline table or an array."""

    holder: Holder
    index: int

    @property
    def member(self) -> Item | Entry:
        return self.holder.members[self.index]

    @property
    def value(self) -> Value:
        return self.member.value


@dataclass(frozen=True, slots=True)
class Places:
    slot: Slot | None
    dotted: tuple[Slot, ...]
    """Entries below the path, by a key that leads through it."""
    sections: tuple[Section, ...]
    """Sections at or below the path."""

    @property
    def anywhere(self) -> bool:
        return bool(self.slot or self.dotted or self.sections)


def find(document: Document, path: Path) -> Places:
    """Every place of a path, which is not empty."""
    sections: list[Section] = []
    slot: Slot | None = None
    dotted: list[Slot] = []
    for section in document.sections:
        if section.path and section.path[: len(path)] == path:
            sections.append(section)
        elif path[: len(section.path)] == section.path:
            found, through = _find_in(section, path[len(section.path) :])
            slot = slot or found
            dotted += through
    return Places(slot, tuple(dotted), tuple(sections))


def value_spans(document: Document) -> dict[Path, tuple[int, int]]:
    """Where the value of each path that has one place stands, in one pass."""
    found: dict[Path, tuple[int, int]] = {}
    waiting: list[tuple[Path, Value]] = [
        ((*section.path, *entry.keys), entry.value) for section in document.sections for entry in section.entries
    ]
    while waiting:
        path, value = waiting.pop()
        found[path] = (value.start, value.end)
        waiting += [((*path, *entry.keys), entry.value) for entry in value.entries]
        waiting += [((*path, place), item.value) for place, item in enumerate(value.items)]
    return found


def _find_in(holder: Holder, rest: Path) -> tuple[Slot | None, list[Slot]]:
    if isinstance(holder, Value) and holder.kind != "table":
        return _find_item(holder, rest)
    through: list[Slot] = []
    for index, entry in enumerate(holder.entries):
        if entry.keys == rest:
            return Slot(holder, index), []
        if rest[: len(entry.keys)] == entry.keys:
            return _find_in(entry.value, rest[len(entry.keys) :])
        if entry.keys[: len(rest)] == rest:
            through.append(Slot(holder, index))
    return None, through


def _find_item(array: Value, rest: Path) -> tuple[Slot | None, list[Slot]]:
    position = rest[0]
    if array.kind != "array" or not isinstance(position, int) or position >= len(array.items):
        return None, []
    if len(rest) == 1:
        return Slot(array, position), []
    return _find_in(array.items[position].value, rest[1:])


def line_of(text: str, path: Path) -> int | None:
    """The line (from 1) of what leads furthest to `path` in a valid document; None when nothing does."""
    try:
        document = scan(text)
    except EditUnsafe:
        return None
    for length in range(len(path), 0, -1):
        places = find(document, path[:length])
        starts = [slot.member.start for slot in (places.slot, *places.dotted) if slot is not None]
        starts += [section.start for section in places.sections]
        if starts:
            return document.line(min(starts))
    return None
