"""What waits for a person in any chat is listed in the session (AHP §9.8; contributions K2).

Rules
* Derived from the chat's state at each action that can change it; nothing is remembered.
* Tells the trackers what the turn and its calls wait for.
* A chat that is gone waits for nothing.
"""

from innkeeper.contributions.session_input_needed.waiting import RELEVANT, changes, waiting
from innkeeper.contributions.spi import Context, Contribution, DispatchedAction, Watch
from innkeeper.ports.contributed import Channels, ToolCallTracker, TurnTracker


class SessionInputNeeded(Contribution):
    """`sessionInputNeeded`."""

    id = "sessionInputNeeded"
    order = 200
    watch = Watch(types=RELEVANT | {"session/chatRemoved"}, kinds=frozenset({"chat", "session"}))

    def __init__(self, context: Context, channels: Channels, turns: TurnTracker, calls: ToolCallTracker) -> None:
        self._channels = channels
        self._turns = turns
        self._calls = calls

    def on_did_dispatch_action(self, dispatched: DispatchedAction) -> None:
        if dispatched.rejection is not None:
            return
        removed = dispatched.action["type"] == "session/chatRemoved"
        chat = str(dispatched.action["chat"]) if removed else dispatched.channel
        session = self._channels.head(dispatched.session)
        if session is None:
            return
        state = None if removed else self._channels.head(chat)
        wanted = waiting(chat, state)
        self._channels.dispatch(dispatched.session, *changes(session, chat, wanted))
        self._turns.blocked(chat, frozenset(wanted))
        calls = (entry["toolCall"]["toolCallId"] for entry in wanted.values() if "toolCall" in entry)
        self._calls.blocked(chat, frozenset(calls))
