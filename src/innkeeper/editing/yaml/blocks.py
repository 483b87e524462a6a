"""Members of block collections: putting one in, taking one out.

Rules
* What is put in takes lines of its own below the last member; what is taken out leaves with its lines, and both are
  mirrors of each other. Comments of their own lines stay.
* A collection that loses its last member is written `{}` or `[]`: without a member a block would be nothing.
* A member that shares its line with what leads to it (`- a: 1`, `? a`) is refused unless it can be kept: `split`.
"""

import re
from typing import Any, Final

from innkeeper.editing.engine import Splice
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.yaml.layout import YamlLayout
from innkeeper.editing.yaml.marks import Mark
from innkeeper.editing.yaml.writing import flow_text, member_lines

_HEADER: Final = re.compile(r"[|>][-+0-9]*")


def insert_member(layout: YamlLayout, holder: Mark, key: str, value: Any) -> Splice:
    """Below the last member of a map, which has one."""
    last = holder.keys[-1]
    if layout.text[layout.line_start(last.start) : last.start].strip(" -"):
        raise EditUnsafe("split", line=layout.line(last.start))
    manner = layout.block_manner(holder.end)
    position = layout.line_end(holder.end)
    lines = member_lines(key, value, manner, " " * last.column)
    return Splice(position, position, manner.newline + manner.newline.join(lines))


def insert_item(layout: YamlLayout, holder: Mark, index: int, value: Any) -> Splice:
    """Item `index` of a list, which has one."""
    manner = layout.block_manner(holder.end)
    text = f"{manner.newline}{' ' * holder.column}- {flow_text(value, manner.quote)}"
    if index >= len(holder.values):
        position = layout.line_end(holder.end)
        return Splice(position, position, text)
    position = layout.line_end_before(_dash(layout, holder, index))
    if position == 0:
        raise EditUnsafe("split", line=1)
    return Splice(position, position, text)


def remove(layout: YamlLayout, holder: Mark, index: int, key: Mark | None) -> list[Splice]:
    """Member or item `index`; `key` is that of the holder in its own map."""
    if len(holder.values) == 1:
        return instead(layout, holder, "{}" if holder.kind == "map" else "[]", key)
    start = holder.keys[index].start if holder.kind == "map" else _dash(layout, holder, index)
    last = index == len(holder.values) - 1
    end = _end(layout, holder, index)
    if layout.first_on_line(start):
        return [_lines(layout, start, end)]
    following = holder.end if last else holder.keys[index + 1].start if holder.kind == "map" else 0
    if last or not following or "#" in layout.text[end:following]:
        raise EditUnsafe("split", line=layout.line(start))
    return [Splice(start, following)]


def instead(layout: YamlLayout, old: Mark, text: str, key: Mark | None) -> list[Splice]:
    """A value on one line in the place of a block collection."""
    if key is None or not layout.first_on_line(old.start):
        return [Splice(old.start, old.end, text)]
    colon = layout.text.find(":", key.end) + 1
    return [Splice(colon, colon, f" {text}"), _lines(layout, old.start, old.end)]


def instead_of_text(layout: YamlLayout, old: Mark, text: str) -> list[Splice]:
    """A value on one line in the place of a block scalar, before the comment that follows its header."""
    header = _HEADER.match(layout.text, old.start)
    assert header is not None, "a block scalar begins with its header"
    return [Splice(old.start, header.end(), text), Splice(layout.line_end(header.end()), old.end)]


def _lines(layout: YamlLayout, start: int, end: int) -> Splice:
    before = layout.line_end_before(start)
    after = layout.line_end(end)
    if layout.line_start(start) == 0:
        following = layout.text[after : after + 2]
        return Splice(0, after + (2 if following == "\r\n" else min(1, len(following))))
    return Splice(before, after)


def _end(layout: YamlLayout, holder: Mark, index: int) -> int:
    value = holder.values[index]
    if not value.empty or holder.kind == "seq":
        return value.end
    return layout.text.find(":", holder.keys[index].end) + 1


def _dash(layout: YamlLayout, holder: Mark, index: int) -> int:
    """Where the dash of an item stands; on its line nothing else may be before it."""
    start = holder.values[index].start
    line = layout.line_start(start)
    dash = line + holder.column
    if layout.text[dash : dash + 1] != "-" or layout.text[line:dash].strip(" "):
        raise EditUnsafe("split", line=layout.line(start))
    return dash
