"""JSONC's front end of the engine (M8.1).

Rules
* A value has one place. A key that stands twice on the way to it is refused: `duplicate`.
* A text without a value takes a first key; anything but a table at the root takes none.
"""

from collections.abc import Sequence
from typing import Any, Final

from innkeeper.editing.edits import Delete, Edit, Insert, NoSuchPlace, Path, Put, Rename
from innkeeper.editing.engine import Splice
from innkeeper.editing.jsonc import members, reading
from innkeeper.editing.jsonc.layout import Layout
from innkeeper.editing.jsonc.writing import Manner, string_text, value_text
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.steps import position_of, steps_of, value_changes
from innkeeper.editing.tree import LINE_END, Node


class Jsonc:
    """A `Format` of the engine; has no state."""

    def parse(self, text: str) -> Any:
        return reading.parse(text)

    def steps(self, text: str, data: Any, edit: Edit) -> Sequence[Edit]:
        return steps_of(data, edit, value_changes)

    def splices(self, text: str, step: Edit) -> Sequence[Splice]:
        document = reading.places(text)
        if document is None:
            return [_first(text, step)]
        layout = Layout(document.text, document.root)
        holder = _find(layout, step.path[:-1])
        match step:
            case Put(path, value):
                place = _place(layout, holder, path)
                if place is not None:
                    return [members.replace(layout, _nodes(holder)[place], value)]
                if holder.kind != "object" or not isinstance(path[-1], str):
                    raise NoSuchPlace(path)
                return members.insert(layout, holder, len(holder.members), path[-1], value)
            case Insert(path, value):
                if holder.kind != "array":
                    raise NoSuchPlace(path)
                return members.insert(layout, holder, position_of(path), None, value)
            case Delete(path):
                return members.remove(layout, holder, _required(layout, holder, path))
            case Rename(path, key):
                found = holder.members[_required(layout, holder, path)]
                return [Splice(found.start, found.key_end, string_text(key))]

    def obstacle(self, text: str, path: Path) -> EditUnsafe:
        document = reading.places(text)
        if document is None:
            return EditUnsafe("missing")
        layout, node, line = Layout(document.text, document.root), document.root, None
        for length in range(len(path)):
            line = layout.line(node.start)
            place = _place(layout, node, path[: length + 1])
            if place is None:
                break
            node = _nodes(node)[place]
        return EditUnsafe("missing", line=line)


JSONC: Final = Jsonc()


def _first(text: str, step: Edit) -> Splice:
    """The whole value of a text that has none, below its comments."""
    if not isinstance(step, Put) or len(step.path) != 1:
        raise NoSuchPlace(step.path)
    found = LINE_END.search(text)
    newline = "\n" if found is None else found[0]
    before = newline if text and text[-1] not in "\r\n" else ""
    written = value_text({str(step.path[0]): step.value}, Manner(newline), "")
    return Splice(len(text), len(text), before + written + newline)


def _find(layout: Layout, path: Path) -> Node:
    node = layout.root
    for length in range(len(path)):
        place = _required(layout, node, path[: length + 1])
        node = _nodes(node)[place]
    return node


def _nodes(holder: Node) -> list[Node]:
    return [member.value for member in holder.members] or list(holder.items)


def _required(layout: Layout, holder: Node, path: Path) -> int:
    place = _place(layout, holder, path)
    if place is None:
        raise NoSuchPlace(path)
    return place


def _place(layout: Layout, holder: Node, path: Path) -> int | None:
    """Which member of the holder the last part of the path names. Raises `EditUnsafe` when several do."""
    last = path[-1]
    if isinstance(last, int):
        return last if holder.kind == "array" and last < len(holder.items) else None
    named = [place for place, member in enumerate(holder.members) if member.key == last]
    if len(named) > 1:
        raise EditUnsafe("duplicate", line=layout.line(holder.members[named[-1]].start))
    return named[0] if named else None
