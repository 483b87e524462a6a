"""A session in which an agent's turn has ended is unread again (AHP §9.1).

Rules
* A cancelled turn and an error count, also a resumable one; a local command and a refused turn do not, and neither does
  a subagent's, whose parent goes on.
"""

from innkeeper.contributions.spi import Context, Contribution, TurnEnd
from innkeeper.ports.contributed import Channels
from innkeeper.protocol.status import IS_READ


class MarkUnread(Contribution):
    """`markUnread`."""

    id = "markUnread"
    order = 500

    def __init__(self, context: Context, channels: Channels) -> None:
        self._channels = channels

    def on_turn_end(self, end: TurnEnd) -> None:
        if end.reason.kind in ("localCommand", "rejected") or end.subagent:
            return
        state = self._channels.head(end.session)
        if state is not None and int(state.get("status") or 0) & IS_READ:
            self._channels.dispatch(end.session, {"type": "session/isReadChanged", "isRead": False})
