"""On which line of a TOML text a field stands; the parser of the standard library does not say.

A search by lines: good for pointing, never used for editing. Text inside a multi-line string may mislead it.
"""

import re
from collections.abc import Sequence
from typing import Final

_KEY: Final = r"""(?:"[^"\n]*"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
_DOTTED: Final = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER: Final = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_ENTRY: Final = re.compile(rf"\s*({_DOTTED})\s*=")
_PARTS: Final = re.compile(_KEY)


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line (from 1) of the entry or table that leads furthest to `path`; None when nothing does."""
    wanted = list(path)
    table: list[str | int] = []
    counts: dict[str, int] = {}
    best, best_length = None, 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = [*_split(header[2])]
            if header[1] == "[[":
                name = ".".join(map(str, table))
                table.append(counts.get(name, 0))
                counts[name] = counts.get(name, 0) + 1
            found = table
        elif entry := _ENTRY.match(line):
            found = [*table, *_split(entry[1])]
        else:
            continue
        if len(found) > best_length and found == wanted[: len(found)]:
            best, best_length = number, len(found)
    return best


def _split(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PARTS.findall(dotted)]
