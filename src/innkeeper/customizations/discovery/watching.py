"""Following changes: which directories to watch, and when to look again (C7.3).

Rules
* Watched are the directories that the last scan listed, and above them only the names that lead to places of the
  tables, so that what agents write beside them wakes nobody.
* Nothing falls between a scan and a watch: the watch is armed first. An equal result is not published.
* A directory that comes or goes changes what is watched. What a link leads to is looked at with the next scan only.
"""

import asyncio
import posixpath
from collections.abc import Callable, Iterator

from innkeeper.customizations.discovery.changes import ChangeSet
from innkeeper.customizations.discovery.directories import Root
from innkeeper.customizations.discovery.discovery import Discovery
from innkeeper.customizations.discovery.locations import FixedFiles
from innkeeper.customizations.discovery.roots import Places
from innkeeper.ports.files import FileFault, Files
from innkeeper.ports.watches import Watches, WatchTarget


async def follow(
    discovery: Discovery, files: Files, watches: Watches, places: Places, publish: Callable[[ChangeSet], None]
) -> None:
    """Scan, publish what is different, and again after each change, until cancelled. `publish` runs on the event loop
    and must not raise."""

    async def rescan() -> tuple[WatchTarget, ...]:
        change = await asyncio.to_thread(discovery.scan, places)
        if change:
            publish(change)
        return await asyncio.to_thread(watch_targets, discovery, files, places)

    targets = await rescan()
    while True:
        async with watches.watch(targets) as reports:
            while (current := await rescan()) == targets:
                await anext(reports)
            targets = current


def watch_targets(discovery: Discovery, files: Files, places: Places) -> tuple[WatchTarget, ...]:
    """What to watch after a scan of these places, sorted by path; only directories that are there."""
    names: dict[str, set[str] | None] = {
        path: None if wanted is None else set(wanted) for path, wanted in discovery.looked_at.items()
    }
    for folder, name in _steps(places):
        wanted = names.setdefault(folder, set())
        if wanted is not None:
            wanted.add(name)
    return tuple(
        WatchTarget(path, None if wanted is None else frozenset(wanted))
        for path, wanted in sorted(names.items())
        if _is_directory(files, path)
    )


def _steps(places: Places) -> Iterator[tuple[str, str]]:
    """Each folder on the way to a place, with the name that leads on."""
    for plugin in places.plugins:
        yield posixpath.split(plugin.path.rstrip("/"))
    for root in places.roots:
        for relative in _relative_paths(root):
            folder = root.path
            for name in relative.split("/"):
                yield folder, name
                folder = posixpath.join(folder, name)


def _relative_paths(root: Root) -> Iterator[str]:
    for location in root.locations:
        if isinstance(location, FixedFiles):
            yield from (posixpath.join(location.path, name) for name in location.files)
        else:
            yield location.path


def _is_directory(files: Files, path: str) -> bool:
    try:
        return files.stat(path).kind == "directory"
    except FileFault:
        return False
