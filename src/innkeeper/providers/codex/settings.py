"""What a session of Codex can be configured with, and what that means for its requests.

Rules
* `sandbox` is Codex's own name and values, so that the host's table of full access knows it (M6.3b).
* With full access Codex itself asks nothing; the host's gate and deny rules stand where they stand.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.protocol.common.state import ConfigPropertySchema
from innkeeper.protocol.root.state import SessionModelInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.texts import text

SANDBOXES: Final[Mapping[str, str]] = {
    "read-only": "codex.sandbox.readOnly",
    "workspace-write": "codex.sandbox.workspaceWrite",
    "danger-full-access": "codex.sandbox.dangerFullAccess",
}
APPROVALS: Final[Mapping[str, str]] = {
    "on-request": "codex.approvalPolicy.onRequest",
    "untrusted": "codex.approvalPolicy.untrusted",
}


def schema() -> SessionConfigSchema:
    return {
        "type": "object",
        "properties": {
            "sandbox": {
                "type": "string",
                "title": text("codex.sandbox.title"),
                "description": text("codex.sandbox.description"),
                "enum": list(SANDBOXES),
                "enumLabels": [text(label) for label in SANDBOXES.values()],
                "default": "workspace-write",
                "sessionMutable": True,
            },
            "approvalPolicy": {
                "type": "string",
                "title": text("codex.approvalPolicy.title"),
                "description": text("codex.approvalPolicy.description"),
                "enum": list(APPROVALS),
                "enumLabels": [text(label) for label in APPROVALS.values()],
                "default": "on-request",
                "sessionMutable": True,
            },
        },
    }


def sandbox(config: Mapping[str, object]) -> str:
    chosen = config.get("sandbox")
    return str(chosen) if chosen in SANDBOXES else "workspace-write"


def approval_policy(config: Mapping[str, object]) -> str:
    if sandbox(config) == "danger-full-access":
        return "never"
    chosen = config.get("approvalPolicy")
    return str(chosen) if chosen in APPROVALS else "on-request"


def denied(config: Mapping[str, object]) -> frozenset[str]:
    """Tools that the session's rules deny."""
    permissions = config.get("permissions")
    names = permissions.get("deny") if isinstance(permissions, Mapping) else None
    return frozenset(name for name in names or () if isinstance(name, str))


def sandbox_policy(config: Mapping[str, object], directories: Sequence[str]) -> dict[str, object]:
    """The same for `turn/start`; further directories of the session may be written too."""
    match sandbox(config):
        case "read-only":
            return {"type": "readOnly", "networkAccess": False}
        case "danger-full-access":
            return {"type": "dangerFullAccess"}
        case _:
            return {
                "type": "workspaceWrite",
                "writableRoots": list(directories[1:]),
                "networkAccess": False,
                "excludeTmpdirEnvVar": False,
                "excludeSlashTmp": False,
            }


def models(listed: object) -> list[SessionModelInfo]:
    """What `model/list` says, without what it hides; the default one first."""
    entries = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    shown = [one for one in entries if not one.get("hidden") and isinstance(one.get("id"), str)]
    return [_model(one) for one in sorted(shown, key=lambda one: not one.get("isDefault"))]


def _model(one: Mapping[str, Any]) -> SessionModelInfo:
    info: SessionModelInfo = {
        "id": str(one["id"]),
        "provider": "codex",
        "name": str(one.get("displayName") or one["id"]),
        "supportsVision": "image" in (one.get("inputModalities") or ()),
    }
    efforts = [
        str(effort["reasoningEffort"])
        for effort in one.get("supportedReasoningEfforts") or ()
        if isinstance(effort, Mapping) and effort.get("reasoningEffort")
    ]
    if not efforts:
        return info
    choice: ConfigPropertySchema = {"type": "string", "title": text("codex.effort.title"), "enum": efforts}
    if one.get("defaultReasoningEffort") in efforts:
        choice = {**choice, "default": one["defaultReasoningEffort"]}
    return {**info, "configSchema": {"type": "object", "properties": {"effort": choice}}}


def chosen(model: Mapping[str, Any] | None) -> dict[str, object]:
    """Model and effort of a message, as members of `turn/start`."""
    if not model:
        return {}
    effort = (model.get("config") or {}).get("effort")
    return {"model": str(model["id"]), **({"effort": str(effort)} if effort else {})}
