"""From TOML text to places (TOML 1.1).

Rules
* Finds spans and decodes keys; whether the text is valid is decided by the parser (`reading`), which runs first. What
  the scanner cannot follow is refused, never guessed.
* Text in strings and comments is never taken for a header or a key.
"""

import re
from typing import Final

from innkeeper.editing.edits import Path
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.model import Document, Entry, Item, Keys, Section, Value

MAX_DEPTH: Final = 100
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_DATE_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:[0-9:.]+(?:[Zz]|[+-]\d{2}:\d{2})?")
_SCALAR: Final = re.compile(r"[^\s,\]}#]+")
_BASIC: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL: Final = re.compile(r"'[^'\n]*'")
_LONG_BASIC: Final = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""(?:""|")?', re.DOTALL)
_LONG_LITERAL: Final = re.compile(r"'''(?:[^']|'(?!''))*'''(?:''|')?", re.DOTALL)
_SPACE: Final = re.compile(r"[ \t]*")
_GAP: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|.)")
_ESCAPES: Final = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}


def scan(text: str) -> Document:
    """The places of a valid document. Raises `EditUnsafe`."""
    return _Scanner(text).document()


def key_spans(text: str, start: int) -> list[tuple[int, int]]:
    """The parts of the dotted key that begins there, as spans. Raises `EditUnsafe`."""
    scanner = _Scanner(text)
    return scanner.parts(start)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counts: dict[Path, int] = {}

    def document(self) -> Document:
        sections: list[Section] = []
        entries: list[Entry] = []
        keys, path, array, start, body = Keys(), Path(), False, 0, 0
        while self._skip_lines():
            if self._text[self._at] != "[":
                entries.append(self._entry(0))
                self._end_line()
                continue
            line = self._text.rfind("\n", 0, self._at) + 1
            sections.append(Section(keys, path, array, start, body, line, tuple(entries)))
            keys, array = self._header()
            path, entries, start = self._resolve(keys, array), [], line
            self._end_line()
            body = self._at
        sections.append(Section(keys, path, array, start, body, len(self._text), tuple(entries)))
        first = self._text.find("\n")
        return Document(self._text, tuple(sections), "\r\n" if first > 0 and self._text[first - 1] == "\r" else "\n")

    def parts(self, start: int) -> list[tuple[int, int]]:
        self._at = start
        found: list[tuple[int, int]] = []
        while True:
            begun = self._at
            self._key()
            found.append((begun, self._at))
            self._match(_SPACE)
            if self._peek() != ".":
                return found
            self._at += 1
            self._match(_SPACE)

    def _skip_lines(self) -> bool:
        """To the next header or entry; False at the end of the text."""
        self._match(_GAP)
        return self._at < len(self._text)

    def _end_line(self) -> None:
        """Behind the end of a line on which only a comment may follow."""
        self._match(_SPACE)
        if self._peek() == "#":
            found = self._text.find("\n", self._at)
            self._at = len(self._text) if found < 0 else found
        if self._text.startswith("\r\n", self._at):
            self._at += 1
        if self._at < len(self._text):
            self._expect("\n")

    def _header(self) -> tuple[Keys, bool]:
        array = self._text.startswith("[[", self._at)
        self._at += 2 if array else 1
        self._match(_SPACE)
        keys = self._keys()[0]
        self._expect("]]" if array else "]")
        return keys, array

    def _resolve(self, keys: Keys, array: bool) -> Path:
        """The header's path with the positions in the arrays of tables that it leads through."""
        path: Path = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        path = (*path, keys[-1])
        if not array:
            return path
        position = self._counts.get(path, 0)
        self._counts[path] = position + 1
        return (*path, position)

    def _keys(self) -> tuple[Keys, int]:
        """A dotted key with the space after it, and where its last part ends."""
        found: list[str] = []
        while True:
            found.append(self._key())
            end = self._at
            self._match(_SPACE)
            if self._peek() != ".":
                return tuple(found), end
            self._at += 1
            self._match(_SPACE)

    def _key(self) -> str:
        if self._peek() == '"':
            return _ESCAPE.sub(_unescaped, self._need(_BASIC)[1:-1])
        if self._peek() == "'":
            return self._need(_LITERAL)[1:-1]
        return self._need(_BARE)

    def _entry(self, depth: int) -> Entry:
        start = self._at
        keys, end = self._keys()
        self._expect("=")
        self._match(_SPACE)
        return Entry(keys, start, end, self._value(depth))

    def _value(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise self._lost("depth")
        start = self._at
        if self._peek() == "[":
            return self._array(depth + 1)
        if self._peek() == "{":
            return self._table(depth + 1)
        for opening, token in (('"""', _LONG_BASIC), ("'''", _LONG_LITERAL), ('"', _BASIC), ("'", _LITERAL)):
            if self._text.startswith(opening, start):
                self._need(token)
                return Value("scalar", start, self._at)
        if not self._match(_DATE_TIME):
            self._need(_SCALAR)
        return Value("scalar", start, self._at)

    def _array(self, depth: int) -> Value:
        start, items = self._at, list[Item]()
        self._at += 1
        self._match(_GAP)
        while self._peek() != "]":
            value = self._value(depth)
            items.append(Item(value, self._comma("]")))
        self._at += 1
        return Value("array", start, self._at, items=tuple(items))

    def _table(self, depth: int) -> Value:
        start, entries = self._at, list[Entry]()
        self._at += 1
        self._match(_GAP)
        while self._peek() != "}":
            entry = self._entry(depth)
            entries.append(Entry(entry.keys, entry.start, entry.key_end, entry.value, self._comma("}")))
        self._at += 1
        return Value("table", start, self._at, entries=tuple(entries))

    def _comma(self, closing: str) -> int | None:
        """The offset of the comma after a member, and on to what follows; None at the last that has none."""
        self._match(_GAP)
        if self._peek() == closing:
            return None
        comma = self._at
        self._expect(",")
        self._match(_GAP)
        return comma

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _need(self, pattern: re.Pattern[str]) -> str:
        found = self._match(pattern)
        if not found:
            raise self._lost("syntax")
        return found

    def _expect(self, token: str) -> None:
        if not self._text.startswith(token, self._at):
            raise self._lost("syntax")
        self._at += len(token)

    def _lost(self, reason: str) -> EditUnsafe:
        line = self._text.count("\n", 0, self._at) + 1
        return EditUnsafe("depth" if reason == "depth" else "syntax", line=line)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "uUx" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code not in _ESCAPES:
        raise EditUnsafe("syntax")
    return _ESCAPES[code]
