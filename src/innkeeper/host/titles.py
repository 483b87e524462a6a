"""Titles of sessions and chats: the first words of the first message, then what the agent suggests, or makes (K18).

Rules
* After the first turn that ended well, an agent that answers outside conversations is asked for a short title, once a
  chat; without an answer the first words stay. A setting leaves that out.
* What a person named stays: a title is replaced only while it is empty or the one that was put there by the host.
* A chat that begins with a local command is called after that until the first message to its agent (reference §4.9).
* The default chat's title is the session's; another chat's is in the session's list of chats (AHP has no chat action
  for it).
"""

import logging
from collections.abc import Mapping
from typing import Any

from innkeeper.host.core import Core, act
from innkeeper.host.local_commands.words import known_to_agent
from innkeeper.limits import TITLE_CHARACTERS, TITLE_SOURCE_CHARACTERS
from innkeeper.providers.spi import Completing, Completion, Provider, ProviderError

log = logging.getLogger(__name__)

REQUEST = (
    "Name this conversation for a list, in the language that it is held in: two to six words, no quotes, no full stop. "
    "Answer with the title alone."
)


def first_words(text: str, length: int = TITLE_CHARACTERS) -> str:
    """The text on one line, cut to `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


class Titles:
    """Titles that the host itself gave, so that it replaces no other."""

    def __init__(self, core: Core, providers: Mapping[str, Provider], *, generate: bool) -> None:
        self._core = core
        self._providers = providers
        self._generate = generate
        self._given: dict[str, str] = {}
        self._named: dict[str, str] = {}
        self._refined: set[str] = set()
        self._provisional: set[str] = set()
        """Chats that are called after a local command."""

    def first_message(self, session: str, chat: str, text: str) -> None:
        """A turn of the agent begins: an untitled chat gets the first words of the message."""
        words = first_words(text)
        if words and (not self.shown(session, chat) or (chat in self._provisional and self._is_ours(session, chat))):
            self._give(session, chat, words)
        self._provisional.discard(chat)

    def called_after(self, session: str, chat: str, command: str) -> None:
        """A local command runs: an untitled chat is called after it for the time being."""
        if not self.shown(session, chat) and first_words(command):
            self._provisional.add(chat)
            self._give(session, chat, first_words(command))

    def suggested(self, session: str, chat: str, title: str) -> None:
        """The agent named the conversation."""
        if title.strip() and (not self.shown(session, chat) or self._is_ours(session, chat)):
            self._give(session, chat, " ".join(title.split()))

    def named(self, chat: str) -> str | None:
        return self._named.get(chat)

    def renamed(self, chat: str, title: str) -> None:
        """A person named the chat."""
        self._named[chat] = title
        self._given.pop(chat, None)

    def refine(self, session: str, chat: str) -> None:
        """A turn ended well; the first time, the agent is asked for a title."""
        state = self._core.head(session) or {}
        provider: object = self._providers.get(str(state.get("provider")))
        if chat in self._refined or not self._generate or not isinstance(provider, Completing):
            return
        if not self._is_ours(session, chat):
            return
        self._refined.add(chat)
        self._core.spawn(self._refine(provider, session, chat), f"title of {chat}")

    async def _refine(self, provider: Completing, session: str, chat: str) -> None:
        turns = known_to_agent((self._core.head(chat) or {}).get("turns") or ())
        if not turns:
            return
        let_go = self._core.hold(chat)
        try:
            answer = await provider.complete(Completion(REQUEST, source(turns[0])))
        except ProviderError as error:
            log.info("no title for %s: %s", chat, error.error_type)
            return
        finally:
            let_go()
        self.suggested(session, chat, first_words(answer.strip().strip('"')))

    def forget(self, chat: str) -> None:
        self._given.pop(chat, None)
        self._named.pop(chat, None)
        self._refined.discard(chat)
        self._provisional.discard(chat)

    def shown(self, session: str, chat: str) -> str:
        state = self._core.head(session) or {}
        if state.get("defaultChat") == chat:
            return str(state.get("title") or "")
        return next((str(c.get("title") or "") for c in state.get("chats") or () if c.get("resource") == chat), "")

    def _is_ours(self, session: str, chat: str) -> bool:
        """Whether the title that is shown is one that this process gave."""
        return chat in self._given and self._given[chat] == self.shown(session, chat)

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


def source(turn: Mapping[str, Any]) -> str:
    """What a title is made of: the message and the beginning of the answer."""
    said = (
        str(part.get("content") or "") for part in turn.get("responseParts") or () if part.get("kind") == "markdown"
    )
    whole = f"User: {(turn.get('message') or {}).get('text', '')}\n\nAgent: {' '.join(said)}"
    return whole[:TITLE_SOURCE_CHARACTERS]
