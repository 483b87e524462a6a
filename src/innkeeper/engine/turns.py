"""Older turns of a chat on request (AHP §4 `fetchTurns`, §9.3).

Rules
* `chat/turnsLoaded` goes out before the answer, to the connection that asked alone: others hold other turns. It has a
  number of its own and is not logged, because it changes no state of the host.
"""

from innkeeper.engine.channels import Channel, page_before
from innkeeper.engine.effects import Effect, JsonObject, Send
from innkeeper.engine.envelopes import action_frame, encode_envelope
from innkeeper.engine.ledger import Ledger
from innkeeper.protocol.errors import INVALID_PARAMS, RpcError


def fetch_turns(ledger: Ledger, connection: int, channel: Channel, cursor: str | None, count: int) -> list[Effect]:
    """Raises RpcError for a cursor that names no turn of the chat."""
    subscription = channel.subscribers.get(connection)
    if cursor is None and subscription is not None and subscription.loaded_from:
        cursor = "before:" + subscription.loaded_from
    page = page_before(channel.released, cursor, count)
    if page is None:
        raise RpcError(INVALID_PARAMS, "cursor: names no turn of this chat")
    turns, following = page
    if subscription is not None and turns:
        subscription.loaded_from = turns[0]["id"]
        subscription.limited = following is not None
    return _load(ledger, connection, channel, turns, following)


def load_turns_back_to(ledger: Ledger, channel: Channel, turn_id: str) -> list[Effect]:
    """Give every connection with a limited view the turns from `turn_id` on, before an action refers to that turn."""
    effects: list[Effect] = []
    turns = channel.state.get("turns") or []
    index = next((i for i, turn in enumerate(turns) if turn.get("id") == turn_id), None)
    if index is None:
        return effects
    for connection, subscription in channel.subscribers.items():
        if not subscription.limited:
            continue
        first = next((i for i, turn in enumerate(turns) if turn.get("id") == subscription.loaded_from), len(turns))
        if first <= index:
            continue
        subscription.loaded_from = turn_id
        subscription.limited = index > 0
        following = "before:" + turn_id if index > 0 else None
        effects.extend(_load(ledger, connection, channel, turns[index:first], following))
    return effects


def _load(
    ledger: Ledger, connection: int, channel: Channel, turns: list[JsonObject], following: str | None
) -> list[Effect]:
    action: dict[str, object] = {"type": "chat/turnsLoaded", "turns": turns}
    if following is not None:
        action["turnsNextCursor"] = following
    body = encode_envelope(channel.uri, action, ledger.next_number(), None)
    return ledger.note([Send(connection, action_frame(body))])
