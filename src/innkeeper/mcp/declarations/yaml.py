"""YAML 1.2 as a tree with places (M1.3): the graph of ruamel.yaml, never its objects.

Rules
* Nothing is constructed: a tag of its own makes a value of kind `other`, which no field takes.
* Aliases share the node they name, so that a bomb stays as small as its text; a node that holds itself is refused.
  Merge keys add what is not written out.
* One document, at most `DECLARATION_DEPTH` levels and `SLOW_FORMAT_BYTES` long: the reader is slow.
"""

from typing import TYPE_CHECKING, Final

from innkeeper.editing.tree import Document, FormatError, Kind, Member, Node
from innkeeper.limits import DECLARATION_DEPTH
from innkeeper.mcp.declarations.toml import SLOW_FORMAT_BYTES

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, SequenceNode
    from ruamel.yaml.nodes import Node as Found

_TAG: Final = "tag:yaml.org,2002:"
_SCALARS: Final[dict[str, Kind]] = {
    f"{_TAG}str": "string",
    f"{_TAG}int": "number",
    f"{_TAG}float": "number",
    f"{_TAG}bool": "boolean",
    f"{_TAG}null": "null",
}
MERGES_LIMIT: Final = 1_000


def parse(text: str) -> Document:
    """Raises FormatError."""
    if len(text) > SLOW_FORMAT_BYTES:
        raise FormatError("FILE_TOO_LARGE")
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    body = text.removeprefix("\ufeff")
    try:
        found = YAML(typ="safe", pure=True).compose(body)
    except RecursionError:
        raise FormatError("FILE_TOO_DEEP") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise FormatError("FILE_SYNTAX", 0 if mark is None else mark.line + 1) from None
    except Exception:
        # Its scanner raises other things for some texts, none of which is YAML.
        raise FormatError("FILE_SYNTAX") from None
    if found is None:
        raise FormatError("FILE_EMPTY")
    return Document(text, _Reader(len(text) - len(body)).node(found, 0), plain_json=False)


class _Reader:
    def __init__(self, offset: int) -> None:
        self._offset = offset
        self._known: dict[int, tuple[Node, int]] = {}
        self._open: set[int] = set()
        self._merges = 0

    def node(self, found: "Found", depth: int) -> Node:
        return self._measured(found, depth)[0]

    def _measured(self, found: "Found", depth: int) -> tuple[Node, int]:
        """The node and its height; a shared one is made once, and counts with its height wherever it stands."""
        key = id(found)
        if key in self._open:
            raise FormatError("FILE_SYNTAX", found.start_mark.line + 1)
        known = self._known.get(key)
        if known is None:
            if depth > DECLARATION_DEPTH:
                raise FormatError("FILE_TOO_DEEP")
            self._open.add(key)
            known = self._make(found, depth)
            self._open.discard(key)
            self._known[key] = known
        if depth + known[1] > DECLARATION_DEPTH:
            raise FormatError("FILE_TOO_DEEP")
        return known

    def _make(self, found: "Found", depth: int) -> tuple[Node, int]:
        start, end = found.start_mark.index + self._offset, found.end_mark.index + self._offset
        tag = str(found.tag)
        if isinstance(found.value, str):
            kind = _SCALARS.get(tag, "other")
            return Node(kind, start, end, _scalar(kind, found.value)), 0
        if tag == f"{_TAG}seq":
            made = [self._measured(item, depth + 1) for item in _items(found)]
            height = 1 + max((height for _, height in made), default=0)
            return Node("array", start, end, items=tuple(node for node, _ in made)), height
        if tag == f"{_TAG}map":
            members, height = self._members(found, depth)
            return Node("object", start, end, members=members), height
        return Node("other", start, end), 0

    def _members(self, found: "Found", depth: int) -> tuple[tuple[Member, ...], int]:
        own: list[Member] = []
        merged: list[Member] = []
        height = 0
        for key, value in _pairs(found):
            node, inner = self._measured(value, depth + 1)
            height = max(height, inner)
            if str(key.tag) == f"{_TAG}merge":
                merged.extend(self._merged(node, key.start_mark.line + 1))
                continue
            if not isinstance(key.value, str):
                raise FormatError("FILE_SYNTAX", key.start_mark.line + 1)
            start, end = key.start_mark.index + self._offset, key.end_mark.index + self._offset
            own.append(Member(key.value, end, node, start))
        names = {member.key for member in own}
        for member in merged:
            if member.key not in names:
                names.add(member.key)
                own.append(member)
        return tuple(own), height + 1

    def _merged(self, node: Node, line: int) -> list[Member]:
        sources = node.items if node.kind == "array" else (node,)
        if any(source.kind != "object" for source in sources):
            raise FormatError("FILE_SYNTAX", line)
        found = [member for source in sources for member in source.members]
        self._merges += len(found)
        if self._merges > MERGES_LIMIT:
            raise FormatError("FILE_TOO_LARGE", line)
        return found


def _scalar(kind: Kind, text: str) -> object:
    if kind == "boolean":
        return text.lower() in ("true", "yes", "on")
    return None if kind in ("null", "other") else text


def _items(found: "SequenceNode | Found") -> "list[Found]":
    return list(found.value)


def _pairs(found: "MappingNode | Found") -> "list[tuple[Found, Found]]":
    return list(found.value)
