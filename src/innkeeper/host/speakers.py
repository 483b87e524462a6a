"""Whose words a chat's turn is about, so that questions are asked in that client's language (M9.4).

Rules
* The client that started or resumed the turn; for a queued message, the client that left it, whoever made it a turn.
* What is not known any more, after a restart, is the last client that started a turn of the chat.
"""

from innkeeper.engine.effects import Released


class Speakers:
    """By chat, in memory."""

    def __init__(self) -> None:
        self._speaking: dict[str, str] = {}
        self._queued: dict[tuple[str, str], str] = {}

    def of(self, chat: str) -> str | None:
        return self._speaking.get(chat)

    def changed(self, released: Released) -> None:
        """An action on a chat has left."""
        chat, action = released.channel, released.action
        client = None if released.origin is None else released.origin.client_id
        match action["type"]:
            case "chat/pendingMessageSet" if client is not None and action.get("kind") == "queued":
                self._queued[(chat, action["id"])] = client
            case "chat/pendingMessageRemoved" if client is not None:
                self._queued.pop((chat, action["id"]), None)
            case "chat/turnStarted" | "chat/turnResume":
                sender = self._queued.pop((chat, str(action.get("queuedMessageId"))), None)
                if (speaking := client or sender) is not None:
                    self._speaking[chat] = speaking
