"""The report of `innkeeper mcp check` as data (issue 3, item 1; docs/reference/diagnostics.md).

Rules
* The shape is versioned: `REPORT_VERSION` changes when a field changes its meaning or goes away.
* No value of env, headers or inputs is in it: only names of servers, files, fields and codes.
"""

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.mcp.declarations.conflicts import Entry
from innkeeper.mcp.declarations.model import Diagnostic
from innkeeper.mcp.declarations.resolve import Resolved

REPORT_VERSION: Final = 1


def report(workspace: str, resolved: Resolved) -> dict[str, Any]:
    """Without `version`, which the printer puts first."""
    return {
        "workspace": encodable(workspace),
        "servers": [_server(entry) for entry in resolved.entries],
        "diagnostics": [_diagnostic(found) for found in resolved.diagnostics],
    }


def _server(entry: Entry) -> dict[str, Any]:
    server = entry.server
    return {
        "name": encodable(server.name),
        "safe_name": server.safe_name,
        "preset": server.preset,
        "file": server.file,
        "line": server.line,
        "transport": None if server.transport == "unknown" else server.transport,
        "status": entry.status,
        "reason": entry.reason,
        "diagnostics": [_diagnostic(found) for found in server.diagnostics],
    }


def _diagnostic(found: Diagnostic) -> Mapping[str, Any]:
    return {
        "severity": found.severity,
        "code": found.code,
        "message": encodable(found.message),
        "file": found.file,
        "line": found.line,
    }


def encodable(text: str) -> str:
    """The text with what UTF-8 cannot hold as escapes: names of folders and servers may have it."""
    return text.encode("utf-8", "backslashreplace").decode()
