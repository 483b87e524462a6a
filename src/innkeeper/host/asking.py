"""A turn that is about to run, and who sent it (K14).

Rules
* The client that sent a message is kept with it, in `_meta[SENDER]`: so it survives a restart, in the queue and in a
  draft too, and a drained message has its sender, not the client that happened to be there.
* The host writes it when it admits the action; what a client puts there itself is replaced.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.protocol.chat.state import Message

SENDER: Final = "x-innkeeper/sender"
QUEUED: Final = "x-innkeeper/queued"
"""The id that a message with attachments had in the queue: by it a resumed turn finds what was kept of them."""


@dataclass(frozen=True, slots=True)
class Asking:
    """`queued` is the id that the message had in the queue."""

    session: str
    chat: str
    turn_id: str
    message: Message
    resumed: bool
    client: str | None = None
    queued: str | None = None

    @property
    def about(self) -> str:
        """What names the message in its chat for good: its id in the queue where it had one, else its turn's."""
        return self.queued or str((self.message.get("_meta") or {}).get(QUEUED) or self.turn_id)


def drained(message: Message, queued: str | None) -> Message:
    """The message as it leaves the queue."""
    if queued is None or not message.get("attachments"):
        return message
    return {**message, "_meta": {**(message.get("_meta") or {}), QUEUED: queued}}


def sender(message: Mapping[str, Any] | None) -> str | None:
    """The client that sent the message; None for one of the host's own, or of before senders were kept."""
    found = ((message or {}).get("_meta") or {}).get(SENDER)
    return found if isinstance(found, str) else None


def sent_by(message: Mapping[str, Any], client_id: str) -> dict[str, Any]:
    """The message with its sender, and without what the host wrote into the one that it may be a copy of."""
    given = {name: value for name, value in (message.get("_meta") or {}).items() if name != QUEUED}
    return {**message, "_meta": {**given, SENDER: client_id}}


def signed(action: Mapping[str, Any], client_id: str) -> Mapping[str, Any]:
    """The action with the sender in the message that it carries, if it carries one."""
    if (waiting := action.get("steeringMessage")) is not None:
        return {**action, "steeringMessage": {**waiting, "message": sent_by(waiting["message"], client_id)}}
    name = "draft" if action["type"] == "chat/draftChanged" else "message"
    message = action.get(name)
    return action if message is None else {**action, name: sent_by(message, client_id)}
