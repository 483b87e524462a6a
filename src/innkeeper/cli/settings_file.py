"""The settings file for the command line: read, checked, written, and the word of the host that runs (M9.6)."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from innkeeper.cli.words import LANGUAGE
from innkeeper.editing.edits import Edit
from innkeeper.editing.engine import decoded
from innkeeper.editing.files import change_file, read_content
from innkeeper.editing.refusals import EditConflict, EditUnsafe
from innkeeper.editing.replacing import Content
from innkeeper.editing.toml.front import TOML
from innkeeper.errors import HostError
from innkeeper.ports.settings import SettingsConflict
from innkeeper.settings.config import Settings
from innkeeper.settings.document import changed_content, checked_settings, unreadable
from innkeeper.settings.inputs import Inputs
from innkeeper.settings.paths import find_paths
from innkeeper.settings.problems import SettingsInvalid
from innkeeper.settings.tracking import changed_names

HOST_SECONDS = 3.0
"""How long a host that runs is given to see a change."""

Word = Literal["none", "inForce", "otherFile", "notYet"]


@dataclass(frozen=True, slots=True)
class Change:
    """What a command did to the file."""

    file: Path
    changed: bool
    revision: str
    hot: tuple[str, ...] = ()
    after_restart: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        return {
            "file": str(self.file),
            "changed": self.changed,
            "revision": self.revision,
            "changedSettings": list(self.hot),
            "afterRestart": list(self.after_restart),
        }


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a file."""

    error: HostError

    def document(self) -> dict[str, Any]:
        return {
            "code": self.error.code,
            "line": getattr(self.error, "line", None),
            "field": getattr(self.error, "field", None),
            "message": self.error.message(LANGUAGE),
            "remedy": self.error.remedy(LANGUAGE),
        }


def config_file() -> Path:
    return find_paths(os.environ).config_file


def read_file(path: Path) -> tuple[Content, Settings]:
    """The file and what it says, checked as the host checks it. Raises `SettingsInvalid`."""
    try:
        content = read_content(path)
    except OSError as error:
        raise unreadable(path, error) from error
    return content, checked_settings(content.data, path, _check())


def write(make: Callable[[Any], Sequence[Edit]], revision: str | None) -> Change:
    """Change the file by the edits that `make` finds for its data, if it has the revision (None: whatever it has).

    Raises HostError as `changed_content`, `SettingsConflict`, EDIT_UNWRITABLE.
    """
    path = config_file()
    before: list[Content] = []

    def change(known: Content) -> bytes:
        before.append(known)
        try:
            data = TOML.parse(decoded(known.data or b""))
        except EditUnsafe:
            data = {}  # broken: said with place and field below
        return changed_content(known.data, make(data), path, _check())

    return replace(path, change, revision, lambda: before[0])


def replace(
    path: Path, change: Callable[[Content], bytes], revision: str | None, before: Callable[[], Content]
) -> Change:
    try:
        written = change_file(path, change, expected=revision)
    except EditConflict as conflict:
        raise SettingsConflict(conflict.current) from conflict
    old = before()
    hot, cold = changed_names(_settings_or_default(old, path), checked_settings(written.data, path, _check()))
    return Change(path, written.data != old.data, written.version, hot, cold)


def faults(path: Path, *, with_secrets: bool) -> list[Fault]:
    """What is wrong with a file of settings, and with the secrets beside it."""
    try:
        _, settings = read_file(path)
    except SettingsInvalid as error:
        return [Fault(error)]
    if with_secrets:
        try:
            Inputs(path.parent, settings.input_values, os.environ).listed()
        except HostError as error:
            return [Fault(error)]
    return []


def ask_host(change: Change) -> Word:
    """Whether a host of this user runs and has seen the change."""
    from innkeeper.cli.folders import find_folders
    from innkeeper.edge.discovery import find_running

    try:
        endpoint = find_running(find_folders(None).state)
    except HostError:
        endpoint = None
    return "none" if endpoint is None else asyncio.run(_ask(change))


async def _ask(change: Change) -> Word:
    from innkeeper.cli.reach import Wanted, connection
    from innkeeper.client import ClientError

    try:
        async with asyncio.timeout(HOST_SECONDS), connection(Wanted()) as client:
            while True:
                status = await client.request("x-innkeeper/status", {"channel": "ahp-root://"})
                told = status.get("settings") or {}
                if told.get("file") != str(change.file):
                    return "otherFile"
                if told.get("revision") == change.revision:
                    return "inForce"
                await asyncio.sleep(0.05)
    except (TimeoutError, ClientError, HostError):
        return "notYet"


def _settings_or_default(content: Content, path: Path) -> Settings:
    try:
        return checked_settings(content.data, path)
    except SettingsInvalid:
        return Settings()


def _check() -> Callable[[Settings], None]:
    from innkeeper.app.preferences import check_presets

    return check_presets
