"""Where a chat stands in the agent's own conversation: what the provider keeps of it (K14, K17, AHP §9.3).

Rules
* A backing is the agent's id of the conversation and, for each turn, the event that began it there: the agent is taken
  back to just before one, and copies a conversation up to just before one.
* The log is the truth: where the agent knows turns that the chat has not any more, it is taken back; where it does not
  know the conversation any more, a new one is begun and told what was said.
* Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from innkeeper.protocol.chat.state import Turn
from innkeeper.providers.spi import Backing, Branch

POINTS: Final = 120
"""Turns whose place is kept: what a client can take a chat back to without loss."""


@dataclass(frozen=True, slots=True)
class Place:
    """A backing, read."""

    conversation: str
    points: tuple[tuple[str, str], ...] = ()
    """The id of a turn, and the event that began it."""
    transcript: str | None = None
    """A folder of the person's that this conversation is adopted from; nothing of it has been copied yet."""

    def backing(self) -> Backing:
        kept: dict[str, object] = {
            "conversation": self.conversation,
            "points": [list(point) for point in self.points[-POINTS:]],
        }
        return kept | ({"transcript": self.transcript} if self.transcript is not None else {})

    def began(self, turn_id: str, event: str) -> "Place":
        return replace(self, points=(*(point for point in self.points if point[0] != turn_id), (turn_id, event)))

    def has(self, turn_id: str) -> bool:
        return any(point[0] == turn_id for point in self.points)


def place(backing: Backing | None) -> Place | None:
    """None for what is no backing of ours."""
    if backing is None or not isinstance(backing.get("conversation"), str):
        return None
    given: Mapping[str, Any] = backing
    points = tuple((str(point[0]), str(point[1])) for point in given.get("points") or () if len(point) == 2)
    return Place(given["conversation"], points, given.get("transcript"))


@dataclass(frozen=True, slots=True)
class Copy:
    """A conversation of the agent's to copy, up to just before the event `until`; None is all of it."""

    conversation: str
    until: str | None
    points: tuple[tuple[str, str], ...]
    """The places of the turns that come with it, by the ids that they have in the new chat."""


def copied(branch: Branch | None, history: Sequence[Turn]) -> Copy | None:
    """What a fork or side chat begins with; None where that is not known any more."""
    source = place(branch.backing) if branch is not None else None
    ids = [id for id, _ in source.points] if source is not None else []
    if branch is None or source is None or source.transcript is not None or branch.turn_id not in ids:
        return None
    shared = ids.index(branch.turn_id) + 1
    until = source.points[shared][1] if shared < len(source.points) else None
    events = [event for _, event in source.points[:shared]]
    mine = tuple((turn["id"], event) for turn, event in zip(reversed(history), reversed(events), strict=False))
    return Copy(source.conversation, until, tuple(reversed(mine)))


def taken_back(known: Place, history: Sequence[Turn], turn_id: str) -> tuple[Place, str | None]:
    """Where the chat has to stand, and the event that the agent has to be taken back to, if any."""
    ids = {turn["id"] for turn in history} | {turn_id}
    for index, (id, event) in enumerate(known.points):
        if id not in ids:
            return replace(known, points=known.points[:index]), event
    return known, None
