"""What can be changed, and what the data must be afterwards; the same for every format (M8.1).

Rules
* A path leads from the root by keys (text) and positions (numbers).
* `applied` never changes its argument.
* Values are what the formats share: text, booleans, numbers, dates, lists, tables. Equality is strict: 1, 1.0 and true
  differ.
"""

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Put:
    """The value at `path` becomes `value`; it and the tables that lead to it are made where they are missing."""

    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class Delete:
    """Nothing is at `path` any more; later items of a list move up. What is missing already is no change."""

    path: Path


@dataclass(frozen=True, slots=True)
class Insert:
    """`value` becomes item `path[-1]` of the list at `path[:-1]`, which may be missing when that is 0; later items move
    down. A position beyond the end is the end."""

    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class Rename:
    """What is at `path`, a key of a table, is called `key` and stays in its place."""

    path: Path
    key: str


Edit: TypeAlias = Put | Delete | Insert | Rename


class NoSuchPlace(LookupError):
    """The path of an edit leads through something that is no table or list, or to an item that is not there."""


def applied(data: Any, edit: Edit) -> Any:
    """The data after the edit. Raises `NoSuchPlace`."""
    if not edit.path:
        raise NoSuchPlace(edit.path)
    if isinstance(edit, Rename):
        lookup(data, edit.path)
    return _applied(data, edit.path, edit)


def lookup(data: Any, path: Path) -> Any:
    """The value at a path. Raises `NoSuchPlace`."""
    for part in path:
        if isinstance(part, str):
            there = isinstance(data, Mapping) and part in data
        else:
            there = isinstance(data, list) and 0 <= part < len(data)
        if not there:
            raise NoSuchPlace(path)
        data = data[part]
    return data


def prunings(data: Any, path: Path) -> Iterator[Any]:
    """`data` without the nearest table or list that leads to `path` and holds nothing, then without the next, …"""
    for length in range(len(path) - 1, 0, -1):
        try:
            holder = lookup(data, path[:length])
        except NoSuchPlace:
            continue
        if holder not in ({}, []):
            return
        data = applied(data, Delete(path[:length]))
        yield data


def same(one: Any, other: Any) -> bool:
    """Strict equality of two values, types included; not-a-number equals itself."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (one == other and str(one) == str(other))
    if isinstance(one, (datetime.datetime, datetime.time)):
        return bool(one == other and one.isoformat() == other.isoformat())
    return bool(one == other)


def _applied(data: Any, rest: Path, edit: Edit) -> Any:
    if not rest:
        return edit.value if isinstance(edit, Put) else data
    if isinstance(rest[0], int):
        return _applied_list(data, rest[0], rest, edit)
    return _applied_table(data, rest[0], rest, edit)


def _applied_table(data: Any, key: str, rest: Path, edit: Edit) -> Any:
    if not isinstance(data, Mapping):
        raise NoSuchPlace(edit.path)
    table = dict(data)
    if len(rest) == 1 and isinstance(edit, Delete):
        table.pop(key, None)
        return table
    if len(rest) == 1 and isinstance(edit, Insert):
        raise NoSuchPlace(edit.path)
    if len(rest) == 1 and isinstance(edit, Rename):
        return _renamed(table, edit)
    if key not in table and isinstance(edit, Delete):
        return table
    missing: Any = [] if len(rest) > 1 and isinstance(rest[1], int) else {}
    table[key] = _applied(table.get(key, missing), rest[1:], edit)
    return table


def _renamed(table: dict[str, Any], edit: Rename) -> dict[str, Any]:
    if edit.key != edit.path[-1] and edit.key in table:
        raise NoSuchPlace(edit.path)
    return {edit.key if key == edit.path[-1] else key: value for key, value in table.items()}


def _applied_list(data: Any, position: int, rest: Path, edit: Edit) -> Any:
    if not isinstance(data, Sequence) or isinstance(data, str) or position < 0:
        raise NoSuchPlace(edit.path)
    items = list(data)
    if len(rest) == 1 and isinstance(edit, Insert):
        items.insert(position, edit.value)
        return items
    if len(rest) == 1 and isinstance(edit, Rename):
        raise NoSuchPlace(edit.path)
    if position >= len(items):
        if isinstance(edit, Delete):
            return items
        raise NoSuchPlace(edit.path)
    if len(rest) == 1 and isinstance(edit, Delete):
        del items[position]
    else:
        items[position] = _applied(items[position], rest[1:], edit)
    return items
