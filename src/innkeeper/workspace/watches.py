"""Changes of this machine's files, by the system's notifications: the adapter of `ports.watches` (C7.3).

Rules
* A thread of its own for each watch: the pool that the host shares is never held.
* Directories are watched singly, never with what is below them: the library would follow links out of a workspace.
* `watch` is entered when the notifications are armed, so that nothing falls between a scan and the watch.
* A burst is one report: 50 ms of quiet end it, 300 ms at the latest.
"""

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping

from innkeeper.ports.watches import WatchTarget

logger = logging.getLogger(__name__)

DEBOUNCE_MILLISECONDS = 300
QUIET_MILLISECONDS = 50


class LocalWatches:
    """Watches directories of this machine; links in the given paths are followed, reports use real paths."""

    @contextlib.asynccontextmanager
    async def watch(self, targets: tuple[WatchTarget, ...]) -> AsyncIterator[AsyncIterator[frozenset[str]]]:
        reports = _Reports()
        watcher = _Watcher(targets, asyncio.get_running_loop(), reports.add)
        watcher.start()
        try:
            await watcher.armed.wait()
            yield reports
        finally:
            watcher.stop()
            await watcher.ended.wait()


class _Reports:
    """What changed and was not taken yet; reports that nobody took become one."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._some = asyncio.Event()

    def add(self, paths: frozenset[str]) -> None:
        self._paths |= paths
        self._some.set()

    def __aiter__(self) -> "_Reports":
        return self

    async def __anext__(self) -> frozenset[str]:
        await self._some.wait()
        self._some.clear()
        taken = frozenset(self._paths)
        self._paths.clear()
        return taken


class _Watcher:
    """One thread; it ends within `QUIET_MILLISECONDS` of `stop`."""

    def __init__(
        self,
        targets: tuple[WatchTarget, ...],
        loop: asyncio.AbstractEventLoop,
        report: Callable[[frozenset[str]], None],
    ) -> None:
        self.armed = asyncio.Event()
        self.ended = asyncio.Event()
        self._given = targets
        self._loop = loop
        self._report = report
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="innkeeper-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def is_set(self) -> bool:
        """Asked by the library once it listens, and again every few milliseconds: whether to stop."""
        if not self.armed.is_set():
            self._tell(self.armed.set)
        return self._stopped.is_set()

    def _run(self) -> None:
        try:
            self._watch(_existing(self._given))
        except (OSError, RuntimeError) as error:
            logger.warning("files are not watched: %s", type(error).__name__)
        finally:
            self._tell(self.armed.set)
            self._tell(self.ended.set)

    def _watch(self, targets: Mapping[str, WatchTarget]) -> None:
        import watchfiles

        def wanted(_: object, path: str) -> bool:
            own, above = targets.get(path), targets.get(os.path.dirname(path))
            return own is not None or (above is not None and above.allows(path))

        changes = watchfiles.watch(
            *targets,
            watch_filter=wanted,
            debounce=DEBOUNCE_MILLISECONDS,
            step=QUIET_MILLISECONDS,
            stop_event=self,
            recursive=False,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        for change in changes:
            self._tell(self._report, frozenset(path for _, path in change))

    def _tell(self, call: Callable[..., None], *arguments: frozenset[str]) -> None:
        # The loop may have been closed with the host.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)


def _existing(targets: Iterable[WatchTarget]) -> dict[str, WatchTarget]:
    """By real path; of two targets for one directory both count."""
    found: dict[str, WatchTarget] = {}
    for target in targets:
        path = os.path.realpath(target.path)
        other = found.get(path)
        names = target.names
        if other is not None:
            names = None if names is None or other.names is None else names | other.names
        if os.path.isdir(path):
            found[path] = WatchTarget(path, names)
        else:
            logger.info("a directory to watch is gone")
    return found
