"""Drafts (K14, K17). They are state, and so is their sender: nothing is stored twice.

Rules
* A draft that was sent is gone, for every client: a turn or a queued message with the same words clears it.
* A chat that enters the host brings its draft, unless it has one.
"""

from typing import Any, Final

from innkeeper.contributions.spi import ClientAction, Context, Contribution, HydratedChat, Hydration
from innkeeper.ports.contributed import Channels

SENDS: Final = frozenset({"chat/turnStarted", "chat/pendingMessageSet", "chat/steeringMessageSet"})


class ChatDraft(Contribution):
    """`chatDraft`."""

    id = "chatDraft"
    order = 600

    def __init__(self, context: Context, channels: Channels) -> None:
        self._channels = channels

    def on_did_apply_client_action(self, applied: ClientAction) -> None:
        if applied.action["type"] not in SENDS:
            return
        draft = (self._channels.head(applied.channel) or {}).get("draft")
        if draft is not None and _words(draft) == _words(_sent(applied.action)):
            self._channels.dispatch(applied.channel, {"type": "chat/draftChanged"})

    def on_hydrate_chat(self, of: Hydration, restored: HydratedChat) -> HydratedChat:
        if restored.draft is not None:
            return restored
        return restored._replace(draft=(self._channels.head(of.chat) or {}).get("draft"))


def _sent(action: Any) -> Any:
    return (action.get("steeringMessage") or action).get("message") or {}


def _words(message: Any) -> str:
    return str(message.get("text") or "").strip()
