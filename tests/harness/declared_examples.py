"""Every declaration of `innkeeper.protocol`, and example values made from one by rules of its own.

The rules are written a second time here, on purpose: the compiled checks are tested against them.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import ReadOnly, get_type_hints, is_typeddict

import innkeeper.protocol

KINDS: dict[str, object] = {
    "string": "no value that means anything",
    "integer": 7,
    "fraction": 7.5,
    "boolean": True,
    "array": [],
    "object": {},
}
DEEPEST = 5


def declarations() -> dict[str, Any]:
    """Every TypedDict by name."""
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(innkeeper.protocol.__path__, "innkeeper.protocol."):
        module = importlib.import_module(info.name)
        found |= {name: value for name, value in vars(module).items() if is_typeddict(value)}
    return dict(sorted(found.items()))


def unions() -> dict[str, Any]:
    """Every named union of objects, by name."""
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(innkeeper.protocol.__path__, "innkeeper.protocol."):
        for name, value in vars(importlib.import_module(info.name)).items():
            objects = [part for part in members_of_union(value) if is_typeddict(part)]
            if not is_typeddict(value) and objects:
                found[name] = value
    return dict(sorted(found.items()))


def members_of_union(declared: Any) -> list[Any]:
    if get_origin(declared) is Annotated:
        return members_of_union(get_args(declared)[0])
    if get_origin(declared) in (Union, UnionType):
        return [inner for part in get_args(declared) for inner in members_of_union(part)]
    return [declared]


def hints(declared: Any) -> dict[str, Any]:
    """The members of a TypedDict, bare."""
    return {key: bare(hint) for key, hint in get_type_hints(declared, include_extras=True).items()}


def bare(hint: Any) -> Any:
    while get_origin(hint) in (ReadOnly, NotRequired, Required):
        hint = get_args(hint)[0]
    return hint


def example(declared: Any, full: bool, depth: int = 0) -> Any:
    """A valid value: with the required members only, or `full`, with all (down to a depth)."""
    origin, arguments = get_origin(declared), get_args(declared)
    if is_typeddict(declared):
        with_optional = full and depth < DEEPEST
        keys = [key for key in hints(declared) if with_optional or key in declared.__required_keys__]
        return {key: example(hints(declared)[key], full, depth + 1) for key in keys}
    if origin is Literal:
        return arguments[0]
    if origin is Annotated or origin in (Union, UnionType):
        return example(members_of_union(declared)[-1 if full else 0], full, depth)
    if origin is Sequence:
        return [example(arguments[0], full, depth + 1)] if full and depth < DEEPEST else []
    if origin is Mapping:
        return {"key": example(arguments[1], full, depth + 1)} if full and depth < DEEPEST else {}
    return {str: "text", int: 7, float: 7.5, bool: False, object: {"free": [1]}, NoneType: None}[declared]


def kinds(declared: Any) -> set[str]:
    """The kinds of `KINDS` that may pass for this member."""
    origin, arguments = get_origin(declared), get_args(declared)
    if declared is object:
        return set(KINDS)
    if is_typeddict(declared) or origin is Mapping:
        return {"object"}
    if origin is Sequence:
        return {"array"}
    if origin is Literal:
        return {"boolean"} if isinstance(arguments[0], bool) else {"string"}
    if origin is Annotated or origin in (Union, UnionType):
        return {kind for part in members_of_union(declared) for kind in kinds(part)}
    return {
        str: {"string"},
        int: {"integer"},
        float: {"integer", "fraction"},
        bool: {"boolean"},
        NoneType: set[str](),
    }[declared]


def is_closed(declared: Any) -> bool:
    """An enumeration that has no other values."""
    return get_origin(declared) is Literal


def every_member() -> Iterator[tuple[str, Any, str, Any]]:
    """Name, declaration, member, type of each member of each declaration."""
    for name, declared in declarations().items():
        for key, hint in hints(declared).items():
            yield name, declared, key, hint
