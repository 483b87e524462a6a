"""The conversation of a session: its page and what a person does there."""

import secrets
from datetime import UTC, datetime

from innkeeper.client import turns
from innkeeper.web.asking import Actions, Ask, Done, Pages, Problem, View
from innkeeper.web.conversation import Conversation
from innkeeper.web.extras import Place, chat_regions, prepare_drawer
from innkeeper.web.link import LINK
from innkeeper.web.live import Region, block
from innkeeper.web.names import chat_path, chat_uri, folder, key_of, session_uri
from innkeeper.web.sidebar import sidebar


async def place(ask: Ask) -> Place:
    """The session and chat of the address. Raises Problem when there is none."""
    session = session_uri(ask.params["session"])
    if session is None:
        raise Problem(ask.reader.t("web.no_session"), status=404)
    state = await ask.link.state(session)
    default = state.get("defaultChat")
    named = ask.params.get("chat")
    chat = chat_uri(named) if named else default
    if chat is None:
        raise Problem(ask.reader.t("web.no_session"), status=404)
    return Place(session, chat, state, chat_path(session, chat, default))


async def show(ask: Ask) -> View:
    """The conversation, live."""
    at = await place(ask)
    chat_state = await ask.link.state(at.chat)
    link = ask.link
    conversation = Conversation(ask, at.chat)

    def bar() -> str:
        session = link.peek(at.session) or at.state
        folders = session.get("workingDirectories") or ()
        where = folder(str(folders[0]), ask.options.home) if folders else ""
        return ask.render("bar.html", session=session, folder=where, branch="")

    def lost() -> str:
        return ask.render("lost.html", connected=link.connected)

    def right() -> str:
        return ask.render("tools_right.html", running=bool((link.peek(at.chat) or {}).get("activeTurn")), path=at.path)

    regions = (
        *sidebar(ask, at.session),
        block("bar", bar, (at.session,)),
        block("lost", lost, (LINK,)),
        Region("log", conversation.nodes, lambda: (at.chat,)),
        block("waiting", lambda: '<div id="waiting"></div>', (at.chat,)),
        block("tools-right", right, (at.chat,)),
        *await chat_regions(ask, at),
    )
    draft = str((chat_state.get("draft") or {}).get("text") or "")
    values = {"send_to": at.path + "/send", "draft": draft, "chat_key": key_of(at.chat)}
    title = str(at.state.get("title") or ask.reader.t("web.untitled"))
    return View("chat.html", title, regions, values, prepare=lambda: prepare_drawer(ask, at))


def now() -> str:
    """UTC, ISO 8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def send(ask: Ask) -> Done:
    """A message: a turn, or a queued message while one runs."""
    at = await place(ask)
    text = ask.field("text").strip()
    if not text:
        raise Problem(ask.reader.t("web.empty_message"))
    chat = await ask.link.state(at.chat)
    id = secrets.token_hex(16)
    queued = bool(chat.get("activeTurn"))
    action = turns.message_queued(id, text) if queued else turns.turn_started(id, text, now())
    await ask.link.dispatch(at.chat, action)
    return Done(at.path)


async def cancel(ask: Ask) -> Done:
    """Ends the running turn."""
    at = await place(ask)
    action = turns.turn_cancelled(await ask.link.state(at.chat), now())
    if action is not None:
        await ask.link.dispatch(at.chat, action)
    return Done(at.path)


PAGES: Pages = (("/s/{session}", show), ("/s/{session}/c/{chat}", show))
ACTIONS: Actions = (
    ("/s/{session}/send", send),
    ("/s/{session}/c/{chat}/send", send),
    ("/s/{session}/cancel", cancel),
    ("/s/{session}/c/{chat}/cancel", cancel),
)
