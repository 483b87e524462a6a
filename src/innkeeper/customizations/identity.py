"""The durable key of a customization, and of a workspace (C3.1-C3.3).

Rules
* `key_of` is the one function that builds a key. A key depends on what an item is, never on where it was shown: a
  plugin is its published URI, a server of a plugin is plugin and name, any other server is source and name, a
  directory is whose it is and its path there, anything else is its container, its type and its name.
* Names and URIs are encoded, so that no name can look like another key.
* A server of which only the name is known is matched by name, the owner map first; it is nobody's as long as that is
  not clear (C3.1b).
* `workspace_key` gives one key for all spellings of one directory. It compares, it is not shown: what is published is
  the directory as the session states it.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, NewType
from urllib.parse import quote, unquote

Key = NewType("Key", str)
"""What decisions are stored under; only `key_of` makes one."""

WORKSPACE_SOURCE: Final = "workspace"
"""The source of what a file or directory of the session's primary directory declares, whichever file it is."""

_DRIVE = re.compile(r"/?([A-Za-z])[:|](?=[\\/]|$)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")


@dataclass(frozen=True, slots=True)
class PluginIdentity:
    uri: str
    """As the plugin is published."""


@dataclass(frozen=True, slots=True)
class DirectoryIdentity:
    """A directory for one type of customizations: `path` in the place that `source` names (`Place.source_of`)."""

    source: str
    path: str
    contents: str


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """An MCP server. `owner` is the published URI of the plugin that defines it, if one does; `source` says where an
    unowned one comes from."""

    name: str
    source: str
    owner: str | None = None


class LeafIdentity(NamedTuple):
    """An agent, skill, prompt, rule or hook of the plugin or directory with the key `container`."""

    container: Key
    type: Literal["agent", "skill", "prompt", "rule", "hook"]
    name: str


Identity = PluginIdentity | DirectoryIdentity | ServerIdentity | LeafIdentity


@dataclass(frozen=True, slots=True)
class Definitions:
    """What is known to define servers: name to the plugins that do (the owner map), and to the sources that declare
    one. `settled`: discovery has come to an end, no more will be found now."""

    owners: Mapping[str, Sequence[str]]
    sources: Mapping[str, Sequence[str]]
    settled: bool


def key_of(identity: Identity) -> Key:
    """The durable key: equal for equal identities, different for different ones."""
    match identity:
        case LeafIdentity(container, type, name):
            return Key(f"{container}/{type}/{encode(name)}")
        case PluginIdentity(uri):
            return Key(f"plugin/{encode(uri)}")
        case DirectoryIdentity(source, path, contents):
            return Key(f"directory/{encode(source)}/{encode(path)}/{encode(contents)}")
        case ServerIdentity(name, source, owner):
            place = f"mcp/{encode(source)}" if owner is None else f"plugin/{encode(owner)}/mcp"
            return Key(f"{place}/{encode(name)}")


def older_keys(identity: Identity) -> tuple[str, ...]:
    """Keys of earlier schemas, read where the present one has no decision (C3.1b): a server without an owner was its
    name alone."""
    if isinstance(identity, ServerIdentity) and identity.owner is None:
        return (f"mcpServers#{identity.name}",)
    return ()


def identify_sighting(name: str, definitions: Definitions, provider: str) -> ServerIdentity | None:
    """Which server an agent means that reports nothing but a name. None: not clear yet (C3.1b)."""
    owners = _distinct(definitions.owners.get(name, ()))
    if len(owners) == 1:
        return ServerIdentity(name, "", owner=owners[0])
    sources = _distinct(definitions.sources.get(name, ()))
    if not owners and len(sources) == 1:
        return ServerIdentity(name, sources[0])
    return ServerIdentity(name, f"agent:{provider}") if definitions.settled else None


def owner_map(defined: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    """Pairs of a server's name and the URI of the plugin that defines it, as the map that resolution takes."""
    owners: dict[str, tuple[str, ...]] = {}
    for name, plugin in defined:
        owners[name] = _distinct((*owners.get(name, ()), plugin))
    return owners


def root_of(uri: str, path: str) -> str:
    """The directory in which `path` leads to `uri`; `uri` itself when it does not."""
    return uri.rstrip("/").removesuffix(quote(path, safe="/")).rstrip("/") or "/"


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
    """Scheme, host and decoded path. No text makes it raise."""
    directory = directory.removeprefix("\\\\?\\")
    if re.match(r"[A-Za-z]:[\\/]?", directory) and not _SCHEME.match(directory):
        return "file", "", directory.replace("\\", "/")
    if directory.startswith("\\\\"):
        host, _, path = directory[2:].replace("\\", "/").partition("/")
        return "file", host.lower(), f"/{path}"
    if not _SCHEME.match(directory):
        return "file", "", directory
    scheme, _, path = directory.partition(":")
    host = ""
    if path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        path = slash + path
    scheme, host, path = scheme.lower(), host.lower(), unquote(path, errors="surrogateescape")
    if scheme != "file":
        return scheme, host, path
    return scheme, "" if host == "localhost" else host, path.replace("\\", "/") if _DRIVE.match(path) else path


def _distinct(found: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=8192)
def encode(text: str) -> str:
    """The text with everything encoded that could end it in a key, or in an id."""
    return text if _PLAIN.fullmatch(text) else quote(text, safe="", errors="surrogatepass")
