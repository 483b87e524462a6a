"""A side chat's first message tells the agent what it is about (AHP §9.3).

Rules
* Until a first turn of the agent ended well, the user's words are wrapped for it: guidance, and what was selected. The
  state keeps the plain words. A local command is no turn of the agent.
* The source's conversation, up to the turn that the chat was opened at and as it is when the message is sent, is not in
  the text: it is `TurnRequest.context`, because an agent that goes on from the source's own history needs none of it.
* A transcript that is read of a side chat begins with what it inherited: that is dropped, and the wrapping taken off.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.contributions.side_chat.seed import is_wrapped, unwrapped, wrapped
from innkeeper.contributions.spi import Addition, ChatKey, Context, Contribution, Hydration, OutgoingTurn, Turn, TurnEnd
from innkeeper.ports.contributed import Channels
from innkeeper.ports.local_commands import LocalCommands, LocalRequest

TOLD: Final = ChatKey[bool]("told", bool)


class SideChat(Contribution):
    """`sideChat`."""

    id = "sideChat"
    order = 510

    def __init__(self, context: Context, channels: Channels, commands: LocalCommands) -> None:
        self._context = context
        self._channels = channels
        self._commands = commands

    def on_outgoing_turn(self, turn: OutgoingTurn) -> Addition | None:
        origin = self._origin(turn.chat)
        if origin is None or self._told(turn.session, turn.chat):
            return None
        return Addition(text=wrapped(turn.text, str((origin.get("selection") or {}).get("text") or "")))

    def on_turn_end(self, end: TurnEnd) -> None:
        if end.reason.kind == "success" and self._origin(end.chat) is not None:
            self._context.memento(TOLD, end.chat).value = True

    def on_hydrate_turns(self, of: Hydration, turns: Sequence[Turn]) -> Sequence[Turn]:
        origin = self._origin(of.chat)
        if origin is None:
            return turns
        inherited = next((i for i, turn in enumerate(turns) if turn["id"] == origin.get("turnId")), None)
        if inherited is not None:
            return [_plain(turn) for turn in turns[inherited + 1 :]]
        for index, turn in enumerate(turns):
            if is_wrapped(str(turn["message"].get("text"))):
                self._context.memento(TOLD, of.chat).value = True
                return [_plain(turn), *turns[index + 1 :]]
        return turns

    def _told(self, session: str, chat: str) -> bool:
        """Also after a restart: one of the agent's turns ended well."""
        ended = [one for one in (self._channels.head(chat) or {}).get("turns") or () if one.get("state") == "complete"]
        asked = (LocalRequest(session, chat, one["id"], one["message"]) for one in ended)
        return self._context.memento(TOLD, chat).value or any(self._commands.claims(one) is None for one in asked)

    def _origin(self, chat: str) -> Mapping[str, Any] | None:
        origin: Mapping[str, Any] = (self._channels.head(chat) or {}).get("origin") or {}
        return origin if origin.get("kind") == "sideChat" else None


def _plain(turn: Turn) -> Turn:
    plain: Turn = {**turn, "message": {**turn["message"], "text": unwrapped(str(turn["message"].get("text")))}}
    return plain
