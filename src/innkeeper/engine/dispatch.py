"""A client's `dispatchAction`, from the door to the queue (AHP §6, §9.9).

Rules
* An unknown channel is ignored silently; everything else is answered by an echo, of the action or of its rejection.
* The dispatcher is the only one that sees a rejection: official client libraries apply what they are sent.
* The host may hold an action; it is then answered when the host knows, and the ones after it are not kept waiting.
* Applied once per `(clientId, clientSeq)`; a repeated one is not applied again, its dispatcher gets the first echo.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

from innkeeper.engine.admission import Context, refuse
from innkeeper.engine.channels import Channel
from innkeeper.engine.clients import Client, Connection, digest
from innkeeper.engine.effects import Admission, Admit, Effect, Hold, JsonObject, Origin, Refuse, Send
from innkeeper.engine.entries import ClientAction
from innkeeper.engine.envelopes import action_frame
from innkeeper.engine.ledger import Ledger
from innkeeper.engine.tolerance import complete_action
from innkeeper.engine.turns import load_turns_back_to
from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.check import CheckError, check_action
from innkeeper.protocol.uris import ROOT

Ask = Callable[[str, str, JsonObject, str, str], Admission]
UNREADABLE = "this conversation cannot be read from the store now; the host's log says why"
_SHOWN = re.compile(r"[^A-Za-z0-9/_.-]")


class Dispatching:
    def __init__(self, ledger: Ledger, admit: Ask) -> None:
        self._ledger = ledger
        self._admit = admit
        self._held: dict[str, _Dispatched] = {}

    def dispatch(self, peer: Connection, client: Client, params: JsonObject, now: str) -> list[Effect]:
        uri, action, client_seq = params.get("channel"), params.get("action"), params.get("clientSeq")
        if not isinstance(uri, str) or not isinstance(action, dict) or not is_count(client_seq):
            return []
        channel = self._ledger.channels.get(uri)
        origin = Origin(client.client_id, client_seq)
        if channel is None and (kind := self._ledger.known.kind(uri)) is not None:
            return self._ledger.enqueue(self._ledger.reject(peer.id, uri, kind, action, origin, UNREADABLE))
        if channel is None or channel.dropped or not channel.visible:
            return []
        content = digest(uri, action)
        if (applied := client.applied_as(origin.client_seq, content)) is not None:
            return self._applied_before(peer, channel, action, origin, applied)
        action = complete_action(action, channel.state, now)
        why = self._refuse_shape(peer, channel, action)
        if why is None:
            why = refuse(channel.kind, channel.state, action, self._context(channel, client))
        if why is not None:
            return self._reject(peer, channel, action, origin, why)
        admission = self._admit(uri, channel.kind, action, client.client_id, now)
        dispatched = _Dispatched(peer, client, channel, action, origin, content)
        if isinstance(admission, Hold):
            self._held[admission.ticket] = dispatched
            return []
        return self._answer(dispatched, admission)

    def settle(self, ticket: str, answer: Admit | Refuse) -> list[Effect]:
        """The answer to an action that was held; nothing when its channel has gone meanwhile."""
        dispatched = self._held.pop(ticket, None)
        if dispatched is None or dispatched.channel.dropped:
            return []
        return self._answer(dispatched, answer)

    def holds(self, uri: str) -> bool:
        """Whether an action on the channel waits for the host's answer."""
        return any(held.channel.uri == uri for held in self._held.values())

    def _answer(self, dispatched: "_Dispatched", answer: Admit | Refuse) -> list[Effect]:
        peer, client, channel, action, origin, content = dispatched
        if isinstance(answer, Refuse):
            return self._reject(peer, channel, action, origin, answer.reason)
        effects: list[Effect] = []
        if answer.action["type"] == "chat/truncated" and (turn_id := answer.action.get("turnId")):
            effects.extend(load_turns_back_to(self._ledger, channel, turn_id))
        accepted = ClientAction(peer.id, channel.uri, answer.action, origin, answer.also)
        effects.extend(self._ledger.accept(accepted))
        client.remember(origin.client_seq, content, self._ledger.last_seq)
        return effects

    def _applied_before(
        self, peer: Connection, channel: Channel, action: JsonObject, origin: Origin, seq: int
    ) -> list[Effect]:
        """The first echo once more, with its own number; a rejection when it is too old to be here."""
        body = self._ledger.window.body(seq)
        if body is None:
            return self._reject(peer, channel, action, origin, "this action was applied before")
        return self._ledger.note([Send(peer.id, action_frame(body))])

    def _refuse_shape(self, peer: Connection, channel: Channel, action: JsonObject) -> str | None:
        name = action.get("type")
        spec = ACTIONS.get(name) if isinstance(name, str) else None
        if spec is None:
            return f"unknown action {_shown(name)}"
        if spec.channel != channel.kind:
            return f"{name} does not belong on a {channel.kind} channel"
        if not spec.client_dispatchable:
            return f"{name} is dispatched by the host only"
        if name in peer.unknown_types:
            return f"{name} was not negotiated"
        try:
            check_action(action)
        except CheckError as error:
            return str(error)
        return None

    def _context(self, channel: Channel, client: Client) -> Context:
        session = channel if channel.kind == "session" else self._ledger.channels.get(channel.owner or "")
        if session is None:
            return Context(client.client_id)
        root = self._ledger.channels.get(ROOT)
        agents: list[Any] = (root.state.get("agents") if root is not None else None) or []
        provider = session.state.get("provider")
        agent: JsonObject = next((a for a in agents if a.get("provider") == provider), {})
        return Context(client.client_id, session.state, agent)

    def _reject(self, peer: Connection, channel: Channel, action: JsonObject, origin: Origin, why: str) -> list[Effect]:
        return self._ledger.enqueue(self._ledger.reject(peer.id, channel.uri, channel.kind, action, origin, why))


class _Dispatched(NamedTuple):
    """An action whose answer is the host's."""

    peer: Connection
    client: Client
    channel: Channel
    action: JsonObject
    origin: Origin
    content: Any


def is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shown(name: object) -> str:
    """A type name as it may stand in a message: short, and nothing but its usual characters."""
    return _SHOWN.sub("?", str(name))[:80]
