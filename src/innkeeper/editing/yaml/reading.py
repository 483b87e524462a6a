"""From YAML text to data: what proves edits (M8.1). Nothing is constructed.

Rules
* One document, YAML 1.2, at most `SLOW_BYTES` long. A tag of its own and an alias become values of their own kind,
  which equal only themselves: an alias is never followed, so that a bomb stays as small as its text.
* Merge keys are members like others here: an edit never looks through them.
* A text without any value (empty, or comments alone) is an empty table, so that a first key can be put there.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from innkeeper.editing.refusals import EditUnsafe
from innkeeper.limits import DECLARATION_DEPTH, KIB

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

SLOW_BYTES: Final = 256 * KIB
"""The reader takes seconds for a mebibyte."""

_TAG: Final = "tag:yaml.org,2002:"
_WHOLE: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,300})")


@dataclass(frozen=True, slots=True)
class Alias:
    """A value that stands elsewhere under this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Tagged:
    """A scalar that is no text, truth value, number of plain digits or nothing, as it is written."""

    tag: str
    text: str


def parse(text: str) -> Any:
    """The data of a text. Raises `EditUnsafe`."""
    if len(text) > SLOW_BYTES:
        raise EditUnsafe("size")
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        found = YAML(typ="safe", pure=True).compose(text)
        return {} if found is None else _data(found, set(), 0)
    except RecursionError:
        raise EditUnsafe("depth") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise EditUnsafe("syntax", line=None if mark is None else mark.line + 1) from error
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        # Its scanner raises other things for some texts, none of which is YAML.
        raise EditUnsafe("syntax") from error


def _data(node: "Node", seen: set[int], depth: int) -> Any:
    if depth > DECLARATION_DEPTH:
        raise EditUnsafe("depth", line=node.start_mark.line + 1)
    if id(node) in seen and node.anchor is not None:
        return Alias(str(node.anchor))
    seen.add(id(node))
    tag = str(node.tag)
    if isinstance(node.value, str):
        return _scalar(tag, node.value)
    if tag == f"{_TAG}map":
        return {_key(key, seen): _data(value, seen, depth + 1) for key, value in node.value}
    if tag == f"{_TAG}seq":
        return [_data(item, seen, depth + 1) for item in node.value]
    return Tagged(tag, repr([_parts(item, seen, depth + 1) for item in node.value]))


def _parts(item: Any, seen: set[int], depth: int) -> Any:
    return tuple(_data(part, seen, depth) for part in (item if isinstance(item, tuple) else (item,)))


def _key(key: "Node", seen: set[int]) -> str:
    if not isinstance(key.value, str):
        raise EditUnsafe("syntax", line=key.start_mark.line + 1)
    seen.add(id(key))
    return key.value


def _scalar(tag: str, text: str) -> Any:
    match tag.removeprefix(_TAG):
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" if _WHOLE.fullmatch(text):
            return int(text)
    return Tagged(tag, text)
