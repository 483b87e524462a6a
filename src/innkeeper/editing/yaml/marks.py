"""What stands where in a YAML document: the events of ruamel.yaml as a tree of marks.

Rules
* An alias is a mark of its own, where it is written. Data comes from elsewhere (`reading`): two readings of one text.
* A block collection ends where its last value does: white space and comments behind that belong to nobody.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from innkeeper.editing.refusals import EditUnsafe

_BLOCK_HEADER: Final = re.compile(r"[^\r\n]*?[|>][-+0-9]*")
"""Anchor and tag of a block scalar, if it has any, and its header."""


@dataclass(slots=True)
class Mark:
    """`start` is where its properties (anchor, tag) begin, if it has any. `keys` are a map's, beside `values`."""

    kind: Literal["map", "seq", "scalar", "alias"]
    start: int
    end: int
    column: int
    flow: bool = False
    style: str | None = None
    value: str = ""
    anchor: str | None = None
    tagged: bool = False
    keys: "list[Mark]" = field(default_factory=list)
    values: "list[Mark]" = field(default_factory=list)

    @property
    def block(self) -> bool:
        return self.kind in ("map", "seq") and not self.flow

    @property
    def empty(self) -> bool:
        """Nothing is written: the null that a key without a value has."""
        return self.kind == "scalar" and self.start == self.end

    @property
    def named(self) -> bool:
        """Whether it, or anything in it, has an anchor or is an alias."""
        if self.anchor is not None or self.kind == "alias":
            return True
        return any(mark.named for mark in (*self.keys, *self.values))


def marks(text: str) -> Mark | None:
    """The document's root; None for a text without any value. The text is valid (`reading.parse`)."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return _root(iter(YAML(typ="safe", pure=True).parse(text)), text)
    except (YAMLError, StopIteration, ValueError, TypeError, AttributeError) as error:
        raise EditUnsafe("syntax") from error


def _root(events: Iterator[Any], text: str) -> Mark | None:
    for event in events:
        if type(event).__name__ == "DocumentStartEvent":
            return _mark(next(events), events, text)
    return None


def _mark(event: Any, events: Iterator[Any], text: str) -> Mark:
    start, end, column = event.start_mark.index, event.end_mark.index, event.start_mark.column
    anchor = getattr(event, "anchor", None)
    match type(event).__name__:
        case "AliasEvent":
            return Mark("alias", start, end, column, anchor=anchor)
        case "ScalarEvent":
            style = event.style if event.style in ("'", '"', "|", ">") else None
            if style in ("|", ">"):
                end = start + _block_length(text[start:end])
            tagged = getattr(event, "tag", None) is not None
            return Mark("scalar", start, end, column, False, style, event.value, anchor, tagged)
        case "MappingStartEvent" | "SequenceStartEvent" as name:
            kind: Literal["map", "seq"] = "map" if name == "MappingStartEvent" else "seq"
            tagged = getattr(event, "tag", None) is not None
            made = Mark(kind, start, end, column, bool(event.flow_style), anchor=anchor, tagged=tagged)
            _fill(made, events, text)
            return made
    raise EditUnsafe("syntax")


def _block_length(text: str) -> int:
    """How long a block scalar is. With `+` in its header the empty lines below belong to it, less the last line end."""
    if "+" not in _BLOCK_HEADER.match(text)[0]:  # type: ignore[index]  # it always has one
        return len(text.rstrip())
    kept = text.rstrip(" \t")
    return len(kept.removesuffix("\n").removesuffix("\r"))


def _fill(made: Mark, events: Iterator[Any], text: str) -> None:
    for event in events:
        if type(event).__name__ in ("MappingEndEvent", "SequenceEndEvent"):
            if made.flow:
                made.end = event.end_mark.index
            elif made.values:
                made.end = _content_end(made, text)
            return
        if made.kind == "map":
            made.keys.append(_mark(event, events, text))
            event = next(events)
        made.values.append(_mark(event, events, text))


def _content_end(made: Mark, text: str) -> int:
    last = made.values[-1]
    if not last.empty:
        return last.end
    if made.kind == "map":
        return text.find(":", made.keys[-1].end) + 1 or len(text)
    return last.end
