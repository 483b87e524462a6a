"""A changed file as a unified diff in git's format, which `git apply` reads.

Rules
* A line ends at a line feed and nowhere else; a last line without one says so.
* Binary files are named as git names them; what is too large to compare, or is not known, has no text and a problem.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from innkeeper.cli.changes.selecting import Row, quoted
from innkeeper.client import RpcFailure

if TYPE_CHECKING:
    from innkeeper.client import Client
    from innkeeper.client.changesets import ChangedFile

LARGEST: Final = 1_000_000
"""Characters of a side: comparing costs more than it tells beyond that."""
MODES: Final = {"executable": "100755", "symlink": "120000", "submodule": "160000"}
UNENDED: Final = "\n\\ No newline at end of file\n"


class Unified(NamedTuple):
    """`problem` is `binary`, `large` or `unknown`; the first `head` lines of `text` are about the file."""

    text: str
    head: int
    problem: str = ""


async def unified(client: "Client", row: Row) -> Unified:
    """The diff of one file, its contents read from the host."""
    edit: Mapping[str, Any] = row.file["edit"]
    head = _head(row)
    if "binary" in row.shown.tags:
        return _binary(head, row.shown)
    sides = [await _side(client, edit.get("before")), await _side(client, edit.get("after"))]
    problem = next((side.problem for side in sides if side.problem), "")
    if problem == "binary":
        return _binary(head, row.shown)
    if problem or max(len(side.text) for side in sides) > LARGEST:
        return Unified("", 0, problem or "large")
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", side.text) for side in sides)
    if before != after:
        old, new = _names(row.shown)
        head += [f"--- {old}", f"+++ {new}"]
    return Unified("\n".join(head) + "\n" + "".join(_hunks(before, after)), len(head))


class _Side(NamedTuple):
    text: str
    problem: str = ""


async def _side(client: "Client", side: Mapping[str, Any] | None) -> _Side:
    if side is None:
        return _Side("")
    content = side.get("content") or {}
    try:
        found = await client.request(
            "resourceRead", {"channel": "ahp-root://", "uri": content.get("uri") or side["uri"], "encoding": "utf-8"}
        )
    except RpcFailure as error:
        code = error.data.get("code") if isinstance(error.data, dict) else None
        return _Side("", "large" if code == "CONTENT_TOO_LARGE" else "unknown")
    if found.get("encoding") != "utf-8":
        return _Side("", "binary")
    return _Side(str(found.get("data") or ""))


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    for at, line in enumerate(difflib.unified_diff(before, after)):
        if at > 1:  # the names are written above, as git quotes them
            yield line if line.endswith("\n") else line + UNENDED


def _head(row: Row) -> list[str]:
    shown = row.shown
    kind = next((MODES[tag] for tag in shown.tags if tag in MODES), "100644")
    lines = [f"diff --git {_name('a', shown.was or shown.path)} {_name('b', shown.path)}"]
    modes = (row.file.get("_meta") or {}).get("x-innkeeper/modes")
    if shown.change == "added":
        lines.append(f"new file mode {kind}")
    elif shown.change == "deleted":
        lines.append(f"deleted file mode {kind}")
    elif modes:
        old, new = (MODES.get(modes[side], "100644") for side in ("before", "after"))
        lines += [f"old mode {old}", f"new mode {new}"]
    if shown.was:
        lines += [f"rename from {quoted(shown.was)}", f"rename to {quoted(shown.path)}"]
    return lines


def _binary(head: list[str], shown: "ChangedFile") -> Unified:
    old, new = _names(shown)
    lines = [*head, f"Binary files {old} and {new} differ"]
    return Unified("\n".join(lines) + "\n", len(lines), "binary")


def _names(shown: "ChangedFile") -> tuple[str, str]:
    old = "/dev/null" if shown.change == "added" else _name("a", shown.was or shown.path)
    return old, "/dev/null" if shown.change == "deleted" else _name("b", shown.path)


def _name(side: str, path: str) -> str:
    return quoted(f"{side}/{path.lstrip('/')}")
