"""The settings as `config show` and `config get` tell them: value, where it comes from, whether it differs (M9.6)."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from innkeeper.cli.settings_file import config_file, read_file
from innkeeper.cli.words import text
from innkeeper.editing.edits import NoSuchPlace, lookup
from innkeeper.editing.engine import decoded
from innkeeper.editing.toml.front import TOML
from innkeeper.editing.toml.places import line_of
from innkeeper.errors import HostError
from innkeeper.settings.config import Settings
from innkeeper.settings.inputs import Inputs
from innkeeper.settings.options import environment_options
from innkeeper.settings.schema import Setting, all_settings, plain_value, shown

HIDDEN = "•••"


@dataclass(frozen=True, slots=True)
class Row:
    """One setting. `source` is `default`, `file:LINE`, the name of a variable, or `secrets`."""

    name: str
    value: Any
    source: str
    hot: bool
    changed: bool

    def document(self) -> dict[str, Any]:
        return {
            "setting": self.name,
            "value": self.value,
            "source": self.source,
            "hot": self.hot,
            "differs": self.changed,
        }

    def cells(self) -> tuple[str, ...]:
        value = self.value if isinstance(self.value, str) else shown(self.value)
        hot = text("cli.config.hot" if self.hot else "cli.config.cold")
        return ("*" if self.changed else "", self.name, value, self.source, hot)


def rows_of_everything() -> list[Row]:
    """Every setting. Raises `SettingsInvalid`, `SecretsUnusable`, `OptionInvalid`."""
    path = config_file()
    content, settings = read_file(path)
    words = decoded(content.data or b"")
    data = TOML.parse(words)
    given = environment_options(os.environ)
    rows = [_row(setting, settings, data, words, given) for setting in all_settings() if setting.name != "input_values"]
    rows += _token_row(given)
    inputs = Inputs(path.parent, settings.input_values, os.environ)
    for known in inputs.listed():
        source = "secrets.toml" if known.reference is None else _in_file(words, ("input_values", known.name))
        rows.append(Row(f"input_values.{known.name}", known.reference or HIDDEN, source, False, True))
    return rows


def found_value(name: str) -> Any:
    """The value that holds for a setting, or for what is in it. Raises HostError SETTING_UNKNOWN, `UsageProblem`."""
    from innkeeper.cli.settings_values import setting_path

    path = setting_path(name)
    rows = {row.name: row.value for row in rows_of_everything()}
    for length in range(len(path), 0, -1):
        known = ".".join(str(part) for part in path[:length])
        if known in rows:
            try:
                return lookup(rows[known], path[length:])
            except NoSuchPlace as error:
                raise HostError("SETTING_UNKNOWN", field=name[:100]) from error
    below = {known.removeprefix(f"{name}."): value for known, value in rows.items() if known.startswith(f"{name}.")}
    if below or name == "input_values":
        return below
    raise HostError("SETTING_UNKNOWN", field=name[:100])


def _row(setting: Setting, settings: Settings, data: Any, words: str, given: Mapping[str, Any]) -> Row:
    path = tuple(setting.name.split("."))
    name = path[-1]
    if path[0] == "serve" and name in given:
        value = plain_value(given[name])
        return Row(setting.name, value, f"INNKEEPER_{name.upper()}", setting.hot, value != setting.default)
    try:
        lookup(data, path)
    except NoSuchPlace:
        return Row(setting.name, setting.default, "default", setting.hot, False)
    value = getattr(settings, path[0]) if len(path) == 1 else getattr(settings, path[0])[name]
    plain = plain_value(value)
    return Row(setting.name, plain, _in_file(words, path), setting.hot, plain != setting.default)


def _token_row(given: Mapping[str, Any]) -> Iterator[Row]:
    if "token" in given:
        yield Row("serve.token", HIDDEN, "INNKEEPER_TOKEN", False, True)


def _in_file(words: str, path: tuple[str, ...]) -> str:
    return f"config.toml:{line_of(words, path)}"
