"""The lines around a place in a file, within limits. Pure."""

from collections.abc import Mapping
from typing import Any, Final

LINES: Final = 16
BEFORE: Final = 4
CHARACTERS: Final = 4_096
LINE_CHARACTERS: Final = 220
FILE_BYTES: Final = 1024 * 1024


def excerpt(label: str, content: str, selection: Mapping[str, Any]) -> str:
    """A block with file, range and lines, the target's marked with `>`. Raises KeyError and TypeError for a selection
    without a range of lines."""
    first, last = int(selection["range"]["start"]["line"]), int(selection["range"]["end"]["line"])
    lines = content.splitlines()
    start = max(0, min(first - BEFORE, len(lines) - 1))
    shown: list[str] = []
    left = CHARACTERS
    for number in range(start, min(len(lines), start + LINES)):
        line = lines[number]
        cut = line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1] + "…"
        mark = ">" if first <= number <= last else " "
        row = f"{mark} {number + 1}: {cut}"
        if len(row) + 1 > left:
            break
        left -= len(row) + 1
        shown.append(row)
    body = "\n".join(shown)
    return f"<editor_inline_context>\nFile: {label}\nLines: {first + 1}-{last + 1}\n{body}\n</editor_inline_context>"
