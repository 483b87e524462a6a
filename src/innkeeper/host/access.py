"""What a session may do without asking: one table (M6.3b, M6.8, M8.6b, architecture §4). Pure.

| the operator's or the session's `permissions.deny` names the tool | deny |
| the session runs with full access | allow |
| `permissions.allow` names the tool | allow |
| otherwise | ask |

Full access is one of:

| source | where it is read |
| `operator` | the operator's `access: full` |
| `autoApprove` | the session's `autoApprove` is `autoApprove`, unless policy restricts it |
| `agentMode` | the session's agent runs in a mode of `UNRESTRICTED_MODES` |

Rules
* What policy restricts is not offered by the session's schema; a value from before that does not count.
* Read from the host's own state at the time of the call, never from the agent or a model.
* It belongs to the session: chats of subagents have no other, so a parent's value counts for its children.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

Decision = Literal["allow", "ask", "deny"]
FullAccess = Literal["operator", "autoApprove", "agentMode"]
Session = Mapping[str, Any]
"""The state of a session, as AHP has it."""

UNRESTRICTED_MODES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = MappingProxyType(
    {
        "claude": MappingProxyType({"permissionMode": frozenset({"bypassPermissions"})}),
        "codex": MappingProxyType({"sandbox": frozenset({"danger-full-access"})}),
    }
)
"""Provider -> property of the session's configuration -> values with which the agent itself asks for nothing."""


def full_access(session: Session, *, operator_full: bool = False) -> FullAccess | None:
    """By what the session runs with full access; None when it does not."""
    if operator_full:
        return "operator"
    values = _values(session)
    if values.get("autoApprove") == "autoApprove" and _offered(session, "autoApprove", "autoApprove"):
        return "autoApprove"
    modes = UNRESTRICTED_MODES.get(str(session.get("provider")), {})
    return "agentMode" if any(values.get(name) in unrestricted for name, unrestricted in modes.items()) else None


def denied_by(
    session: Session, tool: str, *, operator_denies: Collection[str] = ()
) -> Literal["session", "operator"] | None:
    """Whose rule denies the tool, by its name as the agent sees it."""
    if tool in operator_denies:
        return "operator"
    return "session" if tool in _names(session, "deny") else None


def decide(
    session: Session, tool: str, *, operator_full: bool = False, operator_denies: Collection[str] = ()
) -> Decision:
    """Whether a tool of the agent itself may run. An unreadable list names nothing, so it allows nothing."""
    if denied_by(session, tool, operator_denies=operator_denies) is not None:
        return "deny"
    if full_access(session, operator_full=operator_full) is not None or tool in _names(session, "allow"):
        return "allow"
    return "ask"


def _values(session: Session) -> Mapping[str, Any]:
    config = session.get("config")
    values = config.get("values") if isinstance(config, Mapping) else None
    return values if isinstance(values, Mapping) else {}


def _offered(session: Session, name: str, value: str) -> bool:
    schema = (session.get("config") or {}).get("schema") or {}
    offered = ((schema.get("properties") or {}).get(name) or {}).get("enum")
    return not isinstance(offered, list | tuple) or value in offered


def _names(session: Session, key: str) -> tuple[str, ...]:
    permissions = _values(session).get("permissions")
    names = permissions.get(key) if isinstance(permissions, Mapping) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else ()
