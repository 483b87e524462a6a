"""Custom presets: a format as the operator's data (M1.2-M1.5, M11.6).

Rules
* Data only: names of files, tables, fields and values. A path of keys is dotted, or an RFC 6901 pointer when a key
  holds a dot; the empty string is the object itself for a table, and "has no such field" for a field.
* `extends` takes over everything of a built-in or an earlier preset; what is given replaces it, fields one by one. The
  id of a built-in overrides it where it stands. The others follow the built-ins in the order they are defined.
* What is wrong names preset and key, never a value. Files lie inside the workspace.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from innkeeper.mcp.declarations.files import Refused, inside
from innkeeper.mcp.declarations.model import Interpolation, KeyPath, Preset
from innkeeper.mcp.declarations.presets import (
    BUILT_IN,
    CODEX_FIELDS,
    CODEX_FILTERS,
    CODEX_UNSUPPORTED,
    FIELDS,
    GEMINI_FIELDS,
    GEMINI_FILTERS,
    GEMINI_UNSUPPORTED,
    OFF_BY_DEFAULT,
    STANDARD_FIELDS,
    STANDARD_UNSUPPORTED,
    TRANSPORTS,
)

ID: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
FILES_LIMIT: Final = 16
BUILT_IN_IDS: Final = tuple(built_in.id for built_in in BUILT_IN)

_DIALECT_FIELDS: Final = {"standard": STANDARD_FIELDS, "codex": CODEX_FIELDS, "gemini": GEMINI_FIELDS}
_DIALECT_UNSUPPORTED: Final = {
    "standard": STANDARD_UNSUPPORTED,
    "codex": CODEX_UNSUPPORTED,
    "gemini": GEMINI_UNSUPPORTED,
}
_DIALECT_FILTERS: Final = {"standard": ("", ""), "codex": CODEX_FILTERS, "gemini": GEMINI_FILTERS}
_INTERPOLATION: Final[Mapping[str, Interpolation]] = {"standard": "standard", "codex": "none", "gemini": "shell"}
_CHOICES: Final = {
    "format": ("json", "jsonc", "toml", "yaml"),
    "dialect": ("standard", "codex", "gemini"),
    "interpolation": ("standard", "shell", "none"),
    "bare_url": ("http", "sse"),
}
KEYS: Final = (
    "id",
    "files",
    "format",
    "servers_paths",
    "fields",
    "dialect",
    "interpolation",
    "bare_url",
    "enabled",
    "extends",
    "transports",
    "command_list",
)
"""Keys of one preset in the configuration; the camel-case spelling (`serversPaths`, `bareUrl`) is taken too."""


class PresetInvalid(ValueError):
    """A preset that cannot be used. `preset` is its place in the list, `key` what is wrong; `problem` is the last part
    of a text id `declaration.preset.…`."""

    def __init__(self, preset: int, key: str, problem: str) -> None:
        super().__init__(f"presets[{preset}].{key}: {problem}")
        self.preset = preset
        self.key = key
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Available:
    """All presets that are known, in their order, and which of them are on."""

    presets: tuple[Preset, ...]
    enabled_ids: frozenset[str]

    @property
    def enabled(self) -> tuple[Preset, ...]:
        return tuple(preset for preset in self.presets if preset.id in self.enabled_ids)


def available_presets(
    enabled_builtins: Sequence[str] = BUILT_IN_IDS,
    custom: Sequence[Mapping[str, Any]] = (),
) -> Available:
    """The built-ins in the order given, then those that are off, then the custom ones. `custom` is what the
    configuration's `presets` holds: tables of plain values. Raises PresetInvalid."""
    known = {preset.id: preset for preset in (*BUILT_IN, *OFF_BY_DEFAULT)}
    order = [id for id in dict.fromkeys(enabled_builtins) if id in known]
    order += [id for id in known if id not in order]
    enabled = {id for id in enabled_builtins if id in known}
    defined: set[str] = set()
    for index, given in enumerate(custom):
        preset, on = _read(index, given, known)
        if preset.id in defined:
            raise PresetInvalid(index, "id", "repeated")
        defined.add(preset.id)
        if preset.id not in known:
            order.append(preset.id)
        known[preset.id] = preset
        enabled = enabled | {preset.id} if on else enabled - {preset.id}
    return Available(tuple(known[id] for id in order), frozenset(enabled))


def key_path(text: str) -> KeyPath:
    """A dotted path, or a pointer when it begins with `/`. Raises ValueError."""
    if not text:
        return ()
    if not text.startswith("/"):
        parts = tuple(text.split("."))
        if not all(parts):
            raise ValueError("an empty key")
        return parts
    if re.search(r"~(?![01])", text):
        raise ValueError("a bad escape")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def _read(index: int, given: Mapping[str, Any], known: Mapping[str, Preset]) -> tuple[Preset, bool]:
    table = {_snake(key): value for key, value in given.items()}
    for key in table:
        if key not in KEYS:
            raise PresetInvalid(index, key, "unknown")
    take = _Taker(index, table)
    id = take("id", _text, None)
    if id is None or not ID.fullmatch(id):
        raise PresetInvalid(index, "id", "id")
    extended = take("extends", _text, None)
    if extended is not None and extended not in known:
        raise PresetInvalid(index, "extends", "extends")
    base = _new(id, take) if extended is None else replace(known[extended], id=id, built_in=False)
    return _changed(base, take), take("enabled", _boolean, True)


def _new(id: str, take: "_Taker") -> Preset:
    """A preset from nothing: its dialect decides what is not given."""
    for needed in ("files", "format", "servers_paths"):
        if needed not in take.table:
            raise PresetInvalid(take.index, needed, "missing")
    dialect = take.choice("dialect", "standard")
    return Preset(
        id=id,
        files=(),
        tables=(),
        fields=_DIALECT_FIELDS[dialect],
        dialect=dialect,
        interpolation=_INTERPOLATION[dialect],
        bare_url="sse" if dialect == "gemini" else "http",
        transports={} if dialect == "codex" else TRANSPORTS,
        unsupported=_DIALECT_UNSUPPORTED[dialect],
        filters=_DIALECT_FILTERS[dialect],
        built_in=False,
    )


def _changed(base: Preset, take: "_Taker") -> Preset:
    dialect = take.choice("dialect", base.dialect)
    if dialect != base.dialect:
        base = replace(
            base,
            fields=_DIALECT_FIELDS[dialect],
            unsupported=_DIALECT_UNSUPPORTED[dialect],
            filters=_DIALECT_FILTERS[dialect],
            interpolation=_INTERPOLATION[dialect],
            bare_url="sse" if dialect == "gemini" else "http",
        )
    changed = replace(
        base,
        files=take("files", _files, base.files),
        format=take.choice("format", base.format),
        tables=take("servers_paths", _tables, base.tables),
        fields=_fields(base.fields, take("fields", _field_paths, {})),
        dialect=dialect,
        interpolation=take.choice("interpolation", base.interpolation),
        bare_url=take.choice("bare_url", base.bare_url),
        transports={**base.transports, **take("transports", _transports, {})},
        command_list=take("command_list", _boolean, base.command_list),
    )
    moved = changed.files != base.files or changed.tables != base.tables
    return replace(changed, table_required=False, client="") if moved else changed


def _fields(base: Mapping[str, KeyPath], given: Mapping[str, KeyPath]) -> Mapping[str, KeyPath]:
    return MappingProxyType({name: path for name, path in {**base, **given}.items() if path})


class _Taker:
    """Values of one preset, each checked when it is taken."""

    def __init__(self, index: int, table: Mapping[str, Any]) -> None:
        self.index = index
        self.table = table

    def __call__(self, key: str, check: Callable[[Any], Any], default: Any) -> Any:
        if key not in self.table:
            return default
        try:
            return check(self.table[key])
        except (ValueError, Refused):
            raise PresetInvalid(self.index, key, key if key in _SPECIFIC else "type") from None

    def choice(self, key: str, default: Any) -> Any:
        if key not in self.table:
            return default
        if self.table[key] not in _CHOICES[key]:
            raise PresetInvalid(self.index, key, "choice")
        return self.table[key]


_SPECIFIC: Final = frozenset({"files", "servers_paths", "fields", "transports"})


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: f"_{found[1].lower()}", key)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list | tuple):
        raise ValueError
    return [_text(item) for item in value]


def _files(value: Any) -> tuple[str, ...]:
    files = tuple(inside("/", file.strip()) if not file.startswith("/") else _escaped() for file in _texts(value))
    if not files or len(files) > FILES_LIMIT or any(file == "." or re.search(r"[*?\[]", file) for file in files):
        raise ValueError
    return files


def _escaped() -> str:
    raise Refused("PATH_ESCAPE")


def _tables(value: Any) -> tuple[KeyPath, ...]:
    paths = tuple(key_path(path) for path in _texts(value))
    if not paths:
        raise ValueError
    return paths


def _field_paths(value: Any) -> Mapping[str, KeyPath]:
    if not isinstance(value, Mapping):
        raise ValueError
    names = {_snake(name): name for name in FIELDS}
    found: dict[str, KeyPath] = {}
    for name, path in value.items():
        if _snake(name) not in names:
            raise ValueError
        found[names[_snake(name)]] = key_path(_text(path))
    return found


def _transports(value: Any) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or not all(meaning in ("stdio", "http") for meaning in value.values()):
        raise ValueError
    return {_text(name): meaning for name, meaning in value.items()}
