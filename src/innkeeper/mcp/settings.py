"""The settings that trust and gate read, as one value (M9.6). Nothing here reads a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from innkeeper.customizations.identity import workspace_key
from innkeeper.limits import DECLARATION_BYTES, DECLARATION_ENTRIES
from innkeeper.mcp.declarations.model import ConflictPolicy, Launch, Preset
from innkeeper.mcp.declarations.presets import BUILT_IN

key_of_directory = lru_cache(maxsize=4096)(workspace_key)
"""Remembered, because each call of a tool compares every directory of the settings (M6.6)."""


@dataclass(frozen=True, slots=True)
class WorkspaceAllowance:
    """The operator's coarse form (M4.2b): bare names of servers and of qualified tools for one directory."""

    workspace: str
    allow_mcp: frozenset[str] = frozenset()
    allow_tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HostServer:
    """A server of the whole host, which only the operator's configuration declares (M5.2)."""

    name: str
    launch: Launch = field(repr=False)


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Directories are given in any spelling and compared by their key: exactly, without subdirectories (M4.1)."""

    trust_mode: Literal["manual", "all"] = "manual"
    trusted_workspaces: frozenset[str] = frozenset()
    workspace_allowances: tuple[WorkspaceAllowance, ...] = ()
    full_access: bool = False
    """The operator's `access: full` (M6.3b)."""
    gate_child_agents: bool = False
    input_values: Mapping[str, str] = field(default_factory=dict, repr=False)
    presets: tuple[Preset, ...] = BUILT_IN
    """The enabled ones, in their order (M1.3); none switches the whole feature off."""
    conflict_policy: ConflictPolicy = "error"
    file_limit: int = DECLARATION_BYTES
    entry_limit: int = DECLARATION_ENTRIES
    """Bytes of one file and servers of one workspace that are read (M1.7). Cold."""
    host_servers: tuple[HostServer, ...] = ()
    """Cold: read when a host server is first wanted."""

    def trusts(self, workspace: str) -> bool:
        """`workspace` is a key."""
        return any(key_of_directory(trusted) == workspace for trusted in self.trusted_workspaces)

    def allows_server(self, workspace: str, server: str) -> bool:
        return any(server in allowance.allow_mcp for allowance in self._of(workspace))

    def allows_tool(self, workspace: str, qualified: str) -> bool:
        return any(qualified in allowance.allow_tools for allowance in self._of(workspace))

    def _of(self, workspace: str) -> list[WorkspaceAllowance]:
        return [found for found in self.workspace_allowances if key_of_directory(found.workspace) == workspace]
