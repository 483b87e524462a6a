"""What a terminal's text looks like when it is read: lines of words with a class, and no escape sequence. Pure.

Rules
* Colours become the few classes that the style sheet has; bold, dim and underline stay. Every other sequence has no
  effect, so nothing that a program prints can reach the page as markup.
* A carriage return and a cursor that moves back overwrite, as they do on a screen, so that progress bars are one line.
* Bounded: the last `LARGEST` characters, the last `ROWS` rows, `COLUMNS` in a row.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from markupsafe import Markup, escape

LARGEST: Final = 40_000
ROWS: Final = 600
COLUMNS: Final = 2_000
COLOURS: Final = ("", "bad", "ok", "warn", "syn-fn", "syn-kw", "syn-str", "")
"""Of the eight colours, black to white; both of these are the text's own."""

_PIECE = re.compile(
    r"\x1b\[(?P<args>[0-?]*)[ -/]*(?P<end>[@-~])"
    r"|\x1b[\]P_^X](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\|$)"
    r"|\x1b[ -/]*[0-~]?"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
)


class Span(NamedTuple):
    css: str
    text: str


Row = tuple[Span, ...]


@lru_cache(maxsize=256)
def rows(text: str) -> tuple[Row, ...]:
    """The rows of a terminal's text."""
    screen = _Screen()
    for match in _PIECE.finditer(text[-LARGEST:]):
        if (words := match["text"]) is not None:
            screen.write(words)
        elif (control := match["control"]) is not None:
            screen.control(control)
        elif match["end"] is not None:
            screen.sequence(match["args"], match["end"])
    return screen.rows()


def plain(text: str, last: int) -> str:
    """The last rows of a terminal's text without any colour."""
    return "\n".join("".join(span.text for span in row) for row in rows(text)[-last:]).rstrip()


def markup(found: tuple[Row, ...], last: int = ROWS) -> Markup:
    """The last rows as markup, for the inside of a `pre`."""
    return Markup("\n").join(Markup("").join(_markup(span) for span in row) for row in found[-last:])


def _markup(span: Span) -> Markup:
    return Markup('<span class="{}">{}</span>').format(span.css, span.text) if span.css else escape(span.text)


class _Screen:
    def __init__(self) -> None:
        self._lines: list[list[tuple[str, str]]] = [[]]
        self._row = self._column = 0
        self._style: dict[str, str] = {}

    def rows(self) -> tuple[Row, ...]:
        lines = self._lines[:-1] if len(self._lines) > 1 and not self._lines[-1] else self._lines
        return tuple(_spans(line) for line in lines[-ROWS:])

    def write(self, words: str) -> None:
        css = " ".join(self._style[name] for name in sorted(self._style) if self._style[name])
        line = self._lines[self._row]
        words = words[: max(0, COLUMNS - self._column)]
        if len(line) < self._column:
            line.extend([("", " ")] * (self._column - len(line)))
        line[self._column : self._column + len(words)] = [(css, letter) for letter in words]
        self._column += len(words)

    def control(self, letter: str) -> None:
        match letter:
            case "\n" | "\v" | "\f":
                self._down(1)
                self._column = 0
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(0, self._column - 1)
            case "\t":
                self._column = min(COLUMNS, (self._column // 8 + 1) * 8)

    def sequence(self, args: str, end: str) -> None:
        numbers = [int(one) if one.isdecimal() else 0 for one in args[:60].split(";")]
        count = min(max(1, numbers[0]), COLUMNS)
        match end:
            case "m":
                self._colour(numbers)
            case "K":
                self._erase(numbers[0])
            case "A":
                self._row = max(0, self._row - count)
            case "B":
                self._down(min(count, 50))
            case "C":
                self._column = min(COLUMNS, self._column + count)
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = count - 1
            case "J" if numbers[0] in (2, 3):
                self._lines, self._row, self._column = [[]], 0, 0
            case "J" if numbers[0] == 0:
                self._erase(0)
                del self._lines[self._row + 1 :]

    def _down(self, count: int) -> None:
        self._row += count
        while len(self._lines) <= self._row:
            self._lines.append([])
        if len(self._lines) > 2 * ROWS:
            cut = len(self._lines) - ROWS
            del self._lines[:cut]
            self._row = max(0, self._row - cut)

    def _erase(self, how: int) -> None:
        line = self._lines[self._row]
        if how == 2:
            line.clear()
        elif how == 1:
            line[: self._column] = [("", " ")] * min(self._column, len(line))
        else:
            del line[self._column :]

    def _colour(self, numbers: list[int]) -> None:
        at = 0
        while at < len(numbers):
            number = numbers[at]
            if number in (38, 48):
                at += {5: 2, 2: 4}.get(numbers[at + 1] if at + 1 < len(numbers) else 0, 1)
            elif number == 0:
                self._style.clear()
            elif number in (1, 2, 4):
                self._style[{1: "bold", 2: "dim", 4: "line"}[number]] = {1: "ansi-bold", 2: "faint", 4: "ansi-line"}[
                    number
                ]
            elif number == 22:
                self._style.pop("bold", None)
                self._style.pop("dim", None)
            elif number == 24:
                self._style.pop("line", None)
            elif 30 <= number <= 37 or 90 <= number <= 97:
                self._style["colour"] = COLOURS[number % 10]
            elif number == 39:
                self._style.pop("colour", None)
            at += 1


def _spans(line: list[tuple[str, str]]) -> Row:
    found: list[Span] = []
    for css, letter in line:
        if found and found[-1].css == css:
            found[-1] = Span(css, found[-1].text + letter)
        else:
            found.append(Span(css, letter))
    return tuple(found)
