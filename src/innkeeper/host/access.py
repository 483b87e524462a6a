"""Full access of a session, and what it may do to declarations: two tables (M6.3b, M6.8, M8.6b, architecture §4). Pure.

| source | where it is read |
| `operator` | the operator's `access: full` |
| `autoApprove` | the session's `autoApprove` is `autoApprove`, unless policy restricts it |
| `agentMode` | the session's agent runs in a mode of `UNRESTRICTED_MODES` |

What an edit of the project's declarations may do (M8.6b), the first row that holds:

| level | reason | when |
| `read-only` | `archived` | the session or the chat is archived |
| `read-only` | `readOnlyChat` | the chat takes no turns |
| `read-only` | `mode` | the session's `mode` is `plan` |
| `read-only` | `agentMode` | its agent runs in a mode of `READ_ONLY_MODES` |
| `full` | | the session runs with full access |
| `workspace-write` | | otherwise |

Rules
* What policy restricts is not offered by the session's schema; a value from before that does not count.
* Read from the host's own state at the time of the call, never from the agent or a model.
* It belongs to the session: chats of subagents have no other, so a parent's value counts for its children.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from innkeeper.host.approval.values import FullAccess
from innkeeper.protocol.status import IS_ARCHIVED

Session = Mapping[str, Any]
"""The state of a session, as AHP has it."""

UNRESTRICTED_MODES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = MappingProxyType(
    {
        "claude": MappingProxyType({"permissionMode": frozenset({"bypassPermissions"})}),
        "codex": MappingProxyType({"sandbox": frozenset({"danger-full-access"})}),
        "claude-acp": MappingProxyType({"agentMode": frozenset({"bypassPermissions"})}),
        "codex-acp": MappingProxyType({"agentMode": frozenset({"full-access"})}),
        "gemini": MappingProxyType({"agentMode": frozenset({"yolo"})}),
    }
)
"""Provider -> property of the session's configuration -> values with which the agent itself asks for nothing."""

READ_ONLY_MODES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = MappingProxyType(
    {
        "claude": MappingProxyType({"permissionMode": frozenset({"plan"})}),
        "codex": MappingProxyType({"sandbox": frozenset({"read-only"})}),
        "claude-acp": MappingProxyType({"agentMode": frozenset({"plan"})}),
        "codex-acp": MappingProxyType({"agentMode": frozenset({"read-only"})}),
        "opencode": MappingProxyType({"agentMode": frozenset({"plan"})}),
    }
)
"""The same for modes in which the agent changes nothing."""

EditLevel = Literal["read-only", "workspace-write", "full"]
ReadOnlyReason = Literal["archived", "readOnlyChat", "mode", "agentMode"]


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


def edit_level(
    session: Session, chat: Mapping[str, Any] | None = None, *, operator_full: bool = False
) -> tuple[EditLevel, ReadOnlyReason | None]:
    """What an edit that comes through this session, and through this chat of it, may do; and why no more."""
    values = _values(session)
    if any(int(one.get("status") or 0) & IS_ARCHIVED for one in (session, chat or {})):
        return "read-only", "archived"
    if chat is not None and chat.get("interactivity", "full") != "full":
        return "read-only", "readOnlyChat"
    if values.get("mode") == "plan":
        return "read-only", "mode"
    modes = READ_ONLY_MODES.get(str(session.get("provider")), {})
    if any(values.get(name) in looking for name, looking in modes.items()):
        return "read-only", "agentMode"
    return ("full" if full_access(session, operator_full=operator_full) else "workspace-write"), None


def _values(session: Session) -> Mapping[str, Any]:
    config = session.get("config")
    values = config.get("values") if isinstance(config, Mapping) else None
    return values if isinstance(values, Mapping) else {}


def _offered(session: Session, name: str, value: str) -> bool:
    schema = (session.get("config") or {}).get("schema") or {}
    offered = ((schema.get("properties") or {}).get(name) or {}).get("enum")
    return not isinstance(offered, list | tuple) or value in offered
