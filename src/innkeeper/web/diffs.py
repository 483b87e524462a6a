"""Two versions of a file as the rows of a diff, and how a page gets them. `rows` is pure.

Rules
* A diff is a table with the words *added* and *removed*, so that colour is never alone. It has three lines around each
  change; binary and very large contents are named and not shown.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from markupsafe import Markup, escape

from innkeeper.client import RpcFailure
from innkeeper.web.asking import Ask
from innkeeper.web.highlight import highlighted_lines
from innkeeper.web.names import last_part, local_path

LARGEST: Final = 400_000
"""Characters of one side."""
LINES: Final = 2000
"""Rows that are shown."""
AROUND: Final = 3


class DiffRow(NamedTuple):
    """One line. `old` and `new` are its numbers from 1; `gap` stands for lines that are left out."""

    kind: Literal["same", "added", "removed", "gap"]
    old: int | None
    new: int | None
    text: str


def rows(before: str, after: str, around: int = AROUND) -> list[DiffRow]:
    """The changed lines, each with some lines around it."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    found: list[DiffRow] = []
    for group in matcher.get_grouped_opcodes(around):
        if found or group[0][1] > 0:
            found.append(DiffRow("gap", None, None, ""))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                found += [DiffRow("same", i1 + n + 1, j1 + n + 1, old[i1 + n]) for n in range(i2 - i1)]
                continue
            found += [DiffRow("removed", n + 1, None, old[n]) for n in range(i1, i2)]
            found += [DiffRow("added", None, n + 1, new[n]) for n in range(j1, j2)]
    return found


def counts(found: Sequence[DiffRow]) -> tuple[int, int]:
    """Lines added and removed."""
    return sum(row.kind == "added" for row in found), sum(row.kind == "removed" for row in found)


def coloured(found: Sequence[DiffRow], before: str, after: str, name: str) -> list[DiffRow]:
    """The rows with their text as markup, in colours where the file's name tells a language."""
    old, new = (
        highlighted_lines("\n".join(before.splitlines()), name),
        highlighted_lines("\n".join(after.splitlines()), name),
    )

    def markup(row: DiffRow) -> str:
        lines, number = (old, row.old) if row.new is None else (new, row.new)
        return lines[number - 1] if number is not None and number <= len(lines) else str(escape(row.text))

    return [row._replace(text=Markup(markup(row))) for row in found]


async def diff_of(ask: Ask, edit: Mapping[str, Any]) -> str:
    """The diff of AHP's `FileEdit` as markup."""
    before, after = await side_of(ask, edit.get("before")), await side_of(ask, edit.get("after"))
    uri = str((edit.get("after") or edit.get("before") or {}).get("uri") or "")
    if before is None or after is None:
        return ask.render("diff.html", rows=(), more=0, problem="binary", path=local_path(uri))
    if max(len(before), len(after)) > LARGEST:
        return ask.render("diff.html", rows=(), more=0, problem="large", path=local_path(uri))
    found = rows(before, after)
    shown = coloured(found[:LINES], before, after, last_part(uri))
    return ask.render("diff.html", rows=shown, more=max(0, len(found) - LINES), problem="", path=local_path(uri))


async def side_of(ask: Ask, side: Mapping[str, Any] | None) -> str | None:
    """One side's text; empty where there is none, None where it is no text or the host does not give it."""
    if side is None:
        return ""
    content = side.get("content") or {}
    params = {"channel": "ahp-root://", "uri": content.get("uri") or side["uri"], "encoding": "utf-8"}
    try:
        found = await ask.link.request("resourceRead", params)
    except RpcFailure:
        return None
    return str(found.get("data") or "") if found.get("encoding") == "utf-8" else None
