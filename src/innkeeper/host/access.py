"""What a session may do without asking, from its own configuration: one table (M6.3b, M8.6b, architecture §4). Pure.

| `permissions.deny` names the tool | deny |
| the operator's `access` is `full`, or the session's `autoApprove` is `autoApprove` | allow |
| `permissions.allow` names the tool | allow |
| otherwise | ask |
"""

from collections.abc import Mapping
from typing import Any, Literal

Decision = Literal["allow", "ask", "deny"]


def full_access(config: Mapping[str, Any]) -> bool:
    """Whether the session runs with full access, by its effective configuration values."""
    return config.get("autoApprove") == "autoApprove"


def denied(config: Mapping[str, Any], tool: str) -> bool:
    return tool in _names(config, "deny")


def decide(config: Mapping[str, Any], tool: str, *, operator_full: bool = False) -> Decision:
    """Whether a tool of the agent itself may run. An unreadable list names nothing, so it allows nothing."""
    if denied(config, tool):
        return "deny"
    if operator_full or full_access(config) or tool in _names(config, "allow"):
        return "allow"
    return "ask"


def _names(config: Mapping[str, Any], key: str) -> tuple[str, ...]:
    permissions = config.get("permissions")
    names = permissions.get(key) if isinstance(permissions, Mapping) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else ()
