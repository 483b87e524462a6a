"""From words of a command line to edits of settings.

Rules
* A word is text. What begins like a list, a table or a quoted text is read as TOML; a list may also be given word by
  word. Directories may be relative to the present one.
"""

import os
import re
from collections.abc import Sequence
from typing import Any, Final

from innkeeper.cli.failures import UsageProblem
from innkeeper.cli.words import text
from innkeeper.editing.edits import Delete, Edit, Insert, NoSuchPlace, Path, Put, lookup
from innkeeper.editing.toml.reading import TomlInvalid, parse
from innkeeper.settings.config import Settings
from innkeeper.settings.schema import plain_value

_PART: Final = re.compile(r"""\.?([A-Za-z0-9_-]+)|\.?"([^"]*)"|\[(\d+)\]""")
_LISTS: Final = frozenset({"files", "servers_paths", "serversPaths", "allow_mcp", "allow_tools"})
_DIRECTORIES: Final = frozenset({"trusted_workspaces", "workspace"})
_PLAIN: Final = re.compile(r"true|false|[+-]?\d+(\.\d+)?")


def setting_path(name: str) -> Path:
    """`workspace_allowances[0].allow_mcp` as a path. Raises `UsageProblem`."""
    parts: list[str | int] = []
    position = 0
    while position < len(name):
        found = _PART.match(name, position)
        if found is None or (position == 0 and found[0].startswith((".", "["))):
            raise UsageProblem(text("cli.config.badName", name=name))
        key, quoted, index = found.groups()
        parts.append(int(index) if index is not None else key if key is not None else quoted)
        position = found.end()
    if not parts:
        raise UsageProblem(text("cli.config.badName", name=name))
    return tuple(parts)


def setting(data: Any, path: Path, words: Sequence[str]) -> list[Edit]:
    """`path` gets the value that the words mean. Raises `UsageProblem`."""
    if _is_list(path) and not (len(words) == 1 and words[0].lstrip().startswith("[")):
        return [Put(path, [_value(path, word) for word in words])]
    if len(words) > 1:
        raise UsageProblem(text("cli.config.oneValue"))
    return [Put(path, _value(path, words[0]))]


def adding(data: Any, path: Path, words: Sequence[str]) -> list[Edit]:
    """Each word is in the list at `path`, at its end unless it is there already. Raises `UsageProblem`."""
    known = _known_list(data, path)
    edits: list[Edit] = []
    for value in (_value(path, word) for word in words):
        if value not in known:
            edits.append(Insert((*path, len(known)), value))
            known.append(value)
    if not _has(data, path) and edits:
        return [Put(path, known)]
    return edits


def removing(data: Any, path: Path, words: Sequence[str]) -> list[Edit]:
    """None of the words is in the list at `path`. Raises `UsageProblem`."""
    known = _known_list(data, path)
    leaving = [_value(path, word) for word in words]
    if not _has(data, path):
        kept = [item for item in known if item not in leaving]
        return [Put(path, kept)] if kept != known else []
    return [Delete((*path, index)) for index in range(len(known) - 1, -1, -1) if known[index] in leaving]


def _known_list(data: Any, path: Path) -> list[Any]:
    """The list that holds now: the file's, or the default."""
    if not _is_list(path):
        raise UsageProblem(text("cli.config.noList"))
    try:
        found = lookup(data, path)
    except NoSuchPlace:
        found = plain_value(getattr(Settings(), str(path[0]))) if len(path) == 1 else []
    return list(found) if isinstance(found, list) else []


def _is_list(path: Path) -> bool:
    default = getattr(Settings(), str(path[0]), None)
    return (len(path) == 1 and isinstance(default, tuple)) or path[-1] in _LISTS


def _has(data: Any, path: Path) -> bool:
    try:
        lookup(data, path)
    except NoSuchPlace:
        return False
    return True


def _value(path: Path, word: str) -> Any:
    if word.lstrip()[:1] in ("[", "{", '"', "'") or _PLAIN.fullmatch(word):
        try:
            return parse(f"value = {word}")["value"]
        except TomlInvalid as error:
            raise UsageProblem(text("cli.config.notToml", reason=error.detail)) from error
    named = next((part for part in reversed(path) if isinstance(part, str)), "")
    return os.path.abspath(os.path.expanduser(word)) if named in _DIRECTORIES else word
