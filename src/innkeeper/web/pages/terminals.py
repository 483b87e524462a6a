"""What a person does with a terminal: open, type, take over, end (issue 7 B.1; AHP §4, §9.9)."""

import secrets
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.web.asking import Actions, Ask, Done, Pages, Problem
from innkeeper.web.link import ROOT
from innkeeper.web.names import session_path, session_uri
from innkeeper.web.terminals import terminal_rows

KEYS: Final[Mapping[str, str]] = {"interrupt": "\x03", "end": "\x04", "enter": "\r"}


def _session(ask: Ask) -> str:
    session = session_uri(ask.params["session"])
    if session is None:
        raise Problem(ask.reader.t("web.no_session"), status=404)
    return session


async def _terminal(ask: Ask, session: str) -> str:
    """The terminal of the form, which this session's page may show. Raises Problem."""
    await ask.link.client()
    wanted = ask.field("terminal")
    if wanted not in {row.uri for row in terminal_rows(ask.link.peek(ROOT) or {}, session)}:
        raise Problem(ask.reader.t("web.terminal.gone"), status=404)
    return wanted


async def open_terminal(ask: Ask) -> Done:
    """A shell in the session's folder, held by its chat."""
    session = _session(ask)
    state = await ask.link.state(session)
    params: dict[str, Any] = {
        "channel": f"ahp-terminal:/{secrets.token_hex(16)}",
        "claim": {"kind": "session", "session": session, "chat": state["defaultChat"]},
        "cols": 100,
        "rows": 30,
    }
    if folders := state.get("workingDirectories"):
        params["cwd"] = folders[0]
    await ask.link.request("createTerminal", params)
    await ask.link.state(params["channel"])
    return Done(session_path(session))


async def type_in(ask: Ask) -> Done:
    """A line, or one of the keys that a line has no letters for."""
    session = _session(ask)
    terminal = await _terminal(ask, session)
    key = ask.field("key", "enter")
    if key not in KEYS:
        raise Problem(ask.reader.t("web.not_found"), status=404)
    data = ask.field("text") + KEYS[key] if key == "enter" else KEYS[key]
    await ask.link.dispatch(terminal, {"type": "terminal/input", "data": data})
    return Done(session_path(session))


async def take_over(ask: Ask) -> Done:
    """From a tool call to the chat: the call goes on, and every page may type."""
    session = _session(ask)
    terminal = await _terminal(ask, session)
    held = (await ask.link.state(terminal)).get("claim") or {}
    chat = held.get("chat") or (await ask.link.state(session))["defaultChat"]
    claim = {"kind": "session", "session": session, "chat": chat}
    await ask.link.dispatch(terminal, {"type": "terminal/claimed", "claim": claim})
    return Done(session_path(session))


async def end(ask: Ask) -> Done:
    """Ends its processes and forgets it."""
    session = _session(ask)
    await ask.link.request("disposeTerminal", {"channel": await _terminal(ask, session)})
    return Done(session_path(session))


PAGES: Pages = ()
ACTIONS: Actions = (
    ("/s/{session}/terminal/open", open_terminal),
    ("/s/{session}/terminal/type", type_in),
    ("/s/{session}/terminal/take", take_over),
    ("/s/{session}/terminal/end", end),
)
