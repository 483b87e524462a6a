"""The editor of declarations in the MCP dialog (M8.2, M8.4, M8.7-M8.10, M9.1, M9.5, M11.3, M11.5).

Rules
* The page keeps what is typed; the host is asked what it would come to (a dry run under the token that was opened), and
  the answer is put beside it: the difference, what is wrong, which buttons do something.
* After EDIT_CONFLICT the text and the token stay until the person asked for the new file; then the difference is
  against that one.
* A value of `env` or `headers` comes to the page alone, when its own button asks for it, and never by GET.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.client import RpcFailure
from innkeeper.errors import ERRORS
from innkeeper.web.asking import Actions, Ask, Done, Fragment, Pages, Problem
from innkeeper.web.mcp_forms import (
    Draft,
    Flaw,
    as_json,
    changes,
    diff_lines,
    draft_of,
    entry_of,
    packed,
)
from innkeeper.web.mcp_reports import directory_of, list_name, rows_now, watch
from innkeeper.web.mcp_rows import Server
from innkeeper.web.names import chat_uri, session_path
from innkeeper.web.pages.mcp_acts import session_of

EDIT = "x-innkeeper/mcp/edit"
Answer = Mapping[str, Any]


class Editor:
    """One session's editor, for one request."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.session = session_of(ask)
        self.path = session_path(self.session) + "/mcp"
        self.chat = ask.query.get("chat") or ask.field("chat")
        """The key of the chat whose page it is: its access level counts (M8.6b)."""

    async def command(self, act: str, /, **params: Any) -> Any:
        """An editing command on the session's channel."""
        chat = chat_uri(self.chat)
        through = {"chat": chat} if chat is not None else {}
        return await self.ask.link.request(EDIT + act, {"channel": self.session, **through, **params})

    def row(self, name: str) -> Server | None:
        """The server as the panel shows it."""
        return next((row for row in rows_now(self.ask, self.session) if row.project and row.name == name), None)

    def render(self, template: str, **values: Any) -> str:
        return self.ask.render(template, path=self.path, chat=self.chat, **values)

    # The whole

    async def body(self, query: Mapping[str, str], *, saved: bool = False) -> str:
        """Tabs, form, difference, foot: of one server, or for a new one."""
        places = await self.command("Places")
        params = {name: query[name] for name in ("server", "preset", "file") if query.get(name)}
        if "file" in params and "preset" not in params:
            presets = [one["preset"] for one in places["items"] if one["file"] == params["file"]]
            if presets:
                params["preset"] = presets[0]
        try:
            opened = await self.command("Open", **params)
        except RpcFailure as error:
            if "code" not in (error.data or {}):
                raise
            return self.render("edit_closed.html", note=self.note(error), file=query.get("file", ""))
        draft = self.opened(opened)
        values = {"opened": opened, "places": places["items"], "draft": draft}
        pieces = self.pieces(draft, opened, places["items"], None, None, saved=saved)
        row = self.row(draft.server)
        return self.render("edit_body.html", row=row, pieces=pieces, **values)

    def opened(self, opened: Answer) -> Draft:
        """The form as it is when nothing was typed."""
        entry = entry_of(opened["form"])
        place = opened["place"]
        if opened["server"] is None and not entry.transport:
            entry = entry_of({**opened["form"], "transport": "stdio"})
        name = str(opened["server"] or "")
        return Draft(name, name, place["preset"], place["file"], opened["token"], entry_of(opened["form"]), entry)

    def pieces(
        self,
        draft: Draft,
        opened: Answer,
        places: Sequence[Answer],
        outcome: Answer | None,
        note: Answer | None,
        *,
        saved: bool = False,
    ) -> dict[str, str]:
        """The parts of the dialog that depend on what was typed."""
        flaws = {(flaw.field, flaw.row): flaw for flaw in draft.flaws}
        lines = diff_lines(str((outcome or {}).get("diff") or ""))
        loads_by = (outcome or opened).get("loads_by")
        common = {
            "draft": draft,
            "opened": opened,
            "read_only": opened["level"] == "read-only",
            "loads_by": loads_by,
            "command": " ".join([draft.entry.command or "", *(draft.entry.args or ())]).strip(),
        }
        place = next((one for one in places if (one["preset"], one["file"]) == (draft.preset, draft.file)), None)
        fields = {"flaws": flaws, "places": places, "place": place or opened["place"], "packed": packed(draft.was)}
        fields["json"] = draft.json or as_json(draft.entry)
        found = {
            "edit-mode": self.render("edit_mode.html", **common),
            "edit-note": self.render("edit_note.html", note=note, **common),
            "edit-fields": self.render("edit_fields.html", **fields, **common),
            "edit-foot": self.render(
                "edit_foot.html", problems=self._problems(draft, note), changed=bool(lines), saved=saved, **common
            ),
        }
        if not draft.flaws and (outcome is not None or note is None):
            added, removed = (sum(line.kind == kind for line in lines) for kind in ("added", "removed"))
            found["edit-diff"] = self.render("edit_diff.html", lines=lines, added=added, removed=removed, **common)
        return found

    def _problems(self, draft: Draft, note: Answer | None) -> list[tuple[str, str]]:
        """What blocks saving: the element to go to, and the words."""
        found = [("edit-note", str(note["message"]))] if note and not note.get("adopted") else []
        words = self.ask.reader.t
        return [*found, *((field_id(flaw), words(flaw.words, **flaw.values)) for flaw in draft.flaws)]

    # Refusals

    def note(self, error: RpcFailure) -> dict[str, Any]:
        """What a refusal says above the form."""
        data = error.data if isinstance(error.data, Mapping) else {}
        code = str(data.get("code") or "")
        reader = self.ask.reader
        remedy = str(data.get("remedy") or (reader.t(f"error.{code}.remedy") if code in ERRORS else ""))
        where = {name: data.get(name) for name in ("file", "line", "detail")}
        return {"code": code, "message": error.message, "remedy": remedy, **where}

    def told(self) -> dict[str, Any] | None:
        """A refusal that the page had of a save and sends along, to be shown above the form."""
        try:
            found = json.loads(self.ask.field("failed") or "null")
        except ValueError:
            return None
        if not isinstance(found, dict):
            return None
        told = {name: str(found.get(name) or "")[:2000] for name in ("code", "message", "remedy")}
        return {**told, "file": None, "line": None, "detail": None}


def field_id(flaw: Flaw) -> str:
    """The element of a field that has a flaw."""
    return f"edit-{flaw.field}-{flaw.row}" if flaw.row else f"edit-{flaw.field}"


async def show(ask: Ask) -> Fragment:
    """The dialog's content: a server, a new one, the duplicates, or the first server there is."""
    editor = Editor(ask)
    if ask.query.get("view") == "scan":
        found = await editor.command("Scan")
        return Fragment(editor.render("edit_scan.html", groups=found["groups"], findings=found["findings"]))
    query = dict(ask.query)
    if query.get("view") == "manage":
        await watch(ask, editor.session)
        first = next((row for row in rows_now(ask, editor.session) if row.project), None)
        query = {"server": first.name, "preset": first.preset, "file": first.file} if first is not None else {}
    return Fragment(await editor.body(query))


async def check(ask: Ask) -> Done:
    """What the form would come to now."""
    editor, draft = Editor(ask), draft_of(ask)
    if ask.field("to_mode") and not draft.flaws:
        mode = ask.field("to_mode")
        draft = _replaced(draft, mode=mode, json=as_json(draft.entry) if mode == "json" else "")
    opened, places = await asyncio.gather(_reopened(editor, draft), editor.command("Places"))
    if opened["server"] is None or ask.field("adopt"):
        draft = _replaced(draft, token=opened["token"])
    outcome, note = None, editor.told()
    if not draft.flaws and not note:
        try:
            outcome = await editor.command("Save", **changes(draft), dryRun=True)
        except RpcFailure as error:
            if "code" not in (error.data or {}):
                raise
            note = editor.note(error)
    if note is None and draft.flaws and draft.token != opened["token"]:  # with flaws nothing is tried that would tell
        note = editor.note(RpcFailure("", 0, ask.reader.t("web.edit.conflict"), {"code": "EDIT_CONFLICT"}))
    if ask.field("adopt") and note is None:
        note = {"code": "", "adopted": True, "message": ask.reader.t("web.edit.adopted"), "remedy": ""}
    pieces = editor.pieces(draft, opened, places["items"], outcome, note)
    return Done(session_path(editor.session), answer={"fresh" if ask.field("to_mode") else "pieces": pieces})


def _replaced(draft: Draft, **values: Any) -> Draft:
    from dataclasses import replace

    return replace(draft, **values)


async def _reopened(editor: Editor, draft: Draft) -> Answer:
    """The place as it is now; when the entry is gone meanwhile, the place for a new one."""
    where = {"preset": draft.preset, "file": draft.file}
    try:
        named = {"server": draft.server} if draft.server else {}
        found: Answer = await editor.command("Open", **where, **named)
    except RpcFailure as error:
        data = error.data if isinstance(error.data, Mapping) else {}
        if not data.get("code"):
            raise
        place = {**where, "exists": True, "enabled": True, "clients": []}
        return {"server": draft.server or None, "token": draft.token, "place": place, "level": "full", **_UNKNOWN}
    return found


_UNKNOWN: Mapping[str, Any] = {"readOnly": None, "line": None, "loads_by": None, "findings": (), "form": {}}


async def save(ask: Ask) -> Done:
    """Writes; with `connect` it is an explicit grant for this session too (M8.7)."""
    editor, draft = Editor(ask), draft_of(ask)
    if draft.flaws:
        flaw = draft.flaws[0]
        raise Problem(ask.reader.t(flaw.words, **flaw.values), code="EDIT_FIELD")
    connect = bool(ask.field("connect"))
    outcome = await editor.command("Save", **changes(draft), connect=connect)
    await _tell(editor)
    place = outcome["place"]
    query = {"server": outcome["server"], "preset": place["preset"], "file": place["file"]}
    body = await editor.body(query, saved=True)
    fresh = {"mcp-edit-body": f'<div class="edit-body" id="mcp-edit-body" data-keep>{body}</div>'}
    return Done(session_path(editor.session), answer={"fresh": fresh, "name": outcome["server"]})


async def delete(ask: Ask) -> Done:
    """Takes the entry out of its file."""
    editor = Editor(ask)
    named = {name: ask.field(name) for name in ("preset", "file", "server", "token")}
    outcome = await editor.command("Delete", **named)
    await _tell(editor)
    said = ask.reader.t("web.edit.deleted", server=outcome["server"], file=outcome["place"]["file"])
    return Done(session_path(editor.session), answer={"said": said, "view": "manage"})


async def copy(ask: Ask) -> Done:
    """To another place, and with `move` away from here (M8.8); with `check` only what it would come to."""
    editor = Editor(ask)
    to_preset, _, to_file = ask.field("to").partition("\n")
    params = {
        "fromPreset": ask.field("preset"),
        "fromFile": ask.field("file"),
        "server": ask.field("server"),
        "toPreset": to_preset,
        "toFile": to_file,
        "tokens": {ask.field("file"): ask.field("token"), to_file: ask.field(f"token:{to_file}")},
    }
    if ask.field("name"):
        params["name"] = ask.field("name").strip()
    act = "Migrate" if ask.field("move") else "Copy"
    if ask.field("check"):
        try:
            outcome = await editor.command(act, **params, dryRun=True)
        except RpcFailure as error:
            note = editor.note(error)
            html = editor.render("edit_copy_diff.html", lines=(), note=note)
        else:
            html = editor.render("edit_copy_diff.html", lines=diff_lines(str(outcome["diff"])), note=None)
        return Done(session_path(editor.session), answer={"pieces": {"edit-copy-diff": html}})
    outcome = await editor.command(act, **params)
    await _tell(editor)
    place = outcome["place"]
    query = {"server": outcome["server"], "preset": place["preset"], "file": place["file"]}
    said = ask.reader.t("web.edit.copied", server=outcome["server"], file=place["file"])
    return Done(session_path(editor.session), answer={"said": said, "query": query, "name": outcome["server"]})


async def copy_form(ask: Ask) -> Fragment:
    """Where the server can go: every other file, with its version."""
    editor = Editor(ask)
    here = (ask.query.get("preset", ""), ask.query.get("file", ""))
    found = await editor.command("Places")
    places = [one for one in found["items"] if one["file"] != here[1]]
    tokens = {}
    for place in places:
        opened = await editor.command("Open", preset=place["preset"], file=place["file"])
        tokens[place["file"]] = opened["token"]
    query = {name: ask.query.get(name, "") for name in ("server", "preset", "file", "token")}
    return Fragment(editor.render("edit_copy.html", places=places, tokens=tokens, here=query))


async def value(ask: Ask) -> Done:
    """One value of a table, as the file says it, for the row that asked."""
    editor = Editor(ask)
    named = {name: ask.field(name) for name in ("server", "preset", "file") if ask.field(name)}
    opened = await editor.command("Open", **named, reveal=True)
    table = ask.field("table")
    rows = opened["form"].get(table) or () if table in ("env", "headers") else ()
    for row in rows:
        if row["key"] == ask.field("key"):
            return Done(session_path(editor.session), answer={"value": row["value"]})
    raise Problem(ask.reader.t("web.edit.no_value"), status=404)


# The other tabs


async def permissions(ask: Ask) -> Fragment:
    """Whether it may start by itself, and each of its tools."""
    editor = Editor(ask)
    return Fragment(await permissions_of(editor, ask.query.get("server", "")))


async def permissions_of(editor: Editor, name: str) -> str:
    await watch(editor.ask, editor.session)
    row = editor.row(name)
    directory = editor.ask.folder(directory_of(await editor.ask.link.state(editor.session)) or "")
    return editor.render("edit_permissions.html", row=row, folder=directory)


async def calls(ask: Ask) -> Fragment:
    """The call log: times, sizes, outcomes; never arguments (M11.5)."""
    editor = Editor(ask)
    params = {"channel": editor.session, "server": ask.query.get("server", "")}
    found = await ask.link.request("x-innkeeper/mcp/logs", params)
    return Fragment(editor.render("edit_calls.html", calls=list(reversed(found["calls"]))))


async def why(ask: Ask) -> Fragment:
    """File, switch, permission and state, in the order in which they decide (M11.1)."""
    editor = Editor(ask)
    await watch(ask, editor.session)
    name = ask.query.get("server", "")
    row = editor.row(name)
    listed = ask.link.peek(list_name(editor.session)) or {}
    findings = [one for one in listed.get("findings") or () if one["server"] == name]
    chain: Sequence[Answer] = ()
    if row is not None:
        try:
            params = {"channel": editor.session, "name": row.id}
            answered = await ask.link.request("x-innkeeper/customizations/why", params)
            chain = answered["items"]
        except RpcFailure:
            chain = ()
    return Fragment(editor.render("edit_why.html", row=row, findings=findings, chain=chain))


async def _tell(editor: Editor) -> None:
    """Open pages see at once what was written."""
    answer = await editor.ask.link.request("x-innkeeper/mcp/list", {"channel": editor.session})
    editor.ask.link.put(list_name(editor.session), answer)


BELOW = "/s/{session}/mcp/editor"
PAGES: Pages = (
    (BELOW, show),
    (BELOW + "/copy", copy_form),
    (BELOW + "/permissions", permissions),
    (BELOW + "/calls", calls),
    (BELOW + "/why", why),
)
ACTIONS: Actions = (
    (BELOW + "/check", check),
    (BELOW + "/save", save),
    (BELOW + "/delete", delete),
    (BELOW + "/copy", copy),
    (BELOW + "/value", value),
)
