"""Titles of conversations (K18, AHP §9.1, §9.3).

Rules
* What a person named stays, also while a title is being made; the agent is told it once.
* A session that is named names its default chat too: they are one conversation to the reader.
* After the first turn that ended well a better title may be made. A chat that enters the host brings its title, unless
  it has one.
"""

from typing import Final

from innkeeper.contributions.spi import (
    Addition,
    ChatKey,
    ClientAction,
    Context,
    Contribution,
    HydratedChat,
    Hydration,
    OutgoingTurn,
    TurnEnd,
)
from innkeeper.ports.contributed import Channels, SessionTitles

TOLD: Final = ChatKey[str]("toldTitle", str)


class SessionTitle(Contribution):
    """`sessionTitle`."""

    id = "sessionTitle"
    order = 400

    def __init__(self, context: Context, channels: Channels, titles: SessionTitles) -> None:
        self._context = context
        self._channels = channels
        self._titles = titles

    def on_outgoing_turn(self, turn: OutgoingTurn) -> Addition | None:
        title, told = self._titles.named(turn.chat), self._context.memento(TOLD, turn.chat)
        if title is None or told.value == title:
            return None
        told.value = title
        return Addition([f"The user named this conversation: {title}"])

    def on_turn_end(self, end: TurnEnd) -> None:
        if end.reason.kind == "success" and not end.subagent:
            self._titles.refine(end.session, end.chat)

    def on_did_apply_client_action(self, applied: ClientAction) -> None:
        if applied.action["type"] != "session/titleChanged":
            return
        title, state = str(applied.action["title"]), self._channels.head(applied.session) or {}
        chat = state.get("defaultChat")
        if chat is None:
            return
        self._titles.renamed(chat, title)
        cascade = {"type": "session/chatUpdated", "chat": chat, "changes": {"title": title}}
        self._channels.dispatch(applied.session, cascade)

    def on_hydrate_chat(self, of: Hydration, restored: HydratedChat) -> HydratedChat:
        if restored.title:
            return restored
        return restored._replace(title=self._titles.shown(of.session, of.chat) or restored.title)
