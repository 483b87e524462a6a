"""The client's copy of the host's channels, without any I/O (AHP §2.3, §2.4, §6).

Rules
* A channel has a confirmed state and the actions of this client that the host has not answered, in order. What is
  shown is the confirmed state with those actions applied on top; it is computed again whenever either changes.
* An own echo takes its action from the pending ones and is applied to the confirmed state. A rejection takes it away
  and changes nothing; `rejectionReason` is looked at first, since a rejected action must never be applied.
* Numbers decide: what a snapshot or an earlier envelope already contains is not applied twice, and envelopes that come
  before their snapshot wait for it.
* After a connection was lost the pending actions are sent again under the same `clientSeq`; the host takes each once.
* Methods return what happened, in order. Nothing here waits, reads a clock or draws a number.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.client.events import (
    ActionApplied,
    ActionRejected,
    Applied,
    Change,
    ChannelGone,
    JsonObject,
    Rejected,
    Settled,
    StateReplaced,
    Unconfirmed,
)
from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.channels import ChannelKind
from innkeeper.reduce import reduce

Reducer = Callable[[ChannelKind, JsonObject, JsonObject], JsonObject]

ROOT: Final = "ahp-root://"
EARLY_ENVELOPES: Final = 10_000
"""How many envelopes of one channel may wait for its snapshot; more than that the snapshot will contain."""

_SHAPES: tuple[tuple[frozenset[str], ChannelKind], ...] = (
    (frozenset({"lifecycle", "activeClients", "chats"}), "session"),
    (frozenset({"turns"}), "chat"),
    (frozenset({"content", "claim"}), "terminal"),
    (frozenset({"status", "files"}), "changeset"),
    (frozenset({"root", "recursive"}), "resourceWatch"),
    (frozenset({"annotations"}), "annotations"),
    (frozenset({"canvasId"}), "canvas"),
    (frozenset({"lifecycle", "automation", "sessions"}), "automationRun"),
    (frozenset({"entries"}), "automations"),
    (frozenset({"agents"}), "root"),
)


def kind_of(state: JsonObject) -> ChannelKind | None:
    """The kind of channel that a state belongs to, by its required members: no URI says it (AHP §3)."""
    return next((kind for shape, kind in _SHAPES if shape <= state.keys()), None)


@dataclass(frozen=True, slots=True)
class Pending:
    """An action that was dispatched and not answered."""

    channel: str
    client_seq: int
    action: JsonObject


class ChannelMirror:
    """One channel as this client knows it. `state` is what to show; both states are None before the first snapshot."""

    def __init__(self, uri: str, client_id: str, reducer: Reducer = reduce) -> None:
        self.uri: Final = uri
        self.active = False
        """The host knows the subscription: a new connection must name it."""
        self.gone = False
        self.confirmed: JsonObject | None = None
        self.state: JsonObject | None = None
        self.seq = 0
        self.pending: list[Pending] = []
        self._client_id = client_id
        self._reduce = reducer
        self._kind: ChannelKind | None = None
        self._early: list[Mapping[str, Any]] = []

    def predict(self, pending: Pending) -> None:
        """Shows an action of this client before the host has answered it."""
        self.pending.append(pending)
        self.state = self._after(self.state, pending.action)

    def snapshot(self, state: JsonObject, from_seq: int) -> list[Change]:
        """Replaces the confirmed state as of `from_seq`; what came early and is newer is applied after it."""
        self.active, self.gone = True, False
        self.confirmed, self.seq, self._kind = state, from_seq, kind_of(state)
        changes: list[Change] = [StateReplaced(self.uri, from_seq)]
        early, self._early = self._early, []
        for envelope in early:
            changes += self.envelope(envelope)
        self._rebase()
        return changes

    def envelope(self, envelope: JsonObject) -> list[Change]:
        """Takes one `ActionEnvelope` of this channel, live or replayed."""
        own = self._take(envelope)
        reason = envelope.get("rejectionReason")
        if reason is not None:
            if own is None:
                return []
            self._rebase()
            settled = Settled(self.uri, own.client_seq, Rejected(str(reason)))
            return [ActionRejected(self.uri, own.client_seq, str(reason)), settled]
        seq: int = envelope["serverSeq"]
        changes: list[Change] = []
        if self.confirmed is None:
            self._early.append(envelope)
            del self._early[:-EARLY_ENVELOPES]
        elif seq > self.seq:
            self.confirmed, self.seq = self._after(self.confirmed, envelope["action"]), seq
            changes.append(ActionApplied(self.uri, envelope["action"], seq, self._is_own(envelope)))
        if own is not None:
            changes.append(Settled(self.uri, own.client_seq, Applied(seq)))
        self._rebase()
        return changes

    def abandon(self, client_seqs: Iterable[int], reason: str) -> list[Change]:
        """Stops waiting for the answers to these actions; the confirmed state alone says whether they were taken."""
        lost = set(client_seqs)
        given_up = [entry for entry in self.pending if entry.client_seq in lost]
        self.pending = [entry for entry in self.pending if entry.client_seq not in lost]
        self._rebase()
        return [Settled(self.uri, entry.client_seq, Unconfirmed(reason)) for entry in given_up]

    def vanish(self, reason: str) -> list[Change]:
        """The host no longer has the channel; what was pending is given up."""
        self.active, self.gone = False, True
        changes = self.abandon([entry.client_seq for entry in self.pending], reason)
        return [*changes, ChannelGone(self.uri)]

    def _is_own(self, envelope: JsonObject) -> bool:
        origin = envelope.get("origin")
        return isinstance(origin, Mapping) and origin.get("clientId") == self._client_id

    def _take(self, envelope: JsonObject) -> Pending | None:
        """The pending action that this envelope answers, usually the first; one that was passed over stays."""
        if not self._is_own(envelope):
            return None
        client_seq = envelope["origin"].get("clientSeq")
        for index, entry in enumerate(self.pending):
            if entry.client_seq == client_seq:
                return self.pending.pop(index)
        return None

    def _after(self, state: JsonObject | None, action: JsonObject) -> JsonObject | None:
        if state is None or self._kind is None or not _concerns(action, self._kind):
            return state
        return self._reduce(self._kind, state, action)

    def _rebase(self) -> None:
        state = self.confirmed
        for entry in self.pending:
            state = self._after(state, entry.action)
        self.state = state


class Mirror:
    """All channels that one client follows, with the numbers of its connection to the host."""

    def __init__(self, client_id: str, reducer: Reducer = reduce) -> None:
        self.client_id: Final = client_id
        self.last_seen = 0
        """The largest `serverSeq` seen, over all channels (AHP §2.3)."""
        self.channels: dict[str, ChannelMirror] = {}
        self._reduce = reducer
        self._last_client_seq = 0

    def follow(self, uri: str) -> ChannelMirror:
        """The mirror of `uri`; from now on its envelopes are kept, so none is lost before the snapshot arrives."""
        if uri not in self.channels:
            self.channels[uri] = ChannelMirror(uri, self.client_id, self._reduce)
        return self.channels[uri]

    def subscribed(self, uri: str, result: JsonObject) -> list[Change]:
        """Takes the result of `subscribe`; without a snapshot the channel has no state (AHP §3). Raises ValueError."""
        self.follow(uri).active = True
        snapshot = result.get("snapshot")
        return [] if snapshot is None else self.snapshot({**snapshot, "resource": uri})

    def forget(self, uri: str) -> list[Change]:
        """Ends following; actions that wait for an answer are given up."""
        mirror = self.channels.pop(uri, None)
        return [] if mirror is None else mirror.abandon([entry.client_seq for entry in mirror.pending], "unsubscribed")

    def subscriptions(self) -> list[str]:
        """What a new connection must name."""
        return [uri for uri, mirror in self.channels.items() if mirror.active]

    def dispatch(self, uri: str, action: JsonObject) -> Pending:
        """Numbers an action and, if its channel is followed, shows it at once. The caller sends it."""
        self._last_client_seq += 1
        pending = Pending(uri, self._last_client_seq, action)
        if (mirror := self.channels.get(uri)) is not None and not mirror.gone:
            mirror.predict(pending)
        return pending

    def envelope(self, envelope: JsonObject) -> list[Change]:
        """Takes an `action` notification. Raises ValueError when it is no envelope; nothing has changed then."""
        _check_envelope(envelope)
        self.last_seen = max(self.last_seen, envelope["serverSeq"])
        if (mirror := self.channels.get(envelope["channel"])) is not None:
            return mirror.envelope(envelope)
        return self._unfollowed(envelope)

    def snapshot(self, snapshot: JsonObject) -> list[Change]:
        """Takes a `Snapshot`. Raises ValueError when it is none; a channel that is not followed is passed over."""
        uri, state, from_seq = snapshot.get("resource"), snapshot.get("state"), snapshot.get("fromSeq")
        if not (isinstance(uri, str) and isinstance(state, Mapping) and isinstance(from_seq, int)):
            raise ValueError("snapshot without resource, state or fromSeq")
        self.last_seen = max(self.last_seen, from_seq)
        mirror = self.channels.get(uri)
        return [] if mirror is None else mirror.snapshot(state, from_seq)

    def initialized(self, result: JsonObject) -> list[Change]:
        """Takes the result of `initialize`: every followed channel that had a state and has no snapshot is gone."""
        if isinstance(seq := result.get("serverSeq"), int):
            # A host that was set up anew counts from the start: a number of the old one would ask it for nothing.
            self.last_seen = seq
        return self._replaced(result.get("snapshots") or ())

    def resumed(self, result: JsonObject) -> list[Change]:
        """Takes the result of `reconnect`. Raises ValueError when it is none (the caller initialises instead)."""
        match result:
            case {"type": "snapshot", "snapshots": [*snapshots]}:
                return self._replaced(snapshots)
            case {"type": "replay", "actions": [*actions], "missing": [*missing]}:
                changes = [change for envelope in actions for change in self.envelope(envelope)]
                for uri in missing:
                    if (mirror := self.channels.get(uri)) is not None:
                        changes += mirror.vanish("the channel is gone")
                return changes
        raise ValueError("reconnect result of unknown form")

    def unanswered(self) -> list[Pending]:
        """Every pending action in the order of dispatch: what to send again on a new connection."""
        entries = [entry for mirror in self.channels.values() for entry in mirror.pending]
        return sorted(entries, key=lambda entry: entry.client_seq)

    def abandon(self, entries: Iterable[Pending], reason: str) -> list[Change]:
        """Gives up waiting for those of `entries` that are still unanswered."""
        changes: list[Change] = []
        for entry in entries:
            if (mirror := self.channels.get(entry.channel)) is not None:
                changes += mirror.abandon([entry.client_seq], reason)
        return changes

    def _replaced(self, snapshots: Sequence[JsonObject]) -> list[Change]:
        changes = [change for snapshot in snapshots for change in self.snapshot(snapshot)]
        named = {snapshot.get("resource") for snapshot in snapshots}
        for uri, mirror in self.channels.items():
            if uri not in named and mirror.active and mirror.confirmed is not None:
                changes += mirror.vanish("the channel is gone")
        return changes

    def _unfollowed(self, envelope: JsonObject) -> list[Change]:
        origin, reason = envelope.get("origin"), envelope.get("rejectionReason")
        if not isinstance(origin, Mapping) or origin.get("clientId") != self.client_id:
            return []
        client_seq = origin.get("clientSeq")
        if not isinstance(client_seq, int):
            return []
        if reason is None:
            return [Settled(envelope["channel"], client_seq, Applied(envelope["serverSeq"]))]
        return [
            ActionRejected(envelope["channel"], client_seq, str(reason)),
            Settled(envelope["channel"], client_seq, Rejected(str(reason))),
        ]


def _concerns(action: JsonObject, kind: ChannelKind) -> bool:
    spec = ACTIONS.get(action.get("type", ""))
    # A type of a newer protocol goes to the reducer, which passes over what it does not know.
    return spec is None or spec.channel == kind


def _check_envelope(envelope: JsonObject) -> None:
    if not isinstance(envelope.get("channel"), str) or not isinstance(envelope.get("serverSeq"), int):
        raise ValueError("envelope without channel or serverSeq")
    if not isinstance(envelope.get("action"), Mapping) or not isinstance(envelope["action"].get("type"), str):
        raise ValueError("envelope without an action")
