"""The conversation of a session: its page and the pieces that it loads."""

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.protocol.status import IS_ARCHIVED, IS_READ
from innkeeper.web import composing
from innkeeper.web.asking import Ask, Fragment, Pages, Problem, View
from innkeeper.web.conversation import Conversation
from innkeeper.web.extras import Place, chat_regions, prepare_drawer
from innkeeper.web.gate_cards import gate, waiting_calls
from innkeeper.web.link import LINK, ROOT, SESSIONS
from innkeeper.web.live import Region, block
from innkeeper.web.names import chat_path, chat_uri, key_of, last_part, session_path, session_uri, workspace
from innkeeper.web.session_rows import mark_of
from innkeeper.web.sidebar import sidebar

State = Mapping[str, Any]
QUEUED: Final = ("queuedMessages", "steeringMessage", "steeringMessages")


async def place(ask: Ask) -> Place:
    """The session and chat of the address, both subscribed. Raises Problem when there is none."""
    session = session_uri(ask.params["session"])
    if session is None or ask.link.sessions.was_removed(session):
        raise Problem(ask.reader.t("web.no_session"), status=404)
    state = await ask.link.state(session)
    default = state.get("defaultChat")
    named = ask.params.get("chat")
    chat = chat_uri(named) if named else default
    if chat is None or all(one["resource"] != chat for one in state.get("chats") or ()):
        raise Problem(ask.reader.t("web.no_session"), status=404)
    await ask.link.state(chat)
    return Place(session, chat, state, chat_path(session, chat, default))


class ChatPage:
    """The regions of one chat's page."""

    def __init__(self, ask: Ask, at: Place) -> None:
        self.ask, self.at = ask, at
        self.session_path = session_path(at.session)
        self._read = False

    @property
    def session(self) -> State:
        found: State = self.ask.link.peek(self.at.session) or self.at.state
        return found

    @property
    def chat(self) -> State:
        found: State = self.ask.link.peek(self.at.chat) or {}
        return found

    @property
    def agent(self) -> State:
        return composing.agent_of(self.ask.link.peek(ROOT) or {}, self.session)

    def regions(self) -> list[Region]:
        session, chat = self.at.session, self.at.chat
        conversation = Conversation(self.ask, self.at)
        both, all_three = (session, chat), (session, chat, ROOT)
        return [
            block("bar", self.bar, (session, ROOT), lambda: (self.session, self.agent)),
            block("bar-more", self.more, all_three, lambda: (self.session, self.agent, self._shown("turns"))),
            block("chats", self.chats, (session,), lambda: self.session),
            block("lost", self.lost, (LINK, session), lambda: (self.ask.link.connected, self.session)),
            Region("log", conversation.nodes, conversation.channels),
            block("waiting", self.waiting, both, lambda: (self.session, self._shown(*QUEUED))),
            block("closed-slot", self.closed, (*both, SESSIONS), self._closed),
            block("said", self.said, (chat,), self._said),
            block("tools-left", self.tools_left, all_three, lambda: (self.session, self.agent, self._picked())),
            block("tools-right", self.tools_right, all_three, self._right),
        ]

    def _closed_by(self) -> str:
        gone = self.ask.link.sessions.was_removed(self.at.session) or self.ask.link.gone(self.at.chat)
        return "deleted" if gone else composing.closed(self.session, self.chat)

    def _closed(self) -> object:
        return self._closed_by(), self.ask.link.connected

    def _shown(self, *names: str) -> tuple[object, ...]:
        """Members of the chat, as a key."""
        return tuple(self.chat.get(name) for name in names)

    def _picked(self) -> object:
        return composing.spoken(self.chat)

    def _said(self) -> object:
        calls = waiting_calls(self.chat)
        return bool(self.chat.get("activeTurn")), bool(self.chat.get("turns")), calls[:1], self.agent

    def _right(self) -> object:
        used = composing.context_used(self.agent, self.chat)
        return bool(self.chat.get("activeTurn")), used, self.ask.choices.get("how")

    def bar(self) -> str:
        session = self.session
        place, project = str((session.get("workingDirectories") or ("",))[0]), workspace(session)
        config = (session.get("config") or {}).get("values") or {}
        branch = str(config.get("branch") or "") if place == project else last_part(place)
        values = {"title": session.get("title"), "folder": self.ask.folder(project), "place": self.ask.folder(place)}
        values["branch"] = branch
        mark = mark_of({**session, "status": int(session.get("status") or 0)})
        return self.ask.render("bar.html", agent=str(self.agent.get("displayName") or ""), mark=mark, **values)

    def more(self) -> str:
        session, chat = self.session, self.chat
        several = (self.agent.get("capabilities") or {}).get("multipleChats") or {}
        values = {
            "title": str(session.get("title") or ""),
            "path": self.at.path,
            "session_path": self.session_path,
            "turns": bool(chat.get("turns")),
            "can_fork": bool(several.get("fork")),
            "can_side": bool(several.get("sideChat")),
            "archived": bool(int(session.get("status") or 0) & IS_ARCHIVED),
        }
        return self.ask.render("bar_more.html", **values)

    def chats(self) -> str:
        session = self.session
        shown = [one for one in session.get("chats") or () if one.get("interactivity") != "hidden"]
        rows = [
            {
                "path": chat_path(self.at.session, str(one["resource"]), session.get("defaultChat")),
                "title": one.get("title") or session.get("title"),
                "current": one["resource"] == self.at.chat,
                "mark": mark_of(one),
                "kind": (one.get("origin") or {}).get("kind", "user"),
            }
            for one in shown
        ]
        return self.ask.render("chats.html", chats=rows)

    def lost(self) -> str:
        session = self.session
        why = str((session.get("creationError") or {}).get("message") or "")
        values = {"connected": self.ask.link.connected, "creating": session.get("lifecycle"), "why": why}
        return self.ask.render("lost.html", **values)

    def waiting(self) -> str:
        paused = ((self.session.get("_meta") or {}).get("x-innkeeper/queuePaused") or {}).get(self.at.chat) or {}
        values = {"queue": composing.waiting(self.chat), "paused": paused.get("message"), "path": self.at.path}
        return self.ask.render("waiting.html", **values)

    def closed(self) -> str:
        why = self._closed_by()
        return self.ask.render("closed.html", why=why, session_path=self.session_path)

    def tools_left(self) -> str:
        session, chat, agent, lang = self.session, self.chat, self.agent, self.ask.reader.lang
        pickers = {
            "agent": composing.agent_picker(agent, session, chat),
            "model": composing.model_picker(agent, chat, lang),
            "mode": composing.mode_picker(session, lang),
        }
        return self.ask.render("tools_left.html", path=self.at.path, **pickers)

    def tools_right(self) -> str:
        chat = self.chat
        values = {
            "running": bool(chat.get("activeTurn")),
            "context": composing.context_used(self.agent, chat),
            "how": "steer" if self.ask.choices.get("how") == "steer" else "queue",
            "path": self.at.path,
        }
        return self.ask.render("tools_right.html", **values)

    def said(self) -> str:
        """What a screen reader is told of the turn: once when it changes, never word by word."""
        calls = waiting_calls(self.chat)
        question = gate(calls[0], self.ask.reader.lang).title.replace("`", "") if calls else ""
        agent = str(self.agent.get("displayName") or "")
        running, ended = bool(self.chat.get("activeTurn")), bool(self.chat.get("turns"))
        return self.ask.render("said.html", question=question, running=running, ended=ended, agent=agent)

    def noticed(self) -> None:
        """Somebody looks: the session is read."""
        status = int((self.ask.link.sessions.get(self.at.session) or self.session).get("status") or IS_READ)
        if status & IS_READ:
            self._read = False
        elif not self._read:
            self._read = True
            self.ask.link.say(self.at.session, {"type": "session/isReadChanged", "isRead": True})


async def show(ask: Ask) -> View:
    """The conversation, live."""
    at = await place(ask)
    page = ChatPage(ask, at)
    regions = (*sidebar(ask, at.session), *page.regions(), *await chat_regions(ask, at))
    draft = str((page.chat.get("draft") or {}).get("text") or "")
    values = {"path": at.path, "draft": draft, "chat_key": key_of(at.chat)}
    title = str(at.state.get("title") or ask.reader.t("web.untitled"))
    return View("chat.html", title, regions, values, noticed=page.noticed, prepare=lambda: prepare_drawer(ask, at))


async def show_menu(ask: Ask) -> Fragment:
    """What can be done with a session of the list."""
    session = session_uri(ask.params["session"])
    if session is None or (summary := ask.link.sessions.get(session)) is None:
        raise Problem(ask.reader.t("web.no_session"), status=404)
    path = session_path(session)
    values = {"id": "row-" + key_of(session), "session_path": path, "title": str(summary.get("title") or "")}
    return Fragment(ask.render("row_menu.html", **values))


def call_of(chat: State, turn_id: str, call_id: str) -> State | None:
    """A tool call of a turn that is loaded."""
    turns = [*(chat.get("turns") or ()), *([chat["activeTurn"]] if chat.get("activeTurn") else [])]
    for turn in turns:
        if turn["id"] == turn_id:
            for part in turn.get("responseParts") or ():
                if part.get("kind") == "toolCall" and part["toolCall"]["toolCallId"] == call_id:
                    found: State = part["toolCall"]
                    return found
    return None


async def content_of(ask: Ask) -> State:
    """The content that the address names. Raises Problem."""
    at = await place(ask)
    call = call_of(await ask.link.state(at.chat), ask.params["turn"], ask.params["call"])
    contents = (call or {}).get("content") or ()
    index = ask.params["index"]
    if not index.isdecimal() or int(index) >= len(contents):
        raise Problem(ask.reader.t("web.not_found"), status=404)
    found: State = contents[int(index)]
    return found


async def show_diff(ask: Ask) -> Fragment:
    """What a call did to a file."""
    from innkeeper.web.diffs import diff_of

    content = await content_of(ask)
    if content.get("type") != "fileEdit":
        raise Problem(ask.reader.t("web.not_found"), status=404)
    return Fragment(await diff_of(ask, content))


async def show_output(ask: Ask) -> Fragment:
    """All that a call brought, as text."""
    at = await place(ask)
    call = call_of(await ask.link.state(at.chat), ask.params["turn"], ask.params["call"])
    texts = [one for one in (call or {}).get("content") or () if one.get("type") in ("text", "terminal")]
    index = ask.params["index"]
    if not index.isdecimal() or int(index) >= len(texts):
        raise Problem(ask.reader.t("web.not_found"), status=404)
    one = texts[int(index)]
    words = str(one.get("text") or (one.get("result") or {}).get("preview") or "")
    return Fragment(words, "text/plain")


def _both(rest: str) -> tuple[str, str]:
    """A path below a session's page and below a chat's."""
    return f"/s/{{session}}{rest}", f"/s/{{session}}/c/{{chat}}{rest}"


PAGES: Pages = (
    ("/s/{session}/menu", show_menu),
    *((path, show) for path in _both("")),
    *((path, show_diff) for path in _both("/diff/{turn}/{call}/{index}")),
    *((path, show_output) for path in _both("/output/{turn}/{call}/{index}")),
)
