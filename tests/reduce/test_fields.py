"""The building blocks: identity means unchanged, everything untouched is shared (architecture §3, principle 3)."""

from typing import Any

import pytest

from innkeeper.reduce import fields
from innkeeper.reduce.fields import (
    add_item,
    drop,
    drop_item,
    find,
    merge,
    put,
    put_all,
    replaced,
    same_value,
    update,
    upsert,
)


@pytest.mark.parametrize(("old", "new"), [(1, True), (1, 1.0), (0, False), ("", None), (None, 0), ([1], [1]), ({}, {})])
def test_values_that_only_compare_equal_are_different(old: object, new: object) -> None:
    """A `1` that becomes `true` is a change; structures are not compared."""
    assert not same_value(old, new)


@pytest.mark.parametrize("value", [None, True, 7, 0.5, "text", [1], {"a": 1}])
def test_the_same_object_is_the_same_value(value: object) -> None:
    assert same_value(value, value)


def test_equal_text_from_another_object_is_the_same_value() -> None:
    one, other = str(1000), str(1000)
    assert one is not other
    assert same_value(one, other)


def test_put_shares_what_it_does_not_write() -> None:
    state: dict[str, Any] = {"a": [1], "b": {"c": 2}}
    changed = put(state, "a", [2])
    assert changed == {"a": [2], "b": {"c": 2}}
    assert changed["b"] is state["b"]
    assert state == {"a": [1], "b": {"c": 2}}


def test_put_of_none_removes_a_field_and_leaves_an_absent_one() -> None:
    """AHP §1: `null` is absent."""
    state: dict[str, Any] = {"a": 1, "b": None}
    assert put(state, "a", None) == {"b": None}
    assert put(state, "b", None) is state
    assert put(state, "c", None) is state


def test_put_all_copies_at_most_once_and_only_for_a_change() -> None:
    state: dict[str, Any] = {"a": 1, "b": 2, "n": None}
    assert put_all(state, {"a": 1, "b": 2, "c": None}) is state
    assert put_all(state, {"a": None, "b": 3}) == {"b": 3, "n": None}


def test_merge_passes_over_absent_fields() -> None:
    state = {"a": 1}
    assert merge(state, {"a": None}) is state
    assert merge(state, {"a": None, "b": 2}) == {"a": 1, "b": 2}


def test_find_takes_the_first_and_none_matches_nothing() -> None:
    entries = [{"id": "a"}, {}, {"id": "a"}]
    assert find(entries, "id", "a") == 0
    assert find(entries, "id", None) == -1
    assert find(None, "id", "a") == -1


def test_an_entry_without_a_key_is_appended() -> None:
    """A variant of a newer version may have no key of ours; it never replaces another one."""
    state = {"list": [{"x": 1}]}
    assert upsert(state, "list", {"x": 2}) == {"list": [{"x": 1}, {"x": 2}]}


def test_a_replacement_by_the_same_object_is_no_change() -> None:
    entry = {"id": "a"}
    entries = [entry, {"id": "b"}]
    assert replaced(entries, 0, entry) is entries
    state = {"list": entries}
    assert upsert(state, "list", entry) is state
    assert update(state, "list", "a", lambda old: old) is state


def test_lists_of_text_keep_their_order() -> None:
    state: dict[str, Any] = {}
    state = add_item(add_item(state, "d", "x"), "d", "y")
    assert state == {"d": ["x", "y"]}
    assert add_item(state, "d", "x") is state
    assert drop_item(state, "d", "z") is state
    assert drop_item(state, "d", "x") == {"d": ["y"]}


def test_an_emptied_list_stays_or_goes_as_asked() -> None:
    state = {"list": [{"id": "a"}]}
    assert drop(state, "list", "a") == {"list": []}
    assert drop(state, "list", "a", keep_empty=False) == {}


def test_the_module_holds_no_state() -> None:
    """No module-level mutable registries (architecture §3, principle 9)."""
    values = [value for name, value in vars(fields).items() if not name.startswith("__")]
    assert not any(isinstance(value, (list, dict, set)) for value in values)
