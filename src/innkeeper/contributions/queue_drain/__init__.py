"""Queued messages become turns, one at a time (K12, K14, AHP §9.7).

Rules
* Queue and senders are state, so they survive a restart; what is done with them follows from state alone.
* When a turn ended well, or a client touches the queue while nothing runs, the first message becomes the next turn. Not
  after a cancelled or failed turn, until somebody touches the queue; not while a steering message waits; not while the
  latest turn can be resumed, because the queue would bury it.
* A message that is refused stays at, or goes back to, the head, and the queue pauses: the session's `_meta[PAUSED]` has
  the reason, by chat. It goes on when the reason ends: out of the archive, a server that came up, a touched queue.
"""

from collections.abc import Sequence
from typing import Any, Final

from innkeeper.contributions.spi import ClientAction, Context, Contribution, TurnEnd
from innkeeper.ports.contributed import Channels, HostBridge, Providers, State

PAUSED: Final = "x-innkeeper/queuePaused"
QUEUE: Final = frozenset({"chat/pendingMessageSet", "chat/pendingMessageRemoved", "chat/queuedMessagesReordered"})
STEERING: Final = frozenset({"chat/pendingMessageSet", "chat/steeringMessageSet"})
NEVER_SENT: Final = frozenset({"requiredServerUnavailable", "PROVIDER_UNKNOWN"})
"""Errors of turns whose agent never had the message, through no fault of the message."""
REASONS_END: Final = frozenset({"session/isArchivedChanged", "session/mcpServerStartRequested"})


class QueueDrain(Contribution):
    """`queueDrain`."""

    id = "queueDrain"
    order = 200

    def __init__(self, context: Context, host: HostBridge, channels: Channels, providers: Providers) -> None:
        self._host = host
        self._channels = channels
        self._providers = providers

    def on_did_apply_client_action(self, applied: ClientAction) -> None:
        action = applied.action
        if action["type"] in STEERING and action.get("kind", "steering") == "steering":
            self._providers.steer(applied.channel)
        if action["type"] in QUEUE:
            self._drain(applied.session, applied.channel)
        elif action["type"] in REASONS_END:
            self._go_on(applied.session)

    def on_turn_end(self, end: TurnEnd) -> None:
        match end.reason.kind:
            case "success" | "localCommand":
                self._drain(end.session, end.chat)
            case "error" | "rejected" if end.queued is not None and _never_sent(end):
                self._back(end)
            case _:
                return

    def _drain(self, session: str, chat: str) -> None:
        state = self._channels.head(chat)
        if state is None or not may_drain(state):
            return
        first = state["queuedMessages"][0]
        sender = (first["message"].get("_meta") or {}).get("x-innkeeper/sender")
        refused = self._host.send_turn_message(chat, first["message"], queued=first["id"], client=sender)
        self._pause(session, chat, None if refused is None else str(refused["message"]))

    def _back(self, end: TurnEnd) -> None:
        """The turn failed before its agent had it: the message is the first again (K12, K19)."""
        waiting = {"type": "chat/pendingMessageSet", "kind": "queued", "id": end.queued, "message": end.message}
        first = {"type": "chat/queuedMessagesReordered", "order": [end.queued]}
        if self._channels.dispatch(end.chat, waiting, first) and end.reason.error is not None:
            self._pause(end.session, end.chat, end.reason.error["message"])

    def _go_on(self, session: str) -> None:
        for chat in _paused(self._channels.head(session)):
            self._drain(session, chat)

    def _pause(self, session: str, chat: str, reason: str | None) -> None:
        state = self._channels.head(session)
        if state is None:
            return
        meta, paused = dict(state.get("_meta") or {}), dict(_paused(state))
        if paused.get(chat) == reason:
            return
        paused.pop(chat, None)
        if reason is not None:
            paused[chat] = reason
        meta.pop(PAUSED, None)
        whole: dict[str, Any] = {**meta, **({PAUSED: paused} if paused else {})}
        self._channels.dispatch(session, {"type": "session/metaChanged", "_meta": whole})


def may_drain(chat: State) -> bool:
    """Whether the first queued message may be offered to admission now."""
    if not chat.get("queuedMessages") or chat.get("activeTurn"):
        return False
    if chat.get("steeringMessage") or chat.get("steeringMessages"):
        return False
    turns: Sequence[State] = chat.get("turns") or ()
    parts: Sequence[State] = (turns[-1].get("responseParts") or ()) if turns else ()
    return not (parts and parts[-1].get("kind") == "error" and parts[-1].get("resumable") is True)


def _never_sent(end: TurnEnd) -> bool:
    error = end.reason.error
    return error is not None and error["errorType"] in NEVER_SENT


def _paused(session: State | None) -> State:
    meta: State = {} if session is None else session.get("_meta") or {}
    found: State = meta.get(PAUSED) or {}
    return found
