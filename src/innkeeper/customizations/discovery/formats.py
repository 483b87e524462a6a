"""The plugin formats: which manifest, which default files and folders, which root tokens (C7.1). Data, and detection.

Order of detection: a root `plugin.json` with the Agent Plugin schema, `.plugin/plugin.json`,
`.claude-plugin/plugin.json` or a path with a `.claude` segment, else Copilot.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from innkeeper.customizations.discovery.items import PluginFormatName

Component: TypeAlias = Literal["agents", "skills", "rules", "commands", "hooks", "mcpServers"]
COMPONENTS: Final[tuple[Component, ...]] = ("agents", "skills", "rules", "commands", "hooks", "mcpServers")

AGENT_PLUGIN_SCHEMA: Final = re.compile(r"https://agent-plugins\.org/schemas/(?:[^?#]*/)?plugin\.schema\.json")
AGENT_PLUGIN_EXTENSION: Final = "com.github.copilot"


@dataclass(frozen=True, slots=True)
class PluginFormat:
    """`fields`: where in the manifest the component fields stand. `hook_tokens`, `server_tokens`: names that stand for
    the plugin's root. `root_skill`: whether a `SKILL.md` at the root, or a listed folder, may be a skill itself."""

    name: PluginFormatName
    manifest: str
    defaults: Mapping[Component, str]
    fields: tuple[str, ...] = ()
    hook_tokens: tuple[str, ...] = ()
    server_tokens: tuple[str, ...] = ()
    servers_run_in_root: bool = True
    root_skill: bool = True


_FOLDERS: Mapping[Component, str] = {
    "agents": "agents",
    "skills": "skills",
    "rules": "rules",
    "commands": "commands",
    "hooks": "hooks/hooks.json",
    "mcpServers": ".mcp.json",
}
_BOTH = ("PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT")

AGENT_PLUGIN: Final = PluginFormat(
    "agentPlugin",
    "plugin.json",
    {
        "agents": f"{AGENT_PLUGIN_EXTENSION}/agents",
        "skills": "skills",
        "rules": f"{AGENT_PLUGIN_EXTENSION}/rules",
        "commands": f"{AGENT_PLUGIN_EXTENSION}/commands",
        "hooks": f"{AGENT_PLUGIN_EXTENSION}/hooks/hooks.json",
        "mcpServers": "mcp.json",
    },
    fields=("extensions", AGENT_PLUGIN_EXTENSION),
    servers_run_in_root=False,
    root_skill=False,
)
OPEN_PLUGIN: Final = PluginFormat(
    "openPlugin", ".plugin/plugin.json", _FOLDERS, hook_tokens=("PLUGIN_ROOT",), server_tokens=_BOTH
)
CLAUDE: Final = PluginFormat(
    "claude", ".claude-plugin/plugin.json", _FOLDERS, hook_tokens=("CLAUDE_PLUGIN_ROOT",), server_tokens=_BOTH
)
COPILOT: Final = PluginFormat("copilot", "plugin.json", {**_FOLDERS, "hooks": "hooks.json"}, server_tokens=_BOTH)

FORMATS: Final[tuple[PluginFormat, ...]] = (AGENT_PLUGIN, OPEN_PLUGIN, CLAUDE, COPILOT)
MANIFEST_FOLDERS: Final = frozenset({".plugin", ".claude-plugin"})


def detect(path: str, root_manifest: object, has_open: bool, has_claude: bool) -> PluginFormat:
    """The format of a plugin: its root path, its decoded root `plugin.json` (None without a readable one), and whether
    the other two manifests are there."""
    schema = root_manifest.get("$schema") if isinstance(root_manifest, Mapping) else None
    if isinstance(schema, str) and AGENT_PLUGIN_SCHEMA.fullmatch(schema):
        return AGENT_PLUGIN
    if has_open:
        return OPEN_PLUGIN
    if has_claude or ".claude" in path.split("/"):
        return CLAUDE
    return COPILOT


def root_values(names: tuple[str, ...], root: str) -> tuple[tuple[str, str], ...]:
    """What the root tokens of a plugin stand for, for hooks and for the loader of its servers."""
    return tuple((name, root) for name in names)
