"""MCP servers that a plugin defines for its agent: the agent starts them, under the name that it would give them.

Only what is eligible is read, at the time of the request; a definition that cannot be read is left out and logged.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from innkeeper.ports.customizations import EligiblePlugin, EligibleServer
from innkeeper.providers.files import local, safe

log = logging.getLogger(__name__)


def brought(
    servers: Sequence[EligibleServer], plugins: Sequence[EligiblePlugin]
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """By the agent's name for each: its id and its definition as the plugin has it, with a `type` where it has a URL
    and none, and with the plugin's root filled in. Blocks."""
    by_uri = {plugin.uri: plugin for plugin in plugins}
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for server in servers:
        plugin = by_uri.get(server.owner or "")
        if plugin is None or not server.pointer:
            continue
        config = _definition(server, plugin)
        if config is not None:
            found.setdefault(f"plugin_{safe(plugin.name)}_{safe(server.name)}".replace(".", "_"), (server.id, config))
    return found


def _definition(server: EligibleServer, plugin: EligiblePlugin) -> Mapping[str, Any] | None:
    path = local(server.uri, plugin)
    if path is None:
        return None
    try:
        found: Any = json.loads(Path(path).read_bytes())
        for step in server.pointer:
            found = found[step]
    except (OSError, ValueError, LookupError, TypeError):
        log.warning("the definition of the server %s of the plugin %s could not be read", server.name, plugin.name)
        return None
    if not isinstance(found, Mapping):
        return None
    config: Mapping[str, Any] = _with_root(found, plugin.path)
    return config if "type" in config or "url" not in config else {"type": "http", **config}


def _with_root(value: Any, root: str) -> Any:
    if isinstance(value, str):
        return value.replace("${CLAUDE_PLUGIN_ROOT}", root).replace("${PLUGIN_ROOT}", root)
    if isinstance(value, Mapping):
        return {key: _with_root(entry, root) for key, entry in value.items()}
    return [_with_root(entry, root) for entry in value] if isinstance(value, list) else value
