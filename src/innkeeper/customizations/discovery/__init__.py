"""Discovery of customizations: plugins of every format and the directories of every ecosystem (C7).

`Discovery.scan(places)` gives a `ChangeSet`; `follow` repeats it when files change. What is found is unresolved: only
resolution makes publishable items of it.
"""

from innkeeper.customizations.discovery.changes import ChangeSet, ContainerChange, compare
from innkeeper.customizations.discovery.discovery import Discovery, Places
from innkeeper.customizations.discovery.formats import FORMATS, PluginFormat, root_values
from innkeeper.customizations.discovery.items import (
    DiscoveredAgent,
    DiscoveredChild,
    DiscoveredContainer,
    DiscoveredDirectory,
    DiscoveredHook,
    DiscoveredPlugin,
    DiscoveredPrompt,
    DiscoveredRule,
    DiscoveredServer,
    DiscoveredSkill,
    HookCommand,
    child_key,
)
from innkeeper.customizations.discovery.plugins import PluginRoot
from innkeeper.customizations.discovery.watching import follow, watch_targets

__all__ = [
    "FORMATS",
    "ChangeSet",
    "ContainerChange",
    "DiscoveredAgent",
    "DiscoveredChild",
    "DiscoveredContainer",
    "DiscoveredDirectory",
    "DiscoveredHook",
    "DiscoveredPlugin",
    "DiscoveredPrompt",
    "DiscoveredRule",
    "DiscoveredServer",
    "DiscoveredSkill",
    "Discovery",
    "HookCommand",
    "Places",
    "PluginFormat",
    "PluginRoot",
    "child_key",
    "compare",
    "follow",
    "root_values",
    "watch_targets",
]
