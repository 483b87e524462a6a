"""TOML as a tree with places (M2.1): TOML 1.1, with or without a BOM.

Rules
* `tomllib` reads; what it refuses, the editor's reader reads, which knows TOML 1.1. Places come from the editor's
  scanner, so that loader and editor cannot disagree about a file.
* Never raises anything but FormatError. A file that only the slow reader takes is at most `SLOW_FORMAT_BYTES` long.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.model import Entry
from innkeeper.editing.toml.reading import TomlInvalid
from innkeeper.editing.toml.reading import parse as parse_newer
from innkeeper.editing.toml.scanner import scan
from innkeeper.editing.tree import Document, FormatError, Member, Node, line_of
from innkeeper.limits import DECLARATION_DEPTH, KIB

SLOW_FORMAT_BYTES: Final = 256 * KIB
"""Readers that take seconds for a mebibyte get no more than this."""

_KEY_PART: Final = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_LONG_KEY: Final = re.compile(rf"""(?<![\w."'-])(?:{_KEY_PART}){{{DECLARATION_DEPTH + 1}}}""")
"""A dotted key with more parts than levels are allowed: the parser takes time by the square of its length."""

Path = tuple[str, ...]
Span = tuple[int, int]


def parse(text: str) -> Document:
    """Raises FormatError."""
    body = text.removeprefix("\ufeff")
    if not any(line.strip() and not line.lstrip().startswith("#") for line in body.splitlines()):
        raise FormatError("FILE_EMPTY")
    data = _read(body)
    offset = len(text) - len(body)
    places = {path: (start + offset, end + offset) for path, (start, end) in _places(body).items()}
    return Document(text, _node(data, (), places, (0, len(text)), 0), plain_json=False)


def _read(body: str) -> Mapping[str, Any]:
    if (found := _LONG_KEY.search(body)) is not None:
        raise FormatError("FILE_TOO_DEEP", line_of(body, found.start()))
    try:
        return tomllib.loads(body)
    except RecursionError:
        raise FormatError("FILE_TOO_DEEP") from None
    except ValueError as error:
        first = error
    try:
        if len(body) <= SLOW_FORMAT_BYTES:
            return parse_newer(body)
    except TomlInvalid as error:
        raise FormatError("FILE_SYNTAX", error.line) from None
    except Exception:
        # Its parser raises many things for what is no TOML at all.
        raise FormatError("FILE_SYNTAX") from None
    place = re.search(r"at line (\d+)", str(first))
    raise FormatError("FILE_SYNTAX", int(place[1]) if place else len(body.splitlines()))


def _node(value: object, path: Path, places: Mapping[Path, Span], around: Span, depth: int) -> Node:
    if depth > DECLARATION_DEPTH:
        raise FormatError("FILE_TOO_DEEP")
    start, end = places.get(path, around)
    match value:
        case dict():
            return Node("object", start, end, members=_members(value, path, places, (start, end), depth))
        case list():
            items = tuple(_node(item, (*path, ""), {}, (start, end), depth + 1) for item in value)
            return Node("array", start, end, items=items)
        case bool():
            return Node("boolean", start, end, value)
        case int() | float():
            return Node("number", start, end, _number_text(value))
        case str():
            return Node("string", start, end, value)
        case _:
            return Node("other", start, end)


def _members(
    table: Mapping[str, object], path: Path, places: Mapping[Path, Span], around: Span, depth: int
) -> tuple[Member, ...]:
    found = []
    for key, value in table.items():
        inner = _node(value, (*path, key), places, around, depth + 1)
        found.append(Member(key, inner.start, inner, inner.start))
    return tuple(found)


def _number_text(value: int | float) -> str:
    try:
        return str(value)
    except ValueError:
        # More digits than Python converts: no field takes such a number.
        return "1e400"


def _places(body: str) -> dict[Path, Span]:
    """Where each table and key begins, and where the first run of its statements ends."""
    places: dict[Path, Span] = {}
    last: Path = ()
    try:
        statements = list(_statements(body))
    except EditUnsafe:
        return places  # a text that cannot be followed has no places but itself
    for path, start, end in statements:
        for length in range(1, len(path) + 1):
            known, part = places.get(path[:length]), path[:length]
            if known is None:
                places[part] = (start, end)
            elif last[:length] == part:
                places[part] = (known[0], max(known[1], end))
        last = path
    return places


def _statements(body: str) -> Iterator[tuple[Path, int, int]]:
    """Each header and each `key = value` with its full path, inline ones behind the one they stand in."""
    document = scan(body)
    for section in document.sections:
        if section.keys:
            yield section.keys, section.start, document.line_end(section.start)
        for entry in section.entries:
            yield from _entries(section.keys, entry)


def _entries(table: Path, entry: Entry) -> Iterator[tuple[Path, int, int]]:
    path = (*table, *entry.keys)
    yield path, entry.start, entry.end
    for inner in entry.value.entries:
        yield from _entries(path, inner)
