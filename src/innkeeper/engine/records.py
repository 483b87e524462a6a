"""What the engine hands to the log, and what it is started from (architecture §7). `ports.log` says what a log
guarantees of them.
"""

from dataclasses import dataclass
from typing import NamedTuple


class PutEnvelope(NamedTuple):
    """One numbered action of a channel; `body` is the encoded AHP `ActionEnvelope` (JSON object bytes)."""

    seq: int
    channel: str
    body: bytes
    expected: int
    """The channel's version before this envelope: the seq of its last envelope, or of its creation."""


class PutChannel(NamedTuple):
    """A channel is created, or its snapshot replaced; `state` is the encoded state as of `seq`."""

    channel: str
    kind: str
    owner: str | None
    """The channel that it goes with when that is dropped: a session for its chats; None for the root and sessions."""
    seq: int
    """Of a new channel: its first version. Of a snapshot: one of an envelope in it, at most the channel's version."""
    state: bytes
    created: bool
    """True: the channel must not exist yet, its owner must. False replaces the snapshot (`kind` and `owner` stay);
    one of a channel that is gone is passed over, since a drop may overtake it, an older one is a `StaleWriter`."""


class DropChannel(NamedTuple):
    """The channel, its envelopes and every channel that it owns are gone, for good; already true when there is none."""

    channel: str


class Reserve(NamedTuple):
    """Numbers up to and including `mark` may be used from when this is durable."""

    mark: int


class PutClient(NamedTuple):
    """What must be known of a client to answer its `reconnect` after a restart (AHP §2.4)."""

    client_id: str
    protocol_version: str
    capabilities: bytes
    """Encoded JSON object: the `capabilities` it declared, and under an own key the `locale`."""


class PutListing(NamedTuple):
    """What the list of sessions shows of one, so that a start needs no state. Replaced as a whole; gone with its
    channel, and passed over for one that is gone."""

    channel: str
    modified: float
    """Of the latest change, in seconds since the epoch: the order of the list."""
    unfinished: bool
    """Something of the session was at work: the next process has to put it right before anybody sees it."""
    summary: bytes
    """The encoded AHP `SessionSummary`."""


class Row:
    """Base of the rows that the host stores together with an envelope; the engine hands them on unread (C8.1)."""

    __slots__ = ()


Record = PutEnvelope | PutChannel | DropChannel | Reserve | PutClient | PutListing | Row


class StoredEnvelope(NamedTuple):
    seq: int
    channel: str
    body: bytes


class StoredChannel(NamedTuple):
    """A channel as stored: `state` as of `snapshot_seq`; the envelopes after it are its tail."""

    channel: str
    kind: str
    owner: str | None
    snapshot_seq: int
    version: int
    state: bytes
    tail: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """What an engine is started from. `gaps` are the ranges (first, last) of numbers that may have left an earlier
    process without being stored: a client whose last seen number lies in one gets a snapshot (architecture §7)."""

    last_seq: int = 0
    """The greatest number that is stored, or that a clean end named."""
    reserved: int = 0
    """No number up to this one may be used again."""
    channels: tuple[StoredChannel, ...] = ()
    """The root channel, with its tail. Every other one is read when it is first needed."""
    dormant: tuple[tuple[str, str, str | None], ...] = ()
    """(channel, kind, owner) of every channel that is not in `channels`, in order of creation."""
    listed: tuple[PutListing, ...] = ()
    """The stored rows of the list of sessions; a session may have none yet."""
    window: tuple[StoredEnvelope, ...] = ()
    """The newest stored envelopes, oldest first, within the replay limits."""
    window_start: int = 0
    """Every stored envelope with a greater number is in `window`."""
    gaps: tuple[tuple[int, int], ...] = ()
    clients: tuple[PutClient, ...] = ()
