"""Renaming a key of a TOML document: in every header and dotted key that spells it.

Rules
* The part of the key that names it is replaced, nothing beside it; quotes stay where they were if the new name fits.
"""

import re
from typing import Final

from innkeeper.editing.edits import Path
from innkeeper.editing.engine import Splice
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.model import Document, Entry, Section
from innkeeper.editing.toml.places import Slot, find
from innkeeper.editing.toml.scanner import key_spans
from innkeeper.editing.toml.writing import key_text, string_text

_LITERAL: Final = re.compile(r"[^'\x00-\x1f\x7f]*")


def renamed(document: Document, path: Path, key: str) -> list[Splice]:
    """Raises `EditUnsafe`."""
    places = find(document, path)
    spans = [_in_header(document, section, path) for section in places.sections]
    slots = (slot for slot in (places.slot, *places.dotted) if slot is not None)
    spans += [_in_entry(document, slot, path) for slot in slots]
    return [Splice(start, end, _spelled(document.text[start:end], key)) for start, end in spans]


def _in_header(document: Document, section: Section, path: Path) -> tuple[int, int]:
    opening = document.text.index("[", section.start) + (2 if section.array else 1)
    while document.text[opening] in " \t":
        opening += 1
    return key_spans(document.text, opening)[_keys_of(path) - 1]


def _in_entry(document: Document, slot: Slot, path: Path) -> tuple[int, int]:
    member = slot.member
    if not isinstance(member, Entry):
        raise EditUnsafe("split", line=document.line(slot.member.start))
    spans = key_spans(document.text, member.start)
    # An entry below a section or in an inline table spells the end of its path; the path may go on beyond the key.
    inner = member.keys
    for place in range(len(inner)):
        if inner[place] == path[-1] and _leads(document, slot, path, place):
            return spans[place]
    raise EditUnsafe("split", line=document.line(member.start))


def _leads(document: Document, slot: Slot, path: Path, place: int) -> bool:
    """Whether part `place` of the entry's key is the last of the path."""
    member = slot.member
    assert isinstance(member, Entry)
    found = find(document, path)
    holder = slot.holder
    if isinstance(holder, Section):
        return (*holder.path, *member.keys[: place + 1]) == path
    return found.slot == slot and place == len(member.keys) - 1


def _keys_of(path: Path) -> int:
    """How many parts of a header lead to the path."""
    return sum(isinstance(part, str) for part in path)


def _spelled(old: str, key: str) -> str:
    if old[0] == "'" and _LITERAL.fullmatch(key):
        return f"'{key}'"
    return string_text(key) if old[0] == '"' else key_text(key)
