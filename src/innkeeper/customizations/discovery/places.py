"""Where things are: lines in a text, URIs of paths, names that can be shown. Pure."""

import posixpath
import re
from collections.abc import Mapping
from urllib.parse import quote

from innkeeper.customizations.discovery.limits import LINED_CHARACTERS
from innkeeper.protocol.common.state import TextRange

_NAME = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*+:)?', re.DOTALL)
"""Any string of a JSON text, and whether a colon makes it a name."""


def file_uri(path: str) -> str:
    """The `file:` URI of an absolute path, as `pathlib` spells it; names that are not UTF-8 keep their bytes."""
    return f"file://{quoted(path)}"


def quoted(path: str) -> str:
    return quote(path, safe="/", errors="surrogateescape")


def child_uri(base: str, relative: str) -> str:
    """The URI of what is below `base`; `base` itself for an empty path."""
    return f"{base.rstrip('/')}/{quoted(relative)}" if relative else base


def shown(name: str) -> str:
    """A file name as text: what is not UTF-8 becomes U+FFFD."""
    if name.isascii():
        return name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def inside(path: str, root: str) -> bool:
    """Whether a real path is the real root or below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def contained(path: str) -> str | None:
    """A relative path, normalised, `.` for the root itself; None when it is absolute or leads out."""
    if not path or path.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:", path) or "\0" in path:
        return None
    normal = posixpath.normpath(path.replace("\\", "/"))
    return None if normal == ".." or normal.startswith("../") else normal


def key_ranges(text: str) -> Mapping[str, TextRange]:
    """Where a JSON text has its names, by name. One that it has more than once is left out, so that nothing is
    guessed, and so is one that is written with escapes. Empty for a very long text."""
    found: dict[str, TextRange] = {}
    twice: set[str] = set()
    line = begin = 0
    for match in _NAME.finditer(text) if len(text) <= LINED_CHARACTERS else ():
        start, end = match.span(1)
        line += text.count("\n", begin, start)
        begin = max(begin, text.rfind("\n", begin, start) + 1)
        name = match[1][1:-1]
        if match[2] is None or "\\" in name:
            continue
        if name in found:
            twice.add(name)
        found[name] = {
            "start": {"line": line, "character": _units(text[begin:start])},
            "end": {"line": line, "character": _units(text[begin:end])},
        }
    return {name: place for name, place in found.items() if name not in twice}


def _units(text: str) -> int:
    """UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
