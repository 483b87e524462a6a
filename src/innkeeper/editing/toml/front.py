"""TOML's front end of the engine (M8.1).

Rules
* A value changes as little as its form allows: a table by its keys, a list by its items, so that the comments of what
  stays stay too.
* A table of its own becomes a section, a list of tables an array of tables; inside an inline form everything is inline.
* What is written in a way that cannot be kept is refused: `split`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.editing.edits import Delete, Edit, Insert, Path, Put, Rename, same
from innkeeper.editing.engine import Splice
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.steps import has, item_changes, member_changes, position_of, steps_of
from innkeeper.editing.toml import inline, layout, reading
from innkeeper.editing.toml.model import Document, Keys, Section, Value
from innkeeper.editing.toml.places import Places, Slot, find, line_of
from innkeeper.editing.toml.renaming import renamed
from innkeeper.editing.toml.scanner import scan
from innkeeper.editing.toml.writing import value_text


class Toml:
    """A `Format` of the engine; has no state."""

    def parse(self, text: str) -> dict[str, Any]:
        try:
            return reading.parse(text)
        except reading.TomlInvalid as error:
            raise EditUnsafe("duplicate" if error.twice else "syntax", line=error.line) from error

    def steps(self, text: str, data: Any, edit: Edit) -> Sequence[Edit]:
        if isinstance(edit, Put) and _makes_section(text, data, edit):
            return [edit]
        return steps_of(data, edit, lambda path, old, new: _changes(scan(text), path, old, new))

    def splices(self, text: str, step: Edit) -> Sequence[Splice]:
        document = scan(text)
        match step:
            case Put(path, value):
                places = find(document, path)
                if places.slot is not None:
                    return [_replaced(document, places.slot, value)]
                if places.anywhere:
                    raise EditUnsafe("split", line=_line(document, places))
                return _added(document, path, value)
            case Delete(path):
                return _removed(document, find(document, path))
            case Insert(path, value):
                return _inserted(document, path[:-1], position_of(path), value)
            case Rename(path, key):
                return renamed(document, path, key)

    def obstacle(self, text: str, path: Path) -> EditUnsafe:
        return EditUnsafe("missing", line=line_of(text, path))


TOML: Final = Toml()


def _changes(document: Document, path: Path, old: Any, new: Any) -> list[Edit]:
    """The least steps from one value to another."""
    if same(old, new):
        return []
    places = find(document, path)
    in_place = places.slot is not None
    stays = in_place or new or any(section.path == path for section in places.sections)
    if isinstance(old, dict) and isinstance(new, Mapping) and stays:
        return member_changes(path, old, new, lambda at, was, now: _changes(document, at, was, now))
    if isinstance(old, list) and isinstance(new, (list, tuple)) and (in_place or _is_section(new)):
        return item_changes(path, old, list(new), lambda at, was, now: _changes(document, at, was, now))
    if not in_place and isinstance(path[-1], int):
        raise EditUnsafe("split", line=_line(document, places))
    return [Put(path, new)] if in_place else [Delete(path), Put(path, new)]


def _replaced(document: Document, slot: Slot, value: Any) -> Splice:
    old = slot.value
    literal = _literal(document, [old] if old.kind == "scalar" else _scalars(old))
    return Splice(old.start, old.end, value_text(value, literal=literal))


def _removed(document: Document, places: Places) -> list[Splice]:
    slots = [slot for slot in (places.slot, *places.dotted) if slot is not None]
    inside = [slot for slot in slots if isinstance(slot.holder, Value)]
    if len(inside) > 1:
        raise EditUnsafe("split", line=_line(document, places))
    lines = layout.remove_sections(document, places.sections)
    lines += [layout.remove_entry(document, slot.holder.entries[slot.index]) for slot in slots if slot not in inside]
    spans = layout.merged(document, lines)
    for slot in inside:
        if isinstance(slot.holder, Value):
            spans += inline.remove_member(document, slot.holder, slot.index)
    return spans


def _inserted(document: Document, path: Path, index: int, value: Any) -> list[Splice]:
    places = find(document, path)
    if places.slot is not None:
        array = places.slot.value
        text = value_text(value, literal=_literal(document, _scalars(array)))
        return inline.insert_member(document, array, index, text)
    if not places.sections or not isinstance(value, Mapping):
        raise EditUnsafe("split", line=_line(document, places))
    beside = find(document, (*path, max(0, index - 1))).sections
    indentation = _header_indentation(document, beside[0])
    lines = layout.section_lines(_keys(path), value, array=True, indentation=indentation)
    if index == 0:
        return [layout.add_section_before(document, beside[0], lines)]
    return [layout.add_section(document, layout.content_end(document, beside[-1]), lines)]


def _added(document: Document, path: Path, value: Any) -> list[Splice]:
    """A key that is not there yet, in whatever form its table has."""
    parent, key = path[:-1], str(path[-1])
    if not parent:
        return [_added_to_section(document, document.sections[0], path, value)]
    places = find(document, parent)
    if places.slot is not None:
        holder = places.slot.value
        line = layout.entry_line((key,), value, literal=_literal(document, _scalars(holder)))
        return inline.insert_member(document, holder, len(holder.members), line)
    own = next((section for section in places.sections if section.path == parent), None)
    if own is not None:
        return [_added_to_section(document, own, path, value)]
    if places.dotted:
        return _added_dotted(document, places.dotted[-1], path, value)
    if not places.sections:
        if isinstance(value, Mapping) and _all_sections(document, parent):
            return [_new_section(document, (), path, value)]
        return _added(document, parent, {key: value})
    if _is_section(value):
        return [_new_section(document, places.sections, path, value)]
    lines = layout.section_lines(_keys(parent), {key: value}, array=False)
    return [layout.add_section_before(document, places.sections[0], lines)]


def _makes_section(text: str, data: Any, edit: Put) -> bool:
    """A table whose parent is missing: its header alone makes the parent."""
    parent = edit.path[:-1]
    missing = len(parent) > 0 and not has(data, parent)
    return missing and isinstance(edit.value, Mapping) and _all_sections(scan(text), parent)


def _all_sections(document: Document, path: Path) -> bool:
    """Whether what is there of the way to a path is written as sections, all keys."""
    if not all(isinstance(part, str) for part in path):
        return False
    ways = (find(document, path[:length]) for length in range(1, len(path)))
    return not any(places.slot or places.dotted for places in ways)


def _added_to_section(document: Document, section: Section, path: Path, value: Any) -> Splice:
    habit = any(entry.value.kind == "table" for entry in section.entries)
    if _is_section(value) and not (habit and section.path):
        below = find(document, section.path).sections if section.path else ()
        return _new_section(document, below, path, value)
    line = layout.entry_line((str(path[-1]),), value, literal=_literal(document, _scalars(section)))
    return layout.add_entry(document, section, line)


def _added_dotted(document: Document, neighbour: Slot, path: Path, value: Any) -> list[Splice]:
    """Behind an entry `a.b = …`: `a.key = …`."""
    holder = neighbour.holder
    beside = neighbour.member
    if not isinstance(holder, Section):
        raise EditUnsafe("split", line=document.line(beside.start))
    keys = _keys(path[len(holder.path) :])
    line = layout.entry_line(keys, value, literal=_literal(document, _scalars(holder)))
    return [layout.add_line_behind(document, beside.start, beside.end, line)]


def _new_section(document: Document, siblings: Sequence[Section], path: Path, value: Any) -> Splice:
    """`[path]`, or one `[[path]]` an item, behind the sections of its table."""
    tables = [value] if isinstance(value, Mapping) else list(value)
    lines: list[str] = []
    for table in tables:
        lines += [*([""] if lines else []), *layout.section_lines(_keys(path), table, array=table is not value)]
    start = layout.content_end(document, siblings[-1]) if siblings else layout.end_of_all(document)
    return layout.add_section(document, start, lines)


def _is_section(value: Any) -> bool:
    tables = isinstance(value, (list, tuple)) and bool(value) and all(isinstance(item, Mapping) for item in value)
    return isinstance(value, Mapping) or tables


def _keys(path: Path) -> Keys:
    """The path as headers spell it."""
    return tuple(part for part in path if isinstance(part, str))


def _scalars(holder: Section | Value) -> list[Value]:
    found: list[Value] = []
    for member in holder.members:
        found += [member.value] if member.value.kind == "scalar" else _scalars(member.value)
    return found


def _literal(document: Document, neighbours: Sequence[Value]) -> bool:
    """Whether the text among these values is written in single quotes."""
    quotes = [document.text[value.start] for value in neighbours if document.text[value.start] in "'\""]
    return bool(quotes) and all(quote == "'" for quote in quotes)


def _header_indentation(document: Document, section: Section) -> str:
    bracket = document.text.index("[", section.start)
    return document.text[section.start : bracket]


def _line(document: Document, places: Places) -> int | None:
    starts = [slot.member.start for slot in (places.slot, *places.dotted) if slot is not None]
    starts += [section.start for section in places.sections]
    return document.line(min(starts)) if starts else None
