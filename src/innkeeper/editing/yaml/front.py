"""YAML's front end of the engine (M8.1).

Rules
* What has an anchor, is an alias or is merged in is not edited, nor is anything on the way to the place: `anchor`.
* A key that stands twice on the way is refused (`duplicate`), and so is a tag of its own (`split`).
"""

from collections.abc import Sequence
from typing import Any, Final

from innkeeper.editing.edits import Delete, Edit, Insert, NoSuchPlace, Path, Put, Rename
from innkeeper.editing.engine import Splice
from innkeeper.editing.jsonc import members
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.steps import position_of, steps_of, value_changes
from innkeeper.editing.tree import LINE_END
from innkeeper.editing.yaml import blocks, reading
from innkeeper.editing.yaml.layout import YamlLayout, flow_node
from innkeeper.editing.yaml.marks import Mark, marks
from innkeeper.editing.yaml.writing import Manner, flow_text, member_lines, scalar_text

MERGE: Final = "<<"


class Yaml:
    """A `Format` of the engine; has no state."""

    def parse(self, text: str) -> Any:
        return reading.parse(text)

    def steps(self, text: str, data: Any, edit: Edit) -> Sequence[Edit]:
        return steps_of(data, edit, value_changes)

    def splices(self, text: str, step: Edit) -> Sequence[Splice]:
        root = marks(text)
        if root is None:
            return [_first(text, step)]
        layout = YamlLayout(text, root)
        holder, key = _find(layout, step.path[:-1])
        place = _place(layout, holder, step.path[-1])
        match step:
            case Put(path, value) if place is not None:
                return _replaced(layout, holder, place, value)
            case Put(path, value):
                if holder.kind != "map" or not isinstance(path[-1], str):
                    raise NoSuchPlace(path)
                return _added(layout, holder, path[-1], value)
            case Insert(path, value):
                if holder.kind != "seq":
                    raise NoSuchPlace(path)
                if holder.flow or not holder.values:
                    return members.insert(layout, flow_node(holder), position_of(path), None, value)
                return [blocks.insert_item(layout, holder, position_of(path), value)]
            case Delete(path):
                _require_unnamed(layout, holder.values[_required(place, path)])
                if holder.flow:
                    return members.remove(layout, flow_node(holder), _required(place, path))
                return blocks.remove(layout, holder, _required(place, path), key)
            case Rename(path, new):
                old = holder.keys[_required(place, path)]
                _require_unnamed(layout, old)
                return [Splice(old.start, old.end, scalar_text(new, old.style or "", flow=holder.flow))]

    def obstacle(self, text: str, path: Path) -> EditUnsafe:
        mark, line = marks(text), None
        if mark is None:
            return EditUnsafe("missing")
        layout = YamlLayout(text, mark)
        try:
            for part in path:
                line = layout.line(mark.start)
                _require_plain(layout, mark)
                place = _place(layout, mark, part)
                if place is None:
                    break
                mark = mark.values[place]
        except EditUnsafe as found:
            return found
        return EditUnsafe("missing", line=line)


YAML: Final = Yaml()


def _first(text: str, step: Edit) -> Splice:
    """The first member of a text that has no value, below its comments."""
    if not isinstance(step, Put) or len(step.path) != 1:
        raise NoSuchPlace(step.path)
    found = LINE_END.search(text)
    newline = "\n" if found is None else found[0]
    before = newline if text and text[-1] not in "\r\n" else ""
    lines = member_lines(str(step.path[0]), step.value, Manner(newline), "")
    return Splice(len(text), len(text), before + newline.join(lines) + newline)


def _added(layout: YamlLayout, holder: Mark, key: str, value: Any) -> list[Splice]:
    if holder.flow:
        return members.insert(layout, flow_node(holder), len(holder.values), key, value)
    return [blocks.insert_member(layout, holder, key, value)]


def _replaced(layout: YamlLayout, holder: Mark, place: int, value: Any) -> list[Splice]:
    old = holder.values[place]
    _require_unnamed(layout, old)
    key = holder.keys[place] if holder.kind == "map" else None
    text = flow_text(value, _quote(old, layout)) if not isinstance(value, str) else None
    if text is None:
        text = scalar_text(value, _quote(old, layout), flow=holder.flow)
    if old.block:
        return blocks.instead(layout, old, text, key)
    if old.style in ("|", ">"):
        return blocks.instead_of_text(layout, old, text)
    if old.empty and key is not None:
        colon = layout.text.find(":", key.end) + 1
        return [Splice(colon, colon, f" {text}")]
    return [Splice(old.start, old.end, text)]


def _quote(old: Mark, layout: YamlLayout) -> str:
    if old.kind == "scalar" and old.style in ("'", '"'):
        return old.style
    return "" if old.kind == "scalar" and not old.empty else layout.quote


def _find(layout: YamlLayout, path: Path) -> tuple[Mark, Mark | None]:
    """The value at a path and its key. Raises `NoSuchPlace`, `EditUnsafe`."""
    mark, key = layout.marks, None
    _require_plain(layout, mark)
    for length, part in enumerate(path, start=1):
        place = _required(_place(layout, mark, part), path[:length])
        key = mark.keys[place] if mark.kind == "map" else None
        mark = mark.values[place]
        _require_plain(layout, mark)
    return mark, key


def _place(layout: YamlLayout, holder: Mark, part: str | int) -> int | None:
    """Which member of the holder it is. Raises `EditUnsafe` when several are, or when what is merged in may be."""
    if isinstance(part, int):
        return part if holder.kind == "seq" and part < len(holder.values) else None
    merged = next((key for key in holder.keys if key.value == MERGE and key.style is None), None)
    if merged is not None:
        raise EditUnsafe("anchor", line=layout.line(merged.start))
    named = [place for place, key in enumerate(holder.keys) if key.value == part]
    if len(named) > 1:
        raise EditUnsafe("duplicate", line=layout.line(holder.keys[named[-1]].start))
    return named[0] if named else None


def _required(place: int | None, path: Path) -> int:
    if place is None:
        raise NoSuchPlace(path)
    return place


def _require_plain(layout: YamlLayout, mark: Mark) -> None:
    if mark.kind == "alias" or mark.anchor is not None:
        raise EditUnsafe("anchor", line=layout.line(mark.start))
    if mark.tagged:
        raise EditUnsafe("split", line=layout.line(mark.start))


def _require_unnamed(layout: YamlLayout, mark: Mark) -> None:
    _require_plain(layout, mark)
    if mark.named:
        raise EditUnsafe("anchor", line=layout.line(mark.start))
