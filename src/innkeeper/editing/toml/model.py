"""A TOML document as places: what stands where, without decoding a value.

Offsets count characters of the text without its byte order mark. A span ends before the character at its end.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from innkeeper.editing.edits import Path

Keys: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """An item of an array. `comma` is the offset of the comma after it."""

    value: "Value"
    comma: int | None

    @property
    def start(self) -> int:
        return self.value.start

    @property
    def end(self) -> int:
        return self.value.end


@dataclass(frozen=True, slots=True)
class Entry:
    """`key = value`, in a section or an inline table; the key may be dotted. `comma` as in `Item`."""

    keys: Keys
    start: int
    key_end: int
    value: "Value"
    comma: int | None = None

    @property
    def end(self) -> int:
        return self.value.end


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar, an array with its items or an inline table with its entries."""

    kind: Literal["scalar", "array", "table"]
    start: int
    end: int
    items: tuple[Item, ...] = ()
    entries: tuple[Entry, ...] = ()

    @property
    def members(self) -> "tuple[Item, ...] | tuple[Entry, ...]":
        return self.items if self.kind == "array" else self.entries


@dataclass(frozen=True, slots=True)
class Section:
    """A header and the entries below it; the first section has no header. `path` has the positions in arrays of tables.

    `start` is where the header's line begins, `body` where the line after it does, `end` where the next header's line
    begins.
    """

    keys: Keys
    path: Path
    array: bool
    start: int
    body: int
    end: int
    entries: tuple[Entry, ...]

    @property
    def members(self) -> tuple[Entry, ...]:
        return self.entries


@dataclass(frozen=True, slots=True)
class Document:
    text: str
    sections: tuple[Section, ...]
    newline: str
    """What ends the lines of this document."""

    def line(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return self.text.count("\n", 0, offset) + 1

    def line_start(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """Before the line end, or the end of the text."""
        found = self.text.find("\n", offset)
        if found < 0:
            return len(self.text)
        return found - 1 if found > offset and self.text[found - 1] == "\r" else found

    def next_line(self, offset: int) -> int:
        """Behind the line end, or the end of the text."""
        found = self.text.find("\n", offset)
        return len(self.text) if found < 0 else found + 1

    def blank(self, start: int) -> bool:
        """Whether the line that begins there is empty and ends."""
        end = self.next_line(start)
        return end > start and self.text[end - 1] == "\n" and not self.text[start:end].strip()

    def indentation(self, offset: int) -> str:
        """The white space before an offset when nothing else is before it on its line, else nothing."""
        before = self.text[self.line_start(offset) : offset]
        return "" if before.strip(" \t") else before

    def first_on_line(self, offset: int) -> bool:
        return not self.text[self.line_start(offset) : offset].strip(" \t")
