"""Full access of a session: one table (M6.3b, M6.8, architecture §4). Pure.

| source | where it is read |
| `operator` | the operator's `access: full` |
| `autoApprove` | the session's `autoApprove` is `autoApprove`, unless policy restricts it |
| `agentMode` | the session's agent runs in a mode of `UNRESTRICTED_MODES` |

Rules
* What policy restricts is not offered by the session's schema; a value from before that does not count.
* Read from the host's own state at the time of the call, never from the agent or a model.
* It belongs to the session: chats of subagents have no other, so a parent's value counts for its children.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from innkeeper.host.approval.values import FullAccess

Session = Mapping[str, Any]
"""The state of a session, as AHP has it."""

UNRESTRICTED_MODES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = MappingProxyType(
    {
        "claude": MappingProxyType({"permissionMode": frozenset({"bypassPermissions"})}),
        "codex": MappingProxyType({"sandbox": frozenset({"danger-full-access"})}),
    }
)
"""Provider -> property of the session's configuration -> values with which the agent itself asks for nothing."""


def full_access(session: Session, *, operator_full: bool = False, auto_approve: str | None = None) -> FullAccess | None:
    """By what the session runs with full access; None when it does not. `auto_approve` is the effective value where
    there are more layers than the session's own."""
    if operator_full:
        return "operator"
    values = _values(session)
    approves = values.get("autoApprove") if auto_approve is None else auto_approve
    if approves == "autoApprove" and _offered(session, "autoApprove", "autoApprove"):
        return "autoApprove"
    modes = UNRESTRICTED_MODES.get(str(session.get("provider")), {})
    return "agentMode" if any(values.get(name) in unrestricted for name, unrestricted in modes.items()) else None


def _values(session: Session) -> Mapping[str, Any]:
    config = session.get("config")
    values = config.get("values") if isinstance(config, Mapping) else None
    return values if isinstance(values, Mapping) else {}


def _offered(session: Session, name: str, value: str) -> bool:
    schema = (session.get("config") or {}).get("schema") or {}
    offered = ((schema.get("properties") or {}).get(name) or {}).get("enum")
    return not isinstance(offered, list | tuple) or value in offered
