"""Discovery of customizations: plugins of every format and the directories of every ecosystem (C7).

`Discovery.scan(places)` gives a `ChangeSet`; `follow` repeats it when files change. What is found is unresolved: only
resolution makes publishable items of it.

Its modules are imported when one of these names is asked for: a start is measured, and reads nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from innkeeper.customizations.discovery.changes import ChangeSet, ContainerChange, compare
    from innkeeper.customizations.discovery.discovery import Discovery
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
    from innkeeper.customizations.discovery.roots import Places, PluginRoot
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

_MODULES: Final = {
    "changes": ("ChangeSet", "ContainerChange", "compare"),
    "discovery": ("Discovery",),
    "formats": ("FORMATS", "PluginFormat", "root_values"),
    "items": (
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
        "HookCommand",
        "child_key",
    ),
    "roots": ("Places", "PluginRoot"),
    "watching": ("follow", "watch_targets"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
