"""Changes of the MCP settings (M9.2): each is one edit of hot settings under the revision that the page showed.

Rules
* The host validates, by the resolver of the loader; what it refuses is told and nothing was written.
* A revision that is old is SETTINGS_CONFLICT, HTTP 409: the groups are read again, what was typed stays in the page.
* `trust_mode` `all` needs the confirmation in which the commands stood (M4.5).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.client import ClientError
from innkeeper.web.asking import Actions, Ask, Done, Fragment, Pages, Problem
from innkeeper.web.link import ROOT
from innkeeper.web.mcp_reports import change_settings, directory_of, settings
from innkeeper.web.mcp_rows import servers
from innkeeper.web.pages.settings import BUILTINS, GRANTS

HERE = "/settings/mcp"
Edit = Mapping[str, Any]
SESSIONS_LOOKED_AT = 20


async def _change(ask: Ask, *edits: Edit, confirmed: bool = False) -> Done:
    now = await change_settings(ask.link, ask.field("revision"), list(edits), confirmed=confirmed)
    return Done(HERE, answer={"revision": now["revision"]})


async def _hot(ask: Ask) -> Mapping[str, Any]:
    known = await settings(ask.link)
    found: Mapping[str, Any] = known["settings"]
    return found


async def trust(ask: Ask) -> Done:
    value = ask.field("trust_mode")
    return await _change(ask, _set(["trust_mode"], value), confirmed=bool(ask.field("confirmed")))


async def conflict(ask: Ask) -> Done:
    return await _change(ask, _set(["conflict_policy"], ask.field("conflict_policy")))


async def builtin(ask: Ask) -> Done:
    """Which built-in presets are read; their order stays as it was chosen."""
    hot, id, on = await _hot(ask), ask.field("id"), bool(ask.field("on"))
    before = list(hot["enabled_builtins"])
    kept = [one for one in before if one != id]
    wanted = sorted([*kept, id], key=_place(before)) if on else kept
    return await _change(ask, _set(["enabled_builtins"], wanted))


def _place(before: Sequence[str]) -> Any:
    """One that is new comes where it stands in the standard order, after the one before it there."""

    def key(id: str) -> tuple[float, int]:
        if id in before:
            return (before.index(id), 0)
        standard = BUILTINS.index(id) if id in BUILTINS else len(BUILTINS)
        ahead = [before.index(one) for one in BUILTINS[:standard] if one in before]
        return (max(ahead, default=-1), 1)

    return key


async def preset(ask: Ask) -> Done:
    """Adds a custom preset, or changes the one at `at`."""
    value: dict[str, Any] = {"id": ask.field("id").strip()}
    for name in ("extends", "format", "dialect", "interpolation", "bare_url"):
        if ask.field(name).strip():
            value[name] = ask.field(name).strip()
    for name in ("files", "servers_paths"):
        lines = [line.strip() for line in ask.field(name).split("\n")]
        if any(lines):
            value[name] = lines if name == "servers_paths" and len(lines) == 1 else [line for line in lines if line]
    fields = [line.partition("=") for line in ask.field("fields").split("\n") if line.strip()]
    if any(not sign for _, sign, _ in fields):
        raise Problem(ask.reader.t("web.settings.preset.fields.flaw"), code="SETTING_VALUE")
    if fields:
        value["fields"] = {name.strip(): place.strip() for name, _, place in fields}
    if not ask.field("enabled"):
        value["enabled"] = False
    hot = await _hot(ask)
    at = ask.field("at")
    if at.isdecimal() and int(at) < len(hot["presets"]):
        kept = {name: one for name, one in hot["presets"][int(at)].items() if name in ("transports", "command_list")}
        return await _change(ask, _set(["presets", int(at)], {**value, **kept}))
    return await _change(ask, {"op": "insert", "path": ["presets", len(hot["presets"])], "value": value})


async def preset_remove(ask: Ask) -> Done:
    return await _change(ask, {"op": "delete", "path": ["presets", _number(ask)]})


async def workspace(ask: Ask) -> Done:
    """Trusts a folder, exactly that one."""
    hot = await _hot(ask)
    path = _folder(ask, ask.field("workspace"))
    return await _change(
        ask, {"op": "insert", "path": ["trusted_workspaces", len(hot["trusted_workspaces"])], "value": path}
    )


async def workspace_remove(ask: Ask) -> Done:
    return await _change(ask, {"op": "delete", "path": ["trusted_workspaces", _number(ask)]})


async def allowance(ask: Ask) -> Done:
    """Allows a server or a tool by name, whatever its declaration says."""
    hot = await _hot(ask)
    path, name = _folder(ask, ask.field("workspace")), ask.field("name").strip()
    if not name:
        raise Problem(ask.reader.t("web.edit.flaw.name"), code="SETTING_VALUE")
    kind = "allow_tools" if name.startswith("mcp__") else "allow_mcp"
    for at, one in enumerate(hot["workspace_allowances"]):
        if one["workspace"] == path:
            return await _change(ask, _set(["workspace_allowances", at, kind], [*one[kind], name]))
    at = len(hot["workspace_allowances"])
    value = {"workspace": path, kind: [name]}
    return await _change(ask, {"op": "insert", "path": ["workspace_allowances", at], "value": value})


async def allowance_remove(ask: Ask) -> Done:
    """Takes one name out; a workspace without names goes as a whole."""
    hot, at, kind, name = await _hot(ask), _number(ask), ask.field("kind"), ask.field("name")
    rows = hot["workspace_allowances"]
    if at >= len(rows) or kind not in ("allow_mcp", "allow_tools"):
        raise Problem(ask.reader.t("web.not_found"), status=404)
    kept = [one for one in rows[at][kind] if one != name]
    other = rows[at]["allow_tools" if kind == "allow_mcp" else "allow_mcp"]
    if not kept and not other:
        return await _change(ask, {"op": "delete", "path": ["workspace_allowances", at]})
    return await _change(ask, _set(["workspace_allowances", at, kind], kept))


async def forget(ask: Ask) -> Done:
    """Takes a stored grant back."""
    params = {name: ask.field(name) for name in ("workspace", "kind", "name")}
    answer = await ask.link.request("x-innkeeper/mcp/forget", {"channel": ROOT, **params})
    ask.link.put(GRANTS, answer)
    return Done(HERE)


async def look(ask: Ask) -> Done:
    """Looks for the agents again; what is found reaches every page by the root channel."""
    await ask.link.request("x-innkeeper/agents/look", {"channel": ROOT})
    return Done("/settings/agents")


async def key(ask: Ask) -> Done:
    """A person's key or token for an agent's service; a page never gets it back."""
    given = ask.field("key").strip()
    if not given:
        raise Problem(ask.reader.t("web.keys_of.empty"))
    await ask.link.request("authenticate", {"channel": ROOT, "resource": ask.field("resource"), "token": given})
    return Done("/settings/agents", answer={"said": ask.reader.t("web.keys_of.done")})


async def commands(ask: Ask) -> Fragment:
    """What would start in the sessions that are open, if every server might (M4.5)."""
    found: list[tuple[str, str, str]] = []
    for session in ask.link.sessions.all()[:SESSIONS_LOOKED_AT]:
        uri = str(session["resource"])
        try:
            listed = await ask.link.request("x-innkeeper/mcp/list", {"channel": uri})
        except ClientError:
            continue
        folder = ask.folder(directory_of(session) or "")
        rows = servers({}, listed, ())
        found += [(folder, row.name, row.command) for row in rows if row.project and row.command and not _allowed(row)]
    return Fragment(ask.render("settings_commands.html", commands=sorted(set(found))))


def _allowed(row: Any) -> bool:
    return bool(row.report["allowed"]) or row.status in ("disabled", "invalid")


def _set(path: Sequence[str | int], value: Any) -> Edit:
    return {"op": "set", "path": list(path), "value": value}


def _number(ask: Ask) -> int:
    at = ask.field("at")
    if not at.isdecimal():
        raise Problem(ask.reader.t("web.not_found"), status=404)
    return int(at)


def _folder(ask: Ask, typed: str) -> str:
    path = typed.strip()
    home = ask.options.home
    if home and (path == "~" or path.startswith("~/")):
        return home.rstrip("/") + path[1:]
    return path


PAGES: Pages = ((HERE + "/commands", commands),)
ACTIONS: Actions = (
    (HERE + "/trust", trust),
    (HERE + "/conflict", conflict),
    (HERE + "/builtin", builtin),
    (HERE + "/preset", preset),
    (HERE + "/preset-remove", preset_remove),
    (HERE + "/workspace", workspace),
    (HERE + "/workspace-remove", workspace_remove),
    (HERE + "/allowance", allowance),
    (HERE + "/allowance-remove", allowance_remove),
    (HERE + "/forget", forget),
    ("/settings/agents/look", look),
    ("/agents/key", key),
)
