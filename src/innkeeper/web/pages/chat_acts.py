"""What a person does in a conversation: messages, answers, the queue, branches, pickers."""

import base64
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from starlette.datastructures import UploadFile

from innkeeper.client import turns
from innkeeper.web import composing
from innkeeper.web.asking import ActionHandler, Actions, Ask, Done, Problem
from innkeeper.web.extras import Place
from innkeeper.web.markdown import safe_link
from innkeeper.web.names import chat_path, session_path, session_uri
from innkeeper.web.pages.chat import call_of, place
from innkeeper.web.questions import NotAnAnswer, answers

State = Mapping[str, Any]
FILE_BYTES: Final = 8 * 1024 * 1024
"""The largest file that is sent with a message."""


def now() -> str:
    """UTC, ISO 8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def send(ask: Ask) -> Done:
    """A message: a turn, or a queued or steering message while one runs."""
    at = await place(ask)
    chat = await ask.link.state(at.chat)
    message = await _message(ask, chat)
    id = secrets.token_hex(16)
    how = ask.field("how", "queue")
    if ask.field("other"):
        how = "queue" if how == "steer" else "steer"
    if not chat.get("activeTurn"):
        action: dict[str, Any] = {"type": "chat/turnStarted", "turnId": id, "startedAt": now(), "message": message}
    elif how == "steer":
        action = {"type": "chat/pendingMessageSet", "kind": "steering", **_steering(chat, id, message)}
    else:
        action = {"type": "chat/pendingMessageSet", "kind": "queued", "id": id, "message": message}
    await ask.link.dispatch(at.chat, action)
    if (chat.get("draft") or {}).get("text"):
        await ask.link.dispatch(at.chat, {"type": "chat/draftChanged"})
    return Done(at.path)


def _steering(chat: State, id: str, message: dict[str, Any]) -> dict[str, Any]:
    """AHP has one place for a message that steers: one that still waits there is added to, not replaced."""
    waits = chat.get("steeringMessage")
    if waits is None:
        return {"id": id, "message": message}
    return {"id": waits["id"], "message": {**message, "text": f"{waits['message']['text']}\n\n{message['text']}"}}


async def _message(ask: Ask, chat: State) -> dict[str, Any]:
    text, files = ask.field("text").strip(), await attachments(ask)
    if not text and not files:
        raise Problem(ask.reader.t("web.empty_message"))
    spoken = composing.spoken(chat)
    picked = {name: spoken[name] for name in ("model", "agent") if spoken.get(name)}
    message: dict[str, Any] = {"text": text, "origin": {"kind": "user"}, **picked}
    return {**message, "attachments": files} if files else message


async def attachments(ask: Ask) -> list[dict[str, Any]]:
    """The files of the form, as they go with a message. Raises Problem for one that is too large."""
    found: list[dict[str, Any]] = []
    for upload in ask.form.getlist("files") if ask.form is not None else ():
        if not isinstance(upload, UploadFile) or not upload.filename:
            continue
        data = await upload.read(FILE_BYTES + 1)
        if len(data) > FILE_BYTES:
            raise Problem(ask.reader.t("web.file_large", name=upload.filename, n=FILE_BYTES // 1024 // 1024))
        kind = upload.content_type or "application/octet-stream"
        coded = base64.b64encode(data).decode()
        found.append({"type": "embeddedResource", "label": upload.filename, "data": coded, "contentType": kind})
    return found


async def cancel(ask: Ask) -> Done:
    """Ends the running turn."""
    at = await place(ask)
    action = turns.turn_cancelled(await ask.link.state(at.chat), now())
    if action is not None:
        await ask.link.dispatch(at.chat, action)
    return Done(at.path)


async def answer(ask: Ask) -> Done:
    """An answer to a question about a tool call."""
    at = await place(ask)
    turn, chat = ask.field("turn"), await ask.link.state(at.chat)
    call = call_of(chat, turn, ask.field("call"))
    if call is None or call.get("status") not in ("pending-confirmation", "pending-result-confirmation"):
        raise Problem(ask.reader.t("web.gate.over"), status=409)
    try:
        action = turns.tool_call_confirmed(turn, call, ask.field("option"))
    except LookupError as error:
        raise Problem(ask.reader.t("web.gate.over"), status=409) from error
    edited = ask.field("edited")
    if edited and action.get("approved") and call.get("editable") and edited != call.get("toolInput"):
        action["editedToolInput"] = edited
    await ask.link.dispatch(at.chat, action)
    return Done(at.path)


async def sign_in(ask: Ask) -> Done:
    """Where a person signs in for the server whose call waits for a token."""
    at = await place(ask)
    call = call_of(await ask.link.state(at.chat), ask.field("turn"), ask.field("call"))
    server = str(((call or {}).get("contributor") or {}).get("customizationId") or "")
    if call is None or call.get("status") != "auth-required" or not server:
        raise Problem(ask.reader.t("web.gate.over"), status=409)
    found = await ask.link.request("x-innkeeper/mcp/authorize", {"channel": at.session, "server": server})
    url = str(found.get("url") or "")
    if not safe_link(url):
        raise Problem(ask.reader.t("web.card.no_sign_in"))
    return Done(at.path, answer={"said": ask.reader.t("web.card.sign_in_at", url=url), "link": url})


async def respond(ask: Ask) -> Done:
    """Answers to an agent's own questions."""
    at = await place(ask)
    chat = await ask.link.state(at.chat)
    wanted = next((one for one in turns.inputs_to_answer(chat) if one["id"] == ask.field("request")), None)
    if wanted is None:
        raise Problem(ask.reader.t("web.gate.over"), status=409)
    response = ask.field("response", "accept")
    given: Mapping[str, Any] = {}
    if response == "accept":
        try:
            given = answers(wanted, ask.fields)
        except NotAnAnswer as wrong:
            name = str(wrong.question.get("title") or wrong.question.get("message"))
            raise Problem(ask.reader.t(f"web.input.wrong.{wrong.kind}", name=name)) from wrong
    await ask.link.dispatch(at.chat, turns.input_completed(str(wanted["id"]), response, given))
    return Done(at.path)


async def pending(ask: Ask) -> Done:
    """A message that waits is moved, taken back into the composer, or dropped."""
    at = await place(ask)
    id, steering = ask.field("id"), ask.field("kind") == "steering"
    rows = composing.waiting(await ask.link.state(at.chat))
    row = next((one for one in rows if one.id == id and one.steering == steering), None)
    if row is None:
        raise Problem(ask.reader.t("web.queue.gone"), status=409)
    if ask.field("do") == "up":
        order = [one.id for one in rows if not one.steering]
        at_place = order.index(id)
        order.insert(max(0, at_place - 1), order.pop(at_place))
        await ask.link.dispatch(at.chat, {"type": "chat/queuedMessagesReordered", "order": order})
        return Done(at.path)
    await ask.link.dispatch(at.chat, await _removal(ask, at, id, steering=steering))
    return Done(at.path, answer={"fill": row.text} if ask.field("do") == "edit" else None)


async def _removal(ask: Ask, at: Place, id: str, *, steering: bool) -> dict[str, Any]:
    slot = (await ask.link.state(at.chat)).get("steeringMessage") or {}
    if steering and slot.get("id") != id:
        return {"type": "chat/steeringMessageRemoved", "id": id}
    return {"type": "chat/pendingMessageRemoved", "kind": "steering" if steering else "queued", "id": id}


async def pick(ask: Ask) -> Done:
    """Agent, model or mode."""
    at = await place(ask)
    name, _, value = ask.field("pick").partition("=")
    if name.startswith("config."):
        config = {name.removeprefix("config."): value}
        await ask.link.dispatch(at.session, {"type": "session/configChanged", "config": config})
        return Done(at.path)
    if name not in ("model", "agent"):
        raise Problem(ask.reader.t("web.not_found"))
    chat = await ask.link.state(at.chat)
    kept = {one: spoken for one, spoken in composing.spoken(chat).items() if one in ("model", "agent")}
    kept.pop(name, None)
    if value:
        kept[name] = {"id" if name == "model" else "uri": value}
    draft = {"text": ask.field("text"), "origin": {"kind": "user"}, **kept}
    await ask.link.dispatch(at.chat, {"type": "chat/draftChanged", "draft": draft})
    return Done(at.path)


async def draft(ask: Ask) -> Done:
    """What is being written, so that it is there in another browser too."""
    at = await place(ask)
    text, chat = ask.field("text"), await ask.link.state(at.chat)
    known: State = chat.get("draft") or {}
    if text == (known.get("text") or ""):
        return Done(at.path)
    picked = {name: known[name] for name in ("model", "agent") if known.get(name)}
    action: dict[str, Any] = {"type": "chat/draftChanged"}
    if text or picked:
        action["draft"] = {"text": text, "origin": {"kind": "user"}, **picked}
    await ask.link.dispatch(at.chat, action)
    return Done(at.path)


async def completions(ask: Ask) -> Done:
    """What could stand where the person types."""
    at = await place(ask)
    params = {"channel": at.chat, "kind": "userMessage", "text": ask.field("text"), "offset": int(ask.field("at", "0"))}
    found = await ask.link.request("completions", params)
    names = ("insertText", "rangeStart", "rangeEnd")
    items = [
        {**{name: item[name] for name in names if name in item}, "label": item["attachment"]["label"]}
        for item in found["items"]
    ]
    return Done(at.path, answer={"items": items})


async def older(ask: Ask) -> Done:
    """Loads the turns before those that are there."""
    at = await place(ask)
    cursor = (await ask.link.state(at.chat)).get("turnsNextCursor")
    if cursor:
        await ask.link.request("fetchTurns", {"channel": at.chat, "cursor": cursor})
    return Done(at.path)


async def branch(ask: Ask, kind: str | None) -> Done:
    """A further chat: a fork, a side chat, or one beside the others."""
    at = await place(ask)
    chat = await ask.link.state(at.chat)
    source = None
    if kind is not None:
        ended = [turn["id"] for turn in chat.get("turns") or ()]
        turn = ask.field("turn") or (ended[-1] if ended else "")
        if turn not in ended:
            raise Problem(ask.reader.t("web.chat.no_turn"), status=409)
        source = {"kind": kind, "chat": at.chat, "turnId": turn}
    made = f"ahp-chat:/{secrets.token_hex(16)}"
    params: dict[str, Any] = {"channel": at.session, "chat": made}
    await ask.link.request("createChat", {**params, "source": source} if source else params)
    return Done(chat_path(at.session, made, at.state.get("defaultChat")), go=True)


async def fork(ask: Ask) -> Done:
    return await branch(ask, "fork")


async def side(ask: Ask) -> Done:
    return await branch(ask, "sideChat")


async def peer(ask: Ask) -> Done:
    return await branch(ask, None)


async def retry(ask: Ask) -> Done:
    """Goes on with a turn that failed, or sends its message again."""
    at = await place(ask)
    chat = await ask.link.state(at.chat)
    turn = turns.turn_of(chat, ask.field("turn"))
    if turn is None or chat.get("activeTurn"):
        raise Problem(ask.reader.t("web.gate.over"), status=409)
    parts = turn.get("responseParts") or ()
    last = bool(chat.get("turns")) and chat["turns"][-1]["id"] == turn["id"]
    if last and any(part.get("kind") == "error" and part.get("resumable") for part in parts):
        await ask.link.dispatch(at.chat, {"type": "chat/turnResume", "turnId": turn["id"]})
    else:
        id = secrets.token_hex(16)
        again = {**turn["message"], "origin": {"kind": "user"}}
        action = {"type": "chat/turnStarted", "turnId": id, "startedAt": now(), "message": again}
        await ask.link.dispatch(at.chat, action)
    return Done(at.path)


async def _session(ask: Ask) -> str:
    session = session_uri(ask.params["session"])
    if session is None:
        raise Problem(ask.reader.t("web.no_session"), status=404)
    await ask.link.state(session)
    return session


async def rename(ask: Ask) -> Done:
    session, title = await _session(ask), " ".join(ask.field("title").split())[:200]
    if not title:
        raise Problem(ask.reader.t("web.empty_title"))
    await ask.link.dispatch(session, {"type": "session/titleChanged", "title": title})
    return Done(session_path(session))


async def archive(ask: Ask) -> Done:
    session, archived = await _session(ask), bool(ask.field("archived"))
    await ask.link.dispatch(session, {"type": "session/isArchivedChanged", "isArchived": archived})
    said = ask.reader.t("web.archived_said" if archived else "web.unarchived_said")
    return Done(session_path(session), answer={"said": said})


async def delete(ask: Ask) -> Done:
    session = await _session(ask)
    await ask.link.request("disposeSession", {"channel": session})
    return Done("/", go=not ask.field("stay"))


def _both(rest: str, handler: ActionHandler) -> tuple[tuple[str, ActionHandler], ...]:
    return (f"/s/{{session}}{rest}", handler), (f"/s/{{session}}/c/{{chat}}{rest}", handler)


ACTIONS: Actions = (
    *_both("/send", send),
    *_both("/cancel", cancel),
    *_both("/answer", answer),
    *_both("/sign-in", sign_in),
    *_both("/input", respond),
    *_both("/pending", pending),
    *_both("/pick", pick),
    *_both("/draft", draft),
    *_both("/older", older),
    *_both("/completions", completions),
    *_both("/fork", fork),
    *_both("/side", side),
    *_both("/peer", peer),
    *_both("/retry", retry),
    ("/s/{session}/rename", rename),
    ("/s/{session}/archive", archive),
    ("/s/{session}/delete", delete),
)
