"""Lines, commas and habits of a JSONC document.

Rules
* A line ends at LF, CR LF or CR, as the scanner has it. What follows something on its line is white space and comments;
  a comment that goes over several lines takes its last line along.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from innkeeper.editing.jsonc.writing import Manner, member_text, value_text
from innkeeper.editing.tree import LINE_END, Node

_GAP: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_TAIL: Final = re.compile(r"(?:[ \t]+|/\*.*?\*/)*(?://[^\r\n]*)?", re.DOTALL)
_SPACES: Final = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Slot:
    """A member of an object or an item of an array. `comma` is the offset of the comma after it."""

    start: int
    end: int
    comma: int | None
    value: Node

    @property
    def after(self) -> int:
        """Behind it and its comma."""
        return self.end if self.comma is None else self.comma + 1


class Layout:
    """A document with its lines; offsets count characters of its text. The class attributes are the syntax of what may
    stand between members."""

    gap: ClassVar[re.Pattern[str]] = _GAP
    tail_pattern: ClassVar[re.Pattern[str]] = _TAIL
    comment: ClassVar[str] = "/"
    """What every comment has, and nothing else that stands between members."""
    line_comment: ClassVar[str] = "//"

    def __init__(self, text: str, root: Node) -> None:
        self.text = text
        self.root = root

    def written(self, key: str | None, value: Any, manner: Manner, indentation: str | None) -> str:
        """A member of an object, or an item where there is no key."""
        if key is None:
            return value_text(value, manner, indentation)
        return member_text(key, value, manner, indentation)

    def slots(self, holder: Node) -> list[Slot]:
        spans = [(member.start, member.end, member.value) for member in holder.members]
        spans += [(item.start, item.end, item) for item in holder.items]
        found: list[Slot] = []
        for start, end, value in spans:
            gap = self.gap.match(self.text, end)
            behind = end if gap is None else gap.end()
            found.append(Slot(start, end, behind if self.text[behind : behind + 1] == "," else None, value))
        return found

    def line(self, offset: int) -> int:
        """From 1."""
        return len(LINE_END.findall(self.text, 0, offset)) + 1

    def line_start(self, offset: int) -> int:
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def line_end_before(self, offset: int) -> int:
        """Where the line end before the line of this offset begins; 0 on the first line."""
        start = self.line_start(offset)
        if start == 0:
            return 0
        return start - 2 if self.text[start - 2 : start] == "\r\n" else start - 1

    def indentation(self, offset: int) -> str:
        """The white space that the line of this offset begins with."""
        found = _SPACES.match(self.text, self.line_start(offset))
        return "" if found is None else found[0]

    def first_on_line(self, offset: int) -> bool:
        return not self.text[self.line_start(offset) : offset].strip(" \t")

    def tail(self, offset: int) -> tuple[int, bool]:
        """Behind the comments that follow on the line, and whether the line ends there."""
        found = self.tail_pattern.match(self.text, offset)
        end = offset if found is None else found.end()
        if end < len(self.text) and self.text[end] not in "\r\n":
            return offset, False
        return end, end < len(self.text)

    def newline_at(self, offset: int) -> str:
        """How the nearest line before the offset ends, else the first one."""
        start = self.line_end_before(offset)
        found = LINE_END.match(self.text, start) or LINE_END.search(self.text)
        return "\n" if found is None else found[0]

    def first_newline(self, gap: str) -> str:
        """How the first line of a gap ends; it has one."""
        found = LINE_END.search(gap)
        assert found is not None
        return found[0]

    def manner(self, holder: Node) -> Manner:
        """What a new member of the holder should look like."""
        colon = self._colon(holder) or self._first_colon or ": "
        tight = not colon.endswith(" ")
        inner = [member.value for member in holder.members if member.value.members]
        padding = next((found for node in (holder, *inner) if (found := self._padding(node)) is not None), "")
        return Manner(self.newline_at(holder.end), self._step, colon, "," if tight else ", ", padding, self._long_lists)

    @cached_property
    def _step(self) -> str:
        for node in _containers(self.root):
            slots = node.members or node.items
            if slots and self.first_on_line(slots[0].start):
                outer, inner = self.indentation(node.start), self.indentation(slots[0].start)
                if inner.startswith(outer) and len(inner) > len(outer):
                    return inner[len(outer) :]
        return "  "

    @cached_property
    def _first_colon(self) -> str | None:
        return next((colon for node in _containers(self.root) if (colon := self._colon(node)) is not None), None)

    def _padding(self, node: Node) -> str | None:
        """What stands inside the brackets of an object on one line; None for any other."""
        found = _SPACES.match(self.text, node.start + 1)
        return found[0] if found is not None and node.members and found.end() == node.members[0].start else None

    def _colon(self, node: Node) -> str | None:
        for member in node.members:
            between = self.text[member.key_end : member.value.start]
            if not between.strip(" \t:"):
                return between
        return None

    @cached_property
    def _long_lists(self) -> bool:
        long = short = 0
        for node in _containers(self.root):
            if node.items and not any(item.kind in ("object", "array") for item in node.items):
                on_lines = any(end in self.text[node.start : node.end] for end in "\r\n")
                long, short = long + on_lines, short + (not on_lines)
        return long > short


def _containers(root: Node) -> Iterator[Node]:
    """Objects and arrays, outer ones first."""
    waiting = [root]
    while waiting:
        node = waiting.pop(0) if len(waiting) < 64 else waiting.pop()
        if node.kind in ("object", "array"):
            yield node
        waiting += [member.value for member in node.members if member.value.kind in ("object", "array")]
        waiting += [item for item in node.items if item.kind in ("object", "array")]
