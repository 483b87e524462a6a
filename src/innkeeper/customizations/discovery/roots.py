"""Where customizations are looked for: values that the host has before anything is read (C7).

Rules
* Light to import: the reading itself is imported with the first scan, because a start is measured.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from innkeeper.customizations.discovery.items import Source
from innkeeper.customizations.discovery.places import file_uri

if TYPE_CHECKING:
    from innkeeper.customizations.discovery.directories import Root


@dataclass(frozen=True, slots=True)
class PluginRoot:
    """A plugin's folder on this machine, and the URI it is published under (None: that of the folder)."""

    path: str
    source: Source = "host"
    published: str | None = None

    @property
    def uri(self) -> str:
        return file_uri(self.path) if self.published is None else self.published


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look: plugins, working directories (the primary one first), the person's home. Absolute paths."""

    workspaces: tuple[str, ...] = ()
    home: str | None = None
    plugins: tuple[PluginRoot, ...] = ()

    @property
    def roots(self) -> "tuple[Root, ...]":
        from innkeeper.customizations.discovery.directories import Root

        user = () if self.home is None else (Root(self.home, "user"),)
        return (*(Root(path) for path in self.workspaces), *user)
