"""Where a chat stands in the agent's own conversation: what the provider keeps of it (K14, K17, AHP §9.3).

Rules
* A backing is the agent's id of the conversation, the place it began at where it is a branch, and for each turn its
  last message, by which the agent can be taken back there.
* The log is the truth: where the agent knows turns that the chat has not any more, it is taken back to the last that
  both have; where that place is not known, a new conversation is begun and told what was said.
* Pure.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from innkeeper.protocol.chat.state import Turn
from innkeeper.providers.spi import Backing, Branch

POINTS: Final = 120
"""Turns whose place is kept: what a client can take a chat back to without loss."""

_NAMESPACE: Final = uuid.UUID("6f0c2a52-9c1b-4f39-8c0d-2d4f1f0a7b11")


def uuid_of(id: str) -> str:
    """The agent's id for a message of ours, always the same: it takes UUIDs only."""
    return str(uuid.uuid5(_NAMESPACE, id))


@dataclass(frozen=True, slots=True)
class Place:
    """A backing, read."""

    conversation: str
    points: tuple[tuple[str, str], ...] = ()
    base: str | None = None
    told: tuple[str, ...] = ()
    """Marks of the instructions that the conversation has."""
    transcript: str | None = None
    """A file of the person's that this conversation is adopted from; nothing of it has been copied yet."""

    def backing(self) -> Backing:
        kept: dict[str, object] = {
            "conversation": self.conversation,
            "points": [list(point) for point in self.points[-POINTS:]],
            "told": list(self.told[-POINTS:]),
        }
        more = {"base": self.base, "transcript": self.transcript}
        return kept | {name: value for name, value in more.items() if value is not None}

    def at(self, conversation: str | None) -> "Place":
        """The agent has begun another conversation by itself, as with its command `/clear`."""
        if conversation is None or conversation == self.conversation:
            return self
        return Place(conversation, told=())

    def reached(self, turn_id: str, leaf: str | None) -> "Place":
        """After a turn."""
        if leaf is None:
            return self
        kept = tuple(point for point in self.points if point[0] != turn_id)
        return replace(self, points=(*kept, (turn_id, leaf)))


def place(backing: Backing | None) -> Place | None:
    """None for what is no backing of ours."""
    if backing is None or not isinstance(backing.get("conversation"), str):
        return None
    given: Mapping[str, Any] = backing
    points = tuple((str(point[0]), str(point[1])) for point in given.get("points") or () if len(point) == 2)
    told = tuple(map(str, given.get("told") or ()))
    return Place(given["conversation"], points, given.get("base"), told, given.get("transcript"))


@dataclass(frozen=True, slots=True)
class Start:
    """How the agent is started for a turn: a new conversation, or one that goes on, from `at` where that is given, and
    under a new id where it is a `fork`. `transcript` is a file of the person's to be copied first. `tell` says that the
    agent knows nothing of what was said before."""

    place: Place
    resume: str | None = None
    at: str | None = None
    fork: bool = False
    transcript: str | None = None
    tell: bool = False


def start(
    known: Place | None, branch: Branch | None, history: Sequence[Turn], turn_id: str, fresh: str
) -> Start | None:
    """How the agent must be started for the turn; None: it stands where it has to. `fresh` is an unused id."""
    if known is None:
        return _begun(branch, history, fresh)
    ids = {turn["id"] for turn in history} | {turn_id}
    kept = 0
    while kept < len(known.points) and known.points[kept][0] in ids:
        kept += 1
    at = known.points[kept - 1][1] if kept else known.base
    if known.transcript is not None and at is not None:
        mine = replace(known, conversation=fresh, points=known.points[:kept], base=at, transcript=None)
        return Start(mine, known.conversation, at, fork=True, transcript=known.transcript)
    if kept == len(known.points):
        return None
    if at is None:
        return Start(Place(fresh), tell=bool(history))
    return Start(replace(known, points=known.points[:kept]), known.conversation, at)


def _begun(branch: Branch | None, history: Sequence[Turn], fresh: str) -> Start:
    source = place(branch.backing) if branch is not None else None
    ids = [id for id, _ in source.points] if source is not None else []
    if branch is None or source is None or branch.turn_id not in ids:
        return Start(Place(fresh), tell=True)
    shared = source.points[: ids.index(branch.turn_id) + 1]
    mine = tuple((turn["id"], point) for turn, (_, point) in zip(reversed(history), reversed(shared), strict=False))
    base = None if history else shared[-1][1]  # a side chat never loses what it came from; a fork that is cleared does
    begun = Place(fresh, tuple(reversed(mine)), base, source.told)
    return Start(begun, source.conversation, shared[-1][1], fork=True)
