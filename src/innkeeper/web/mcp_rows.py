"""What the MCP control, panel and dialog say of each server (design, ui.md §3; M7.6, M9.1). Pure.

Rules
* Words come as ids of texts with their values; a code comes last. Nothing of a value of `env`, headers or inputs is
  here, because the host's report has none.
* Rows keep the order of the report while states change. Servers of the whole host are shown, and not counted.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlencode

from innkeeper.errors import ERRORS

Report = Mapping[str, Any]
Mark = Literal["ok", "warn", "bad", "hollow", "half", "ring", "lock"]

SELECTED: Final = frozenset({"connected", "connecting", "reconnecting", "unverified", "failed"})
"""States of servers that the session has, by policy or by hand."""
_BRACKETS: Final = re.compile(r" \[(.{1,100})\]$")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
UP: Final = frozenset({"connected", "unverified"})
_MARKS: Final[Mapping[str, Mark]] = {
    "connected": "ok",
    "connecting": "ring",
    "reconnecting": "warn",
    "unverified": "half",
    "failed": "bad",
    "invalid": "bad",
}
_ACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "connected": ("disconnect",),
    "connecting": ("stop",),
    "reconnecting": ("stop", "retry"),
    "unverified": ("retry",),
    "failed": ("retry",),
    "stopped": ("connect",),
    "not allowed": ("connect",),
    "needs a new grant": ("again",),
    "written by an agent": ("review",),
}


class Tool(NamedTuple):
    """A tool of a connected server. `state`: it asks first, is always allowed, needs no question (`free`, with the
    reason in `why`), is denied, or is excluded by the project."""

    name: str
    qualified: str
    description: str
    state: Literal["asks", "always", "free", "denied", "excluded"]
    why: str
    tokens: int
    granted: str | None


class Server(NamedTuple):
    """One row."""

    id: str
    name: str
    key: str
    """Of its element in the page."""
    preset: str
    file: str
    line: int
    transport: str
    status: str
    mark: Mark
    words: str
    """Id of the state's words."""
    meaning: str
    """Id of the text that says what the code means; empty without one."""
    detail: str
    """What the host knows beyond that, such as the exit code."""
    code: str | None
    attempt: int
    next_try: str | None
    confirmed_at: str | None
    command: str
    acts: tuple[str, ...]
    tools: tuple[Tool, ...]
    tokens: int
    project: bool
    off_in_file: bool
    pending: bool
    report: Report

    @property
    def query(self) -> str:
        """Which declaration the editor is to open."""
        named = {"server": self.name, "preset": self.preset, "file": self.file}
        return urlencode({key: value for key, value in named.items() if value})

    @property
    def asks(self) -> bool:
        """Connect runs a command, so that it is asked about in the row."""
        return self.transport == "stdio" and bool(self.command)


def servers(state: Mapping[str, Any], listed: Mapping[str, Any], tools: Iterable[Report]) -> list[Server]:
    """The rows. `state` is the session's, `listed` what `mcp/list` answered, `tools` the items of `mcp/tools`."""
    known = {one["id"]: one for one in _mcp(state.get("customizations") or ())}
    by_server: dict[str, list[Tool]] = {}
    for report in tools:
        by_server.setdefault(report["server"], []).append(tool_of(report))
    return [
        _server(report, known.get(report["id"]) or {}, by_server.get(report["name"], ()))
        for report in listed.get("items") or ()
    ]


def tool_of(report: Report) -> Tool:
    """How the gate stands to a tool."""
    outcome, why = report["outcome"], str(report["why"])
    state: Literal["asks", "always", "free", "denied", "excluded"]
    if why == "projectFilter":
        state = "excluded"
    elif outcome == "deny":
        state = "denied"
    elif outcome == "ask":
        state = "asks"
    else:
        state = "always" if why == "grant" else "free"
    name, qualified = str(report["tool"]), str(report["qualified"])
    described = str(report.get("description") or "")
    return Tool(name, qualified, described, state, why, int(report["tokens"]), report.get("granted"))


def _server(report: Report, customization: Mapping[str, Any], tools: Sequence[Tool]) -> Server:
    meta = (customization.get("_meta") or {}).get("x-innkeeper/mcp") or {}
    status, project = str(report["status"]), report["scope"] == "project"
    off = status == "disabled" and bool(meta.get("offInFile"))
    code = report.get("reason") if status in ("failed", "reconnecting", "invalid") else None
    error = (customization.get("state") or {}).get("error") or {}
    return Server(
        id=str(report["id"]),
        name=str(report["name"]),
        key="server-" + _UNSAFE.sub("-", str(report["id"]).removeprefix("mcp:")),
        preset=str(meta.get("preset") or ""),
        file=str(report["file"]),
        line=int(report["line"]),
        transport=str(report["transport"]),
        status=status,
        mark="lock" if off else _MARKS.get(status, "hollow"),
        words=_words(status, report.get("reason"), off),
        meaning=f"error.{code}.meaning" if code in ERRORS else "",
        detail=found[1] if (found := _BRACKETS.search(str(error.get("message") or ""))) else "",
        code=code,
        attempt=int(report["attempt"]),
        next_try=report.get("next_try"),
        confirmed_at=report.get("confirmed_at"),
        command=" ".join(str(part) for part in report.get("command") or ()),
        acts=_acts(status, code) if project else (),
        tools=tuple(tools),
        tokens=sum(tool.tokens for tool in tools),
        project=project,
        off_in_file=off,
        pending=bool(report.get("change_pending")),
        report=report,
    )


def _acts(status: str, code: str | None) -> tuple[str, ...]:
    acts = _ACTS.get(status, ())
    return ("signin", *acts) if status == "failed" and code == "AUTH_REQUIRED" else acts


def _words(status: str, reason: str | None, off: bool) -> str:
    if status == "stopped":
        known = {"DISCONNECTED": "by_you", "NOT_SELECTED": "not_selected"}
        return f"web.mcp.stopped.{known.get(str(reason), 'waits')}"
    if status == "disabled":
        return "web.mcp.disabled.by_project" if off else "web.mcp.disabled.by_person"
    return f"web.mcp.state.{status.replace(' ', '_')}"


class Summary(NamedTuple):
    """The control: worst state wins."""

    connected: int
    declared: int
    mark: Literal["ok", "warn", "bad", "hollow"]
    words: str
    custom: bool


def summary(rows: Sequence[Server]) -> Summary:
    """Over the project's servers."""
    ours = [row for row in rows if row.project]
    selected = [row for row in ours if row.status in SELECTED]
    statuses = {row.status for row in selected}
    mark: Literal["ok", "warn", "bad", "hollow"] = "ok"
    if not selected:
        mark = "hollow"
    elif "failed" in statuses:
        mark = "bad"
    elif statuses != {"connected"}:
        mark = "warn"
    custom = any(row.report["selection"] == "custom" for row in ours)
    connected = sum(row.status in UP for row in ours)
    return Summary(connected, len(ours), mark, f"web.mcp.control.{mark}", custom)


def beyond_policy(rows: Iterable[Server]) -> list[Server]:
    """What *connect all* would start although policy does not allow it: that asks a second time (M4.5)."""
    return [row for row in rows if connectable(row) and not row.report["allowed"]]


def connectable(row: Server) -> bool:
    """*Connect all* connects it."""
    held = ("stopped", "not allowed", "needs a new grant", "written by an agent", "failed", "reconnecting")
    return row.project and row.status in held


def _mcp(found: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    for one in found:
        if one.get("type") == "mcpServer":
            yield one
        yield from _mcp(one.get("children") or ())
