"""From JSONC text to data: the parser that proves edits (M8.1).

Rules
* The scanner says whether the text is valid and where not; the data comes from the standard library's parser, which
  reads the text without its comments and trailing commas. The two share nothing.
* A text without any value (empty, or comments alone) is an empty table, so that a first key can be put there.
"""

import json
import re
from typing import Any, Final

from innkeeper.editing.jsonc.scanner import JsoncError
from innkeeper.editing.jsonc.scanner import parse as scan
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.tree import Document, line_of

_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+"|//[^\r\n]*+|/\*.*?\*/|,(?=(?:[ \t\r\n]|//[^\r\n]*+|/\*.*?\*/)*+[\]}])', re.DOTALL
)
_WHOLE_DIGITS: Final = 400


def places(text: str) -> Document | None:
    """What stands where; None for a text without any value. Raises `EditUnsafe`."""
    try:
        return scan(text)
    except JsoncError as error:
        if error.code == "FILE_EMPTY":
            return None
        deep = error.code == "FILE_TOO_DEEP"
        raise EditUnsafe("depth" if deep else "syntax", line=line_of(text, error.offset)) from error


def parse(text: str) -> Any:
    """The data of a text. Raises `EditUnsafe`."""
    if places(text) is None:
        return {}
    strict = _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    try:
        return json.loads(strict, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise EditUnsafe("syntax", line=line) from error


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < _WHOLE_DIGITS else float(digits)
