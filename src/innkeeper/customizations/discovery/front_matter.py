"""The YAML block at the head of a Markdown file, as text and lists of text (C7.1, C7.3).

Rules
* Nothing is constructed: the YAML library composes nodes, and the texts of plain, quoted and block scalars and of flat
  lists are taken as written; whatever is nested deeper is passed over. So no tag, alias or number can do harm.
* What `plain_yaml` can read is read without the library, to the same result.
* A pattern that begins with `*` may stand without quotes, as Cursor writes it, though YAML does not allow that.
* Keys are compared without case, `-` and `_`. No text makes this raise; a fault is a problem in the result.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from innkeeper.customizations.discovery.limits import FLOW_OPENINGS, FRONT_MATTER_CHARACTERS
from innkeeper.customizations.discovery.plain_yaml import Value, normalized, read_plain

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

_OPEN = re.compile(r"---[ \t]*(?:\n|\Z)")
_PATTERN = re.compile(r"^((?:globs|applyTo|paths):)[ \t]++(\*[^\n]*+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the block says, by normalised key; empty without one."""

    fields: Mapping[str, Value] = field(default_factory=dict)
    problem: str | None = None


def read(text: str) -> FrontMatter:
    """The block at the head of a file's text. Line ends of every system are accepted."""
    if not _OPEN.match(text[:256].replace("\r\n", "\n")):
        return FrontMatter()
    head = text[: FRONT_MATTER_CHARACTERS + 64].replace("\r\n", "\n").replace("\r", "\n")
    block = _split(head)
    if block is None:
        cut = len(text) > FRONT_MATTER_CHARACTERS
        return FrontMatter(problem="its front matter is too long" if cut else "its front matter does not end")
    block = _PATTERN.sub(lambda found: f"{found[1]} {_single_quoted(found[2])}", block)
    plain = read_plain(block)
    return read_yaml(block) if plain is None else FrontMatter(plain)


def read_yaml(block: str) -> FrontMatter:
    """The fields of any block, by the YAML library."""
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import MappingNode

    if block.count("[") + block.count("{") > FLOW_OPENINGS:
        return FrontMatter(problem="its front matter has too many brackets")
    yaml = YAML(typ="safe", pure=True)
    yaml.composer.warn_double_anchors = False
    try:
        root = yaml.compose(block if block.endswith("\n") else f"{block}\n")
    except Exception as error:  # A parser of another project, on any text: it is known to leak errors of every kind.
        return FrontMatter(problem=_problem(error))
    if root is None:
        return FrontMatter()
    if not isinstance(root, MappingNode):
        return FrontMatter(problem="its front matter is not a mapping")
    return _fields(root.value)


def _single_quoted(text: str) -> str:
    return f"""'{text.rstrip().replace("'", "''")}'"""


def _split(head: str) -> str | None:
    """The text between the two lines of dashes, or None when the second one is missing."""
    start = head.find("\n") + 1
    position = start
    while 0 < position <= len(head):
        end = head.find("\n", position)
        line = head[position:] if end < 0 else head[position:end]
        if line.rstrip(" \t") in ("---", "..."):
            return head[start:position]
        if end < 0:
            return None
        position = end + 1
    return None


def _fields(pairs: "Iterable[tuple[Node, Node]]") -> FrontMatter:
    from ruamel.yaml.nodes import ScalarNode

    fields: dict[str, Value] = {}
    problem = None
    for key, node in pairs:
        if not isinstance(key, ScalarNode):
            continue
        name = normalized(str(key.value))
        if name in fields:
            problem = "its front matter has a key twice"
        value = _value(node)
        if value is not None:
            fields[name] = value
    return FrontMatter(fields, problem)


def _value(node: "Node") -> Value | None:
    from ruamel.yaml.nodes import ScalarNode, SequenceNode

    if isinstance(node, ScalarNode):
        return "" if str(node.tag) == "tag:yaml.org,2002:null" else str(node.value)
    if isinstance(node, SequenceNode):
        return tuple(str(item.value) for item in node.value if isinstance(item, ScalarNode))
    return None


def _problem(error: Exception) -> str:
    line = getattr(getattr(error, "problem_mark", None), "line", None)
    place = f" (line {line + 2})" if isinstance(line, int) else ""
    return f"its front matter is not valid YAML{place}"
