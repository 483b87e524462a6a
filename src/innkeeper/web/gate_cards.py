"""A question about a tool call: the gate's, an agent's own confirmation, a result that waits (M6.2). Pure.

Rules
* The gate's question is made of texts by id, so that everybody reads it in their own language, whoever's turn it is;
  ids that this version does not know leave the words of the host as they are.
* Of several questions the first is open, the rest are one line each, all with their own buttons.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from innkeeper.texts import Lang, text
from innkeeper.web.names import local_path
from innkeeper.web.tool_cards import parsed, plain

State = Mapping[str, Any]
GATE: Final = "x-innkeeper/gate"
APPROVAL: Final = "x-innkeeper/approval"
EXPIRES: Final = "x-innkeeper/expiresAt"
KNOWN: Final = frozenset({"gate.title", "gate.allow_once", "gate.allow_always", "gate.deny"})
RULES: Final = frozenset({"gate.why.askingRule", "gate.why.sessionRule", "gate.why.operatorRule"})
OWN_OPTIONS: Final = {
    "allow-session": "approval.allowSession",
    "allow-once": "approval.allowOnce",
    "skip": "approval.skip",
    "approve": "web.gate.approve",
    "deny": "web.gate.deny",
}


class Option(NamedTuple):
    id: str
    label: str
    approves: bool


class Gate(NamedTuple):
    """An open question."""

    call_id: str
    kind: str
    """`gate`, `confirm` or `result`."""
    title: str
    """With the tool's name in backquotes."""
    server: str
    file: str
    """Where the server is declared; empty where it is not the project's."""
    rows: tuple[tuple[str, str, str], ...]
    """Arguments: name, value as JSON, class of its colour."""
    arguments: str
    """The arguments where they are no object."""
    options: tuple[Option, ...]
    also: tuple[str, ...]
    expires: str
    """UTC, ISO 8601; empty: not known."""
    editable: bool
    result: str


def gate(call: State, lang: Lang, customizations: Sequence[State] = ()) -> Gate:
    """The question that the call waits with."""
    meta = call.get("_meta") or {}
    asked = meta.get(GATE)
    arguments = call.get("toolInput")
    given = arguments if isinstance(arguments, str) else ""
    server = _server(call, customizations, str(((asked or {}).get("values") or {}).get("server") or ""))
    kind = "result" if call.get("status") == "pending-result-confirmation" else "gate" if asked else "confirm"
    values = {"server": "?", "tool": "?", **{str(k): str(v) for k, v in ((asked or {}).get("values") or {}).items()}}
    return Gate(
        call_id=str(call["toolCallId"]),
        kind=kind,
        title=_title(call, kind, values, lang),
        server=values["server"] if asked else str(server.get("name") or ""),
        file=_file(server) if any(one is server for one in customizations) else "",
        rows=_rows(given),
        arguments="" if _rows(given) else given,
        options=tuple(_options(call, kind, asked if isinstance(asked, Mapping) else {}, lang)),
        also=tuple(_also(asked, lang)),
        expires=str(meta.get(EXPIRES) or ""),
        editable=bool(call.get("editable")) and kind != "result",
        result="\n".join(str(one["text"]) for one in call.get("content") or () if one.get("type") == "text"),
    )


def waiting_calls(chat: State) -> list[State]:
    """The calls of the running turn that wait for a person, in their order."""
    parts = (chat.get("activeTurn") or {}).get("responseParts") or ()
    calls = [part["toolCall"] for part in parts if part.get("kind") == "toolCall"]
    return [call for call in calls if call.get("status") in ("pending-confirmation", "pending-result-confirmation")]


def _file(server: State) -> str:
    """The project's file that declares the server, with its folder where that is a tool's (`.vscode/mcp.json`)."""
    uri, mark, _ = str(server.get("uri") or "").partition("#mcp=")
    parts = PurePosixPath(local_path(uri)).parts[-2:] if mark and uri.startswith("file:") else ()
    return "/".join(parts[-1:] if len(parts) < 2 or not parts[0].startswith(".") else parts)


def _server(call: State, customizations: Sequence[State], name: str) -> State:
    """The server whose tool it is: the one that the call names, else the one of that name."""
    wanted = (call.get("contributor") or {}).get("customizationId")
    every = [one for top in customizations for one in (top, *(top.get("children") or ()))]
    named = [one for one in customizations if one.get("type") == "mcpServer" and one.get("name") == name]
    return next(iter([*(one for one in every if one.get("id") == wanted), *named]), {})


def _title(call: State, kind: str, values: Mapping[str, str], lang: Lang) -> str:
    if kind == "gate":
        return text("web.gate.title", lang=lang, **values)
    if kind == "result":
        return text("web.gate.result_title", lang=lang, tool=str(call.get("displayName") or call.get("toolName")))
    said = plain(call.get("confirmationTitle")) or plain(call.get("invocationMessage"))
    return said or text("web.gate.call_title", lang=lang, tool=str(call.get("displayName") or call.get("toolName")))


def _options(call: State, kind: str, asked: State, lang: Lang) -> Sequence[Option]:
    offered: Sequence[State] = call.get("options") or ()
    if kind == "result" or not offered:
        return [
            Option("approve", text("web.gate.approve", lang=lang), True),
            Option("deny", text("web.gate.deny", lang=lang), False),
        ]
    ids: Mapping[str, Any] = asked["options"] if isinstance(asked.get("options"), Mapping) else {}
    options = []
    for one in offered:
        msgid = ids.get(one["id"]) if ids else OWN_OPTIONS.get(str(one["id"])) if APPROVAL in _meta(call) else None
        known = msgid in KNOWN or msgid in OWN_OPTIONS.values()
        label = text(str(msgid), lang=lang) if known else str(one.get("label") or one["id"])
        options.append(Option(str(one["id"]), label, one.get("kind") == "approve"))
    return options


def _meta(call: State) -> State:
    found: State = call.get("_meta") or {}
    return found


def _also(asked: Any, lang: Lang) -> Sequence[str]:
    found = (asked or {}).get("also") or () if isinstance(asked, Mapping) else ()
    known = [one for one in found if isinstance(one, Mapping) and one.get("message") in RULES]
    return [text(str(one["message"]), lang=lang, **(one.get("values") or {})).rstrip(".。") for one in known]


def _rows(arguments: str) -> tuple[tuple[str, str, str], ...]:
    found = parsed(arguments)
    if not isinstance(found, Mapping):
        return ()
    rows = []
    for name, value in found.items():
        kind = "syn-str" if isinstance(value, str) else "syn-num" if isinstance(value, int | float) else ""
        rows.append((str(name), json.dumps(value, ensure_ascii=False, indent=2)[:4000], kind))
    return tuple(rows)
