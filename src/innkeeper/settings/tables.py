"""The settings that are tables: allowances, presets, inputs, servers of the host, agents, limits, how `serve` runs
(M1.3, M2.5, M4.2b, M5.2, M9.6)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from innkeeper.limits import FIXED, LIMITS
from innkeeper.ports.settings import Allowance
from innkeeper.settings.fields import read_fields
from innkeeper.settings.problems import Problem, Wrong, wrong
from innkeeper.settings.readers import (
    Reader,
    read_boolean,
    read_count,
    read_log,
    read_path,
    read_port,
    read_seconds,
    read_string,
    read_strings,
    read_table,
    read_tables,
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
ALLOWANCE_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {"workspace": read_path, "allow_mcp": read_strings, "allow_tools": read_strings}
)
DEFAULT_LIMITS: Final[Mapping[str, float]] = MappingProxyType({limit.name.lower(): limit.value for limit in LIMITS})
LIMIT_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        limit.name.lower(): read_seconds if limit.unit == "s" else read_count
        for limit in LIMITS
        if limit.name not in FIXED
    }
)
OAUTH_CLIENT_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "url": read_string,
        "client_id": read_string,
        "callback_port": read_port,
        "scopes": read_strings,
        "secret_input": read_string,
    }
)


@dataclass(frozen=True, slots=True)
class OperatorServer:
    """A server of the whole host as it is written: `command` or `url` is given, never both. Every text may hold
    variables; what they stand for is found when the host starts."""

    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """What the operator chose for one agent: whether it is listed, which program it is, and whether it uses their own
    configuration directory with its login."""

    enabled: bool = True
    program: Path | None = None
    share_login: bool = False


INPUT_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_ENVIRONMENT: Final = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
KEYRING: Final = "keyring"


def read_presets(value: Any) -> tuple[Mapping[str, Any], ...]:
    """Custom presets as they are written (M1.3); what they mean, and whether they can be used, the loader's own
    resolver decides, which the settings service is given as its check."""
    return tuple(MappingProxyType(dict(entry)) for entry in read_tables(value))


def read_allowances(value: Any) -> tuple[Allowance, ...]:
    found = []
    for index, entry in enumerate(read_tables(value)):
        fields = _read_entry(index, {"workspace": None, **entry}, ALLOWANCE_FIELDS)
        found.append(Allowance(**{**fields, "workspace": str(fields["workspace"])}))
    return tuple(found)


def read_inputs(value: Any) -> Mapping[str, str]:
    """Names of inputs and where their values are: a value itself is refused, as it would be a secret in this file."""
    found = {}
    for name, reference in read_table(value).items():
        if not INPUT_NAME.fullmatch(name):
            raise wrong("inputName", name)
        if reference != KEYRING and not (isinstance(reference, str) and _ENVIRONMENT.fullmatch(reference)):
            raise wrong("reference", name)
        found[name] = reference
    return MappingProxyType(found)


def read_named_tables(value: Any) -> Mapping[str, Mapping[str, Any]]:
    """A table of tables, whose fields are somebody else's business."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, table in read_table(value).items():
        if not isinstance(table, Mapping):
            raise wrong("table", name)
        found[name] = MappingProxyType(dict(table))
    return MappingProxyType(found)


def read_oauth_clients(value: Any) -> tuple[Mapping[str, Any], ...]:
    """OAuth clients that the operator registered: of which servers (`url` and below), by which id. A secret is the
    value of an input."""
    found = []
    for index, entry in enumerate(read_tables(value)):
        read = _read_entry(index, {"url": None, "client_id": None, **entry}, OAUTH_CLIENT_FIELDS)
        found.append(MappingProxyType(read))
    return tuple(found)


def read_agents(value: Any) -> Mapping[str, AgentChoice]:
    """`[agents.NAME]` tables. The names of agents are checked where they are used."""
    found = {}
    for name, entry in read_table(value).items():
        try:
            found[name] = AgentChoice(**read_fields(read_table(entry), AGENT_FIELDS))
        except Wrong as error:
            raise Wrong(error.problem, name, *error.path) from None
    return MappingProxyType(found)


def read_host_servers(value: Any) -> Mapping[str, OperatorServer]:
    """`[host_servers.NAME]` tables (M5.2). A field of the other transport is an error, not passed over."""
    found = {}
    for name, entry in read_table(value).items():
        try:
            table = read_table(entry)
            stdio = "url" not in table
            if not stdio and "command" in table:
                raise Wrong(Problem("exclusive", values={"options": "command, url"}), "command")
            readers = STDIO_SERVER_FIELDS if stdio else HTTP_SERVER_FIELDS
            found[name] = OperatorServer(**read_fields({"command": None, **table} if stdio else table, readers))
        except Wrong as error:
            raise Wrong(error.problem, name, *error.path) from None
    return MappingProxyType(found)


def _read_texts(value: Any) -> tuple[str, ...]:
    """Arguments: an empty one is one."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise wrong("strings")
    return tuple(value)


def _read_values(value: Any) -> Mapping[str, str]:
    """Texts and numbers by name; an empty text is a value (M2.8)."""
    table = read_table(value)
    for name, item in table.items():
        if not name or isinstance(item, bool) or not isinstance(item, (str, int, float)):
            raise wrong("values", name)
    return MappingProxyType({name: str(item) for name, item in table.items()})


AGENT_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {"enabled": read_boolean, "program": read_path, "share_login": read_boolean}
)
STDIO_SERVER_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {"command": read_string, "args": _read_texts, "env": _read_values, "cwd": read_string}
)
HTTP_SERVER_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType({"url": read_string, "headers": _read_values})


def read_serve(value: Any) -> Mapping[str, Any]:
    table = read_table(value)
    if "token" in table:
        raise Wrong(Problem("secret"), "token")
    return MappingProxyType(read_fields(table, SERVE_FIELDS))


def read_limits(value: Any) -> Mapping[str, float]:
    return MappingProxyType({**DEFAULT_LIMITS, **read_fields(read_table(value), LIMIT_FIELDS)})


def _read_entry(index: int, entry: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    try:
        return read_fields(entry, readers)
    except Wrong as error:
        raise Wrong(error.problem, index, *error.path) from None
