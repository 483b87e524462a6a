"""Discovery of all customizations of a session's places (C7, issue 4 item 4).

Rules
* Order: plugins as given, then workspace roots as given, then the home; a container that comes twice counts once, the
  first time. The same files always give the same result.
* A scan reads only what changed since the last one. It raises nothing because of what it finds.
* `scan` is synchronous and belongs in a thread; two scans of one `Discovery` never run at the same time.
"""

import threading
from collections.abc import Iterator, Mapping

from innkeeper.customizations.discovery.cache import Cache
from innkeeper.customizations.discovery.changes import ChangeSet, compare
from innkeeper.customizations.discovery.directories import discover_directories
from innkeeper.customizations.discovery.items import ContainerKey, DiscoveredContainer
from innkeeper.customizations.discovery.plugins import discover_plugin
from innkeeper.customizations.discovery.roots import Places
from innkeeper.ports.files import Files


class Discovery:
    """Keeps the last result and what it was read from."""

    def __init__(self, files: Files) -> None:
        self._cache = Cache(files)
        self._lock = threading.Lock()
        self._containers: tuple[DiscoveredContainer, ...] = ()

    @property
    def containers(self) -> tuple[DiscoveredContainer, ...]:
        """The last result; empty before the first scan."""
        return self._containers

    @property
    def reads(self) -> int:
        """Files and directories read since the beginning."""
        return self._cache.reads

    @property
    def looked_at(self) -> Mapping[str, frozenset[str] | None]:
        """Directories on which the last result depends: the names in them that count, None for all of them."""
        names: dict[str, set[str]] = {}
        for path in self._cache.files_read:
            folder, _, name = path.rpartition("/")
            names.setdefault(folder or "/", set()).add(name)
        return {
            **{folder: frozenset(wanted) for folder, wanted in names.items()},
            **dict.fromkeys(self._cache.directories),
        }

    def scan(self, places: Places) -> ChangeSet:
        """Look again. The change from the last result, whatever places that one was of."""
        with self._lock:
            self._cache.begin()
            found: dict[ContainerKey, DiscoveredContainer] = {}
            for container in self._discover(places):
                found.setdefault(container.key, container)
            self._cache.end()
            change = compare(self._containers, tuple(found.values()))
            self._containers = change.containers
            return change

    def _discover(self, places: Places) -> Iterator[DiscoveredContainer]:
        for plugin in places.plugins:
            yield discover_plugin(self._cache, plugin)
        for root in places.roots:
            yield from discover_directories(self._cache, root)
