"""Reading a table by a table of readers: each key is known or an error with its path (M9.6)."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from innkeeper.settings.problems import Problem, Wrong
from innkeeper.settings.readers import Reader


def read_fields(table: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    """Every value by its reader. Raises `Wrong` with the path to the first that cannot be used."""
    found = {}
    for name, value in table.items():
        reader = readers.get(name)
        if reader is None:
            raise Wrong(unknown(name, readers), name)
        try:
            found[name] = reader(value)
        except Wrong as error:
            raise Wrong(error.problem, name, *error.path) from None
    return found


def unknown(name: str, known: Iterable[str]) -> Problem:
    """There is no such field; the nearest that there is."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return Problem("near", values={"near": near[0]}) if near else Problem("unknown")


def dotted(path: Iterable[str | int]) -> str:
    """A path as people write it: `presets[0].id`."""
    found = ""
    for part in path:
        found += f"[{part}]" if isinstance(part, int) else f".{part}" if found else part
    return found
