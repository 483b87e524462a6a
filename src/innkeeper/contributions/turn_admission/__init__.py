"""Conversations that take no messages refuse their turns (K2, K13).

Rules
* Derived from state each time: out of the archive again, the next turn passes.
* Comes after local commands, of which some may run here.
"""

from innkeeper.contributions.spi import Context, Contribution, IncomingRequest, Reject
from innkeeper.ports.contributed import Channels
from innkeeper.protocol.status import is_archived
from innkeeper.texts import text


class TurnAdmission(Contribution):
    """`turnAdmission`."""

    id = "turnAdmission"
    order = 100

    def __init__(self, context: Context, channels: Channels) -> None:
        self._channels = channels

    def on_incoming_request(self, request: IncomingRequest) -> Reject | None:
        chat = self._channels.head(request.chat) or {}
        session = self._channels.head(request.session) or {}
        if is_archived(session, chat):
            return _refused("archived")
        if chat.get("interactivity", "full") != "full":
            return _refused("readOnly")
        return None


def _refused(error_type: str) -> Reject:
    return Reject({"errorType": error_type, "message": text(f"error.{error_type}.meaning")})
