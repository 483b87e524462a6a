"""Rebuilding parts of a state without touching the rest (architecture §3, principle 3).

Rules every function here keeps:

* the argument is never changed; whatever is not rebuilt keeps its identity;
* nothing to change means the very same object comes back;
* `None` is the protocol's "absent" (AHP §1): writing it removes the field, and a field that holds it counts as missing;
* a value counts as unchanged when it is the same object or an equal scalar of the same type. Structures are not
  compared, because that costs as much as replacing them, and `1`, `1.0` and `true` stay three different values.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, TypeVar, cast

_SCALARS = frozenset({str, int, float, bool})

M = TypeVar("M", bound=Mapping[str, Any])
T = TypeVar("T")


def same_value(old: object, new: object) -> bool:
    """Whether writing `new` over `old` would change nothing (see the module rules)."""
    if old is new:
        return True
    kind = type(new)
    return kind in _SCALARS and type(old) is kind and old == new


def put(mapping: M, key: str, value: object) -> M:
    """`mapping` with `key` set to `value`, or without `key` when `value` is `None`."""
    if same_value(mapping.get(key), value):
        return mapping
    changed: dict[str, Any] = dict(mapping)
    if value is None:
        del changed[key]
    else:
        changed[key] = value
    return cast("M", changed)


def put_all(mapping: M, fields: Mapping[str, object]) -> M:
    """`put` for several fields at once, with at most one copy."""
    changes = {key: value for key, value in fields.items() if not same_value(mapping.get(key), value)}
    if not changes:
        return mapping
    changed = {**mapping, **changes}
    return cast("M", {key: value for key, value in changed.items() if value is not None or key not in changes})


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are really there: those whose value is not `None`."""
    return {key: value for key, value in fields.items() if value is not None}


def merge(mapping: M, changes: Mapping[str, object]) -> M:
    """`mapping` overlaid with the fields of `changes` that are there; absent ones leave the old value alone."""
    return put_all(mapping, present(changes))


def find(entries: Sequence[Mapping[str, Any]] | None, key: str, value: object) -> int:
    """Index of the first entry whose `key` equals `value`, or -1. A `None` value matches nothing."""
    if entries is not None and value is not None:
        for index, entry in enumerate(entries):
            if entry.get(key) == value:
                return index
    return -1


def replaced(entries: Sequence[T], index: int, entry: T) -> Sequence[T]:
    """`entries` with the one at `index` replaced; the same sequence when it already is that object."""
    if entries[index] is entry:
        return entries
    return [*entries[:index], entry, *entries[index + 1 :]]


def same_items(new: Sequence[object], old: Sequence[object]) -> bool:
    """Whether both hold the very same objects in the same order."""
    return len(new) == len(old) and all(map(is_, new, old))


def removed(entries: Sequence[T], index: int) -> list[T]:
    """`entries` without the one at `index`."""
    return [*entries[:index], *entries[index + 1 :]]


def upsert(mapping: M, field: str, entry: Mapping[str, Any], key: str = "id") -> M:
    """Replace in place the entry of the list `field` with the same `key`, else append; creates the list if missing."""
    entries: Sequence[Mapping[str, Any]] = mapping.get(field) or ()
    index = find(entries, key, entry.get(key))
    return put(mapping, field, [*entries, entry] if index < 0 else replaced(entries, index, entry))


def update(
    mapping: M, field: str, value: object, change: Callable[[Mapping[str, Any]], Mapping[str, Any]], key: str = "id"
) -> M:
    """Apply `change` to the first entry of the list `field` whose `key` is `value`; none found changes nothing."""
    entries: Sequence[Mapping[str, Any]] = mapping.get(field) or ()
    index = find(entries, key, value)
    return mapping if index < 0 else put(mapping, field, replaced(entries, index, change(entries[index])))


def drop(mapping: M, field: str, value: object, key: str = "id", *, keep_empty: bool = True) -> M:
    """Remove the first entry of the list `field` whose `key` is `value`.

    An emptied list stays as `[]`, or the field itself goes when `keep_empty` is false.
    """
    entries: Sequence[Mapping[str, Any]] = mapping.get(field) or ()
    index = find(entries, key, value)
    if index < 0:
        return mapping
    rest = removed(entries, index)
    return put(mapping, field, rest if rest or keep_empty else None)


def add_item(mapping: M, field: str, item: str) -> M:
    """Append `item` to the list of strings `field` unless it is there; creates the list if missing."""
    items: Sequence[str] = mapping.get(field) or ()
    return mapping if item in items else put(mapping, field, [*items, item])


def drop_item(mapping: M, field: str, item: str) -> M:
    """Remove `item` from the list of strings `field`; an emptied list stays as `[]`."""
    items: Sequence[str] = mapping.get(field) or ()
    return put(mapping, field, removed(items, items.index(item))) if item in items else mapping


def configured(mapping: M, config: Mapping[str, object], *, replace: bool) -> M:
    """Merge `config` into `config.values`, or replace all of them (AHP §7); no-op when the state has no `config`.

    The values are data, not fields of the protocol: a `None` among them is kept as `null`.
    """
    current: Mapping[str, Any] | None = mapping.get("config")
    if current is None:
        return mapping
    values: Mapping[str, object] = current.get("values") or {}
    changed = dict(config) if replace else {**values, **config}
    if changed.keys() == values.keys() and all(same_value(values[key], changed[key]) for key in changed):
        return mapping
    return put(mapping, "config", {**current, "values": changed})
