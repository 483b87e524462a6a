"""What is in force while the file changes under a running host (M9.6).

Rules
* Hot settings of a valid content are in force at once. Operator-only ones are those of the start; what differs is named
  in `after_restart`.
* A content that cannot be used changes nothing and is told as the state's `fault`, and in the log, once.
* Listeners are told when the state is another one, and of nothing else.
"""

import logging
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

from innkeeper.editing.engine import version_of
from innkeeper.ports.settings import Listener, SettingsFault, SettingsState
from innkeeper.settings.config import HOT, Settings
from innkeeper.settings.document import Check, checked_settings, no_check
from innkeeper.settings.problems import SettingsInvalid

log = logging.getLogger(__name__)


class Tracker:
    """`started` is what the host was started with."""

    def __init__(self, path: Path, started: Settings, revision: str, check: Check = no_check) -> None:
        self._path = path
        self._started = started
        self._check = check
        self._listeners: list[Listener] = []
        self._waiting: tuple[str, ...] = ()
        self._secrets_changed = False
        self.state = SettingsState(started.hot, revision, str(path))

    def take(self, data: bytes | None) -> None:
        """This is the file's content now; None: there is no file."""
        try:
            settings = checked_settings(data, self._path, self._check)
        except SettingsInvalid as error:
            self.refuse(error)
            return
        self._waiting = changed_names(self._started, settings)[1]
        self._become(SettingsState(settings.hot, version_of(data), str(self._path), None, self._after_restart()))

    def refuse(self, error: SettingsInvalid) -> None:
        """The file cannot be used now."""
        told = error.while_running()
        fault = SettingsFault(str(self._path), error.line, error.field, told)
        known = self.state.fault
        if known is not None and _place(known) == _place(fault):
            return
        log.warning("SETTINGS_INVALID: %s", told.message())
        self._become(replace(self.state, fault=fault))

    def secrets_changed(self, changed: bool) -> None:
        """Whether the file of secrets is another one than at the start."""
        self._secrets_changed = changed
        self._become(replace(self.state, after_restart=self._after_restart()))

    def _after_restart(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._waiting, *(("input_values",) if self._secrets_changed else ()))))

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def _become(self, state: SettingsState) -> None:
        old, self.state = self.state, state
        if old == state:
            return
        changed = [name for name in HOT if getattr(old.hot, name) != getattr(state.hot, name)]
        if changed:
            log.info("settings changed: %s", ", ".join(sorted(changed)))
        if old.fault is not None and state.fault is None:
            log.info("the settings file is valid again")
        if state.after_restart and state.after_restart != old.after_restart:
            log.info("settings that hold after a restart: %s", ", ".join(state.after_restart))
        for listener in tuple(self._listeners):
            listener(state)


def changed_names(old: Settings, new: Settings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of hot and of operator-only settings with another value; those of a table one by one."""
    hot: list[str] = []
    cold: list[str] = []
    for name in (entry.name for entry in fields(Settings)):
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if name in ("limits", "serve"):
            keys = sorted({*before, *after})
            cold += [f"{name}.{key}" for key in keys if before.get(key) != after.get(key)]
        else:
            (hot if name in HOT else cold).append(name)
    return tuple(hot), tuple(cold)


def _place(fault: SettingsFault) -> tuple[object, ...]:
    return fault.line, fault.field, fault.error.message()
