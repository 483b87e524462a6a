"""One request to an agent, put together stage by stage (architecture §4, M5.3, K19, AHP §9.3).

Rules
* The stages are awaited in order; cancelling the turn ends the one that runs.
* The working directory comes first, and may fail the turn: agent, servers and files are those of it (reference §4.1).
* The files are captured while the other stages go on, and are before the agent may write (reference §5.8).
* The model that the message names and what is attached to it come before servers are started for it. Contributions are
  told the message as it was sent; the agent gets it with its attachments resolved.
* Preparing declarations may fail the turn, also by an exception in it (K19); an outgoing contribution that fails adds
  nothing (K5).
* The context of a side chat is its source's history up to the turn it was opened at, a running one included; a source
  that is gone gives none.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.contributions.dispatch import Dispatcher
from innkeeper.contributions.spi import Addition, OutgoingTurn
from innkeeper.host.asking import Asking
from innkeeper.host.attachments import Attachments
from innkeeper.host.backings import Backings
from innkeeper.host.choosing import check_model, note_agent
from innkeeper.host.core import Core
from innkeeper.host.customizations.handover import Handover
from innkeeper.host.kept import branch, kept
from innkeeper.host.local_commands.words import known_to_agent
from innkeeper.host.views import State, active_turn, effective_values
from innkeeper.ports.changes import TurnCheckpoints
from innkeeper.ports.customizations import Eligible
from innkeeper.ports.declarations import Declarations, RequiredServerUnavailable
from innkeeper.ports.worktrees import WorktreeIsolation
from innkeeper.protocol.chat.state import Message
from innkeeper.providers.spi import Branch, ClientTool, Provider, ProviderError, ProviderSession, TurnRequest
from innkeeper.texts import text


class DeclarationsFailed(Exception):
    """Preparing the declarations raised something that is no answer; its cause says what."""


class Requests:
    """What stands between a turn that was admitted and its agent."""

    def __init__(
        self,
        core: Core,
        backings: Backings,
        handover: Handover,
        declarations: Declarations,
        checkpoints: TurnCheckpoints,
        worktrees: WorktreeIsolation,
        attachments: Attachments,
        providers: Mapping[str, Provider],
    ) -> None:
        self._core = core
        self._attachments = attachments
        self._providers = providers
        self._worktrees = worktrees
        self._checkpoints = checkpoints
        self._backings = backings
        self._handover = handover
        self._declarations = declarations

    async def prepare(self, asking: Asking, hooks: Dispatcher) -> tuple[ProviderSession, TurnRequest]:
        """The agent and what it is asked. Raises ProviderError, RequiredServerUnavailable and DeclarationsFailed."""
        message = asking.message.get("text", "")
        await self._worktrees.prepare(asking.session, asking.chat, asking.turn_id, message)
        agent = await self._backings.get(asking.session)
        self._checkpoints.begin(asking.session, asking.chat, asking.turn_id)
        try:
            sent = await self._message(asking)
            eligible = await self.declare(asking.session, asking.turn_id)
            outgoing = await self._outgoing(asking, hooks)
            request = await self._request(asking, sent, outgoing, eligible)
            await self._checkpoints.ready(asking.session, asking.turn_id)
        except Exception:
            self._checkpoints.abandon(asking.session, asking.chat, asking.turn_id)
            raise
        # The stages before took time, in which somebody may have decided.
        now = self._handover.offered(asking.session, asking.turn_id, eligible)
        return agent, request._replace(customizations=now)

    async def _message(self, asking: Asking) -> Message:
        """The message as the agent gets it. Raises ProviderError: `modelSelectionFailed`, `sendFailed`."""
        session = self._core.head(asking.session) or {}
        check_model(self._providers.get(str(session.get("provider"))), asking.message)
        note_agent(session, asking.message)
        return await self.attached(asking.session, asking.chat, asking.about, asking.message, asking.client)

    async def attached(self, session: str, chat: str, about: str, message: Message, client: str | None) -> Message:
        """The message with what is attached as an agent can use it. Raises ProviderError `sendFailed`."""
        return await self._attachments.resolved(session, chat, about, message, client)

    async def declare(self, session: str, turn_id: str) -> Eligible:
        """The session's declarations are read, its servers are up, as far as they must be (K19), and its agent has what
        may reach it (C6.4), which is returned. Raises ProviderError, RequiredServerUnavailable, DeclarationsFailed."""
        await self._handover.eligible(session)
        try:
            await self._declarations.prepare(session, turn_id)
        except RequiredServerUnavailable:
            raise
        except Exception as error:
            raise DeclarationsFailed from error
        eligible = await self._handover.eligible(session)
        agent = self._backings.peek(session)
        if agent is not None:
            await self._handover.reconcile(session, agent, eligible)
        return eligible

    async def _outgoing(self, asking: Asking, hooks: Dispatcher) -> Addition:
        """Hook call site: `on_outgoing_turn`."""
        text = asking.message.get("text", "")
        return await hooks.outgoing(OutgoingTurn(asking.session, asking.chat, asking.turn_id, asking.message, text))

    async def _request(self, asking: Asking, message: Message, outgoing: Addition, eligible: Eligible) -> TurnRequest:
        session, chat = self._core.head(asking.session), self._core.head(asking.chat)
        if session is None or chat is None:
            raise ProviderError("sessionGone", text("turn.sessionGone"))
        given = asking.message.get("text", "")
        return TurnRequest(
            session=asking.session,
            chat=asking.chat,
            turn_id=asking.turn_id,
            message=message,
            text=given if outgoing.text is None else outgoing.text,
            instructions=outgoing.instructions,
            history=known_to_agent(chat.get("turns") or ()),
            context=await self._context(chat),
            config=effective_values(session, asking.chat),
            customizations=eligible,
            resumed=asking.resumed,
            backing=kept(session, asking.chat),
            branch=await self._branch(session, chat),
            client_tools=self._client_tools(session),
            client=asking.client,
        )

    def _client_tools(self, session: State) -> Sequence[ClientTool]:
        active: Sequence[State] = session.get("activeClients") or ()
        return tuple(ClientTool(one["clientId"], tool) for one in active for tool in one.get("tools") or ())

    async def _branch(self, session: State, chat: State) -> Branch | None:
        origin: Mapping[str, Any] = chat.get("origin") or {}
        if origin.get("kind") not in ("fork", "sideChat"):
            return None
        return branch(session, chat, await self._core.load(str(origin.get("chat"))))

    async def _context(self, chat: State) -> Sequence[Any]:
        origin: Mapping[str, Any] = chat.get("origin") or {}
        if origin.get("kind") != "sideChat":
            return ()
        source = await self._core.load(str(origin.get("chat")))
        return () if source is None else known_to_agent(turns_up_to(source, str(origin.get("turnId"))))


def turns_up_to(chat: State, turn_id: str) -> tuple[Any, ...]:
    """The turns of a chat up to and including `turn_id`, a running one as it is now; empty when it is not there."""
    turns = tuple(chat.get("turns") or ())
    for index, turn in enumerate(turns):
        if turn.get("id") == turn_id:
            return turns[: index + 1]
    active = active_turn(chat, turn_id)
    return (*turns, {**active, "state": "complete"}) if active is not None else ()
