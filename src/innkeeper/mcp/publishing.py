"""One server as clients and the CLI see it (AHP §10.2, M7.6). Pure, and without a secret at hand."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote

from innkeeper.customizations.enablement import Resolved
from innkeeper.errors import ERRORS
from innkeeper.mcp.connections.values import ConnectionState
from innkeeper.mcp.declarations.model import DeclaredServer
from innkeeper.mcp.trust import DISCONNECTED, Verdict
from innkeeper.ports.mcp import ServerReport
from innkeeper.protocol.common.state import ErrorInfo
from innkeeper.protocol.session.state import McpServerCustomization, McpServerState
from innkeeper.texts import text

META_KEY = "x-innkeeper/mcp"


@dataclass(frozen=True, slots=True)
class ServerView:
    """All that is said about a server. `connection` is None while nobody has tried to connect it."""

    declared: DeclaredServer
    directory: str
    """The session's primary directory as the session states it."""
    resolved: Resolved
    verdict: Verdict
    connection: ConnectionState | None
    pid: int | None
    tools: tuple[str, ...]


def server_id(declared: DeclaredServer) -> str:
    """Unique in its session and the same after each reading."""
    return f"mcp:{declared.safe_name}"


def status_of(view: ServerView) -> str:
    """One of M7.6's words."""
    if view.declared.launch is None:
        return "invalid"
    if not view.resolved.enabled:
        return "disabled"
    kind = None if view.connection is None else view.connection.kind
    if kind == "ready":
        return "connected"
    if kind == "starting":
        return "connecting"
    if view.verdict.reason == "DECLARATION_CHANGED":
        return "needs a new grant"
    if not view.verdict.allowed and view.verdict.reason != DISCONNECTED:
        return "not allowed"
    return "failed" if kind in ("error", "authRequired") else "stopped"


def reason_of(view: ServerView) -> str | None:
    """The code that explains the status; None where there is nothing to explain."""
    status = status_of(view)
    if status in ("connected", "connecting"):
        return None
    if status == "failed":
        return None if view.connection is None else view.connection.code
    return view.verdict.reason


def state_of(view: ServerView) -> McpServerState:
    """AHP's state: a rejected declaration is an error, what is off or not allowed is stopped."""
    if view.declared.launch is None:
        return {"kind": "error", "error": _error(view.declared.code or "FIELD_VALUE", None)}
    found = view.connection
    if found is None or status_of(view) not in ("connected", "connecting", "failed"):
        return {"kind": "stopped"}
    match found.kind:
        case "starting":
            return {"kind": "starting"}
        case "ready":
            return {"kind": "ready"}
        case "stopped":
            return {"kind": "stopped"}
        case "authRequired" if found.requirement is not None:
            return {"kind": "authRequired", **found.requirement}
        case _:
            return {"kind": "error", "error": _error(found.code or "CONNECTION_LOST", found.detail)}


def customization_of(view: ServerView) -> McpServerCustomization:
    """What the session publishes."""
    declared = view.declared
    meta: dict[str, object] = {
        "status": status_of(view),
        "transport": declared.transport,
        "preset": declared.preset,
        "diagnostics": [found.code for found in declared.diagnostics],
    }
    if (reason := reason_of(view)) is not None:
        meta["reason"] = reason
    if view.verdict.by is not None:
        meta["allowedBy"] = view.verdict.by
    found: McpServerCustomization = {
        "type": "mcpServer",
        "id": server_id(declared),
        "uri": _entry_uri(view.directory, declared),
        "name": declared.name,
        "range": declared.range,
        "state": state_of(view),
        "_meta": {META_KEY: meta},
    }
    if view.resolved.enablement:
        return {**found, "enablement": list(view.resolved.enablement)}
    return found


def report_of(view: ServerView) -> ServerReport:
    """What `mcp list` shows."""
    declared = view.declared
    return ServerReport(
        id=server_id(declared),
        name=declared.name,
        file=declared.file,
        line=declared.line,
        transport=declared.transport,
        enabled=view.resolved.enabled,
        allowed=view.verdict.allowed,
        status=status_of(view),
        reason=reason_of(view),
        pid=view.pid,
        tools=view.tools,
        command=declared.command,
    )


def _entry_uri(directory: str, declared: DeclaredServer) -> str:
    file = quote(str(PurePosixPath(declared.file)))
    return f"{directory.rstrip('/')}/{file}#mcp={quote(declared.name, safe='', errors='surrogatepass')}"


def _error(code: str, detail: str | None) -> ErrorInfo:
    meaning = text(ERRORS[code].meaning)
    return {"errorType": code, "message": meaning if detail is None else f"{meaning} [{detail}]"}
