"""A declaration file as a tree with places, whatever its format (M2.1): what JSONC, TOML and YAML all become.

Rules
* Every value and member has a span of offsets into the text. JSONC spans are exact and fit for editing; those of TOML
  and YAML are fit for saying where something stands.
* Duplicate keys are kept, in order, for the caller to refuse; keys are compared as decoded. Numbers keep their text.
* Nodes are named tuples: there are many, made for each reading. They may be shared (YAML aliases), and nothing here
  walks a shared node twice, so that a small file stays small.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple

Kind = Literal["object", "array", "string", "number", "boolean", "null", "other"]
"""`other`: a date, or a value with a tag of its own. No field takes one."""

LINE_END = re.compile(r"\r\n|\r|\n")


class FormatError(Exception):
    """The text is not of its format. `code` is FILE_EMPTY, FILE_SYNTAX, FILE_TOO_DEEP or FILE_TOO_LARGE; `line` is
    one-based, 0 for the whole file; `hint` is the last part of a text id, or empty."""

    def __init__(self, code: str, line: int = 0, hint: str = "") -> None:
        super().__init__(f"{code} at line {line}")
        self.code = code
        self.line = line
        self.hint = hint


class Node(NamedTuple):
    """One value. `value` is the decoded scalar (a number's text); `start` and `end` bound the value's own text."""

    kind: Kind
    start: int
    end: int
    value: object = None
    members: tuple["Member", ...] = ()
    items: tuple["Node", ...] = ()

    def get(self, key: str) -> "Node | None":
        """The last member of that name; check `duplicates` first."""
        found = None
        for member in self.members:
            if member.key == key:
                found = member.value
        return found

    def at(self, path: Sequence[str]) -> "Node | None":
        """The value at the end of a path of keys; the node itself for the empty path."""
        node: Node | None = self
        for key in path:
            if node is None:
                return None
            node = node.get(key)
        return node

    def plain(self) -> object:
        """As Python values: numbers as int or float, the last of duplicate keys. Shared nodes give shared values."""
        return _plain(self, {})

    def duplicates(self) -> Iterator["Member"]:
        """Every member, at any depth, whose key came before in the same object."""
        return _duplicates(self, set())


class Member(NamedTuple):
    """`"key": value`; `start` is where the key begins, `end` the value's end."""

    key: str
    key_end: int
    value: Node
    start: int

    @property
    def end(self) -> int:
        return self.value.end


@dataclass(frozen=True)
class Document:
    """A parsed text. Offsets count characters of `text`, which includes the BOM."""

    text: str
    root: Node
    plain_json: bool = True
    """Whether a reader of strict JSON takes it too: no comment, no trailing comma."""

    @cached_property
    def _starts(self) -> Sequence[int]:
        if "\r" not in self.text:
            return list(accumulate((len(line) + 1 for line in self.text.split("\n")[:-1]), initial=0))
        return [0, *(match.end() for match in LINE_END.finditer(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Zero-based line, and column in UTF-16 code units as AHP counts them."""
        line = bisect_right(self._starts, offset) - 1
        column = self.text[self._starts[line] : offset]
        if column.isascii():
            return line, len(column)
        return line, sum(2 if ord(character) > 0xFFFF else 1 for character in column)


def line_of(text: str, offset: int) -> int:
    """The one-based line of an offset, for a text that could not be parsed."""
    return len(LINE_END.findall(text[:offset])) + 1


def _duplicates(node: Node, done: set[int]) -> Iterator[Member]:
    if id(node) in done:
        return
    done.add(id(node))
    seen: set[str] = set()
    for member in node.members:
        if member.key in seen:
            yield member
        seen.add(member.key)
        if member.value.members or member.value.items:
            yield from _duplicates(member.value, done)
    for item in node.items:
        if item.members or item.items:
            yield from _duplicates(item, done)


def _plain(node: Node, made: dict[int, object]) -> object:
    if id(node) in made:
        return made[id(node)]
    value: object = node.value
    if node.kind == "object":
        value = {member.key: _plain(member.value, made) for member in node.members}
    elif node.kind == "array":
        value = [_plain(item, made) for item in node.items]
    elif node.kind == "number":
        value = _number(str(node.value))
    made[id(node)] = value
    return value


def _number(text: str) -> object:
    try:
        return int(text) if len(text) < 400 and not any(c in text for c in ".eE") else float(text)
    except ValueError:
        return text  # YAML writes numbers in ways that Python does not read
