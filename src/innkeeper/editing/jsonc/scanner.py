"""JSON with comments as a tree with positions: the scanner of loader and editor alike (M2.1, M8.1).

Rules
* Accepted: RFC 8259 JSON, `//` and `/* */` comments (a line ends at LF, CR or CRLF), a trailing comma, a leading BOM.
  Nothing of JSON5. Numbers keep their text.
* Every value, key and member has a span of offsets into the text, so an editor can splice and prove what it left alone.
* At most `DECLARATION_DEPTH` levels; nothing recurses beyond that.
"""

import re
from typing import Final

from innkeeper.editing.tree import Document, Kind, Member, Node
from innkeeper.limits import DECLARATION_DEPTH

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_BEFORE_SPACE: Final = frozenset({" ", "\t", "\r", "\n", "/"})
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_WORDS: Final[dict[str, tuple[Kind, object]]] = {
    "true": ("boolean", True),
    "false": ("boolean", False),
    "null": ("null", None),
}
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class JsoncError(Exception):
    """The text is no JSON with comments. `code` is FILE_EMPTY, FILE_SYNTAX or FILE_TOO_DEEP; `offset` is where."""

    def __init__(self, code: str, offset: int) -> None:
        super().__init__(f"{code} at {offset}")
        self.code = code
        self.offset = offset


def parse(text: str) -> Document:
    """Raises JsoncError."""
    scanner = _Scanner(text)
    scanner.skip()
    if scanner.at == len(text):
        raise JsoncError("FILE_EMPTY", scanner.at)
    root = scanner.value(0)
    scanner.skip()
    if scanner.at != len(text):
        raise JsoncError("FILE_SYNTAX", scanner.at)
    return Document(text, root, scanner.strict)


def _join_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.strict = True

    def skip(self) -> None:
        if self.text[self.at : self.at + 1] not in _BEFORE_SPACE:
            return
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        if match.end() > self.at and "/" in match.group():
            self.strict = False
        self.at = match.end()

    def fail(self) -> JsoncError:
        return JsoncError("FILE_SYNTAX", self.at)

    def value(self, depth: int) -> Node:
        if depth > DECLARATION_DEPTH:
            raise JsoncError("FILE_TOO_DEEP", self.at)
        start = self.at
        first = self.text[start : start + 1]
        if first == "{":
            members = self._members(depth)
            return Node("object", start, self.at, members=members)
        if first == "[":
            items = self._items(depth)
            return Node("array", start, self.at, items=items)
        if first == '"':
            decoded = self.string()
            return Node("string", start, self.at, decoded)
        for word, (kind, value) in _WORDS.items():
            if self.text.startswith(word, start):
                self.at += len(word)
                return Node(kind, start, self.at, value)
        match = _NUMBER.match(self.text, start)
        if match is None:
            raise self.fail()
        self.at = match.end()
        return Node("number", start, self.at, match.group())

    def _members(self, depth: int) -> tuple[Member, ...]:
        members: list[Member] = []
        self.at += 1
        while not self._closes("}"):
            start = self.at
            key = self.string()
            key_end = self.at
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                raise self.fail()
            self.at += 1
            self.skip()
            members.append(Member(key, key_end, self.value(depth + 1), start))
            self._separator("}")
        return tuple(members)

    def _items(self, depth: int) -> tuple[Node, ...]:
        items: list[Node] = []
        self.at += 1
        while not self._closes("]"):
            items.append(self.value(depth + 1))
            self._separator("]")
        return tuple(items)

    def _closes(self, end: str) -> bool:
        self.skip()
        if self.text[self.at : self.at + 1] == end:
            self.at += 1
            return True
        return False

    def _separator(self, end: str) -> None:
        self.skip()
        found = self.text[self.at : self.at + 1]
        if found == ",":
            self.at += 1
            self.skip()
            self.strict = self.strict and self.text[self.at : self.at + 1] != end
        elif found != end:
            raise self.fail()

    def string(self) -> str:
        """A string's value; a lone surrogate escape is kept, for the caller to refuse."""
        if self.text[self.at : self.at + 1] != '"':
            raise self.fail()
        self.at += 1
        parts: list[str] = []
        while True:
            match = _PLAIN.match(self.text, self.at)
            assert match is not None
            parts.append(match.group())
            self.at = match.end()
            found = self.text[self.at : self.at + 1]
            if found == '"':
                self.at += 1
                return _join_surrogates("".join(parts)) if len(parts) > 1 else parts[0]
            if found != "\\":
                raise self.fail()
            parts.append(self._escape())

    def _escape(self) -> str:
        letter = self.text[self.at + 1 : self.at + 2]
        if letter == "u":
            digits = self.text[self.at + 2 : self.at + 6]
            if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                raise self.fail()
            self.at += 6
            return chr(int(digits, 16))
        if letter not in _ESCAPES:
            raise self.fail()
        self.at += 2
        return _ESCAPES[letter]
