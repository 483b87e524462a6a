"""An edit as the least steps that make it, the same for every format (M8.1).

Rules
* What stays is not touched: a table changes by its keys, a list by its items, so that the comments of what stays stay.
* Equal values are no step.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from innkeeper.editing.edits import Delete, Edit, Insert, NoSuchPlace, Path, Put, Rename, lookup, same

Changes: TypeAlias = Callable[[Path, Any, Any], list[Edit]]
"""The steps from the value that is at a path to another one."""


def steps_of(data: Any, edit: Edit, changes: Changes) -> Sequence[Edit]:
    """The edit in steps; `changes` is the format's way from one value to another."""
    match edit:
        case Delete(path):
            return [edit] if has(data, path) else []
        case Rename(path, key):
            return [] if path[-1] == key else [edit]
        case Insert(path, value):
            if not has(data, path[:-1]):
                return [with_parents(data, Put(path[:-1], [value]))]
            known = lookup(data, path[:-1])
            return [Insert((*path[:-1], min(position_of(path), len(known))), value)]
        case Put(path, value):
            if not has(data, path):
                return [with_parents(data, edit)]
            return changes(path, lookup(data, path), value)


def value_changes(path: Path, old: Any, new: Any) -> list[Edit]:
    """For formats in which a value has one place."""
    if same(old, new):
        return []
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return member_changes(path, old, new, value_changes)
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        return item_changes(path, old, new, value_changes)
    return [Put(path, new)]


def member_changes(path: Path, old: Mapping[str, Any], new: Mapping[str, Any], changes: Changes) -> list[Edit]:
    """From one table to another: what both have, what is new, what is gone."""
    steps = [step for key in old if key in new for step in changes((*path, key), old[key], new[key])]
    steps += [Put((*path, key), value) for key, value in new.items() if key not in old]
    return [*steps, *(Delete((*path, key)) for key in old if key not in new)]


def item_changes(path: Path, old: Sequence[Any], new: Sequence[Any], changes: Changes) -> list[Edit]:
    """From one list to another, from its end on, so that positions stay true."""
    steps: list[Edit] = []
    matcher = SequenceMatcher(None, [*map(_canonical, old)], [*map(_canonical, new)], autojunk=False)
    for kind, start, end, new_start, new_end in reversed(matcher.get_opcodes()):
        if kind == "equal":
            continue
        both = min(end - start, new_end - new_start)
        steps += [Delete((*path, index)) for index in range(end - 1, start + both - 1, -1)]
        steps += [
            Insert((*path, start + offset), new[new_start + offset]) for offset in range(both, new_end - new_start)
        ]
        for offset in range(both):
            steps += changes((*path, start + offset), old[start + offset], new[new_start + offset])
    return steps


def with_parents(data: Any, edit: Put) -> Put:
    """The edit at the first table on its way that is missing."""
    path, value = edit.path, edit.value
    while len(path) > 1 and not has(data, path[:-1]):
        value = [value] if isinstance(path[-1], int) else {path[-1]: value}
        path = path[:-1]
    return Put(path, value)


def has(data: Any, path: Path) -> bool:
    try:
        lookup(data, path)
    except NoSuchPlace:
        return False
    return True


def position_of(path: Path) -> int:
    """Raises `NoSuchPlace` for a path that ends in a key."""
    last = path[-1]
    if not isinstance(last, int):
        raise NoSuchPlace(path)
    return last


def _canonical(value: Any) -> str:
    """Equal for equal values, and only for those."""
    match value:
        case Mapping():
            return f"{{{','.join(f'{key!r}:{_canonical(value[key])}' for key in sorted(value))}}}"
        case list() | tuple():
            return f"[{','.join(map(_canonical, value))}]"
    return f"{type(value).__name__}:{value!r}"
