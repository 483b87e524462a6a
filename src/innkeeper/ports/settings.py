"""The operator's hot settings while the host runs (M9.2, M9.3, M9.6).

Rules
* Only hot settings are here: what is operator-only cannot travel from here to a client.
* A revision is a token of the whole content. A change names the revision it was made for; against any other it is
  refused, and nothing is written.
* What cannot be used changes nothing: the last good settings stay in force, and `fault` says what is wrong where.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from innkeeper.editing.edits import Edit
from innkeeper.errors import HostError

ConflictPolicy: TypeAlias = Literal["error", "first-wins", "last-wins"]
TrustMode: TypeAlias = Literal["manual", "all"]


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the operator allows in one directory without a grant (M4.2b)."""

    workspace: str
    allow_mcp: tuple[str, ...] = ()
    allow_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HotSettings:
    """What may change while the host runs (M9.6)."""

    enabled_builtins: tuple[str, ...]
    presets: tuple[Mapping[str, Any], ...]
    """Custom presets under the names of M1.3, shape checked; in the order of their definition."""
    trust_mode: TrustMode
    trusted_workspaces: tuple[str, ...]
    workspace_allowances: tuple[Allowance, ...]
    conflict_policy: ConflictPolicy


@dataclass(frozen=True, slots=True)
class SettingsFault:
    """Why what the file says is not in force. `field` is a path such as `presets[0].id`; never a value."""

    file: str
    line: int | None
    field: str | None
    error: HostError
    """Code SETTINGS_INVALID; its message names file, line, field and what was expected, its remedy what to do."""


@dataclass(frozen=True, slots=True)
class SettingsState:
    """What is in force now."""

    hot: HotSettings
    revision: str
    """Of the content that `hot` was read from."""
    file: str
    fault: SettingsFault | None = None
    after_restart: tuple[str, ...] = ()
    """Names of operator-only settings that the file has changed since the host started."""


Listener: TypeAlias = Callable[[SettingsState], None]


class SettingsConflict(HostError):
    """The settings are not those that the change was made for: SETTINGS_CONFLICT. `current` is their token now."""

    def __init__(self, current: str) -> None:
        super().__init__("SETTINGS_CONFLICT")
        self.current = current


class SettingsService(Protocol):
    def current(self) -> SettingsState: ...

    async def change(self, edits: Sequence[Edit], expected_revision: str) -> SettingsState:
        """Write these edits of hot settings, all or none, and put them in force. Paths begin with a setting's name.

        Raises `SettingsConflict`, and HostError: SETTING_UNKNOWN, SETTING_OPERATOR_ONLY, SETTING_VALUE,
        SETTINGS_INVALID (the file is broken now), EDIT_UNSAFE, EDIT_UNWRITABLE. Nothing is written then.
        """
        ...

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` on the event loop after each change of state; the result ends that. It must not raise."""
        ...
