"""Files of customizations, for any agent: where they are on this machine and what they say (C6.1).

Rules
* What is read is read at the time of the request. A file that cannot be read is left out: what is not there cannot
  reach a model.
"""

import logging
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from innkeeper.ports.customizations import Eligible, EligibleLeaf, EligiblePlugin, LeafType
from innkeeper.protocol.uris import local_path

log = logging.getLogger(__name__)

WORDS_BYTES: Final = 256 * 1024
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def local(uri: str, plugin: EligiblePlugin | None = None) -> str | None:
    """The path of an item on this machine; what a client's plugin contains lies below the copy of that plugin."""
    if plugin is not None and uri.startswith(plugin.uri) and urlsplit(plugin.uri).scheme != "file":
        return posixpath.join(plugin.path, unquote(uri[len(plugin.uri) :]).lstrip("/"))
    return local_path(uri)


def located(eligible: Eligible, type: LeafType) -> Iterator[tuple[EligibleLeaf, str]]:
    """The items of that type that are on this machine, with their paths."""
    plugins = {plugin.uri: plugin for plugin in eligible.plugins}
    for leaf in eligible.leaves_of(type):
        path = local(leaf.uri, plugins.get(leaf.plugin or ""))
        if path is not None:
            yield leaf, path


@dataclass(frozen=True, slots=True)
class Rule:
    """Instructions in a file; `globs` are the files that they are meant for, none where they always hold."""

    path: str
    globs: tuple[str, ...] = ()

    @classmethod
    def of(cls, leaf: EligibleLeaf, path: str) -> "Rule":
        definition: Mapping[str, Any] = leaf.definition
        return cls(path, () if definition.get("alwaysApply") else tuple(map(str, definition.get("globs") or ())))

    def words(self) -> str | None:
        """What a model is told, as the file reads now; None where there is nothing. Blocks."""
        found = words_of(self.path)
        about = f" (for files that match {', '.join(self.globs)})" if self.globs else ""
        return f"Instructions from {self.path}{about}:\n\n{found}" if found else None


def safe(name: str) -> str:
    """As a name of a file, and of anything that takes letters, digits, dots, lines and underscores."""
    return _UNSAFE.sub("-", name).strip("-.") or "unnamed"


def words_of(path: str) -> str | None:
    """The text of a file without its front matter, at most `WORDS_BYTES` of it. Blocks."""
    try:
        with Path(path).open("rb") as file:
            found = file.read(WORDS_BYTES).decode("utf-8", "replace")
    except OSError as error:
        log.warning("%s is left out: %s", path, type(error).__name__)
        return None
    return body(found).strip()


def body(words: str) -> str:
    """Without the front matter."""
    if not words.startswith("---\n"):
        return words
    _, mark, rest = words[4:].partition("\n---\n")
    return rest if mark else words
