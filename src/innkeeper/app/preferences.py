"""The operator's settings as the MCP side takes them, live (M5.8, M9.2, M9.6).

Rules
* Presets are resolved by the resolver of the loader, and by nothing else; what it refuses, the settings refuse with
  file, line and field.
* The value is made anew when hot settings changed; operator-only ones are those of the start.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from innkeeper.app.host_servers import host_servers
from innkeeper.host.core import Core
from innkeeper.mcp.declarations.custom import Available, PresetInvalid, available_presets
from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance
from innkeeper.ports.settings import HotSettings, SettingsService, SettingsState
from innkeeper.settings.config import Settings
from innkeeper.settings.problems import Problem, Wrong

if TYPE_CHECKING:
    from innkeeper.mcp.declarations.resolve import Reading


def check_presets(settings: Settings) -> None:
    """Raises `Wrong` for a custom preset that the loader could not use: a `Check` of the settings service."""
    try:
        available_presets(settings.enabled_builtins, settings.presets)
    except PresetInvalid as error:
        problem = Problem("preset", values={"problem": error.problem})
        raise Wrong(problem, "presets", error.preset, *([error.key] if error.key else [])) from error


class Preferences:
    """Called, it gives what holds now. `started` are the settings of the start, `inputs` the values of inputs,
    `environment` the host's own."""

    def __init__(
        self, service: SettingsService, started: Settings, inputs: Mapping[str, str], environment: Mapping[str, str]
    ) -> None:
        self._service = service
        self._started = started
        self._inputs = inputs
        self._environment = environment
        self._host_servers = host_servers(started, inputs, environment)
        self._hot = service.current().hot
        self._made = self._make(self._hot)

    def __call__(self) -> McpSettings:
        hot = self._service.current().hot
        if hot is not self._hot:
            self._hot, self._made = hot, self._make(hot)
        return self._made

    def available(self) -> Available:
        """Every preset that there is now, and which are on."""
        hot = self._service.current().hot
        return available_presets(hot.enabled_builtins, hot.presets)

    def reading(self) -> "Reading":
        """What a workspace is read with now."""
        from innkeeper.mcp.declarations.resolve import Reading

        now = self()
        return Reading(
            self._environment,
            now.input_values,
            now.presets,
            file_limit=now.file_limit,
            entry_limit=now.entry_limit,
            conflict_policy=now.conflict_policy,
        )

    def _make(self, hot: HotSettings) -> McpSettings:
        return McpSettings(
            trust_mode=hot.trust_mode,
            trusted_workspaces=frozenset(hot.trusted_workspaces),
            workspace_allowances=tuple(
                WorkspaceAllowance(one.workspace, frozenset(one.allow_mcp), frozenset(one.allow_tools))
                for one in hot.workspace_allowances
            ),
            full_access=self._started.access == "full",
            gate_child_agents=self._started.gate_child_agents,
            input_values=self._inputs,
            presets=available_presets(hot.enabled_builtins, hot.presets).enabled,
            conflict_policy=hot.conflict_policy,
            file_limit=int(self._started.limits["declaration_bytes"]),
            entry_limit=int(self._started.limits["declaration_entries"]),
            host_servers=self._host_servers,
        )


class SettingsFollower:
    """Lets the servers of all sessions follow a change of hot settings at once (M5.8); `end` ends that."""

    def __init__(self, service: SettingsService, refresh: Callable[[], Coroutine[Any, Any, None]], core: Core) -> None:
        self._refresh = refresh
        self._core = core
        self._hot = service.current().hot
        self.end = service.subscribe(self._changed)

    def _changed(self, state: SettingsState) -> None:
        if state.hot != self._hot:
            self._hot = state.hot
            self._core.spawn(self._refresh(), "servers follow the settings")
