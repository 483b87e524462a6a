"""Titles of sessions and chats: the first words of the first message, then what the agent suggests (K18).

Rules
* What a person named stays: a title is replaced only while it is empty or the one that was put there by the host.
* The default chat's title is the session's; another chat's is in the session's list of chats (AHP has no chat action
  for it).
"""

from typing import Any

from innkeeper.host.core import Core, act
from innkeeper.limits import TITLE_CHARACTERS


def first_words(text: str, length: int = TITLE_CHARACTERS) -> str:
    """The text on one line, cut to `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


class Titles:
    """Titles that the host itself gave, so that it replaces no other."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._given: dict[str, str] = {}

    def first_message(self, session: str, chat: str, text: str) -> None:
        """A turn begins: an untitled chat gets the first words of the message."""
        if not self._shown(session, chat) and first_words(text):
            self._give(session, chat, first_words(text))

    def suggested(self, session: str, chat: str, title: str) -> None:
        """The agent named the conversation."""
        shown = self._shown(session, chat)
        if title.strip() and (not shown or shown == self._given.get(chat)):
            self._give(session, chat, " ".join(title.split()))

    def forget(self, chat: str) -> None:
        self._given.pop(chat, None)

    def _shown(self, session: str, chat: str) -> str:
        state = self._core.head(session) or {}
        if state.get("defaultChat") == chat:
            return str(state.get("title") or "")
        return next((str(c.get("title") or "") for c in state.get("chats") or () if c.get("resource") == chat), "")

    def _give(self, session: str, chat: str, title: str) -> None:
        state = self._core.head(session)
        if state is None:
            return
        self._given[chat] = title
        updates: list[dict[str, Any]] = []
        if state.get("defaultChat") == chat:
            updates.append({"type": "session/titleChanged", "title": title})
        updates.append({"type": "session/chatUpdated", "chat": chat, "changes": {"title": title}})
        act(self._core, session, *updates)
