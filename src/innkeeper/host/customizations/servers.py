"""Declared MCP servers as unresolved items (C3.1, C5.1).

What `ports.mcp` reports has the wire form; of it only what a server is and does is taken over, never what it says
about decisions.
"""

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.customizations.enablement import Overlay, Target
from innkeeper.customizations.identity import WORKSPACE_SOURCE, ServerIdentity, key_of
from innkeeper.customizations.items import ServerItem

HOST_SOURCE: Final = "host"
"""Servers that the operator declares for every session; no decision is about them (M5.2)."""

_OWN: Final = "x-innkeeper/mcp"


def server_item(entry: Mapping[str, Any], overlay: Overlay) -> ServerItem:
    """The server that `entry` is about."""
    meta: Mapping[str, Any] = entry.get("_meta") or {}
    source = HOST_SOURCE if (meta.get(_OWN) or {}).get("scope") == "host" else WORKSPACE_SOURCE
    optional = {name: entry[field] for name, field in _FIELDS if field in entry}
    return ServerItem(
        id=entry["id"],
        uri=entry["uri"],
        name=entry["name"],
        source=source,
        default=_default(entry, source, overlay),
        state=entry["state"],
        meta=meta,
        **optional,
    )


def is_host_wide(item: object) -> bool:
    return isinstance(item, ServerItem) and item.source == HOST_SOURCE


def _default(entry: Mapping[str, Any], source: str, overlay: Overlay) -> bool:
    """What the declaration says while nobody decided: it is off when its file says so, or when a global *off* is shown
    that nobody stored."""
    if ((entry.get("_meta") or {}).get(_OWN) or {}).get("offInFile"):
        return False
    shown = next((one["enabled"] for one in entry.get("enablement") or () if one["kind"] == "global"), None)
    target = Target(key_of(ServerIdentity(entry["name"], source)))
    return shown is not False or overlay.find(target, "global", "") is not None


_FIELDS: Final = (("channel", "channel"), ("apps", "mcpApp"), ("range", "range"))
