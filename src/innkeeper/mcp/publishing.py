"""One server as clients and the CLI see it (AHP §10.2, M7.6). Pure, and without a secret at hand."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Final, Literal
from urllib.parse import quote

from innkeeper.customizations.enablement import Resolved
from innkeeper.errors import ERRORS
from innkeeper.mcp.connections.values import ConnectionState
from innkeeper.mcp.declarations.model import DeclaredServer, HttpLaunch, StdioLaunch
from innkeeper.mcp.declarations.secrets import mask_address, mask_arguments
from innkeeper.mcp.supervision.course import Course
from innkeeper.mcp.trust import Verdict
from innkeeper.ports.mcp import DeclarationView, ServerReport
from innkeeper.protocol.common.state import ErrorInfo
from innkeeper.protocol.session.state import McpServerCustomization, McpServerState
from innkeeper.texts import text

META_KEY = "x-innkeeper/mcp"
NO_COURSE: Final = Course()
HOST_PRESET: Final = "host"
"""The preset of servers of the whole host, which no file of a project can have."""

STATUSES: Final = (
    "connected",
    "connecting",
    "reconnecting",
    "unverified",
    "failed",
    "stopped",
    "not allowed",
    "disabled",
    "needs a new grant",
    "written by an agent",
    "invalid",
)
"""The states of M7.6, and `invalid` for an entry that was rejected."""

RUNNING: Final = frozenset({"connected", "connecting", "reconnecting", "unverified"})
"""States of a server that its switch ends at once."""

_REFUSED: Final[Mapping[str | None, str]] = {
    "NOT_ALLOWED": "not allowed",
    "DECLARATION_CHANGED": "needs a new grant",
    "WRITTEN_BY_AGENT": "written by an agent",
    "NOT_SELECTED": "stopped",
    "DISCONNECTED": "stopped",
}
"""What a server is called that may not start."""


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
    selection: Literal["policy", "custom"] = "policy"
    course: Course = NO_COURSE
    next_try: str | None = None
    """When the next try is due, as a timestamp."""
    unverified: bool = False
    confirmed_at: str | None = None
    """Its last proof of life while it is unverified, as a timestamp."""
    leaving: bool = False
    project: bool = True
    granted: DeclarationView | None = None
    """What a grant that is void now was given for, as far as that is known."""


def server_id(declared: DeclaredServer) -> str:
    """Unique in its session and the same after each reading."""
    return f"mcp:{'host:' if declared.preset == HOST_PRESET else ''}{declared.safe_name}"


def status_of(view: ServerView) -> str:
    """One of `STATUSES`."""
    if view.declared.launch is None:
        return "invalid"
    if not view.resolved.enabled:
        return "disabled"
    kind = None if view.connection is None else view.connection.kind
    if kind == "ready":
        return "unverified" if view.unverified else "connected"
    if kind == "starting":
        return "reconnecting" if view.course.reconnecting else "connecting"
    if view.verdict.reason in _REFUSED:
        return _REFUSED[view.verdict.reason]
    if view.course.phase == "waiting":
        return "reconnecting"
    return "failed" if kind in ("error", "authRequired") else "stopped"


def reason_of(view: ServerView) -> str | None:
    """The code that explains the status; None where there is nothing to explain."""
    status = status_of(view)
    if status in ("connected", "connecting", "unverified"):
        return None
    if status == "reconnecting":
        return view.course.code
    if status == "failed":
        return None if view.connection is None else view.connection.code
    return view.verdict.reason


def state_of(view: ServerView) -> McpServerState:
    """AHP's state: a rejected declaration is an error, what is off or not allowed is stopped."""
    if view.declared.launch is None:
        return {"kind": "error", "error": _error(view.declared.code or "FIELD_VALUE", None)}
    found = view.connection
    if found is None or status_of(view) not in ("connected", "connecting", "failed", "reconnecting", "unverified"):
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
    found: McpServerCustomization = {
        "type": "mcpServer",
        "id": server_id(declared),
        "uri": _entry_uri(view.directory, declared),
        "name": declared.name,
        "range": declared.range,
        "state": state_of(view),
        "_meta": {META_KEY: _meta(view)},
    }
    if view.resolved.enablement:
        return {**found, "enablement": list(view.resolved.enablement)}
    return found


def _meta(view: ServerView) -> dict[str, object]:
    """What AHP has no field for; docs/reference/reconnect.md."""
    declared, verdict, status = view.declared, view.verdict, status_of(view)
    found: dict[str, object] = {
        "status": status,
        "transport": declared.transport,
        "preset": declared.preset,
        "selection": view.selection,
        "diagnostics": [found.code for found in declared.diagnostics],
    }
    optional: dict[str, object] = {
        "reason": reason_of(view),
        "allowedBy": verdict.by,
        "directory": verdict.workspace,
        "bare": verdict.bare or None,
        "attempt": view.course.attempt if status == "reconnecting" else None,
        "nextTry": view.next_try,
        "confirmedAt": view.confirmed_at if status == "unverified" else None,
        "required": declared.required or None,
        "changePending": view.leaving or None,
        "scope": None if view.project else "host",
        "offInFile": None if declared.enabled_in_file else True,
    }
    if status == "needs a new grant":
        optional["present"] = _plain(view_of(declared))
        optional["granted"] = None if view.granted is None else _plain(view.granted)
        optional["grantedAt"] = None if verdict.void is None else verdict.void.granted_at
    return {**found, **{key: value for key, value in optional.items() if value is not None}}


def report_of(view: ServerView) -> ServerReport:
    """What `mcp list` shows."""
    declared, verdict, status = view.declared, view.verdict, status_of(view)
    return ServerReport(
        id=server_id(declared),
        name=declared.name,
        file=declared.file,
        line=declared.line,
        transport=declared.transport if declared.transport in ("stdio", "http") else "unknown",
        enabled=view.resolved.enabled,
        allowed=verdict.allowed,
        status=status,
        reason=reason_of(view),
        pid=view.pid,
        tools=view.tools,
        command=tuple(mask_arguments(declared.command)),
        allowed_by=verdict.by,
        directory=verdict.workspace,
        bare=verdict.bare,
        selection=view.selection,
        attempt=view.course.attempt if status == "reconnecting" else 0,
        next_try=view.next_try,
        confirmed_at=view.confirmed_at if status == "unverified" else None,
        change_pending=view.leaving,
        required=declared.required,
        scope="project" if view.project else "host",
        present=view_of(declared),
        granted=view.granted,
        granted_at=None if verdict.void is None else verdict.void.granted_at,
        switch_acts="now" if status in RUNNING else "nextRequest",
    )


def view_of(declared: DeclaredServer) -> DeclarationView:
    """The entry without its values."""
    launch = declared.launch
    return DeclarationView(
        command=tuple(mask_arguments(declared.command)),
        url=mask_address(launch.url) if isinstance(launch, HttpLaunch) else None,
        environment=declared.environment_names,
        headers=declared.header_names,
        directory=launch.directory if isinstance(launch, StdioLaunch) else None,
    )


def _plain(view: DeclarationView) -> dict[str, object]:
    """In the types that a state has."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(view).items()}


def _entry_uri(directory: str, declared: DeclaredServer) -> str:
    file = quote(str(PurePosixPath(declared.file)))
    if declared.preset == HOST_PRESET:
        return f"x-innkeeper:/{file}#mcp={quote(declared.name, safe='', errors='surrogatepass')}"
    return f"{directory.rstrip('/')}/{file}#mcp={quote(declared.name, safe='', errors='surrogatepass')}"


def _error(code: str, detail: str | None) -> ErrorInfo:
    meaning = text(ERRORS[code].meaning)
    return {"errorType": code, "message": meaning if detail is None else f"{meaning} [{detail}]"}
