"""From a value to YAML text, in the manner of its neighbours.

Rules
* Text is plain only where no reader could take it for anything else; else it is quoted as the neighbours are.
* What stands in a flow collection is written as flow, on one line.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.editing.refusals import EditUnsafe

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./@+-]*")
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9_./@+-]*(?::[0-9]+[A-Za-z0-9_./@+-]*)?")
_RESERVED: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_ESCAPED: Final = re.compile("[\x7f-\x9f\xa0\u2028\u2029\ufeff\ufffe\uffff]")
_NOT_SINGLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Manner:
    """`quote` is what the texts around are in, nothing where they are plain; `items` is how far a list is indented
    below its key; `long_lists` whether lists of plain values have a line for each."""

    newline: str = "\n"
    step: str = "  "
    items: str = "  "
    quote: str = ""
    long_lists: bool = False


def scalar_text(value: Any, quote: str = "", *, flow: bool = False) -> str:
    """Raises `EditUnsafe` (value) for what this format has no form for."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value, quote, flow)
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
    raise EditUnsafe("value")


def flow_text(value: Any, quote: str = "") -> str:
    if isinstance(value, Mapping):
        pairs = (f"{scalar_text(key, flow=True)}: {flow_text(item, quote)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(flow_text(item, quote) for item in value)}]"
    return scalar_text(value, quote, flow=True)


def member_lines(key: str, value: Any, manner: Manner, indentation: str) -> list[str]:
    """`key: value` in block form, the lines with their indentation."""
    head = f"{indentation}{scalar_text(key)}:"
    if isinstance(value, Mapping) and value:
        inner = indentation + manner.step
        return [head, *(line for name, item in value.items() for line in member_lines(name, item, manner, inner))]
    if isinstance(value, (list, tuple)) and value and _in_lines(value, manner):
        return [head, *(f"{indentation}{manner.items}- {flow_text(item, manner.quote)}" for item in value)]
    if isinstance(value, (Mapping, list, tuple)):
        return [f"{head} {flow_text(value, manner.quote)}"]
    return [f"{head} {scalar_text(value, manner.quote)}"]


def _in_lines(items: "list[Any] | tuple[Any, ...]", manner: Manner) -> bool:
    return manner.long_lists or any(isinstance(item, (Mapping, list, tuple)) for item in items)


def _text(value: str, quote: str, flow: bool) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise EditUnsafe("value") from error
    plain = _PLAIN.fullmatch(value) or (not flow and _ADDRESS.fullmatch(value))
    if plain and not quote and value.lower() not in _RESERVED:
        return value
    if quote == "'" and not _NOT_SINGLE.search(value):
        return "'" + value.replace("'", "''") + "'"
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
