"""What a person reads of a terminal's output: without escape sequences, with what overwrote what. Pure.

Rules
* Every escape sequence and control character goes; tabs and line ends stay.
* A line that was written again from its beginning (a progress bar) is what it was last; a shorter text leaves the rest
  of the longer one, as on a screen. A backspace takes the cursor back. Other movements of the cursor are not followed.
"""

import re
from typing import Final

from innkeeper.host.terminals.marks import SEQUENCE

_CONTROL: Final = re.compile(r"[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f]")


def plain_text(output: str) -> str:
    """`output` as text, with `\\n` between lines."""
    text = _CONTROL.sub("", SEQUENCE.sub("", output).replace("\r\n", "\n"))
    if "\r" not in text and "\b" not in text:
        return text
    return "\n".join(_seen(line) if "\r" in line or "\b" in line else line for line in text.split("\n"))


def _seen(line: str) -> str:
    seen: list[str] = []
    at = 0
    for piece in re.split(r"([\r\b])", line):
        if piece == "\r":
            at = 0
        elif piece == "\b":
            at = max(0, at - 1)
        else:
            seen[at : at + len(piece)] = piece
            at += len(piece)
    return "".join(seen)


def last_characters(text: str, count: int) -> tuple[str, bool]:
    """The end of `text`, from the beginning of a line where there is one near, and whether something was cut."""
    if len(text) <= count:
        return text, False
    kept = text[-count:]
    line_end = kept.find("\n", 0, 1 + count // 10)
    return kept[line_end + 1 :], True
