"""`config.toml` as one frozen value (M9.6; architecture §7).

Rules
* What is not known or has the wrong type is an error that names file, line and field: a misspelt safety setting must
  not be passed over.
* A missing file means defaults; one that cannot be read is an error.
* `HOT` fields may change while the host runs, all others need a restart. The whole list with meanings is in
  docs/reference/settings.md, which a test compares with `FIELDS`.
* A secret is no setting: the file names the file that holds it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from innkeeper.editing.files import read_content
from innkeeper.editing.toml.places import line_of
from innkeeper.editing.toml.reading import TomlInvalid, parse
from innkeeper.limits import QUESTION_SECONDS
from innkeeper.ports.settings import Allowance, ConflictPolicy, HotSettings, TrustMode
from innkeeper.settings.approvals import OperatorApprovals, read_approvals
from innkeeper.settings.fields import dotted, read_fields
from innkeeper.settings.problems import Problem, SettingsInvalid, Wrong
from innkeeper.settings.readers import (
    Reader,
    choice,
    choices,
    read_boolean,
    read_path,
    read_paths,
    read_seconds,
    read_strings,
)
from innkeeper.settings.tables import (
    DEFAULT_LIMITS,
    SERVE_FIELDS,
    AgentChoice,
    OperatorServer,
    read_agents,
    read_allowances,
    read_host_servers,
    read_inputs,
    read_limits,
    read_named_tables,
    read_oauth_clients,
    read_presets,
    read_serve,
)

__all__ = [
    "BUILTINS",
    "FIELDS",
    "FILE_NAME",
    "HOT",
    "SERVE_FIELDS",
    "Allowance",
    "Settings",
    "named_data_dir",
    "parse_settings",
    "read_settings",
    "settings_of",
]

Builtin = Literal["root", "vscode", "codex", "cursor", "gemini"]
BUILTINS: Final[tuple[Builtin, ...]] = ("root", "vscode", "codex", "cursor", "gemini")

FILE_NAME: Final = "config.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator set; the defaults where nothing is said."""

    enabled_builtins: tuple[Builtin, ...] = BUILTINS
    presets: tuple[Mapping[str, Any], ...] = ()
    trust_mode: TrustMode = "manual"
    trusted_workspaces: tuple[str, ...] = ()
    workspace_allowances: tuple[Allowance, ...] = ()
    conflict_policy: ConflictPolicy = "error"

    language: Literal["en", "zh"] | None = None
    access: Literal["full"] | None = None
    gate_timeout: float = QUESTION_SECONDS
    gate_child_agents: bool = False
    questions: bool = True
    web_control: bool = True
    approvals: OperatorApprovals = field(default_factory=OperatorApprovals)
    """The operator's rules about tool calls."""
    input_values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Where the values of inputs are, by name: `env:NAME` or `keyring`. Never a value (M2.5)."""
    oauth_clients: tuple[Mapping[str, Any], ...] = ()
    """Registered OAuth clients: `url`, `client_id`, and where given `callback_port`, `scopes`, `secret_input`."""
    host_servers: Mapping[str, OperatorServer] = field(default_factory=lambda: MappingProxyType({}))
    """Servers of the whole host by name; declared nowhere else (M5.2)."""
    agents: Mapping[str, AgentChoice] = field(default_factory=lambda: MappingProxyType({}))
    """What the operator chose for single agents, by name."""
    plugins: tuple[str, ...] = ()
    """Folders of plugins for all sessions (C7.1)."""
    contributions: tuple[str, ...] = ()
    """Entry points of the group `innkeeper.contributions` that this host loads, in this order (K3b)."""
    contribution_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    """What named contributions read, by their name."""
    isolation: Literal["worktree", "folder"] = "worktree"
    """Where a session works that does not say, in a git repository with a commit."""
    generate_titles: bool = True
    rich_plan_links: bool = False
    github_references: bool = False
    durability: Literal["normal", "full"] = "normal"
    limits: Mapping[str, float] = field(default_factory=lambda: DEFAULT_LIMITS)
    """Every limit by its name in lower case; units as in `innkeeper.limits`. Counts and bytes are whole numbers."""
    serve: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The `[serve]` table: what was given of `SERVE_FIELDS`."""

    @property
    def hot(self) -> HotSettings:
        """What may change while the host runs."""
        return HotSettings(
            self.enabled_builtins,
            self.presets,
            self.trust_mode,
            self.trusted_workspaces,
            self.workspace_allowances,
            self.conflict_policy,
        )


FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "enabled_builtins": choices(*BUILTINS),
        "presets": read_presets,
        "trust_mode": choice("manual", "all"),
        "trusted_workspaces": read_paths,
        "workspace_allowances": read_allowances,
        "conflict_policy": choice("error", "first-wins", "last-wins"),
        "language": choice("en", "zh"),
        "access": choice("full"),
        "gate_timeout": read_seconds,
        "gate_child_agents": read_boolean,
        "questions": read_boolean,
        "web_control": read_boolean,
        "approvals": read_approvals,
        "input_values": read_inputs,
        "oauth_clients": read_oauth_clients,
        "host_servers": read_host_servers,
        "agents": read_agents,
        "plugins": read_paths,
        "contributions": read_strings,
        "contribution_settings": read_named_tables,
        "isolation": choice("worktree", "folder"),
        "generate_titles": read_boolean,
        "rich_plan_links": read_boolean,
        "github_references": read_boolean,
        "durability": choice("normal", "full"),
        "limits": read_limits,
        "serve": read_serve,
    }
)


HOT: Final = frozenset(entry.name for entry in fields(HotSettings))


def read_settings(path: Path) -> Settings:
    """The settings of a file; defaults when there is none. Raises `SettingsInvalid`."""
    try:
        content = read_content(path)
    except OSError as error:
        raise SettingsInvalid(path, Problem("unreadable", values={"detail": error.strerror or "?"})) from error
    return settings_of(content.data, path)


def named_data_dir(path: Path) -> Path | None:
    """`serve.data_dir` of a file, whatever else it says; None where it names none, or cannot be read."""
    try:
        table = parse((read_content(path).data or b"").decode("utf-8-sig"))
        named = table["serve"]["data_dir"]
        return read_path(named)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def settings_of(data: bytes | None, path: Path) -> Settings:
    """The settings of a file's content; None is a file that does not exist. Raises `SettingsInvalid`."""
    try:
        return parse_settings((data or b"").decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        line = (data or b"")[: error.start].count(b"\n") + 1
        raise SettingsInvalid(path, Problem("encoding"), line=line) from error


def parse_settings(text: str, path: Path) -> Settings:
    """The settings of a text; `path` is for the error. Raises `SettingsInvalid`."""
    try:
        table = parse(text)
    except TomlInvalid as error:
        raise SettingsInvalid(path, Problem("syntax", values={"detail": error.detail}), line=error.line) from error
    try:
        return Settings(**read_fields(table, FIELDS))
    except Wrong as error:
        raise SettingsInvalid(path, error.problem, line=line_of(text, error.path), field=dotted(error.path)) from error
