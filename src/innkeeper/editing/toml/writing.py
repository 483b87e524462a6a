"""From a value to TOML text.

Rules
* Text becomes a basic string on one line, or a literal one where the neighbours have that habit and it can hold it.
* A list becomes an array and a table an inline table, each on one line: sections are made by `layout`.
"""

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.editing.refusals import EditUnsafe

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\x7f]')
_NAMED: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_NOT_LITERAL: Final = re.compile(r"['\x00-\x08\x0a-\x1f\x7f]")


def key_text(*keys: str) -> str:
    """A key, dotted for several."""
    return ".".join(key if _BARE.fullmatch(key) else string_text(key) for key in keys)


def value_text(value: Any, *, literal: bool = False) -> str:
    """A value on one line. Raises `EditUnsafe` (value) for what TOML has no form for."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return string_text(value, literal=literal)
        case int():
            return str(value)
        case float():
            return _float_text(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case list() | tuple():
            return f"[{', '.join(value_text(item, literal=literal) for item in value)}]"
        case Mapping():
            pairs = [f"{key_text(key)} = {value_text(item, literal=literal)}" for key, item in value.items()]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    raise EditUnsafe("value")


def string_text(value: str, *, literal: bool = False) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise EditUnsafe("value") from error
    if literal and not _NOT_LITERAL.search(value):
        return f"'{value}'"
    return '"' + _ESCAPED.sub(lambda found: _NAMED.get(found[0], f"\\u{ord(found[0]):04X}"), value) + '"'


def _float_text(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
