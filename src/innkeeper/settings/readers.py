"""How a value of the file or the environment becomes a setting: one function a type.

A reader returns the setting's value or raises `Wrong`. Those of the file take what TOML gives; `from_text` takes what
an environment variable or a flag holds.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from innkeeper.settings.problems import Expected, Wrong, wrong

Reader = Callable[[Any], Any]

LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})


def read_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong("boolean")
    return value


def read_string(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise wrong("string")
    return value


def read_strings(value: Any) -> tuple[str, ...]:
    return tuple(_each(value, read_string, "strings"))


def read_path(value: Any) -> Path:
    """An absolute path; `~` is the home folder."""
    if not isinstance(value, str) or "\0" in value:
        raise wrong("path")
    expanded = os.path.expanduser(value)
    if not os.path.isabs(expanded):
        raise wrong("path")
    return Path(expanded)


def read_paths(value: Any) -> tuple[str, ...]:
    return tuple(str(path) for path in _each(value, read_path, "paths"))


def read_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise wrong("count")
    return value


def read_seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise wrong("seconds")
    return float(value)


def read_port(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 65535:
        raise wrong("port")
    return value


def read_log(value: Any) -> str:
    """`LEVEL`, `LEVEL:FILE` or `:FILE` (see `telemetry.logs`)."""
    if not isinstance(value, str) or value.partition(":")[0] not in ("", *LOG_LEVELS) or not value.strip(":"):
        raise wrong("log", choices=", ".join(LOG_LEVELS))
    return value


def choice(*allowed: str) -> Reader:
    """One of the words."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise wrong("choice", choices=", ".join(allowed))
        return value

    return read


def choices(*allowed: str) -> Reader:
    """Any of the words, each once, in the order given."""

    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or any(word not in allowed for word in value):
            raise wrong("choices", choices=", ".join(allowed))
        return tuple(dict.fromkeys(value))

    return read


def read_table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise wrong("table")
    return value


def read_tables(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise wrong("tables")
    return value


def from_text(reader: Reader, value: str) -> Any:
    """What a reader makes of the text of an environment variable or a flag."""
    if reader is read_boolean:
        word = value.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise wrong("boolean")
    if reader in (read_port, read_count):
        return reader(int(value)) if value.strip().isascii() and value.strip().isdigit() else reader(None)
    if reader is read_path:
        return read_path(os.path.abspath(os.path.expanduser(value)) if value else None)
    return reader(value)


def _each(value: Any, reader: Reader, expected: Expected) -> list[Any]:
    if not isinstance(value, list):
        raise wrong(expected)
    found = []
    for index, entry in enumerate(value):
        try:
            found.append(reader(entry))
        except Wrong as error:
            raise Wrong(error.problem, index) from None
    return found
