"""Steering messages: handed to the running turn (AHP §9.7, K14).

Rules
* One goes to the running turn, also to a turn that starts while it waits, and once: another message does not bring it
  again. It is removed when the agent says that the model has it; an agent that cannot take it leaves it where it is.
* A steering message is a request: declarations are prepared before it (M5.3), and what is attached to it is resolved.
  One that was taken back, or changed, meanwhile is not handed over.
"""

import logging

from innkeeper.host.asking import sender
from innkeeper.host.backings import Backings
from innkeeper.host.core import Core
from innkeeper.host.requests import DeclarationsFailed, Requests
from innkeeper.host.running import RunningTurn, RunningTurns
from innkeeper.host.views import State, active_turn
from innkeeper.ports.declarations import RequiredServerUnavailable
from innkeeper.protocol.chat.state import Message
from innkeeper.providers.spi import ProviderError

log = logging.getLogger(__name__)


class Steering:
    def __init__(self, core: Core, backings: Backings, requests: Requests, running: RunningTurns) -> None:
        self._core = core
        self._backings = backings
        self._requests = requests
        self._running = running

    def steer(self, chat: str) -> None:
        """Hand the waiting steering messages to the running turn; nothing when none runs."""
        turn, state = self._running.get(chat), self._core.head(chat)
        if turn is None or state is None:
            return
        for waiting in steering(state):
            id, message = waiting["id"], waiting["message"]
            if turn.steered.get(id) != message:
                turn.steered[id] = message
                self._core.spawn(self._steer(turn, id, message), f"steering {id} of {chat}")

    async def _steer(self, turn: RunningTurn, id: str, message: Message) -> None:
        taken = False
        try:
            taken = await self._hand(turn, id, message)
        except (RequiredServerUnavailable, DeclarationsFailed, ProviderError) as error:
            log.warning("steering message %s of %s stays: %s", id, turn.chat, error.__cause__ or error)
        finally:
            if not taken and turn.steered.get(id) is message:
                del turn.steered[id]

    async def _hand(self, turn: RunningTurn, id: str, message: Message) -> bool:
        """Whether the agent has it."""
        await turn.sent.wait()
        agent = self._backings.peek(turn.session)
        if agent is None or active_turn(self._core.head(turn.chat), turn.turn_id) is None:
            return False
        await self._requests.declare(turn.session, turn.turn_id)
        given = await self._requests.attached(turn.session, turn.chat, id, message, sender(message))
        if all((one["id"], one["message"]) != (id, message) for one in steering(self._core.head(turn.chat) or {})):
            return False
        if not (taken := await agent.steer(turn.chat, id, given)):
            log.info("the agent of %s takes no steering message now", turn.session)
        return taken


def steering(chat: State) -> list[State]:
    """The steering messages that wait, oldest first."""
    slot = chat.get("steeringMessage")
    return [*([slot] if slot is not None else []), *(chat.get("steeringMessages") or ())]
