"""Which scripts of `sed` only print: addresses with `p`, `d`, `q` or `=`, and `s` without `w` and `e`."""

import re
from typing import Final

_ADDRESS: Final = r"(?:[0-9]+|\$|/(?:[^/\\\n\[]|\\[^\n])*/I?)"
_ADDRESSES: Final = rf"(?:{_ADDRESS}(?:,(?:{_ADDRESS}|\+[0-9]+))?!?)?"
_PART: Final = r"(?:[^{sign}\\\n\[]|\\[^\n]|\[\^?\]?[^{sign}\]\\\n\[]*\])*"
"""No bracket holds the sign: whether that ends the part depends on which `sed` it is."""
_SUBSTITUTION: Final = "|".join(
    rf"s{sign}{part}{sign}{part}{sign}[gIip0-9]*"
    for sign in ("/", r"\|", "#", ",")
    for part in (_PART.replace("{sign}", sign),)
)
_COMMAND: Final = rf"{_ADDRESSES} ?(?:[pdq=]|{_SUBSTITUTION})"
_SCRIPT: Final = re.compile(rf"{_COMMAND}(?:; ?{_COMMAND})*")


def is_harmless(script: str) -> bool:
    """Whether the script neither writes a file nor runs a command."""
    return _SCRIPT.fullmatch(script) is not None
