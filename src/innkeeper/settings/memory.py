"""The settings service in memory: the twin of `service` for tests and for hosts without a file (architecture §3.10)."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from innkeeper.editing.edits import Edit
from innkeeper.editing.engine import version_of
from innkeeper.ports.settings import Listener, SettingsConflict, SettingsState
from innkeeper.settings.config import Settings
from innkeeper.settings.document import Check, changed_content, checked_settings, no_check
from innkeeper.settings.problems import SettingsInvalid
from innkeeper.settings.tracking import Tracker

PATH = Path("config.toml")


class MemorySettings:
    """`data` is what the file would hold; `save` is another's editor. `started` stands in where settings are given as a
    value and there is no text of them."""

    def __init__(self, data: bytes | None = None, *, started: Settings | None = None, check: Check = no_check) -> None:
        self.started = checked_settings(data, PATH, check) if started is None else started
        self.data = data
        self._check = check
        self._tracker = Tracker(PATH, self.started, version_of(data), check)

    def current(self) -> SettingsState:
        return self._tracker.state

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._tracker.subscribe(listener)

    async def change(self, edits: Sequence[Edit], expected_revision: str) -> SettingsState:
        await asyncio.sleep(0)
        if expected_revision != version_of(self.data):
            raise SettingsConflict(version_of(self.data))
        try:
            wanted = changed_content(self.data, edits, PATH, self._check)
        except SettingsInvalid as error:
            self._tracker.refuse(error)
            raise
        self.save(wanted)
        return self._tracker.state

    def save(self, data: bytes | None) -> None:
        """The file now holds this; None: it is gone."""
        self.data = data
        self._tracker.take(data)
