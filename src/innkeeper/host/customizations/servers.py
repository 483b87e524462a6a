"""Declared MCP servers as unresolved items (C3.1, C5.1).

What `ports.mcp` reports has the wire form; of it only what a server is and does is taken over, never what it says
about decisions.
"""

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.customizations.identity import WORKSPACE_SOURCE
from innkeeper.customizations.items import ServerItem

HOST_SOURCE: Final = "host"
"""Servers that the operator declares for every session; no decision is about them (M5.2)."""

_OWN: Final = "x-innkeeper/mcp"


def server_item(entry: Mapping[str, Any]) -> ServerItem:
    """The server that `entry` is about."""
    meta: Mapping[str, Any] = entry.get("_meta") or {}
    own: Mapping[str, Any] = meta.get(_OWN) or {}
    source = HOST_SOURCE if own.get("scope") == "host" else WORKSPACE_SOURCE
    optional = {name: entry[field] for name, field in _FIELDS if field in entry}
    return ServerItem(
        id=entry["id"],
        uri=entry["uri"],
        name=entry["name"],
        source=source,
        default=not own.get("offInFile"),
        state=entry["state"],
        meta=meta,
        **optional,
    )


def is_host_wide(item: object) -> bool:
    return isinstance(item, ServerItem) and item.source == HOST_SOURCE


_FIELDS: Final = (("channel", "channel"), ("apps", "mcpApp"), ("range", "range"))
