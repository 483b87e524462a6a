"""A new session, and the archive."""

import secrets
from typing import Any, Final

from innkeeper.client import RpcFailure
from innkeeper.web.asking import Actions, Ask, Done, Fragment, Pages, Problem, View
from innkeeper.web.names import session_path
from innkeeper.web.new_session import NewSession, folder_uri
from innkeeper.web.pages.chat_acts import attachments, now
from innkeeper.web.sidebar import sidebar

READY_SECONDS: Final = 30.0


async def show(ask: Ask) -> View:
    """The form of a new session."""
    new = NewSession(ask)
    await new.prepare()
    values = {"new": new}
    return View("new.html", ask.reader.t("web.new"), (*sidebar(ask, None), *new.regions()), values, prepare=new.prepare)


async def create(ask: Ask) -> Done:
    """Makes the session, and sends its first message where there is one; without one the model is kept for it."""
    provider, text, model = ask.field("provider"), ask.field("text").strip(), ask.field("model")
    files = await attachments(ask)
    config = {name.removeprefix("config."): ask.field(name) for name in _names(ask) if name.startswith("config.")}
    uri = f"ahp-session:/{secrets.token_hex(16)}"
    params: dict[str, Any] = {"channel": uri, "config": await _typed(ask, provider, config)}
    if provider:
        params["provider"] = provider
    if ask.field("folder").strip():
        params["workingDirectories"] = [folder_uri(ask, ask.field("folder"))]
    await ask.link.request("createSession", params)
    message: dict[str, Any] = {"text": text, "origin": {"kind": "user"}, **({"attachments": files} if files else {})}
    if model:
        message["model"] = {"id": model}
    if text or files:
        turn = {"turnId": secrets.token_hex(16), "startedAt": now(), "message": message}
        await _first(ask, uri, {"type": "chat/turnStarted", **turn})
    elif model:
        await _first(ask, uri, {"type": "chat/draftChanged", "draft": message})
    return Done(session_path(uri), go=True)


def _names(ask: Ask) -> list[str]:
    return [] if ask.form is None else [name for name in ask.form if ask.field(name) != ""]


async def _typed(ask: Ask, provider: str, given: dict[str, str]) -> dict[str, Any]:
    """The values as their properties take them: what a form sends is text."""
    params: dict[str, Any] = {"channel": "ahp-root://", "provider": provider}
    if ask.field("folder").strip():
        params["workingDirectory"] = folder_uri(ask, ask.field("folder"))
    resolved = await ask.link.request("resolveSessionConfig", params)
    properties = resolved["schema"]["properties"]
    values: dict[str, Any] = {name: value for name, value in given.items() if name in properties}
    for name, rule in properties.items():
        if rule.get("type") == "boolean" and not rule.get("readOnly"):
            values[name] = name in given
    return values


async def _first(ask: Ask, uri: str, action: dict[str, Any]) -> None:
    """The first action in the session's chat, once it is ready. Raises Problem when it cannot be started."""
    client = await ask.link.client()
    await ask.link.state(uri)
    session = client.channel(uri)
    try:
        state = await session.wait_for(lambda one: one["lifecycle"] != "creating", READY_SECONDS)
    except TimeoutError as error:
        raise Problem(ask.reader.t("web.new.slow")) from error
    if state["lifecycle"] == "failed":
        why = str((state.get("creationError") or {}).get("message") or "")
        raise Problem(ask.reader.t("web.session_failed", why=why))
    chat = state.get("defaultChat")
    if chat is None:
        raise RpcFailure("createSession", 0, ask.reader.t("web.new.slow"))
    await ask.link.dispatch(chat, action)


async def show_folders(ask: Ask) -> Fragment:
    """The folders in the one that `at` names, as the host shows them; else those in its first place."""
    asked, note = ask.query.get("at", "").strip(), ""
    try:
        found = await _folders(ask, folder_uri(ask, asked)) if asked else None
    except (RpcFailure, Problem):
        found, note = None, ask.reader.t("web.folders.not_shown", folder=asked)
    if found is None:
        places = (await _folders(ask))["places"]
        found = await _folders(ask, places[0]) if places else {"places": (), "directory": "", "items": ()}
    values = {
        "places": [ask.folder(one) for one in found["places"]],
        "at": ask.folder(found["directory"]),
        "above": ask.folder(found.get("parent") or ""),
        "items": [(one["name"], ask.folder(one["uri"])) for one in found["items"]],
        "more": found.get("more", False),
    }
    return Fragment(ask.render("folders.html", note=note, **values))


async def _folders(ask: Ask, directory: str | None = None) -> dict[str, Any]:
    params = {"channel": "ahp-root://", **({"directory": directory} if directory is not None else {})}
    found: dict[str, Any] = await ask.link.request("x-innkeeper/folders", params)
    return found


async def show_archive(ask: Ask) -> View:
    """The list of what is archived."""
    return View("home.html", ask.reader.t("web.archived"), sidebar(ask, None, place="archived"), {"archive": True})


PAGES: Pages = (("/new", show), ("/folders", show_folders), ("/archived", show_archive))
ACTIONS: Actions = (("/new", create),)
