"""Messages that wait: steering for the running turn, a queue for the turns after it (AHP §9.7, K12, K14).

Rules
* Both are state, so they survive a restart; what is done with them follows from state alone.
* When a turn ended well, or the queue changes while nothing runs, the first queued message becomes the next turn: one
  a time. Not after a cancelled or failed turn, until somebody touches the queue; not while the latest turn can be
  resumed, because the queue would bury it.
* A steering message goes to the running turn, also to one that starts while it waits. It is removed when the agent
  says that the model has it; an agent that cannot take it leaves it where it is.
"""

import logging
from collections.abc import Sequence

from innkeeper.engine.effects import Released
from innkeeper.host.backings import Backings
from innkeeper.host.core import Core, act
from innkeeper.host.requests import Requests
from innkeeper.host.running import RunningTurn, RunningTurns
from innkeeper.host.views import State, active_turn
from innkeeper.ports.clock import Clock
from innkeeper.ports.declarations import RequiredServerUnavailable
from innkeeper.ports.ids import Ids
from innkeeper.providers.spi import ProviderError

log = logging.getLogger(__name__)

QUEUE_ACTIONS = frozenset({"chat/pendingMessageSet", "chat/pendingMessageRemoved", "chat/queuedMessagesReordered"})


class PendingMessages:
    """The host's side of queue and steering."""

    def __init__(
        self, core: Core, backings: Backings, requests: Requests, running: RunningTurns, clock: Clock, ids: Ids
    ) -> None:
        self._core = core
        self._backings = backings
        self._requests = requests
        self._running = running
        self._clock = clock
        self._ids = ids

    def changed(self, released: Released) -> None:
        """A client touched the queue or the steering message, or a turn began or ended well."""
        action, chat = released.action, released.channel
        match action["type"]:
            case "chat/turnComplete":
                self.drain(chat)
            case "chat/turnStarted" | "chat/turnResume":
                self.steer(chat)
            case "chat/pendingMessageSet" | "chat/steeringMessageSet" if action.get("kind", "steering") == "steering":
                self.steer(chat)
            case name if name in QUEUE_ACTIONS and released.origin is not None:
                self.drain(chat)

    def drain(self, chat: str) -> bool:
        """Start the next queued message, if one may start now."""
        state = self._core.head(chat)
        if state is None or not may_drain(state) or self._running.behind(chat) is not None:
            return False
        first = state["queuedMessages"][0]
        removed = {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": first["id"]}
        started = {
            "type": "chat/turnStarted",
            "turnId": self._ids.new(),
            "startedAt": self._clock.now(),
            "message": first["message"],
            "queuedMessageId": first["id"],
        }
        return act(self._core, chat, removed, started)

    def steer(self, chat: str) -> None:
        """Hand the waiting steering messages to the running turn."""
        turn, state = self._running.get(chat), self._core.head(chat)
        if turn is None or state is None:
            return
        for waiting in steering(state):
            self._core.spawn(self._steer(turn, waiting), f"steering {waiting['id']} of {chat}")

    async def _steer(self, turn: RunningTurn, waiting: State) -> None:
        await turn.sent.wait()
        agent = self._backings.peek(turn.session)
        if agent is None or active_turn(self._core.head(turn.chat), turn.turn_id) is None:
            return
        try:
            await self._requests.declare(turn.session, turn.turn_id)
            taken = await agent.steer(turn.chat, waiting["id"], waiting["message"])
        except (RequiredServerUnavailable, ProviderError) as error:
            log.warning("steering message %s of %s stays: %s", waiting["id"], turn.chat, error)
            return
        if not taken:
            log.info("the agent of %s takes no steering message now", turn.session)


def may_drain(chat: State) -> bool:
    """Whether the first queued message may become a turn now."""
    if not chat.get("queuedMessages") or active_turn(chat) is not None:
        return False
    if chat.get("interactivity", "full") != "full":
        return False
    turns: Sequence[State] = chat.get("turns") or ({},)
    last: State = (turns[-1].get("responseParts") or ({},))[-1]
    return not (last.get("kind") == "error" and last.get("resumable") is True)


def steering(chat: State) -> list[State]:
    """The steering messages that wait, oldest first."""
    slot = chat.get("steeringMessage")
    return [*([slot] if slot is not None else []), *(chat.get("steeringMessages") or ())]
