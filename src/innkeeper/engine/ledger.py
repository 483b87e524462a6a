"""Order and durability: numbers, batches, and what may leave (architecture §4, §7; AHP §2.3).

Rules
* Every change is reduced into the head state at once, numbered, and queued. One queue: what is numbered later never
  leaves earlier.
* A client action or a commit of the host waits until its batch is durable. Volatile envelopes (streaming deltas) wait
  only for what is before them, and are logged with the next batch or at a flush.
* No number above the durably reserved mark leaves, so that a restart cannot use it again.
* When a batch fails, what was not released is dropped and the head is the released state again: client actions are
  rejected to their dispatchers, commits that must not be lost (`keep`) are applied again without waiting and logged
  when the log takes them, the others fail.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from innkeeper.engine.channels import Channel, new_channel
from innkeeper.engine.effects import (
    Act,
    Also,
    Append,
    Broadcast,
    CommitFailed,
    Committed,
    Create,
    Delta,
    Drop,
    Effect,
    FlushLater,
    Frame,
    JsonObject,
    Origin,
    Released,
    Send,
)
from innkeeper.engine.entries import ClientAction, Entry, Gone, HostCommit, Note, Numbered
from innkeeper.engine.envelopes import action_frame, encode_envelope
from innkeeper.engine.known import KnownChannel, KnownChannels
from innkeeper.engine.listings import Describe, Listings
from innkeeper.engine.records import DropChannel, Image, PutChannel, PutEnvelope, PutListing, Record, Reserve
from innkeeper.engine.replay import Missed, ReplayWindow
from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.versions import known_at
from innkeeper.reduce import reduce
from innkeeper.wire.json import encode

FLUSH_MS = 50
RETRY_MS = 1000
REST_ENVELOPES = 8
"""A channel that leaves memory with a shorter tail keeps its snapshot, and a longer one that is small beside it too."""
VOLATILE = frozenset(name for name, spec in ACTIONS.items() if spec.volatile)
UNIVERSAL = frozenset(name for name, spec in ACTIONS.items() if spec.capability is None and known_at("0.9.0", name))
"""Action types that every peer knows, whatever it negotiated."""


class LedgerLimits(NamedTuple):
    block: int
    """How many numbers are reserved at a time."""
    fold_envelopes: int
    """A channel's snapshot is replaced after so many envelopes …"""
    replay_envelopes: int
    replay_bytes: int


class Ledger:
    """Channels, numbers, the queue and the replay window of one host. Every method returns effects."""

    def __init__(
        self, image: Image, limits: LedgerLimits, unknown_to: Callable[[int, str], bool] = lambda _c, _t: False
    ) -> None:
        self.channels: dict[str, Channel] = {}
        self.known = KnownChannels((*((c.channel, c.kind, c.owner) for c in image.channels), *image.dormant))
        self.listings = Listings(row for row in image.listed if row.channel in self.known)
        self._describe: Describe | None = None
        self.window = ReplayWindow(
            start=image.window_start,
            envelopes=limits.replay_envelopes,
            size=limits.replay_bytes,
            gaps=image.gaps,
        )
        for stored in image.window:
            self.window.add(Missed(stored.seq, stored.channel, stored.body, None))
        self.last_seq = max(image.last_seq, image.reserved)
        self.released_seq = self.last_seq
        self._limits = limits
        self._unknown_to = unknown_to
        self._reserved = self.last_seq
        self._requested = self.last_seq
        self._queue: deque[Entry] = deque()
        self._unsubmitted: list[Entry] = []
        self._undurable: deque[Entry] = deque()
        self._marks: dict[int, int] = {}
        self._epoch = 0
        self._next_batch = 1
        self._durable_batch = 0
        self._void_below = 0
        self._flush_due = False
        self._releasing = False

    def describe_by(self, describe: Describe) -> None:
        """How a session becomes a row of the list; without it the list is not kept."""
        self._describe = describe

    def is_dormant(self, uri: str) -> bool:
        """Whether the channel is stored and not in memory."""
        return uri in self.known and uri not in self.channels

    # -- accepting -----------------------------------------------------------------------------------------------

    def accept(self, action: ClientAction) -> list[Effect]:
        """Reduce, number and queue an admitted client action; it leaves when it is durable (architecture §3.13)."""
        entry = Entry(action, barrier=True)
        self._act(entry, self.channels[action.channel], action.action, action.origin)
        entry.ops.extend(action.also)
        return self._enqueue(entry)

    def commit(self, commit: HostCommit) -> list[Effect]:
        """One transaction of the host. Raises KeyError for an action on a channel that is not there."""
        volatile = all(isinstance(c, Act) and c.action.get("type") in VOLATILE for c in commit.changes)
        return self._enqueue(self._apply(commit, barrier=not (volatile and commit.token is None)))

    def note(self, effects: Iterable[Effect]) -> list[Effect]:
        """Effects that leave after everything numbered so far."""
        return self._enqueue(Entry(Note(tuple(effects)), barrier=False, seq=self.last_seq))

    def reject(self, connection: int, channel: str, kind: str, action: JsonObject, origin: Origin, why: str) -> Entry:
        """The echo of a refused action: to its dispatcher only (AHP §6, §16).

        It has a number of its own, but not one that would have to wait for a log that takes nothing."""
        seq = self._number() if self.last_seq < self._reserved else self.released_seq
        frame = action_frame(encode_envelope(channel, action, seq, origin, why))
        state = self.channels[channel].state if channel in self.channels else {}
        told = Released(channel, kind, action, seq, origin, state, state, why)
        return Entry(Note((Send(connection, frame), told)), barrier=False, seq=seq)

    def enqueue(self, entry: Entry) -> list[Effect]:
        return self._enqueue(entry)

    def unload(self, uri: str) -> bool:
        """Let a channel go from memory; False while it is in use: subscribed, with anything that is not yet durable, or
        the owner of a channel that is in memory."""
        channel = self.channels.get(uri)
        if channel is None or channel.subscribers or channel.dropped or not channel.visible:
            return False
        if self.is_pending(uri) or any(c in self.channels for c in self.known.owned_by(uri)):
            return False
        del self.channels[uri]
        return True

    def is_pending(self, uri: str) -> bool:
        """Whether anything of the channel has not left, or is not stored."""
        channel = self.channels.get(uri)
        if channel is None:
            return False
        waiting = chain(self._queue, self._unsubmitted, self._undurable)
        return any(step is channel or getattr(step, "channel", None) is channel for e in waiting for step in e.steps)

    def fold(self, uri: str) -> list[Effect]:
        """Replace the stored snapshot of a channel with a tail worth it, so that it comes back by one reading."""
        channel = self.channels.get(uri)
        if channel is None or not channel.visible or channel.dropped or channel.tail_envelopes < REST_ENVELOPES:
            return []
        small = channel.tail_bytes * 16 < channel.snapshot_bytes and channel.tail_envelopes < 8 * REST_ENVELOPES
        return [] if small else self._fold(channel)

    def next_number(self) -> int:
        """A number for an envelope that goes to one connection only (loaded turns)."""
        return self._number()

    def log_only(self, *ops: Record) -> list[Effect]:
        """Rows that need no envelope and may be written a little later (known clients)."""
        entry = Entry(Note(()), barrier=False, seq=self.released_seq, ops=list(ops))
        self._unsubmitted.append(entry)
        self._undurable.append(entry)
        return self._flush_later()

    def _number(self) -> int:
        self.last_seq += 1
        return self.last_seq

    def _act(self, entry: Entry, channel: Channel, action: JsonObject, origin: Origin | None) -> None:
        before = channel.state
        after = reduce(channel.kind, before, action)
        seq = self._number()
        body = encode_envelope(channel.uri, action, seq, origin)
        entry.ops.append(PutEnvelope(seq, channel.uri, body, channel.version))
        entry.steps.append(Numbered(channel, action, seq, origin, before, after, body))
        entry.seq = seq
        channel.state = after
        channel.version = seq
        if after is not before:
            entry.ops.extend(self._listed(channel))

    def _listed(self, channel: Channel) -> tuple[PutListing, ...]:
        """The channel's row in the list of sessions, if it is another one now."""
        if self._describe is None or channel.kind != "session":
            return ()
        row = self._describe(channel.uri, channel.state)
        return (row,) if self.listings.put(row) else ()

    def list_again(self, uri: str) -> list[Effect]:
        """Make the row of a session in memory anew, where it is missing or cannot be read."""
        channel = self.channels.get(uri)
        if channel is None or channel.dropped:
            return []
        self.listings.remove(uri)
        rows = self._listed(channel)
        return self.log_only(*rows) if rows else []

    def _apply(self, commit: HostCommit, *, barrier: bool) -> Entry:
        entry = Entry(commit, barrier, seq=self.last_seq)
        for change in commit.changes:
            match change:
                case Act(uri, action):
                    self._act(entry, self.channels[uri], action, None)
                case Create():
                    self._create(entry, change)
                case Drop():
                    self._drop(entry, change)
                case Also(ops):
                    entry.ops.extend(ops)
        return entry

    def _create(self, entry: Entry, change: Create) -> None:
        if change.channel in self.channels or change.channel in self.known:
            raise KeyError(change.channel)
        channel = new_channel(change.channel, change.kind, change.owner, change.state, self.last_seq, visible=False)
        self.channels[change.channel] = channel
        self.known.add(change.channel, change.kind, change.owner)
        body = encode(change.state)
        channel.snapshot_bytes = len(body)
        entry.ops.append(PutChannel(change.channel, change.kind, change.owner, self.last_seq, body, created=True))
        entry.ops.extend(self._listed(channel))
        entry.steps.append(channel)

    def _drop(self, entry: Entry, change: Drop) -> None:
        members: list[KnownChannel] = []
        rows: list[PutListing] = []
        for uri in self.known.with_owned(change.channel):
            if uri in self.channels:
                self.channels[uri].dropped = True
            if (known := self.known.remove(uri)) is not None:
                members.append(known)
            if (row := self.listings.remove(uri)) is not None:
                rows.append(row)
        entry.ops.append(DropChannel(change.channel))
        entry.steps.append(Gone(tuple(members), tuple(rows)))

    # -- submitting ----------------------------------------------------------------------------------------------

    def _enqueue(self, entry: Entry) -> list[Effect]:
        effects: list[Effect] = []
        self._queue.append(entry)
        if entry.barrier:
            effects.append(self._submit(entry))
        elif entry.ops:
            self._unsubmitted.append(entry)
            effects.extend(self._flush_later())
        elif self.last_seq + self._limits.block // 2 > self._requested:
            effects.append(self._submit(None))
        effects.extend(self._release())
        return effects

    def _submit(self, entry: Entry | None) -> Append:
        batch = self._next_batch
        self._next_batch += 1
        ops: list[Record] = []
        if self.last_seq + self._limits.block // 2 > self._requested:
            self._requested = self.last_seq + self._limits.block
            self._marks[batch] = self._requested
            ops.append(Reserve(self._requested))
        for waiting in self._unsubmitted:
            waiting.batch = batch
            ops.extend(waiting.ops)
        self._unsubmitted = []
        if entry is not None:
            entry.batch = batch
            ops.extend(entry.ops)
        return Append(batch, self._epoch, tuple(ops))

    def _flush_later(self) -> list[Effect]:
        if self._flush_due:
            return []
        self._flush_due = True
        return [FlushLater(FLUSH_MS)]

    def flush(self) -> list[Effect]:
        """Log what waits."""
        self._flush_due = False
        return [self._submit(None)] if self._unsubmitted or self._requested < self.last_seq else []

    def start(self) -> list[Effect]:
        """Reserve the first block of numbers; nothing leaves before that is durable."""
        return [self._submit(None)]

    # -- the log's answers ---------------------------------------------------------------------------------------

    def appended(self, batch: int) -> list[Effect]:
        if batch < self._void_below:
            return []
        self._durable_batch = batch
        self._reserved = max(self._reserved, self._marks.pop(batch, 0))
        while self._undurable and (b := self._undurable[0].batch) is not None and b <= batch:
            self._undurable.popleft()
        return self._release()

    def append_failed(self, batch: int, code: str) -> list[Effect]:
        """Drop what has not left, and put the rest back in order; see the module's last rule."""
        if batch < self._void_below:
            return []
        self._void_below = self._next_batch
        self._durable_batch = max(self._durable_batch, batch - 1)
        self._epoch += 1
        self._requested = self._reserved
        self._marks.clear()
        suffix = list(self._queue)
        self._queue.clear()
        self._unsubmitted = list(self._undurable)
        for entry in self._unsubmitted:
            entry.batch = None
        self._restore_heads(suffix)
        effects: list[Effect] = []
        for entry in suffix:
            effects.extend(self._again(entry, code))
        if self._unsubmitted:
            self._flush_due = True
            effects.append(FlushLater(RETRY_MS))
        return effects

    def _restore_heads(self, suffix: Sequence[Entry]) -> None:
        for entry in suffix:
            for step in entry.steps:
                if isinstance(step, Channel):
                    self.channels.pop(step.uri, None)
                    self.known.remove(step.uri)
                    self.listings.remove(step.uri)
                elif isinstance(step, Gone):
                    self._put_back(step, created=suffix)
        for channel in self.channels.values():
            changed = channel.state is not channel.released
            channel.restore_head()
            if changed:
                self._listed(channel)

    def _put_back(self, gone: Gone, *, created: Sequence[Entry]) -> None:
        """What was dropped is known again, unless it was created by what failed as well."""
        new = {step.uri for entry in created for step in entry.steps if isinstance(step, Channel)}
        for uri, kind, owner in gone.members:
            if uri not in new:
                self.known.add(uri, kind, owner)
        for row in gone.rows:
            if row.channel not in new:
                self.listings.put(row)

    def _again(self, entry: Entry, code: str) -> list[Effect]:
        source = entry.source
        match source:
            case Note():
                self._queue.append(entry)
                return self._release()
            case ClientAction():
                kind = self.channels[source.channel].kind if source.channel in self.channels else ""
                why = f"{code}: the host could not store this action; nothing was changed"
                echo = self.reject(source.connection, source.channel, kind, source.action, source.origin, why)
                self._queue.append(echo)
                return self._release()
            case HostCommit(changes, token, keep):
                if keep and all(not isinstance(c, Act) or c.channel in self.channels for c in changes):
                    again = self._apply(source, barrier=False)
                    self._queue.append(again)
                    self._unsubmitted.append(again)
                    return self._release()
                failed: tuple[Effect, ...] = () if token is None else (CommitFailed(token, code),)
                self._queue.append(Entry(Note(failed), barrier=False, seq=self.last_seq))
                return self._release()

    # -- releasing -----------------------------------------------------------------------------------------------

    def _release(self) -> list[Effect]:
        effects: list[Effect] = []
        while self._queue:
            entry = self._queue[0]
            if entry.seq > self._reserved:
                break
            if entry.barrier and (entry.batch is None or entry.batch > self._durable_batch):
                break
            self._queue.popleft()
            self._leave(entry, effects)
            if entry.seq > self.released_seq:
                self.released_seq = entry.seq
        return effects

    def _leave(self, entry: Entry, effects: list[Effect]) -> None:
        durable = entry.batch is not None and entry.batch <= self._durable_batch
        if entry.ops and not durable:
            self._undurable.append(entry)
        for step in entry.steps:
            if isinstance(step, Numbered):
                self._leave_envelope(step, effects)
            elif isinstance(step, Channel):
                step.visible = True
            else:
                self._leave_drop(step)
        source = entry.source
        if isinstance(source, Note):
            effects.extend(source.effects)
        elif isinstance(source, HostCommit) and source.token is not None:
            effects.append(Committed(source.token))

    def _leave_envelope(self, step: Numbered, effects: list[Effect]) -> None:
        channel = step.channel
        channel.released = step.after
        channel.released_version = step.seq
        self.released_seq = step.seq
        kind_of_action = step.action.get("type", "")
        self.window.add(Missed(step.seq, channel.uri, step.body, kind_of_action))
        if channel.subscribers:
            delta = Delta(channel.uri, step.action, step.seq) if kind_of_action in VOLATILE else None
            self._fan_out(channel, kind_of_action, action_frame(step.body, delta), effects)
        effects.append(Released(channel.uri, channel.kind, step.action, step.seq, step.origin, step.before, step.after))
        channel.tail_bytes += len(step.body)
        channel.tail_envelopes += 1
        if channel.tail_envelopes >= self._limits.fold_envelopes and channel.tail_bytes * 4 >= channel.snapshot_bytes:
            effects.extend(self._fold(channel))

    def _fan_out(self, channel: Channel, kind_of_action: str, frame: Frame, effects: list[Effect]) -> None:
        known = channel.connections()
        if kind_of_action not in UNIVERSAL:
            known = tuple(c for c in known if not self._unknown_to(c, kind_of_action))
        if frame.delta is not None and any(s.delay_ms for s in channel.subscribers.values()):
            effects.extend(Send(c, frame, channel.subscribers[c].delay_ms) for c in known)
        elif known:
            effects.append(Broadcast(known, frame))

    def _fold(self, channel: Channel) -> list[Effect]:
        """Replace the stored snapshot, so that a start reads a short tail."""
        body = encode(channel.released)
        channel.snapshot_bytes = len(body)
        channel.tail_bytes = channel.tail_envelopes = 0
        return self.log_only(
            PutChannel(channel.uri, channel.kind, channel.owner, channel.released_version, body, created=False)
        )

    def _leave_drop(self, gone: Gone) -> None:
        uris = frozenset(member.uri for member in gone.members)
        for uri in uris:
            found = self.channels.get(uri)
            if found is not None and found.dropped:
                del self.channels[uri]
        self.window.forget(uris)
