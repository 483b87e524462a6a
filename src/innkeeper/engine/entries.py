"""What the ledger keeps of a change from its acceptance to its release: values without behaviour."""

from dataclasses import dataclass, field
from typing import NamedTuple

from innkeeper.engine.channels import Channel
from innkeeper.engine.effects import Change, Effect, JsonObject, Origin
from innkeeper.engine.known import KnownChannel
from innkeeper.engine.records import PutListing, Record


class ClientAction(NamedTuple):
    """An admitted action of a client; `also` are rows of the same transaction."""

    connection: int
    channel: str
    action: JsonObject
    origin: Origin
    also: tuple[Record, ...] = ()


class HostCommit(NamedTuple):
    changes: tuple[Change, ...]
    token: int | None
    keep: bool


class Note(NamedTuple):
    """Effects that wait their turn in the queue: replies, rejections, notifications."""

    effects: tuple[Effect, ...]


class Numbered(NamedTuple):
    channel: Channel
    action: JsonObject
    seq: int
    origin: Origin | None
    before: JsonObject
    after: JsonObject
    body: bytes


class Gone(NamedTuple):
    """A dropped channel with all that went with it, and the rows that the list of sessions had of them."""

    members: tuple[KnownChannel, ...]
    rows: tuple[PutListing, ...]


@dataclass(slots=True)
class Entry:
    """One unit of the queue: it is released as a whole, or not at all."""

    source: ClientAction | HostCommit | Note
    barrier: bool
    seq: int = 0
    batch: int | None = None
    ops: list[Record] = field(default_factory=list)
    steps: list[Numbered | Channel | Gone] = field(default_factory=list)
    """What is released, in order: an envelope, a created channel, a drop."""
