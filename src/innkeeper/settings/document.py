"""One content of `config.toml`: read, and changed by the rules for hot settings (M9.2, M9.6).

Pure: bytes in, bytes out. Both adapters of the settings service stand on it, and so does the command line.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from innkeeper.editing.edits import Edit
from innkeeper.editing.engine import decoded, edit_bytes
from innkeeper.editing.toml.places import line_of
from innkeeper.errors import HostError
from innkeeper.settings.config import FIELDS, HOT, Settings, settings_of
from innkeeper.settings.fields import dotted
from innkeeper.settings.problems import Problem, SettingsInvalid, ValueRefused, Wrong

Check: TypeAlias = Callable[[Settings], None]
"""What else must hold. Raises `Wrong` with the path to what does not."""


def no_check(settings: Settings) -> None:
    """Nothing else must hold."""


def checked_settings(data: bytes | None, path: Path, check: Check = no_check) -> Settings:
    """The settings of a content (None: there is no file), checked whole. Raises `SettingsInvalid`."""
    settings = settings_of(data, path)
    try:
        check(settings)
    except Wrong as error:
        line = line_of(decoded(data or b""), error.path)
        raise SettingsInvalid(path, error.problem, line=line, field=dotted(error.path)) from error
    return settings


def changed_content(data: bytes | None, edits: Sequence[Edit], path: Path, check: Check = no_check) -> bytes:
    """The content with the edits, proved and checked.

    Raises `SettingsInvalid` (SETTINGS_INVALID) when it is broken before, and HostError SETTING_UNKNOWN,
    SETTING_OPERATOR_ONLY, SETTING_VALUE, EDIT_UNSAFE.
    """
    for edit in edits:
        require_hot(edit.path)
    try:
        settings_of(data, path)
    except SettingsInvalid as error:
        raise error.while_running() from error
    from innkeeper.editing.toml.front import TOML  # what writes is not imported to read

    wanted = edit_bytes(TOML, data or b"", edits)
    try:
        checked_settings(wanted, path, check)
    except SettingsInvalid as error:
        raise ValueRefused(error.field or dotted(edits[-1].path), error.problem) from error
    return wanted


def require_hot(path: Sequence[str | int]) -> None:
    """Raises HostError unless the path leads into a setting that UI and command line may write (M9.6)."""
    name = str(path[0]) if path else ""
    if name not in FIELDS:
        raise HostError("SETTING_UNKNOWN", field=name[:100])
    if name not in HOT:
        raise HostError("SETTING_OPERATOR_ONLY", field=dotted(path))


def unreadable(path: Path, error: OSError) -> SettingsInvalid:
    return SettingsInvalid(path, Problem("unreadable", values={"detail": error.strerror or "?"}))
