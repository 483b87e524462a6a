"""The MCP control in the tool row of a chat, its panel, and the frame of the editor dialog (M9.1, M7.6, M4.3, M4.5).

Rules
* The panel is a non-modal dialog in a slot of the chat's page; a row is patched alone when its state changes, and rows
  keep their order. Countdowns tick in the browser.
* With `web_control = false` the control is there and says who switched it off and which command does it; the host is
  asked nothing (M9.3).
* What starts a command is shown with the command; the trust switch lists what it starts before it is pressed.
"""

import contextlib
from collections.abc import Sequence
from posixpath import normpath
from typing import Any

from innkeeper.client import ClientError
from innkeeper.web.asking import Ask
from innkeeper.web.extras import REGIONS, Place
from innkeeper.web.live import Node, Region, block
from innkeeper.web.mcp_reports import (
    SETTINGS,
    directory_of,
    list_name,
    rows_now,
    settings_now,
    tools_name,
    trust_directory,
    watch,
)
from innkeeper.web.mcp_rows import Server, beyond_policy, connectable, summary
from innkeeper.web.names import key_of, session_path


class McpPanel:
    """The regions `mcp-control` and `mcp-panel` of one chat's page."""

    def __init__(self, ask: Ask, at: Place) -> None:
        self.ask, self.session, self.chat = ask, at.session, at.chat
        self.path = session_path(at.session) + "/mcp"
        self.channels = (
            at.session,
            list_name(at.session),
            tools_name(at.session),
            f"{SETTINGS}:{at.session}",
        )

    def control(self) -> str:
        if not self.ask.options.web_control:
            return self.ask.render("mcp_control.html", summary=None)
        return self.ask.render("mcp_control.html", summary=summary(self.rows()))

    def nodes(self) -> Sequence[Node]:
        if not self.ask.options.web_control:
            return (self._whole("mcp_off.html"),)
        if self.ask.choices.pop("mcp", ""):
            self.ask.link.refresh(list_name(self.session))
        rows, findings = self.rows(), self.findings()
        head = self._node("mcp-head", "mcp_head.html", rows=rows, summary=summary(rows), all=self._all(rows))
        items = [self._row(row, [one for one in findings if one["server"] == row.name]) for row in rows]
        items += [self._finding(number, one) for number, one in enumerate(findings) if one["server"] is None]
        if not items:
            items = [self._node("mcp-none", "mcp_none.html")]
        opening = self._text("mcp_open.html", part="box", chat="")
        listing = Node("mcp-rows", "", lambda: '<ul class="plain mcp-rows" id="mcp-rows">', tuple(items), "</ul>")
        foot = self._node("mcp-foot", "mcp_foot.html", trust=self._trust(rows), connected=self.ask.link.connected)
        box = Node("mcp-box", opening, lambda: opening, (head, listing, foot), "</section>")
        everything = self._node("mcp-all", "mcp_all.html", all=self._all(rows), count=len(self._connectable(rows)))
        children = (box, everything, self._dialog(rows))
        return (Node("mcp-panel", "", lambda: '<div id="mcp-panel">', children),)

    def rows(self) -> list[Server]:
        return rows_now(self.ask, self.session)

    def findings(self) -> list[Any]:
        listed = self.ask.link.peek(list_name(self.session)) or {}
        return [one for one in listed.get("findings") or () if one["severity"] == "error" or one["server"]]

    # Inside

    def _dialog(self, rows: Sequence[Server]) -> Node:
        """The frame of the editor: its list of servers is live, the rest is loaded and kept."""
        chosen, find = self.ask.choices.get("mcp-edit", ""), self.ask.choices.get("mcp-find", "").casefold()
        found = [row for row in rows if row.project and find in row.name.casefold()]
        items = tuple(
            self._node(f"edit-{row.key}", "mcp_edit_row.html", row=row, chosen=row.name == chosen) for row in found
        )
        if not items:
            items = (self._node("edit-none", "mcp_edit_none.html", find=find),)
        head = self._node("mcp-edit-head", "mcp_edit_head.html", folder=self._folder())
        listing = Node("mcp-edit-rows", "", lambda: '<ul class="plain" id="mcp-edit-rows">', items, "</ul>")
        files = len({row.file for row in rows if row.project})
        foot = self._node("mcp-edit-files", "mcp_edit_files.html", files=files)
        find_row = self._node("mcp-edit-find", "mcp_edit_find.html", rows=[row for row in rows if row.project])
        side = Node(
            "mcp-edit-side", "", lambda: '<div class="edit-side" id="mcp-edit-side">', (find_row, listing, foot)
        )
        body = Node("mcp-edit-body", "", lambda: '<div class="edit-body" id="mcp-edit-body" data-keep></div>')
        opening = self._text("mcp_open.html", part="dialog", chat=key_of(self.chat))
        return Node("mcp-editor", opening, lambda: opening, (head, side, body), "</dialog>")

    def _row(self, row: Server, findings: Sequence[Any]) -> Node:
        return self._node(row.key, "mcp_row.html", row=row, findings=findings)

    def _finding(self, number: int, finding: Any) -> Node:
        return self._node(f"mcp-finding-{number}", "mcp_finding.html", number=number, finding=finding)

    def _trust(self, rows: Sequence[Server]) -> dict[str, Any]:
        settings = settings_now(self.ask.link, self.session)
        hot = settings.get("settings") or {}
        directory = trust_directory(self.ask.link.peek(list_name(self.session)) or {})
        ours = [row for row in rows if row.project and row.command and row.transport == "stdio"]
        starts = [row.command for row in ours if row.status in ("not allowed", "needs a new grant")]
        again = [row.command for row in ours if row.status in ("failed", "reconnecting")]
        return {
            "everywhere": hot.get("trust_mode") == "all",
            "on": any(normpath(one) == directory for one in hot.get("trusted_workspaces") or ()),
            "possible": directory is not None,
            "custom": summary(rows).custom,
            "starts": starts,
            "again": again,
            "revision": settings.get("revision") or "",
        }

    def _all(self, rows: Sequence[Server]) -> list[Server]:
        return beyond_policy(rows)

    def _connectable(self, rows: Sequence[Server]) -> list[Server]:
        return [row for row in rows if connectable(row)]

    def _directory(self) -> str | None:
        return directory_of(self.ask.link.peek(self.session) or {})

    def _folder(self) -> str:
        return self.ask.folder(self._directory() or "")

    def _text(self, template: str, **values: Any) -> str:
        return str(self.ask.render(template, path=self.path, session=self.session, **values))

    def _node(self, id: str, template: str, **values: Any) -> Node:
        html = self._text(template, **values)
        return Node(id, html, lambda: html)

    def _whole(self, template: str) -> Node:
        html = self._text(template)
        return Node("mcp-panel", html, lambda: html)


async def regions(ask: Ask, place: Place) -> Sequence[Region]:
    """For the slots of a chat's page."""
    if ask.options.web_control:
        with contextlib.suppress(ClientError):
            await watch(ask, place.session)
    panel = McpPanel(ask, place)
    return (
        block("mcp-control", panel.control, panel.channels),
        Region("mcp-panel", panel.nodes, lambda: panel.channels, block=True),
    )


REGIONS.append(regions)
