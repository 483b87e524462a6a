"""The durable key of a customization, and of a workspace (C3.1-C3.3).

Rules
* `key_of` is the one function that builds a key. A key depends on what an item is, never on where it was shown: a
  plugin is its published URI, a server of a plugin is plugin and name, any other server is source and name.
* Names and URIs are encoded, so that no name can look like another key.
* `workspace_key` gives one key for all spellings of one directory. It compares, it is not shown: what is published is
  the directory as the session states it.
"""

import posixpath
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

WORKSPACE_SOURCE: Final = "workspace"
"""The source of a server that a file of the session's directory declares, whichever file it is."""

_DRIVE = re.compile(r"/?([A-Za-z])[:|](?=/|$)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True, slots=True)
class PluginIdentity:
    uri: str
    """As the plugin is published."""


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """An MCP server. `owner` is the published URI of the plugin that defines it, if one does; `source` says where an
    unowned one comes from."""

    name: str
    source: str
    owner: str | None = None


Identity = PluginIdentity | ServerIdentity


def key_of(identity: Identity) -> str:
    """The durable key: equal for equal identities, different for different ones."""
    match identity:
        case PluginIdentity(uri):
            return f"plugin/{_encode(uri)}"
        case ServerIdentity(name, source, owner):
            place = f"mcp/{_encode(source)}" if owner is None else f"plugin/{_encode(owner)}/mcp"
            return f"{place}/{_encode(name)}"


def workspace_key(directory: str, *, ignores_case: bool = False) -> str:
    """One spelling for a directory that is given as a URI, a POSIX path or a Windows path.

    Trailing and double slashes, dot segments, percent-encoding, the case of scheme, host and drive letter, and
    `localhost` do not count; `ignores_case` says that the directory's file system takes names without regard to case.
    """
    scheme, host, path = _split(directory)
    drive = _DRIVE.match(path) if scheme == "file" else None
    if drive:
        path = f"/{drive[1].lower()}:{path[drive.end() :]}"
    path = posixpath.normpath(path) if path else "/"
    path = f"/{path.lstrip('/')}"
    if ignores_case or drive:
        path = path.lower()
    return f"{scheme}://{host}{quote(path, safe='/:@!$&()*+,;=~', errors='surrogatepass')}"


def _split(directory: str) -> tuple[str, str, str]:
    """Scheme, host and decoded path."""
    if re.match(r"[A-Za-z]:[\\/]?", directory) and not _SCHEME.match(directory):
        return "file", "", directory.replace("\\", "/")
    if directory.startswith("\\\\"):
        host, _, path = directory[2:].replace("\\", "/").partition("/")
        return "file", host.lower(), f"/{path}"
    if not _SCHEME.match(directory):
        return "file", "", directory
    scheme, _, rest = directory.partition(":")
    parts = urlsplit(rest, allow_fragments=False)
    host = parts.netloc.lower()
    if scheme.lower() == "file" and host == "localhost":
        host = ""
    path = parts.path if not parts.query else f"{parts.path}?{parts.query}"
    return scheme.lower(), host, unquote(path, errors="surrogateescape")


def _encode(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")
