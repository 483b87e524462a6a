"""The content of a terminal's state, bounded (S26). Pure.

Rules
* AHP has no action that cuts content, so the host clears it and says the end of it again: every client that follows the
  actions has the same content as one that comes later.
* A cut is never inside an escape sequence, and at the end of a line where one is near.
* Commands count with their line and a little more, so that a thousand silent ones are bounded too.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.host.terminals.marks import SEQUENCE

Part = Mapping[str, Any]
Action = dict[str, Any]

COMMAND_SIZE: Final = 64
"""Characters that a command counts besides its line and output."""
LINE_SEARCH: Final = 2_000
"""How far a cut looks for the end of a line."""


def size(parts: Sequence[Part]) -> int:
    """Characters that the content counts."""
    return sum(map(_size, parts))


def cut(parts: Sequence[Part], keep: int) -> list[Part]:
    """The end of `parts`, of at most `keep` characters; at least the last part remains, cut if need be."""
    kept: list[Part] = []
    left = keep
    for part in reversed(parts):
        if _size(part) <= left:
            kept.append(part)
            left -= _size(part)
            continue
        shortened = _shortened(part, left)
        if shortened is not None and (_size(shortened) > 0 or not kept):
            kept.append(shortened)
        break
    return kept[::-1]


def said_again(parts: Sequence[Part]) -> list[Action]:
    """The actions that make exactly `parts` of a terminal without content."""
    actions: list[Action] = [{"type": "terminal/cleared"}]
    for part in parts:
        if part["type"] != "command":
            actions.append({"type": "terminal/data", "data": part["value"]})
            continue
        actions.append(
            {
                "type": "terminal/commandExecuted",
                "commandId": part["commandId"],
                "commandLine": part["commandLine"],
                "timestamp": part["timestamp"],
            }
        )
        if part["output"]:
            actions.append({"type": "terminal/data", "data": part["output"]})
        if part.get("isComplete"):
            result = {name: part[name] for name in ("exitCode", "durationMs") if part.get(name) is not None}
            actions.append({"type": "terminal/commandFinished", "commandId": part["commandId"], **result})
    return actions


def cut_text(text: str, keep: int) -> str:
    """The end of `text`, of at most `keep` characters; see the rules for where it is cut."""
    at = max(0, len(text) - keep)
    if at == 0:
        return text
    for sequence in SEQUENCE.finditer(text):
        if sequence.start() >= at:
            break
        if sequence.end() > at:
            at = sequence.end()
            break
    line_end = text.find("\n", at, at + LINE_SEARCH)
    return text[at if line_end < 0 else line_end + 1 :]


def _size(part: Part) -> int:
    if part.get("type") == "command":
        return len(part["output"]) + len(part["commandLine"]) + COMMAND_SIZE
    return len(part.get("value") or "")


def _shortened(part: Part, keep: int) -> Part | None:
    if part.get("type") != "command":
        return {**part, "value": cut_text(part["value"], keep)}
    line: str = part["commandLine"]
    room = keep - COMMAND_SIZE - len(line)
    if room >= 0:
        return {**part, "output": cut_text(part["output"], room)}
    if keep < COMMAND_SIZE or part.get("isComplete"):
        return None if part.get("isComplete") else {**part, "commandLine": "", "output": ""}
    return {**part, "commandLine": line[: keep - COMMAND_SIZE], "output": ""}
