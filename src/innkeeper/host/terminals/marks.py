"""What a shell and its programs say between the lines: marks (OSC 633, 133), titles, screens, queries. Pure.

Rules
* Text may be cut anywhere; the same text gives the same pieces, apart from where plain text is divided. An escape
  sequence is never divided, unless it is longer than `LONGEST`: then it is no sequence.
* A mark is trusted when its last field is a nonce that the reader knows (S27); the nonce is taken off. Marks leave the
  text, so no nonce is ever shown.
* Queries, to which a terminal would reply by typing, leave the text too: many look at a terminal, later ones at its
  past, and their replies would be typed into whatever runs then.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

LONGEST: Final = 32 * 1024
"""Characters of one escape sequence; a command line is told in one."""

SEQUENCE: Final = re.compile(
    r"\x1b(?:"
    r"\][^\x07\x1b\x18\x1a]*(?:\x07|\x1b\\)"  # OSC
    r"|[P_^X][^\x1b\x18\x1a]*\x1b\\"  # DCS, APC, PM, SOS
    r"|\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|[ -/]+[0-~]"  # with intermediates
    r"|[0-OQ-WYZ\\`-~]"  # others of two characters
    r")"
)
"""One whole escape sequence."""

_BEGUN: Final = re.compile(
    r"\x1b(?:\][^\x07\x1b\x18\x1a]*\x1b?|[P_^X][^\x1b\x18\x1a]*\x1b?|\[[0-?]*[ -/]*|[ -/]*)?\Z",
)
"""One that the text ends in."""

_BROKEN: Final = re.compile(r"\x1b\](?:633|133);[^\x07\x1b\x18\x1a]*")
"""A mark that something else cut off; it may have a nonce."""

_OSC: Final = re.compile(r"\x1b\](\d+)(?:;(.*?))?(?:\x07|\x1b\\)\Z", re.DOTALL)
_SCREEN: Final = re.compile(r"\x1b\[\?(?:47|1047|1049)([hl])")
_QUERY: Final = re.compile(
    r"\x1b(?:"
    r"\[[>=]?0?c"  # device attributes
    r"|\[\??\d*n"  # status, cursor position
    r"|\[>0?q"  # version
    r"|\[\?u"  # keyboard
    r"|\[\??\d*\$p"  # modes
    r"|\[[01]?x"
    r"|\[(?:11|13|14|15|16|18|19|20|21)(?:;\d)?t"  # window
    r"|P(?:\$q|\+q).*"
    r"|\](?:4|5|1[0-9]|52|104);(?:.*;)?\?(?:\x07|\x1b\\)"
    r"|Z"
    r")\Z",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(?:\\|x([0-9a-fA-F]{2}))")


class Text(NamedTuple):
    """What is printed, colours and cursor movements included."""

    text: str


class Mark(NamedTuple):
    """A, B: the prompt begins, ends. E: the command line. C: its output begins. D: it has ended. F: a continued line.
    P: a property. `values` are unescaped."""

    code: str
    values: tuple[str, ...]
    trusted: bool


class Title(NamedTuple):
    """The title that a program gave the window; the sequence is in the text as well."""

    title: str


class Screen(NamedTuple):
    """A program takes the whole screen, or gives it back."""

    alternate: bool


class Query(NamedTuple):
    """A program asks the terminal something; `sequence` is its question."""

    sequence: str


Piece = Text | Mark | Title | Screen | Query


class Marks:
    """The reader of one terminal. `trust` and `distrust` change which nonces count."""

    def __init__(self, nonces: Iterable[str] = ()) -> None:
        self._nonces = set(nonces)
        self._held = ""

    def trust(self, nonce: str) -> None:
        self._nonces.add(nonce)

    def distrust(self, nonce: str) -> None:
        self._nonces.discard(nonce)

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are complete; the begin of a sequence is held back."""
        text = self._held + text
        pieces: list[Piece] = []
        at = 0
        while (escape := text.find("\x1b", at)) >= 0:
            _add(pieces, text[at:escape])
            found = SEQUENCE.match(text, escape, escape + LONGEST)
            if found is not None:
                self._sequence(pieces, found.group())
                at = found.end()
            elif len(text) - escape < LONGEST and _BEGUN.match(text, escape):
                self._held = text[escape:]
                return pieces
            elif (broken := _BROKEN.match(text, escape, escape + LONGEST)) is not None:
                at = broken.end()
            else:
                _add(pieces, "\x1b")
                at = escape + 1
        _add(pieces, text[at:])
        self._held = ""
        return pieces

    def end(self) -> list[Piece]:
        """What was held back when nothing comes any more."""
        held, self._held = self._held, ""
        return [Text(held)] if held and not held.startswith(("\x1b]633", "\x1b]133")) else []

    def _sequence(self, pieces: list[Piece], sequence: str) -> None:
        if (osc := _OSC.match(sequence)) is not None:
            number, payload = osc.group(1), osc.group(2) or ""
            if number in ("633", "133"):
                if payload:
                    pieces.append(self._mark(payload))
                return
            if number in ("0", "2"):
                pieces.append(Title(payload))
        if _QUERY.match(sequence) is not None:
            pieces.append(Query(sequence))
            return
        _add(pieces, sequence)
        if (screen := _SCREEN.match(sequence)) is not None:
            pieces.append(Screen(screen.group(1) == "h"))

    def _mark(self, payload: str) -> Mark:
        code, *values = payload.split(";")
        trusted = bool(values) and values[-1] in self._nonces
        if trusted:
            values.pop()
        if code == "P":
            values = [";".join(values)]
        return Mark(code, tuple(_unescaped(value) for value in values), trusted)


def _add(pieces: list[Piece], text: str) -> None:
    if not text:
        return
    last = pieces[-1] if pieces else None
    if isinstance(last, Text):
        pieces[-1] = Text(last.text + text)
    else:
        pieces.append(Text(text))


def _unescaped(value: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found.group(1), 16)) if found.group(1) else "\\", value)
