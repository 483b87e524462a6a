"""Lines and habits of a YAML document.

Rules
* Collections in flow style are edited like JSONC, with YAML's comments; those in block style by their lines.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Final

from innkeeper.editing.jsonc import writing as json_writing
from innkeeper.editing.jsonc.layout import Layout
from innkeeper.editing.tree import LINE_END, Member, Node
from innkeeper.editing.yaml.marks import Mark
from innkeeper.editing.yaml.writing import Manner, flow_text, scalar_text

_GAP: Final = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_TAIL: Final = re.compile(r"[ \t]*(?:#[^\r\n]*)?")
_KINDS: Final = {"map": "object", "seq": "array", "scalar": "string", "alias": "other"}


class YamlLayout(Layout):
    """`marks` is the root of what stands where."""

    gap: ClassVar[re.Pattern[str]] = _GAP
    tail_pattern: ClassVar[re.Pattern[str]] = _TAIL
    comment: ClassVar[str] = "#"
    line_comment: ClassVar[str] = "#"

    def __init__(self, text: str, marks: Mark) -> None:
        super().__init__(text, flow_node(marks))
        self.marks = marks

    def written(self, key: str | None, value: Any, manner: json_writing.Manner, indentation: str | None) -> str:
        text = flow_text(value, self.quote)
        return text if key is None else f"{scalar_text(key, flow=True)}: {text}"

    def line_end(self, offset: int) -> int:
        """Before the line end, or the end of the text."""
        found = LINE_END.search(self.text, offset)
        return len(self.text) if found is None else found.start()

    def block_manner(self, offset: int) -> Manner:
        """How what is added near an offset is written."""
        return Manner(self.newline_at(offset), self._block_step, self._block_items, self.quote, self._lines)

    @cached_property
    def quote(self) -> str:
        """What all texts of the document are quoted with; nothing when some are plain."""
        texts = [mark for mark in self._all if mark.kind == "scalar" and not mark.empty and id(mark) not in self._keys]
        styles = {mark.style or "" for mark in texts if mark.style not in ("|", ">") and not mark.value.isdigit()}
        return styles.pop() if len(styles) == 1 else ""

    @cached_property
    def _all(self) -> list[Mark]:
        return list(_walk(self.marks))

    @cached_property
    def _keys(self) -> set[int]:
        return {id(key) for mark in self._all for key in mark.keys}

    @cached_property
    def _block_step(self) -> str:
        for mark in self._all:
            if mark.block and mark.kind == "map":
                for value in mark.values:
                    deeper = value.keys[0].column - mark.keys[0].column if value.block and value.keys else 0
                    if deeper > 0:
                        return " " * deeper
        return "  "

    @cached_property
    def _block_items(self) -> str:
        for mark in self._all:
            if mark.block and mark.kind == "map":
                for value in mark.values:
                    if value.block and value.kind == "seq":
                        return " " * max(0, value.column - mark.keys[0].column)
        return self._block_step

    @cached_property
    def _lines(self) -> bool:
        lists = [mark for mark in self._all if mark.kind == "seq" and mark.values]
        return bool(lists) and sum(mark.block for mark in lists) * 2 >= len(lists)


def flow_node(mark: Mark) -> Node:
    """The mark as the node that the engine for flow collections takes; below a block collection there is nothing."""
    if mark.block:
        return Node("other", mark.start, mark.end)
    members = tuple(
        Member(key.value, key.end, flow_node(value), key.start)
        for key, value in zip(mark.keys, mark.values, strict=False)
    )
    items = () if mark.kind == "map" else tuple(flow_node(value) for value in mark.values)
    return Node(_KINDS[mark.kind], mark.start, mark.end, mark.value, members, items)  # type: ignore[arg-type]  # of the table


def _walk(root: Mark) -> Iterator[Mark]:
    waiting = [root]
    while waiting:
        mark = waiting.pop()
        yield mark
        waiting += [*reversed(mark.values), *mark.keys]
