"""TOML as a tree with places (M2.1): TOML 1.1, with or without a BOM.

Rules
* `tomllib` reads; what it refuses as too new for it, `tomlkit` reads (TOML 1.1 inline tables over several lines). Two
  libraries, since the slow one is needed for few files.
* Places come from a look at the statements alone: a header or a `key = value` belongs to the table it stands in. A
  value inside an inline table has the place of its statement.
* Never raises anything but FormatError. A file that only the slow reader takes is at most `SLOW_FORMAT_BYTES` long.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.limits import DECLARATION_DEPTH, KIB
from innkeeper.mcp.declarations.tree import Document, FormatError, Member, Node

SLOW_FORMAT_BYTES: Final = 256 * KIB
"""Readers that take seconds for a mebibyte get no more than this."""

Path = tuple[str, ...]
Span = tuple[int, int]

_PLACE = re.compile(r"at line (\d+)")
_GAP = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_PART = re.compile(r'[ \t]*("(?:\\.|[^"\\\r\n])*"|\'[^\'\r\n]*\'|[^\s.=\[\]"\'#]+)[ \t]*(\.)?')
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\r\n])*"|\'[^\'\r\n]*\'|#[^\r\n]*|[\[\]{}\r\n]'
    r'|[^\[\]{}\r\n"\'#]+|.',
    re.DOTALL,
)


def parse(text: str) -> Document:
    """Raises FormatError."""
    body = text.removeprefix("\ufeff")
    if not _GAP.sub("", body):
        raise FormatError("FILE_EMPTY")
    data = _read(body)
    offset = len(text) - len(body)
    places = {path: (start + offset, end + offset) for path, (start, end) in _places(body).items()}
    return Document(text, _node(data, (), places, (0, len(text)), 0), plain_json=False)


def _read(body: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(body)
    except RecursionError:
        raise FormatError("FILE_TOO_DEEP") from None
    except ValueError as error:
        first = error
    if len(body) > SLOW_FORMAT_BYTES:
        raise FormatError("FILE_SYNTAX", _line(first, body))
    from tomlkit import parse as parse_new

    try:
        return parse_new(body).unwrap()
    except RecursionError:
        raise FormatError("FILE_TOO_DEEP") from None
    except Exception:
        # Its parser raises many things for what is no TOML at all; the first reader's place is the better one.
        raise FormatError("FILE_SYNTAX", _line(first, body)) from None


def _line(error: Exception, body: str) -> int:
    found = _PLACE.search(str(error))
    return int(found[1]) if found else len(body.splitlines())


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
    for path, start, end in _statements(body):
        for length in range(1, len(path) + 1):
            known, part = places.get(path[:length]), path[:length]
            if known is None:
                places[part] = (start, end)
            elif last[:length] == part:
                places[part] = (known[0], end)
        last = path
    return places


def _statements(body: str) -> Iterator[tuple[Path, int, int]]:
    """Each header and each `key = value` with its full path. The text has been read as TOML before."""
    table: Path = ()
    at = 0
    while True:
        gap = _GAP.match(body, at)
        at = gap.end() if gap else at
        if at >= len(body):
            return
        start = at
        if body[at] == "[":
            table, at = _key(body, at + (2 if body.startswith("[[", at) else 1))
            at = _value_end(body, at, 1)
            yield table, start, at
        else:
            key, at = _key(body, at)
            at = _value_end(body, at, 0)
            yield (*table, *key), start, at
        if at <= start:
            return


def _key(body: str, at: int) -> tuple[Path, int]:
    parts: list[str] = []
    while (found := _PART.match(body, at)) is not None:
        parts.append(_unquoted(found[1]))
        at = found.end()
        if not found[2]:
            break
    return tuple(parts), at


def _unquoted(part: str) -> str:
    if part[0] == '"' and "\\" in part:
        try:
            return str(next(iter(tomllib.loads(f"{part} = 0"))))
        except ValueError:
            return part[1:-1]
    return part[1:-1] if part[0] in "\"'" else part


def _value_end(body: str, at: int, depth: int) -> int:
    """The end of the statement: the first line end outside brackets; comments do not belong to it."""
    end = at
    while (token := _TOKEN.match(body, at)) is not None:
        first, length = body[at], token.end() - at
        if first in "\r\n" and (depth <= 0 or length > 1):
            return end
        if first in "[{" and length == 1:
            depth += 1
        elif first in "]}" and length == 1:
            depth -= 1
        if first != "#" and first not in "\r\n" and not token.group().isspace():
            end = token.start() + len(token.group().rstrip())
        at = token.end()
    return end
