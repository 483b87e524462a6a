"""Members of an object or an array: putting one in, taking one out.

Rules
* What is put in and taken out again leaves the same bytes: one is the mirror of the other.
* What is inserted follows its neighbours: on a line of its own where they have one, behind a comma else; a trailing
  comma stays a habit.
* Comments stay, except one behind a member that leaves with its line.
"""

import re
from typing import Any, Final

from innkeeper.editing.engine import Splice
from innkeeper.editing.jsonc.layout import Layout, Slot
from innkeeper.editing.jsonc.writing import Manner
from innkeeper.editing.tree import Node

_ALONE_BEFORE: Final = re.compile(r"([^\r\n]*?)(?:\r\n|\r|\n)[ \t]*")
_ALONE_AFTER: Final = re.compile(r"(?:\r\n|\r|\n)[ \t]*")
_BLANK_AFTER: Final = re.compile(r"(\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)")


def insert(layout: Layout, holder: Node, index: int, key: str | None, value: Any) -> list[Splice]:
    """The value becomes member `index`, at most the number of members; `key` is None in an array."""
    slots = layout.slots(holder)
    manner = layout.manner(holder)
    if not slots:
        return [_into_empty(layout, holder, manner, key, value)]
    if index >= len(slots):
        return _behind_last(layout, holder, slots, manner, key, value)
    following = slots[index].start
    before = slots[index - 1].after if index else holder.start + 1
    line_end, ends = layout.tail(before)
    if not layout.first_on_line(following) or not ends:
        return [Splice(following, following, f"{layout.written(key, value, manner, None)}{manner.comma}")]
    indentation = layout.indentation(following)
    text = layout.written(key, value, manner, _inner(layout, slots, value, indentation))
    return [Splice(line_end, line_end, f"{manner.newline}{indentation}{text},")]


def remove(layout: Layout, holder: Node, index: int) -> list[Splice]:
    slots = layout.slots(holder)
    if len(slots) == 1:
        return _remove_only(layout, holder, slots[0])
    slot = slots[index]
    last = index == len(slots) - 1
    if _has_own_lines(layout, slot):
        spans = [Splice(layout.line_end_before(slot.start), layout.tail(slot.after)[0])]
        before = slots[index - 1].comma if index else None
        if last and slot.comma is None and before is not None:
            spans.append(Splice(before, before + 1))
        return spans
    if not last:
        return _without_comments(layout, slot.start, slots[index + 1].start, slot, slot.comma)
    before = slots[index - 1].comma
    assert before is not None
    if slot.comma is not None:
        return _without_comments(layout, before + 1, slot.comma + 1, slot, slot.comma)
    return _without_comments(layout, before, slot.end, slot, before)


def replace(layout: Layout, value: Node, new: Any) -> Splice:
    """Another value in its place; one that is made of lines stays that."""
    lines = any(end in layout.text[value.start : value.end] for end in "\r\n")
    if not lines and not (value.members or value.items):
        lines = any(end in layout.text[: value.start] for end in "\r\n")
    return Splice(
        value.start,
        value.end,
        layout.written(None, new, layout.manner(value), layout.indentation(value.start) if lines else None),
    )


def _inner(layout: Layout, slots: list[Slot], value: Any, indentation: str) -> str | None:
    """None when neighbours of the same kind stay on one line."""
    alike = [slot.value for slot in slots if slot.value.kind == ("object" if isinstance(value, dict) else "array")]
    alike = [node for node in alike if node.members or node.items]
    if alike and not any(end in layout.text[node.start : node.end] for node in alike for end in "\r\n"):
        return None
    return indentation


def _into_empty(layout: Layout, holder: Node, manner: Manner, key: str | None, value: Any) -> Splice:
    inside, closing = holder.start + 1, holder.end - 1
    gap = layout.text[inside:closing]
    outer = layout.indentation(holder.start)
    inner = outer + manner.step
    if any(end in gap for end in "\r\n"):
        if not gap.strip():
            text, newline = layout.written(key, value, manner, inner), layout.first_newline(gap)
            return Splice(inside, inside, f"{newline}{inner}{text}{newline}")
        if layout.first_on_line(closing):
            start = layout.line_start(closing)
            comment = layout.line_start(layout.line_end_before(closing))
            inner = layout.indentation(comment) if comment > inside else inner
            return Splice(start, start, f"{inner}{layout.written(key, value, manner, inner)}{manner.newline}")
        return Splice(closing, closing, layout.written(key, value, manner, None))
    plain = key is None and not isinstance(value, (dict, list)) and not manner.long_lists
    one_line = "\n" not in layout.text and "\r" not in layout.text and layout.root is not holder
    if plain or one_line:
        return Splice(
            closing, closing, layout.written(key, value, manner, None) + (gap if not gap.strip(" \t") else "")
        )
    text = layout.written(key, value, manner, inner)
    return Splice(closing, closing, f"{manner.newline}{inner}{text}{manner.newline}{outer}")


def _behind_last(
    layout: Layout, holder: Node, slots: list[Slot], manner: Manner, key: str | None, value: Any
) -> list[Splice]:
    last = slots[-1]
    if not layout.first_on_line(last.start):
        space = manner.comma[1:]
        text = layout.written(key, value, manner, None)
        after = last.after
        return [Splice(after, after, f",{space}{text}" if last.comma is None else f"{space}{text},")]
    indentation = layout.indentation(last.start)
    text = layout.written(key, value, manner, _inner(layout, slots, value, indentation))
    line = f"{manner.newline}{indentation}{text}"
    line_end, ends = layout.tail(last.after)
    if last.comma is not None:
        return [Splice(line_end, line_end, f"{line},")]
    if not ends or line_end == last.end:
        return [Splice(last.end, last.end, f",{line}")]
    return [Splice(last.end, last.end, ","), Splice(line_end, line_end, line)]


def _has_own_lines(layout: Layout, slot: Slot) -> bool:
    """Whether nothing but the member, its comma and a comment is on the lines it takes."""
    between = layout.text[slot.end : slot.after]
    if "\n" in between or "\r" in between:
        return False
    return layout.first_on_line(slot.start) and layout.tail(slot.after)[1]


def _without_comments(layout: Layout, start: int, end: int, slot: Slot, comma: int | None) -> list[Splice]:
    """One span, or only the member and a comma when a comment stands in between."""
    rest = layout.text[start : slot.start] + layout.text[slot.end : end]
    if layout.comment not in rest or comma is None:
        return [Splice(start, end)]
    return [Splice(slot.start, slot.end), Splice(comma, comma + 1)]


def _remove_only(layout: Layout, holder: Node, slot: Slot) -> list[Splice]:
    inside, closing = holder.start + 1, holder.end - 1
    before, after = layout.text[inside : slot.start], layout.text[slot.after : closing]
    opened = _ALONE_BEFORE.fullmatch(before)
    if opened is not None and layout.line_comment not in opened[1]:
        if _ALONE_AFTER.fullmatch(after):
            return [Splice(inside + len(opened[1]), closing)]
        blank = _BLANK_AFTER.match(after)
        if blank is not None and not after.strip() and not opened[1].strip():
            return [Splice(inside + len(opened[1]), slot.after + len(blank[1]))]
    if _has_own_lines(layout, slot):
        return [Splice(layout.line_end_before(slot.start), layout.tail(slot.after)[0])]
    if layout.comment not in before + layout.text[slot.end : slot.after] + after and not after.strip(" \t"):
        return [Splice(slot.start, closing)]
    comma = [] if slot.comma is None else [Splice(slot.comma, slot.comma + 1)]
    return [Splice(slot.start, slot.end), *comma]
