"""`config.toml` as one frozen value (M9.6; architecture §7).

Rules
* What is not known or has the wrong type is an error that names file, line and field: a misspelt safety setting must
  not be passed over.
* A missing file means defaults; one that cannot be read is an error.
* `HOT` fields may change while the host runs, all others need a restart. The whole list with meanings is in
  docs/reference/settings.md, which a test compares with `FIELDS`.
* A secret is no setting: the file names the file that holds it.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from innkeeper.limits import LIMITS, QUESTION_SECONDS
from innkeeper.settings.places import line_of
from innkeeper.settings.problems import Problem, SettingsInvalid, Wrong
from innkeeper.settings.readers import (
    Reader,
    choice,
    choices,
    read_boolean,
    read_count,
    read_log,
    read_path,
    read_paths,
    read_port,
    read_seconds,
    read_string,
    read_strings,
    read_table,
    read_tables,
)

Builtin = Literal["root", "vscode", "codex", "cursor", "gemini"]
BUILTINS: Final[tuple[Builtin, ...]] = ("root", "vscode", "codex", "cursor", "gemini")

FILE_NAME: Final = "config.toml"


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the operator allows in one directory without a grant (M4.2b)."""

    workspace: str
    allow_mcp: tuple[str, ...] = ()
    allow_tools: tuple[str, ...] = ()


DEFAULT_LIMITS: Final[Mapping[str, float]] = MappingProxyType({limit.name.lower(): limit.value for limit in LIMITS})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator set; the defaults where nothing is said."""

    enabled_builtins: tuple[Builtin, ...] = BUILTINS
    trust_mode: Literal["manual", "all"] = "manual"
    trusted_workspaces: tuple[str, ...] = ()
    workspace_allowances: tuple[Allowance, ...] = ()
    conflict_policy: Literal["error", "first-wins", "last-wins"] = "error"

    language: Literal["en", "zh"] | None = None
    access: Literal["full"] | None = None
    gate_timeout: float = QUESTION_SECONDS
    gate_child_agents: bool = False
    questions: bool = True
    durability: Literal["normal", "full"] = "normal"
    limits: Mapping[str, float] = field(default_factory=lambda: DEFAULT_LIMITS)
    """Every limit by its name in lower case; units as in `innkeeper.limits`. Counts and bytes are whole numbers."""
    serve: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The `[serve]` table: what was given of `SERVE_FIELDS`."""


HOT: Final = frozenset(
    {"enabled_builtins", "trust_mode", "trusted_workspaces", "workspace_allowances", "conflict_policy"}
)

SERVE_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "host": read_string,
        "port": read_port,
        "socket": read_path,
        "socket_token": read_boolean,
        "token_file": read_path,
        "no_token": read_boolean,
        "data_dir": read_path,
        "log": read_log,
        "quiet": read_boolean,
        "open": read_boolean,
        "force": read_boolean,
    }
)
_ALLOWANCE_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {"workspace": read_path, "allow_mcp": read_strings, "allow_tools": read_strings}
)
_LIMIT_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {limit.name.lower(): read_seconds if limit.unit == "s" else read_count for limit in LIMITS}
)


def _read_serve(value: Any) -> Mapping[str, Any]:
    table = read_table(value)
    if "token" in table:
        raise Wrong(Problem("secret"), "token")
    return MappingProxyType(_read_fields(table, SERVE_FIELDS))


def _read_limits(value: Any) -> Mapping[str, float]:
    return MappingProxyType({**DEFAULT_LIMITS, **_read_fields(read_table(value), _LIMIT_FIELDS)})


def _read_allowances(value: Any) -> tuple[Allowance, ...]:
    found = []
    for index, entry in enumerate(read_tables(value)):
        try:
            fields = _read_fields({"workspace": None, **entry}, _ALLOWANCE_FIELDS)
        except Wrong as error:
            raise Wrong(error.problem, index, *error.path) from None
        found.append(Allowance(**{**fields, "workspace": str(fields["workspace"])}))
    return tuple(found)


FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "enabled_builtins": choices(*BUILTINS),
        "trust_mode": choice("manual", "all"),
        "trusted_workspaces": read_paths,
        "workspace_allowances": _read_allowances,
        "conflict_policy": choice("error", "first-wins", "last-wins"),
        "language": choice("en", "zh"),
        "access": choice("full"),
        "gate_timeout": read_seconds,
        "gate_child_agents": read_boolean,
        "questions": read_boolean,
        "durability": choice("normal", "full"),
        "limits": _read_limits,
        "serve": _read_serve,
    }
)


def read_settings(path: Path) -> Settings:
    """The settings of a file; defaults when there is none. Raises `SettingsInvalid`."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise SettingsInvalid(path, Problem("unreadable", values={"detail": error.strerror or "?"})) from error
    try:
        return parse_settings(data.decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsInvalid(path, Problem("encoding"), line=line) from error


def parse_settings(text: str, path: Path) -> Settings:
    """The settings of a text; `path` is for the error. Raises `SettingsInvalid`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        detail, line = _syntax(str(error), text)
        raise SettingsInvalid(path, Problem("syntax", values={"detail": detail}), line=line) from error
    except RecursionError as error:
        raise SettingsInvalid(path, Problem("syntax", values={"detail": "nested too deeply"})) from error
    try:
        return Settings(**_read_fields(table, FIELDS))
    except Wrong as error:
        raise SettingsInvalid(path, error.problem, line=line_of(text, error.path), field=_dotted(error.path)) from error


def _read_fields(table: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    found = {}
    for name, value in table.items():
        reader = readers.get(name)
        if reader is None:
            raise Wrong(_unknown(name, readers), name)
        try:
            found[name] = reader(value)
        except Wrong as error:
            raise Wrong(error.problem, name, *error.path) from None
    return found


def _unknown(name: str, known: Iterable[str]) -> Problem:
    near = difflib.get_close_matches(name, list(known), n=1)
    return Problem("near", values={"near": near[0]}) if near else Problem("unknown")


def _dotted(path: Iterable[str | int]) -> str:
    dotted = ""
    for part in path:
        dotted += f"[{part}]" if isinstance(part, int) else f".{part}" if dotted else part
    return dotted


def _syntax(message: str, text: str) -> tuple[str, int]:
    """The parser's words without the place, and the line."""
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if place is None:
        return message, 1
    return message[: place.start()], int(place[1]) if place[1] else max(1, len(text.splitlines()))
