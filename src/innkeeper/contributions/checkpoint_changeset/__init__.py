"""The end of a turn becomes a checkpoint, and what it changed is shown (reference §3.6, C9-C12).

Rules
* A turn that succeeded, or failed for good, is captured; one that was cancelled has no checkpoint; one that may be
  resumed stays open. The changesets are computed in each case, because files may have changed in each.
* Comes before whatever starts the next turn, so that this turn's end is captured before the next one's start.
* A subagent's turn is part of the one that spawned it; one that was refused has done nothing.
"""

from innkeeper.contributions.spi import Context, Contribution, TurnEnd
from innkeeper.ports.changes import TurnChanges


class CheckpointChangeset(Contribution):
    """`checkpointAndChangeset`."""

    id = "checkpointAndChangeset"
    order = 100

    def __init__(self, context: Context, changes: TurnChanges) -> None:
        self._changes = changes

    def on_turn_end(self, end: TurnEnd) -> None:
        if end.subagent or end.reason.kind == "rejected":
            return
        reason = end.reason
        self._changes.turn_ended(end.session, end.chat, end.turn_id, reason.kind, resumable=reason.resumable)
