"""Unresolved items: what discovery, the declarations and the agents say is there (C3.1, C5.1).

Rules
* None of these types carries a decision, so nothing of it can be published or handed to a provider as it is.
* An id names an item within its session and is made from its URI; it is no key (C3.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from innkeeper.customizations.discovery.items import (
    DiscoveredAgent,
    DiscoveredChild,
    DiscoveredDirectory,
    DiscoveredHook,
    DiscoveredPlugin,
    DiscoveredPrompt,
    DiscoveredRule,
    DiscoveredServer,
    DiscoveredSkill,
    Source,
)
from innkeeper.customizations.identity import encode
from innkeeper.protocol.common.state import TextRange
from innkeeper.protocol.session.state import CustomizationLoadState, McpServerCustomizationApps, McpServerState

STOPPED: McpServerState = {"kind": "stopped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerItem:
    """A server at the top level. `source` says who declares it (`identity.WORKSPACE_SOURCE` for a project's file);
    None: an agent reports a name and nothing else (C3.1b). `owner` is the plugin that defines it, where that is known.
    `default`: what its definition says as long as nobody decided."""

    id: str
    uri: str
    name: str
    source: str | None
    owner: str | None = None
    default: bool = True
    state: McpServerState = field(default_factory=lambda: STOPPED)
    channel: str | None = None
    apps: McpServerCustomizationApps | None = None
    range: TextRange | None = None
    meta: Mapping[str, object] = field(default_factory=dict)
    type: Literal["mcpServer"] = "mcpServer"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPlugin:
    """A plugin whose files are not here yet, or cannot be had (`load`)."""

    uri: str
    name: str
    source: Source
    load: CustomizationLoadState
    version: str | None = None
    type: Literal["plugin"] = "plugin"


RawContainer: TypeAlias = DiscoveredPlugin | DiscoveredDirectory | UnreadPlugin
RawLeaf: TypeAlias = DiscoveredAgent | DiscoveredSkill | DiscoveredPrompt | DiscoveredRule | DiscoveredHook
RawItem: TypeAlias = RawContainer | ServerItem
"""What stands at the top level."""


@dataclass(frozen=True, slots=True)
class LiveServer:
    """What is known of the running side of a server that discovery found."""

    state: McpServerState
    channel: str | None = None
    apps: McpServerCustomizationApps | None = None
    meta: Mapping[str, object] = field(default_factory=dict)


def container_id(container: RawContainer) -> str:
    if container.type == "plugin":
        return container.uri
    return f"{_whole(container.uri)}#contents={container.contents}"


def child_id(container: str, type: str, name: str) -> str:
    """The id of a child in the container with that id."""
    separator = "&" if "#" in container else "#"
    return f"{container}{separator}{type}={encode(name)}"


def children_of(container: RawContainer) -> Sequence[DiscoveredChild]:
    return () if isinstance(container, UnreadPlugin) else container.children


def defined_servers(items: Sequence[RawItem]) -> list[tuple[str, str]]:
    """Name and plugin URI of every server that a plugin defines, for `identity.owner_map`."""
    return [
        (child.name, item.uri)
        for item in items
        if isinstance(item, DiscoveredPlugin)
        for child in item.children
        if isinstance(child, DiscoveredServer)
    ]


def declared_sources(items: Sequence[RawItem]) -> Mapping[str, tuple[str, ...]]:
    """Name to the sources that declare a server of that name, for `identity.Definitions`."""
    sources: dict[str, tuple[str, ...]] = {}
    for item in items:
        if isinstance(item, ServerItem) and item.source is not None and item.owner is None:
            sources[item.name] = (*sources.get(item.name, ()), item.source)
    return sources


def _whole(uri: str) -> str:
    return uri.replace("#", "%23")
