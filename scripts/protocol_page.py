"""The protocol matrix: every command, notification and action, from the tables of `innkeeper.protocol`.

The page shows the tables as they are: one row a specification, one column a field, so that a new field of the tables
is on the page without a change here.
"""

import dataclasses
import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, get_args

TITLES = {
    "COMMANDS": "Commands",
    "METHODS": "Methods",
    "REQUESTS": "Requests",
    "NOTIFICATIONS": "Notifications",
    "ACTIONS": "Actions",
}
INTRODUCTION = (
    "# Protocol\n\nWhat this version declares of the Agent Host Protocol: the tables that it checks messages against. "
    "*since* is the version of the protocol that introduced a row. Names of our own begin with `x-innkeeper/`.\n\n"
)


def protocol_page() -> str | None:
    """The page, or None while the tables are not there."""
    modules = [
        importlib.import_module(name)
        for name in ("innkeeper.protocol.methods", "innkeeper.protocol.actions")
        if importlib.util.find_spec(name) is not None
    ]
    parts = [part for module in modules for part in sections(module)]
    return INTRODUCTION + "".join(parts) if parts else None


def sections(module: ModuleType) -> list[str]:
    """One section for each public table of dataclass rows in `module`."""
    found = []
    for name, value in vars(module).items():
        rows = list(value.values()) if isinstance(value, Mapping) else []
        if name in TITLES and rows and all(dataclasses.is_dataclass(row) for row in rows):
            found.append(section(TITLES[name], rows))
    return found


def section(title: str, rows: Sequence[Any]) -> str:
    from pages import table

    names = [field.name for field in dataclasses.fields(rows[0])]
    shown = [[shape(getattr(row, name)) for name in names] for row in rows]
    used = [index for index in range(len(names)) if any(row[index] for row in shown)]
    heads = [names[index].replace("_", " ").strip() for index in used]
    return f"## {title} ({len(rows)})\n\n" + table(heads, [[row[index] for index in used] for row in shown])


def shape(value: object) -> str:
    """A field of a row for a reader: a type is its name, truth is *yes*, absence is empty."""
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case str():
            return f"`{value}`" if not value[:1].isdigit() else value
        case type():
            return f"`{value.__name__}`"
        case list() | tuple() | set() | frozenset():
            return ", ".join(sorted(map(shape, value)))
        case _ if hasattr(value, "__metadata__"):
            return shape(get_args(value)[0])
        case _ if get_args(value):
            return " or ".join(map(shape, get_args(value)))
        case _:
            return f"`{getattr(value, '__name__', None) or type(value).__name__}`"
