"""Queued messages become turns, one at a time (K12, K14, AHP §9.7).

Rules
* Queue and senders are state, so they survive a restart; what is done with them follows from state alone.
* When a turn ended well, or a client touches the queue while nothing runs, the first message becomes the next turn. Not
  after a cancelled or failed turn, until somebody touches the queue; not while a steering message waits; not while the
  latest turn can be resumed, because the queue would bury it.
* A message that is refused stays at, or goes back to, the head, and the queue pauses: the session's `_meta[PAUSED]` has
  the reason, by chat, as AHP's error. It goes on when the reason ends, also in a chat that is not in memory: out of the
  archive, when the required servers are there, when somebody touches the queue. A queue that is empty is not paused.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from innkeeper.contributions.spi import ClientAction, Context, Contribution, ErrorInfo, TurnEnd
from innkeeper.ports.contributed import Channels, Declarations, HostBridge, Providers, State

PAUSED: Final = "x-innkeeper/queuePaused"
QUEUE: Final = frozenset({"chat/pendingMessageSet", "chat/pendingMessageRemoved", "chat/queuedMessagesReordered"})
STEERING: Final = frozenset({"chat/pendingMessageSet", "chat/steeringMessageSet"})
ARCHIVING: Final = frozenset({"session/isArchivedChanged", "chat/isArchivedChanged"})
NO_SERVER: Final = "requiredServerUnavailable"
NOT_PREPARED: Final = frozenset({NO_SERVER, "declarationsFailed"})
"""Errors of turns that preparing the declarations failed: their agents never had the message (K19)."""


class QueueDrain(Contribution):
    """`queueDrain`."""

    id = "queueDrain"
    order = 200

    def __init__(
        self,
        context: Context,
        host: HostBridge,
        channels: Channels,
        providers: Providers,
        declarations: Declarations,
    ) -> None:
        self._host = host
        self._channels = channels
        self._providers = providers
        self._declarations = declarations
        self.dispose = declarations.watch(self._servers_changed)

    def on_did_apply_client_action(self, applied: ClientAction) -> None:
        action = applied.action
        if action["type"] in STEERING and action.get("kind", "steering") == "steering":
            self._providers.steer(applied.channel)
        if action["type"] in QUEUE:
            self._drain(applied.session, applied.channel)
        elif action["type"] in ARCHIVING:
            self._go_on(applied.session, _paused(self._channels.head(applied.session)))

    def on_turn_end(self, end: TurnEnd) -> None:
        match end.reason.kind:
            case "success" | "localCommand":
                self._drain(end.session, end.chat)
            case "rejected" | "error" if end.queued is not None and _is_refused(end):
                self._back(end)
            case _:
                return

    def _drain(self, session: str, chat: str) -> None:
        state = self._channels.head(chat)
        if state is None:
            return
        if not state.get("queuedMessages"):
            self._pause(session, chat, None)
        elif may_drain(state):
            first = state["queuedMessages"][0]
            self._pause(session, chat, self._host.send_turn_message(chat, first["message"], queued=first["id"]))

    def _back(self, end: TurnEnd) -> None:
        """The turn failed before its agent had it: the message is the first again (K12, K19)."""
        waiting = {"type": "chat/pendingMessageSet", "kind": "queued", "id": end.queued, "message": end.message}
        first = {"type": "chat/queuedMessagesReordered", "order": [end.queued]}
        if self._channels.dispatch(end.chat, waiting, first) and end.reason.error is not None:
            self._pause(end.session, end.chat, end.reason.error)

    def _servers_changed(self, session: str) -> None:
        """Only what waits for servers, and only when they are all there: a try that fails is a turn that failed."""
        paused = _paused(self._channels.head(session))
        waiting = [chat for chat, reason in paused.items() if reason.get("errorType") == NO_SERVER]
        if waiting and self._declarations.complete(session):
            self._go_on(session, waiting)

    def _go_on(self, session: str, chats: Iterable[str]) -> None:
        for chat in chats:
            self._channels.spawn(self._drain_stored(session, chat), f"queue of {chat}")

    async def _drain_stored(self, session: str, chat: str) -> None:
        await self._channels.load(chat)
        self._drain(session, chat)

    def _pause(self, session: str, chat: str, reason: ErrorInfo | None) -> None:
        """Tell why the chat's queue waits; None tells that it does not."""
        state = self._channels.head(session)
        paused = _paused(state)
        if state is None or paused.get(chat) == reason:
            return
        there = {entry.get("resource") for entry in state.get("chats") or ()}
        others = {uri: why for uri, why in paused.items() if uri != chat and uri in there}
        told = {**others, **({} if reason is None else {chat: reason})}
        meta: dict[str, Any] = {name: value for name, value in (state.get("_meta") or {}).items() if name != PAUSED}
        whole = {**meta, **({PAUSED: told} if told else {})}
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


def _is_refused(end: TurnEnd) -> bool:
    """Whether the agent never had the message, through no fault of the message (K12, K19)."""
    error = end.reason.error
    return end.reason.kind == "rejected" or (error is not None and error["errorType"] in NOT_PREPARED)


def _paused(session: State | None) -> Mapping[str, State]:
    found: Mapping[str, State] = ((session or {}).get("_meta") or {}).get(PAUSED) or {}
    return found
