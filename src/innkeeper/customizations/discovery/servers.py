"""Names of the MCP servers that a plugin defines (C7.1). Pure; never raises.

Only names and places: what an entry says is read, checked and started by the declarations loader.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from innkeeper.customizations.discovery.items import DiscoveredServer
from innkeeper.customizations.discovery.limits import NAME_CHARACTERS
from innkeeper.customizations.discovery.manifests import JsonFile, read_json
from innkeeper.customizations.discovery.places import key_ranges


@dataclass(frozen=True, slots=True)
class ServersRead:
    servers: tuple[DiscoveredServer, ...] = ()
    problems: tuple[str, ...] = ()
    fault: str | None = None


def read_servers_file(data: bytes, uri: str) -> ServersRead:
    """A file with `mcpServers`, or with nothing but servers."""
    file = read_json(data)
    if file.fault is not None:
        return ServersRead(fault=file.fault)
    return read_servers(file, file.value, uri, ())


def read_servers(file: JsonFile, value: object, uri: str, pointer: tuple[str, ...]) -> ServersRead:
    """The servers of a value that stands at `pointer` in the file."""
    if not isinstance(value, Mapping):
        return ServersRead(fault="it is not a JSON object")
    if "mcpServers" in value:
        value, pointer = value["mcpServers"], (*pointer, "mcpServers")
        if not isinstance(value, Mapping):
            return ServersRead(fault="mcpServers is not an object")
    ranges = key_ranges(file.text)
    servers: list[DiscoveredServer] = []
    problems: list[str] = []
    for name, entry in value.items():
        if name == "$schema":
            continue
        if not isinstance(entry, Mapping):
            problems.append("a server's value is not an object")
        elif not name.strip() or len(name) > NAME_CHARACTERS or not name.isprintable():
            problems.append("a server's name is empty, too long or has control characters")
        else:
            servers.append(DiscoveredServer(uri=uri, name=name, pointer=(*pointer, name), range=ranges.get(name)))
    return ServersRead(tuple(servers), tuple(dict.fromkeys(problems)))
