"""The settings as people look them up: type, default, meaning, who writes them (M9.6).

Rules
* Everything is taken from what reads the file (`FIELDS`, `SERVE_FIELDS`) and from the catalogue, so that the page, the
  command line and the reader cannot disagree.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from innkeeper.editing.toml.writing import value_text
from innkeeper.ports.settings import Allowance
from innkeeper.settings.approvals import OperatorApprovals
from innkeeper.settings.config import FIELDS, HOT, Settings
from innkeeper.settings.options import DEFAULT_HOST, DEFAULT_PORT
from innkeeper.settings.problems import Wrong
from innkeeper.settings.readers import Reader
from innkeeper.settings.tables import DEFAULT_LIMITS, LIMIT_FIELDS, SERVE_FIELDS, AgentChoice, OperatorServer
from innkeeper.texts import text

_ADDRESS = re.compile(r"^([a-z]+://)?(?:[^/?#]*@)?([^/?#@]*).*$", re.DOTALL | re.IGNORECASE)

SERVE_DEFAULTS: Mapping[str, Any] = {"host": DEFAULT_HOST, "port": DEFAULT_PORT, "log": "info"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting by its dotted name. `default` is plain data; None where it is unset."""

    name: str
    hot: bool
    reader: Reader
    default: Any

    def type(self, lang: str = "en") -> str:
        """What is expected, as a clause."""
        try:
            self.reader(object())
        except Wrong as error:
            if error.problem.expected is not None:
                return text(f"settings.expected.{error.problem.expected}", lang=lang, **error.problem.values)
        return ""

    def meaning(self, lang: str = "en") -> str:
        """Empty for limits, which have a page of their own."""
        return "" if self.name.startswith("limits.") else text(f"settings.field.{self.name}", lang=lang)


def all_settings() -> tuple[Setting, ...]:
    """Every setting, hot ones first, tables by their entries."""
    defaults = Settings()
    plain = [name for name in FIELDS if name not in ("limits", "serve")]
    found = [Setting(name, name in HOT, FIELDS[name], plain_value(getattr(defaults, name))) for name in plain]
    found += [
        Setting(f"serve.{name}", False, reader, SERVE_DEFAULTS.get(name, False if _is_switch(reader) else None))
        for name, reader in SERVE_FIELDS.items()
    ]
    found += [Setting(f"limits.{name}", False, LIMIT_FIELDS[name], DEFAULT_LIMITS[name]) for name in LIMIT_FIELDS]
    return tuple(sorted(found, key=lambda setting: not setting.hot))


def plain_value(value: Any) -> Any:
    """A setting as what TOML and JSON have: lists, tables, texts, numbers. Of a server of the host only what cannot be
    a secret: its program, or the place of its address, and names."""
    if isinstance(value, Allowance):
        entries = {entry.name: plain_value(getattr(value, entry.name)) for entry in fields(value)}
        return {name: entry for name, entry in entries.items() if entry != []}
    if isinstance(value, AgentChoice):
        chosen = {entry.name: plain_value(getattr(value, entry.name)) for entry in fields(value)}
        return {name: entry for name, entry in chosen.items() if entry is not None}
    if isinstance(value, OperatorServer):
        return _without_secrets(value)
    if isinstance(value, OperatorApprovals):
        return value.document()
    if isinstance(value, Mapping):
        return {name: plain_value(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _without_secrets(server: OperatorServer) -> dict[str, Any]:
    if server.url is not None:
        shown_headers = {"headers": sorted(server.headers)} if server.headers else {}
        return {"url": _ADDRESS.sub(r"\1\2", server.url), **shown_headers}
    return {"command": server.command, **({"env": sorted(server.env)} if server.env else {})}


def shown(value: Any) -> str:
    """Plain data as TOML writes it; a dash where nothing is set."""
    return "–" if value is None else value_text(value)


def _is_switch(reader: Reader) -> bool:
    try:
        return reader(True) is True
    except Wrong:
        return False
