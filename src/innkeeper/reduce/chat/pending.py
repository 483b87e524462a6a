"""Messages that wait: the steering slot, the list of steering messages (1.1), the queue (AHP §9.7, §12.1).

The three are independent; `chat/pendingMessageSet` with kind `steering` only ever means the slot.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from innkeeper.protocol.chat.actions import ChatPendingMessageRemovedAction, ChatPendingMessageSetAction
from innkeeper.reduce.fields import drop, put, same_items, upsert

C = TypeVar("C", bound=Mapping[str, Any])


def message_set(state: C, action: ChatPendingMessageSetAction) -> C:
    """Fill the steering slot, or write one entry of the queue."""
    entry = {"id": action["id"], "message": action["message"]}
    if action["kind"] == "steering":
        return put(state, "steeringMessage", entry)
    return upsert(state, "queuedMessages", entry)


def message_removed(state: C, action: ChatPendingMessageRemovedAction) -> C:
    """Clear the steering slot if it holds that id, or remove one entry of the queue."""
    if action["kind"] == "steering":
        return _slot_cleared(state, action["id"])
    return drop(state, "queuedMessages", action["id"], keep_empty=False)


def consumed(state: C, message_id: str | None) -> C:
    """`state` without the pending message a turn was started from, wherever it waited."""
    if message_id is None:
        return state
    rest = drop(_slot_cleared(state, message_id), "steeringMessages", message_id, keep_empty=False)
    return drop(rest, "queuedMessages", message_id, keep_empty=False)


def reordered(state: C, order: Sequence[str]) -> C:
    """Bring the queue into `order`; unknown ids are ignored, messages it does not name follow in their old order."""
    queue: Sequence[Mapping[str, Any]] = state.get("queuedMessages") or ()
    by_id = {message.get("id"): message for message in queue}
    named = [by_id[message_id] for message_id in dict.fromkeys(order) if message_id in by_id]
    rest = [message for message in queue if message.get("id") not in order]
    changed = [*named, *rest]
    return state if same_items(changed, queue) else put(state, "queuedMessages", changed)


def _slot_cleared(state: C, message_id: str) -> C:
    slot: Mapping[str, Any] | None = state.get("steeringMessage")
    return put(state, "steeringMessage", None) if slot is not None and slot.get("id") == message_id else state
