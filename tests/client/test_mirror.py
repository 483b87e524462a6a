"""The client's copy of a channel (AHP §2.3, §2.4, §6), without any connection."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.client.events import (
    ActionApplied,
    ActionRejected,
    Applied,
    ChannelGone,
    Rejected,
    Settled,
    StateReplaced,
    Unconfirmed,
)
from innkeeper.client.mirror import ROOT, Mirror, Pending, kind_of

ME = "client-1"
URI = "ahp-session:/a"
EMPTY = {"lifecycle": "ready", "activeClients": [], "chats": [], "words": []}


def append(kind: str, state: Mapping[str, Any], action: Mapping[str, Any]) -> Mapping[str, Any]:
    """A reducer in which order and number of actions show."""
    return {**state, "words": [*state["words"], action["word"]]}


def word(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "session/said", "word": text, **more}


def envelope(seq: int, text: str, client_seq: int | None = None, **more: Any) -> dict[str, Any]:
    origin = {} if client_seq is None else {"origin": {"clientId": ME, "clientSeq": client_seq}}
    return {"channel": URI, "action": word(text), "serverSeq": seq, **origin, **more}


def followed(*words: str, seq: int = 10) -> Mirror:
    mirror = Mirror(ME, append)
    mirror.follow(URI)
    mirror.subscribed(URI, {"snapshot": {"resource": URI, "state": {**EMPTY, "words": list(words)}, "fromSeq": seq}})
    return mirror


def shown(mirror: Mirror) -> list[str]:
    state = mirror.channels[URI].state
    assert state is not None
    return list(state["words"])


def confirmed(mirror: Mirror) -> list[str]:
    state = mirror.channels[URI].confirmed
    assert state is not None
    return list(state["words"])


def test_a_dispatched_action_shows_at_once_and_is_not_confirmed() -> None:
    """AHP §6: rendered = confirmed + pending."""
    mirror = followed("a")
    entry = mirror.dispatch(URI, word("b"))
    assert (entry.client_seq, shown(mirror), confirmed(mirror)) == (1, ["a", "b"], ["a"])


def test_an_own_echo_takes_its_action_from_the_pending_ones_and_confirms_it() -> None:
    mirror = followed()
    mirror.dispatch(URI, word("b"))
    changes = mirror.envelope(envelope(11, "b", 1))
    assert changes == [ActionApplied(URI, word("b"), 11, own=True), Settled(URI, 1, Applied(11))]
    assert (shown(mirror), confirmed(mirror), mirror.unanswered()) == (["b"], ["b"], [])


def test_a_foreign_action_goes_below_what_is_pending() -> None:
    """AHP §6: host order wins; the rendered state is computed again."""
    mirror = followed()
    mirror.dispatch(URI, word("mine"))
    assert mirror.envelope(envelope(11, "theirs")) == [ActionApplied(URI, word("theirs"), 11, own=False)]
    assert (shown(mirror), confirmed(mirror)) == (["theirs", "mine"], ["theirs"])


def test_a_rejected_action_disappears_and_is_never_applied() -> None:
    """AHP §6: `rejectionReason` is looked at before anything else."""
    mirror = followed("a")
    mirror.dispatch(URI, word("b"))
    changes = mirror.envelope(envelope(11, "b", 1, rejectionReason="not now"))
    assert changes == [ActionRejected(URI, 1, "not now"), Settled(URI, 1, Rejected("not now"))]
    assert (shown(mirror), confirmed(mirror)) == (["a"], ["a"])


def test_a_rejection_of_another_client_is_passed_over() -> None:
    mirror = followed("a")
    foreign = envelope(11, "b", rejectionReason="no") | {"origin": {"clientId": "other", "clientSeq": 1}}
    assert mirror.envelope(foreign) == []
    assert shown(mirror) == ["a"]


def test_the_host_may_change_an_action_and_its_form_counts() -> None:
    mirror = followed()
    mirror.dispatch(URI, word("draft"))
    mirror.envelope(envelope(11, "final", 1))
    assert shown(mirror) == ["final"]


def test_an_echo_that_passes_over_an_earlier_action_leaves_that_one_pending() -> None:
    mirror = followed()
    mirror.dispatch(URI, word("first"))
    mirror.dispatch(URI, word("second"))
    mirror.envelope(envelope(11, "second", 2))
    assert (shown(mirror), [entry.client_seq for entry in mirror.unanswered()]) == (["second", "first"], [1])


def test_envelopes_before_the_snapshot_wait_and_those_it_contains_are_dropped() -> None:
    """AHP §2.5, §15: `fromSeq` says what is in the snapshot."""
    mirror = Mirror(ME, append)
    mirror.follow(URI)
    for seq, text in ((10, "old"), (11, "in"), (12, "new")):
        assert mirror.envelope(envelope(seq, text)) == []
    snapshot = {"resource": URI, "state": {**EMPTY, "words": ["old", "in"]}, "fromSeq": 11}
    changes = mirror.subscribed(URI, {"snapshot": snapshot})
    assert changes == [StateReplaced(URI, 11), ActionApplied(URI, word("new"), 12, own=False)]
    assert (shown(mirror), mirror.last_seen) == (["old", "in", "new"], 12)


def test_an_envelope_that_comes_twice_is_applied_once() -> None:
    mirror = followed()
    mirror.envelope(envelope(11, "a"))
    assert mirror.envelope(envelope(11, "a")) == []
    assert shown(mirror) == ["a"]


def test_a_late_own_echo_below_the_snapshot_settles_without_being_applied_again() -> None:
    """AHP §2.4: after a snapshot the host answers the repeated action with its old number."""
    mirror = followed()
    mirror.dispatch(URI, word("b"))
    mirror.resumed(
        {"type": "snapshot", "snapshots": [{"resource": URI, "state": {**EMPTY, "words": ["b"]}, "fromSeq": 20}]}
    )
    assert mirror.envelope(envelope(15, "b", 1)) == [Settled(URI, 1, Applied(15))]
    assert (shown(mirror), mirror.last_seen) == (["b"], 20)


def test_replay_applies_what_was_missed_and_channels_that_are_missing_go() -> None:
    """AHP §2.4, replay."""
    mirror = followed("a")
    other = "ahp-session:/b"
    mirror.follow(other)
    mirror.subscribed(other, {"snapshot": {"resource": other, "state": EMPTY, "fromSeq": 10}})
    mirror.dispatch(other, word("lost"))
    changes = mirror.resumed({"type": "replay", "actions": [envelope(12, "b")], "missing": [other]})
    assert changes == [
        ActionApplied(URI, word("b"), 12, own=False),
        Settled(other, 1, Unconfirmed("the channel is gone")),
        ChannelGone(other),
    ]
    assert (shown(mirror), mirror.subscriptions()) == (["a", "b"], [URI])


def test_a_channel_without_a_snapshot_in_a_snapshot_answer_is_gone() -> None:
    """AHP §2.4: there is no `missing` list there."""
    mirror = followed("a")
    assert mirror.resumed({"type": "snapshot", "snapshots": []}) == [ChannelGone(URI)]
    assert (mirror.channels[URI].gone, shown(mirror)) == (True, ["a"])


def test_a_stateless_channel_survives_a_snapshot_answer() -> None:
    """AHP §2.4: stateless channels go on at the live edge."""
    mirror = Mirror(ME, append)
    assert mirror.subscribed("ahp-otlp:logs", {}) == []
    assert mirror.resumed({"type": "snapshot", "snapshots": []}) == []
    assert mirror.subscriptions() == ["ahp-otlp:logs"]


def test_a_subscription_under_way_is_not_named_in_reconnect() -> None:
    mirror = followed()
    mirror.follow("ahp-session:/asked")
    assert mirror.subscriptions() == [URI]


def test_a_host_that_was_set_up_anew_sets_the_last_seen_number_back() -> None:
    mirror = followed(seq=5000)
    mirror.initialized({"serverSeq": 3, "snapshots": [{"resource": URI, "state": EMPTY, "fromSeq": 3}]})
    assert (mirror.last_seen, shown(mirror)) == (3, [])
    mirror.envelope(envelope(4, "a"))
    assert shown(mirror) == ["a"]


def test_unanswered_actions_keep_their_order_and_number_over_channels() -> None:
    """AHP §2.4: sent again under the same `clientSeq`."""
    mirror = followed()
    mirror.follow(ROOT)
    mirror.dispatch(URI, word("1"))
    mirror.dispatch(ROOT, {"type": "root/configChanged", "config": {}})
    mirror.dispatch(URI, word("3"))
    assert [(entry.client_seq, entry.channel) for entry in mirror.unanswered()] == [(1, URI), (2, ROOT), (3, URI)]


def test_unsubscribing_gives_up_what_is_pending() -> None:
    mirror = followed()
    mirror.dispatch(URI, word("b"))
    assert mirror.forget(URI) == [Settled(URI, 1, Unconfirmed("unsubscribed"))]
    assert mirror.forget(URI) == []


def test_an_answer_for_a_channel_that_is_not_followed_settles_the_dispatch() -> None:
    """AHP §2.5: one may dispatch to a channel that is not subscribed."""
    mirror = Mirror(ME, append)
    assert mirror.dispatch(URI, word("a")).client_seq == 1
    assert mirror.envelope(envelope(5, "a", 1)) == [Settled(URI, 1, Applied(5))]
    refused = mirror.envelope(envelope(6, "a", 2, rejectionReason="no"))
    assert refused == [ActionRejected(URI, 2, "no"), Settled(URI, 2, Rejected("no"))]
    assert mirror.envelope(envelope(7, "a")) == []


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"channel": URI, "serverSeq": "1", "action": word("a")},
        {"channel": URI, "serverSeq": 1},
        {"channel": URI, "serverSeq": 1, "action": {"word": "a"}},
        {"channel": 7, "serverSeq": 1, "action": word("a")},
    ],
)
def test_what_is_no_envelope_changes_nothing(broken: Mapping[str, Any]) -> None:
    mirror = followed("a")
    with pytest.raises(ValueError, match="envelope without"):
        mirror.envelope(broken)
    assert (shown(mirror), mirror.last_seen) == (["a"], 10)


def test_a_broken_snapshot_and_a_reconnect_result_of_unknown_form_are_refused() -> None:
    mirror = followed()
    with pytest.raises(ValueError, match="snapshot without"):
        mirror.snapshot({"resource": URI, "state": [], "fromSeq": 1})
    with pytest.raises(ValueError, match="unknown form"):
        mirror.resumed({"type": "cursor"})


def test_the_kind_of_a_channel_comes_from_the_shape_of_its_state() -> None:
    """AHP §3: no scheme says what a URI names."""
    assert kind_of({"agents": []}) == "root"
    assert kind_of({"lifecycle": "ready", "activeClients": [], "chats": []}) == "session"
    assert kind_of({"turns": [], "resource": "x"}) == "chat"
    assert kind_of({"content": [], "claim": {}, "lifecycle": {}}) == "terminal"
    assert kind_of({"status": "ready", "files": []}) == "changeset"
    assert kind_of({"something": 1}) is None


def test_an_action_of_another_kind_of_channel_changes_nothing() -> None:
    mirror = followed("a")
    mirror.envelope(envelope(11, "x") | {"action": {"type": "chat/delta", "word": "x"}})
    assert (shown(mirror), mirror.channels[URI].seq) == (["a"], 11)


class ModelHost:
    """Applies each action of a client once, refuses those that say so, and remembers every envelope."""

    def __init__(self, *, answers_repeats: bool) -> None:
        self.state: Mapping[str, Any] = EMPTY
        self.log: list[dict[str, Any]] = []
        self._seq = 10
        self._answers_repeats = answers_repeats
        self._answers: dict[int, dict[str, Any]] = {}

    def act(self, action: Mapping[str, Any], origin: Mapping[str, Any] | None = None) -> dict[str, Any]:
        self._seq += 1
        envelope = {"channel": URI, "action": action, "serverSeq": self._seq}
        if origin is not None:
            envelope["origin"] = origin
            self._answers[origin["clientSeq"]] = envelope
        if action.get("refused"):
            envelope["rejectionReason"] = "no"
        else:
            self.state = append("session", self.state, action)
            self.log.append(envelope)
        return envelope

    def receive(self, entry: Pending, client_id: str) -> list[dict[str, Any]]:
        known = self._answers.get(entry.client_seq)
        if known is not None:
            return [known] if self._answers_repeats else []
        return [self.act(entry.action, {"clientId": client_id, "clientSeq": entry.client_seq})]

    def snapshot(self) -> dict[str, Any]:
        return {"resource": URI, "state": self.state, "fromSeq": self._seq}

    def replay(self, after: int) -> dict[str, Any]:
        actions = [envelope for envelope in self.log if envelope["serverSeq"] > after]
        return {"type": "replay", "actions": actions, "missing": []}

    @property
    def seq(self) -> int:
        return self._seq


class Network:
    """One client and the host, with what is under way in both directions."""

    def __init__(self, host: ModelHost, mirror: Mirror) -> None:
        self.host, self.mirror = host, mirror
        self.up: list[Pending] = []
        self.down: list[dict[str, Any]] = []

    def connect(self) -> None:
        self.mirror.follow(URI)
        self.mirror.subscribed(URI, {"snapshot": self.host.snapshot()})

    def dispatch(self, action: Mapping[str, Any]) -> None:
        self.up.append(self.mirror.dispatch(URI, action))

    def deliver_up(self) -> None:
        if self.up:
            self.down += self.host.receive(self.up.pop(0), self.mirror.client_id)

    def deliver_down(self) -> None:
        if self.down:
            self.mirror.envelope(self.down.pop(0))

    def foreign(self, action: Mapping[str, Any]) -> None:
        self.down.append(self.host.act(action))

    def lose_and_resume(self, how: str) -> None:
        self.up, self.down = [], []
        if how == "replay":
            self.mirror.resumed(self.host.replay(self.mirror.last_seen))
        elif how == "snapshot":
            self.mirror.resumed({"type": "snapshot", "snapshots": [self.host.snapshot()]})
        else:
            self.mirror.initialized({"serverSeq": self.host.seq, "snapshots": [self.host.snapshot()]})
        again = self.mirror.unanswered()
        self.up = list(again)
        while self.up or self.down:
            self.deliver_up()
            self.deliver_down()
        self.mirror.abandon(again, "lost")

    def settle(self) -> None:
        while self.up or self.down:
            self.deliver_up()
            self.deliver_down()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("dispatch"), st.booleans()),
        st.tuples(st.just("foreign"), st.booleans()),
        st.tuples(st.just("up"), st.none()),
        st.tuples(st.just("down"), st.none()),
        st.tuples(st.just("lose"), st.sampled_from(["replay", "snapshot", "initialize"])),
    ),
    max_size=60,
)


@given(steps=STEPS, answers_repeats=st.booleans())
def test_whatever_happens_on_the_way_the_client_ends_with_the_state_of_the_host(
    steps: list[tuple[str, Any]], answers_repeats: bool
) -> None:
    """AHP §2.4, §6: foreign envelopes, own echoes, rejections and lost connections in any order."""
    host = ModelHost(answers_repeats=answers_repeats)
    network = Network(host, Mirror(ME, append))
    network.connect()
    for number, (step, detail) in enumerate(steps):
        match step:
            case "dispatch":
                network.dispatch(word(f"mine {number}", refused=detail))
            case "foreign":
                network.foreign(word(f"theirs {number}"))
            case "up":
                network.deliver_up()
            case "down":
                network.deliver_down()
            case "lose":
                network.lose_and_resume(detail)
    network.settle()
    mirror = network.mirror.channels[URI]
    assert mirror.confirmed == host.state
    assert mirror.state == host.state
    assert mirror.pending == []
