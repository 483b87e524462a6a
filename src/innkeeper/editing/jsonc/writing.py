"""From a value to JSON text, in the manner of its neighbours.

Rules
* On one line inside what is on one line; else an object has a line for each member, indented by the document's step.
* Text is written as it is; what JSON must escape is escaped, nothing else.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from innkeeper.editing.refusals import EditUnsafe


@dataclass(frozen=True, slots=True)
class Manner:
    """How a document is laid out. `step` is one level of indentation, `colon` stands between key and value, `comma`
    between members on one line, `padding` inside the brackets of an object on one line."""

    newline: str = "\n"
    step: str = "  "
    colon: str = ": "
    comma: str = ", "
    padding: str = ""
    long_lists: bool = False
    """Whether a list of plain values has a line for each."""


def string_text(value: str) -> str:
    """Raises `EditUnsafe` (value) for what no file can hold."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise EditUnsafe("value") from error
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def member_text(key: str, value: Any, manner: Manner, indentation: str | None) -> str:
    return f"{string_text(key)}{manner.colon}{value_text(value, manner, indentation)}"


def value_text(value: Any, manner: Manner, indentation: str | None) -> str:
    """`indentation` is that of the line on which the value begins; None keeps it on that line. Raises `EditUnsafe`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return string_text(value)
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case Mapping():
            return _object_text(value, manner, indentation)
        case list() | tuple():
            return _array_text(value, manner, indentation)
    raise EditUnsafe("value")


def _object_text(value: Mapping[str, Any], manner: Manner, indentation: str | None) -> str:
    if not value:
        return "{}"
    if indentation is None:
        members = manner.comma.join(member_text(key, item, manner, None) for key, item in value.items())
        return f"{{{manner.padding}{members}{manner.padding}}}"
    inner = indentation + manner.step
    lines = [inner + member_text(key, item, manner, inner) for key, item in value.items()]
    return _lines("{", lines, "}", manner, indentation)


def _array_text(value: "list[Any] | tuple[Any, ...]", manner: Manner, indentation: str | None) -> str:
    nested = any(isinstance(item, (Mapping, list, tuple)) for item in value)
    if not value or indentation is None or not (nested or manner.long_lists):
        return f"[{manner.comma.join(value_text(item, manner, None) for item in value)}]"
    inner = indentation + manner.step
    return _lines("[", [inner + value_text(item, manner, inner) for item in value], "]", manner, indentation)


def _lines(opening: str, lines: list[str], closing: str, manner: Manner, indentation: str) -> str:
    body = f",{manner.newline}".join(lines)
    return f"{opening}{manner.newline}{body}{manner.newline}{indentation}{closing}"
