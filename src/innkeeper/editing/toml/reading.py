"""From TOML text to data (TOML 1.1, M2.1).

Rules
* The standard library's parser reads what it can, which is fast; a text that only TOML 1.1 allows goes to tomlkit.
* A key that is defined twice is an error in every form, also where a parser would let it pass.
"""

import re
import tomllib
from collections.abc import Iterable
from typing import Any, Final

from innkeeper.editing.edits import Path
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.model import Document, Entry, Value
from innkeeper.editing.toml.scanner import MAX_DEPTH, scan

_PLACE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_TOMLKIT_PLACE: Final = re.compile(r" at line (\d+) col \d+$")
_TWICE: Final = re.compile(r"overwrite|twice|[Dd]uplicate|namespace|already exists|[Rr]edefin|mutate")


class TomlInvalid(ValueError):
    """The text is not valid TOML. `detail` is the parser's clause without the place; `line` counts from 1. `twice`: a
    key or table is defined a second time."""

    def __init__(self, detail: str, line: int) -> None:
        super().__init__(f"line {line}: {detail}")
        self.detail = detail
        self.line = line
        self.twice = bool(_TWICE.search(detail))


def parse(text: str) -> dict[str, Any]:
    """The data of a document without byte order mark. Raises `TomlInvalid`."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        first = _of_tomllib(str(error), text)
    except RecursionError:
        raise TomlInvalid("nested too deeply", _deep_line(text)) from None
    except ValueError as error:  # a number with more digits than Python converts
        raise TomlInvalid(str(error).partition(";")[0], 1) from None
    if first.twice:
        raise first
    try:
        return _parse_newer(text)
    except TomlInvalid as second:
        raise (second if second.line > first.line else first) from None


def _parse_newer(text: str) -> dict[str, Any]:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        data = tomlkit.parse(text).unwrap()
        document = scan(text)
    except EditUnsafe as error:
        raise TomlInvalid("the text cannot be followed", error.line or 1) from None
    except (TOMLKitError, ValueError) as error:
        raise _of_tomlkit(str(error)) from None
    except RecursionError:
        raise TomlInvalid("nested too deeply", _deep_line(text)) from None
    twice = _defined_twice(document)
    if twice is not None:
        raise TomlInvalid("a key is defined twice", document.line(twice))
    return data


def _of_tomllib(message: str, text: str) -> TomlInvalid:
    place = _PLACE.search(message)
    if place is None:
        return TomlInvalid(message, 1)
    line = int(place[1]) if place[1] else max(1, len(text.splitlines()))
    return TomlInvalid(message[: place.start()], line)


def _of_tomlkit(message: str) -> TomlInvalid:
    place = _TOMLKIT_PLACE.search(message)
    return TomlInvalid(message[: place.start()] if place else message, int(place[1]) if place else 1)


def _deep_line(text: str) -> int:
    depth = 0
    for found in re.finditer(r"[\[{\]}\n]", text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1, "\n": 0}[found[0]]
        if depth > MAX_DEPTH:
            return text.count("\n", 0, found.start()) + 1
    return 1


def _defined_twice(document: Document) -> int | None:
    """The offset of the first definition of what is defined already."""
    values: set[Path] = set()
    tables: set[Path] = set()
    for section in document.sections:
        if section.path:
            if section.path in tables or section.path in values:
                return section.start
            tables.add(section.path)
        found = _twice_among(section.entries, section.path, values, tables)
        if found is not None:
            return found
    return None


def _twice_among(entries: Iterable[Entry], base: Path, values: set[Path], tables: set[Path]) -> int | None:
    for entry in entries:
        path = (*base, *entry.keys)
        prefixes = {path[:length] for length in range(len(base) + 1, len(path))}
        if path in values or path in tables or prefixes & values or any(path == known[: len(path)] for known in values):
            return entry.start
        values.add(path)
        found = _twice_inside(entry.value)
        if found is not None:
            return found
    return None


def _twice_inside(value: Value) -> int | None:
    if value.kind == "table":
        return _twice_among(value.entries, (), set(), set())
    return next((found for item in value.items if (found := _twice_inside(item.value)) is not None), None)
