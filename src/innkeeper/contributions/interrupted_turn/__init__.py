"""A turn that nobody ended does not look complete (K14).

Rules
* Turns of this host are ended by the host when it starts again, because state says which one ran. A transcript does
  not: its last turn, when it has no end, or one of its calls has none, is shown as interrupted.
* Only the last turn, and only once: a turn that has an error already keeps it.
"""

from collections.abc import Sequence
from typing import Any, Final

from innkeeper.contributions.spi import Context, Contribution, Hydration, Turn
from innkeeper.texts import text

ENDED: Final = frozenset({"complete", "cancelled", "error"})
OPEN_CALLS: Final = frozenset({"streaming", "running", "pending-confirmation", "pending-result-confirmation"})


class InterruptedTurn(Contribution):
    """`interruptedTurn`."""

    id = "interruptedTurn"
    order = 110

    def __init__(self, context: Context) -> None:
        self._context = context

    def on_hydrate_turns(self, of: Hydration, turns: Sequence[Turn]) -> Sequence[Turn]:
        if not turns or not _open(turns[-1]):
            return turns
        return [*turns[:-1], _interrupted(turns[-1])]


def _open(turn: Turn) -> bool:
    last: Any = turn
    if last.get("state") not in ENDED:
        return True
    calls = (part["toolCall"] for part in last.get("responseParts") or () if part.get("kind") == "toolCall")
    return last["state"] == "complete" and any(call.get("status") in OPEN_CALLS for call in calls)


def _interrupted(turn: Turn) -> Turn:
    error = {"errorType": "executionInterrupted", "message": text("error.executionInterrupted.meaning")}
    whole: Any = {
        **turn,
        "state": "error",
        "responseParts": [*(turn.get("responseParts") or ()), {"kind": "error", "error": error}],
    }
    interrupted: Turn = whole
    return interrupted
