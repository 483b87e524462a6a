"""Files of customizations, for any agent: where they are on this machine and what they say (C6.1).

Rules
* What is read is read at the time of the request. A file that cannot be read is left out: what is not there cannot
  reach a model.
"""

import logging
import posixpath
import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from innkeeper.ports.customizations import EligiblePlugin
from innkeeper.protocol.uris import local_path

log = logging.getLogger(__name__)

WORDS_BYTES: Final = 256 * 1024
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def local(uri: str, plugin: EligiblePlugin | None = None) -> str | None:
    """The path of an item on this machine; what a client's plugin contains lies below the copy of that plugin."""
    if plugin is not None and uri.startswith(plugin.uri) and urlsplit(plugin.uri).scheme != "file":
        return posixpath.join(plugin.path, unquote(uri[len(plugin.uri) :]).lstrip("/"))
    return local_path(uri)


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
