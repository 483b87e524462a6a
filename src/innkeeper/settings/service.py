"""The settings service on a real file: the adapter of `ports.settings` (M9.2, M9.6).

Rules
* The file is watched by the system's notifications; so is what a link leads to. A change of ours is in force when
  `change` returns, one of others shortly after it was saved.
* A file that is empty or gone for a moment is a save that is not finished: it is looked at again before it counts.
* Reading and taking over is one step: an older content never replaces a newer one.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from innkeeper.editing.edits import Edit
from innkeeper.editing.engine import version_of
from innkeeper.editing.files import change_file, read_content
from innkeeper.editing.refusals import EditConflict
from innkeeper.editing.replacing import Content
from innkeeper.ports.settings import Listener, SettingsConflict, SettingsState
from innkeeper.ports.watches import Watches, WatchTarget
from innkeeper.settings.config import Settings
from innkeeper.settings.document import Check, changed_content, checked_settings, no_check, unreadable
from innkeeper.settings.problems import SettingsInvalid
from innkeeper.settings.tracking import Tracker

log = logging.getLogger(__name__)

SETTLE_SECONDS = 0.25
"""How long an empty or missing file is given to get its content: editors write in two steps."""
LINKS = 8


class FileSettings:
    """`watching` must be entered for changes by others to be seen."""

    def __init__(self, path: Path, watches: Watches, *, check: Check = no_check, secrets: Path | None = None) -> None:
        """Reads the file. Raises `SettingsInvalid` (CONFIG_INVALID)."""
        try:
            content = read_content(path)
        except OSError as error:
            raise unreadable(path, error) from error
        self.started: Settings = checked_settings(content.data, path, check)
        """What the file said now, at the start of the host."""
        self._path = path
        self._watches = watches
        self._check = check
        self._secrets = secrets
        self._secrets_version = _secrets_version(secrets)
        self._tracker = Tracker(path, self.started, content.version, check)
        self._taking = asyncio.Lock()

    def current(self) -> SettingsState:
        return self._tracker.state

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._tracker.subscribe(listener)

    async def change(self, edits: Sequence[Edit], expected_revision: str) -> SettingsState:
        async with self._taking:
            try:
                written = await asyncio.to_thread(self._write, tuple(edits), expected_revision)
            except EditConflict as conflict:
                raise SettingsConflict(conflict.current) from conflict
            except SettingsInvalid as error:
                self._tracker.refuse(error)
                raise
            self._tracker.take(written.data)
            return self._tracker.state

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Follow the file while the context is open. What changed since the start is taken over first."""
        armed = asyncio.Event()
        task = asyncio.create_task(self._watch(armed), name="settings file")
        task.add_done_callback(lambda _task: armed.set())
        await armed.wait()
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _write(self, edits: tuple[Edit, ...], expected: str) -> Content:
        return change_file(
            self._path, lambda known: changed_content(known.data, edits, self._path, self._check), expected=expected
        )

    async def _watch(self, armed: asyncio.Event) -> None:
        with contextlib.suppress(OSError):  # without the folder there is nothing to watch, and that is logged there
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            targets = self._targets()
            async with self._watches.watch(targets) as reports:
                await self._look()
                armed.set()
                async for _ in reports:
                    await self._look()
                    if self._targets() != targets:
                        break

    def _targets(self) -> tuple[WatchTarget, ...]:
        """The folder of the file, and those of the links that it may be."""
        names: dict[str, set[str]] = {}
        for path in (*_links(self._path), *(_links(self._secrets) if self._secrets else ())):
            names.setdefault(str(path.parent), set()).add(path.name)
        return tuple(WatchTarget(folder, names=frozenset(known)) for folder, known in sorted(names.items()))

    async def _look(self) -> None:
        async with self._taking:
            try:
                content = await asyncio.to_thread(read_content, self._path)
                if not content.data and content.version != self._tracker.state.revision:
                    await asyncio.sleep(SETTLE_SECONDS)
                    content = await asyncio.to_thread(read_content, self._path)
            except OSError as error:
                self._tracker.refuse(unreadable(self._path, error))
            else:
                self._tracker.take(content.data)
            if self._secrets is not None:
                version = await asyncio.to_thread(_secrets_version, self._secrets)
                self._tracker.secrets_changed(version != self._secrets_version)


def _links(path: Path) -> list[Path]:
    """The path, and where each link on it leads."""
    found = [path]
    while len(found) < LINKS and found[-1].is_symlink():
        found.append(Path(os.path.normpath(found[-1].parent / os.readlink(found[-1]))))
    return found


def _secrets_version(path: Path | None) -> str:
    """A token of the secrets, which is never shown."""
    if path is None:
        return ""
    try:
        return read_content(path).version
    except OSError:
        return version_of(None)
