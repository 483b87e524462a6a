"""Where things are: lines in a text, URIs of paths, names that can be shown. Pure."""

import json
import posixpath
import re
from urllib.parse import quote

from innkeeper.protocol.common.state import TextRange


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


def range_of_key(text: str, key: str) -> TextRange | None:
    """Where a JSON text has `key` as a name; None when it has it not exactly once, so that nothing is guessed."""
    pattern = re.compile(re.escape(json.dumps(key, ensure_ascii=False)) + r"(?=\s*:)")
    found = [match.span() for match in pattern.finditer(text)]
    if len(found) != 1:
        return None
    start, end = found[0]
    line = text.count("\n", 0, start)
    begin = text.rfind("\n", 0, start) + 1
    return {
        "start": {"line": line, "character": _units(text[begin:start])},
        "end": {"line": line, "character": _units(text[begin:end])},
    }


def _units(text: str) -> int:
    """UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
