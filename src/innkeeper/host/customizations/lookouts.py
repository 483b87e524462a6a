"""Where customizations are looked for, and who is told (C7.3).

Rules
* Sessions that look in the same places share one look-out: one result, one set of watches.
* A look-out ends with the last of its sessions. One that fails is told in the log and keeps its last result.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from innkeeper.customizations.discovery.changes import ChangeSet
from innkeeper.customizations.discovery.items import DiscoveredContainer
from innkeeper.customizations.discovery.roots import Places
from innkeeper.ports.files import Files
from innkeeper.ports.watches import Watches

log = logging.getLogger(__name__)

Changed = Callable[[str], None]


class Lookout:
    """One set of places. `settled` is set when it was looked at once."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.sessions: set[str] = set()
        self.containers: tuple[DiscoveredContainer, ...] = ()
        self.settled = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


class Lookouts:
    """All look-outs of a host. `changed` is told each session that has to resolve again."""

    def __init__(self, files: Files, watches: Watches | None, changed: Changed) -> None:
        self._files = files
        self._watches = watches
        self._changed = changed
        self._open: dict[Places, Lookout] = {}

    def join(self, session: str, places: Places) -> Lookout:
        """The look-out of these places, with one session more."""
        found = self._open.get(places)
        if found is None:
            found = self._open[places] = Lookout(places)
            found.task = asyncio.get_running_loop().create_task(self._look(found), name=f"look out {places.workspaces}")
        found.sessions.add(session)
        return found

    def leave(self, session: str, lookout: Lookout) -> None:
        lookout.sessions.discard(session)
        if not lookout.sessions:
            self._open.pop(lookout.places, None)
            if lookout.task is not None:
                lookout.task.cancel()

    async def close(self) -> None:
        tasks = [lookout.task for lookout in self._open.values() if lookout.task is not None]
        self._open.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self, lookout: Lookout) -> None:
        from innkeeper.customizations.discovery import Discovery, follow  # with the first session: a start is measured

        try:
            discovery = Discovery(self._files)
            self._found(lookout, await asyncio.to_thread(discovery.scan, lookout.places))
            if self._watches is not None:
                await follow(discovery, self._files, self._watches, lookout.places, partial(self._found, lookout))
        except Exception:
            log.exception("customizations in %s are not followed any more", ", ".join(lookout.places.workspaces))
            self._found(lookout, None)

    def _found(self, lookout: Lookout, change: ChangeSet | None) -> None:
        first = not lookout.settled.is_set()
        lookout.settled.set()
        if change is not None:
            lookout.containers = change.containers
        if first or change is not None:
            for session in tuple(lookout.sessions):
                self._changed(session)
