"""What may leave, and what happens when the log refuses (architecture §4, §7)."""

from typing import Any

import pytest

from harness.engine_world import CHAT, NOW, ROOT, SESSION, Peer, World, chat_state
from innkeeper.engine.effects import Act, Answered, CommitFailed, Committed, Create, Drop

TITLE = {"type": "session/titleChanged", "title": "t"}
USER = {"text": "hi", "origin": {"kind": "user"}}
STARTED = {"type": "chat/turnStarted", "turnId": "t1", "startedAt": NOW, "message": USER}
PART = {"type": "chat/responsePart", "turnId": "t1", "part": {"kind": "markdown", "id": "p", "content": ""}}


def delta(text: str) -> dict[str, Any]:
    return {"type": "chat/delta", "turnId": "t1", "partId": "p", "content": text}


def with_turn() -> World:
    world = World().with_session()
    world.post(CHAT, STARTED)
    world.post(CHAT, PART)
    return world


def text_of(state: Any) -> str:
    turn = state.get("activeTurn") or state["turns"][-1]
    return str(turn["responseParts"][0]["content"])


def test_a_clients_action_is_durable_before_its_echo_leaves(world: World) -> None:
    """Architecture §3.13."""
    a = world.client("a", 1, SESSION)
    world.held = True
    a.dispatch(SESSION, TITLE)
    assert a.envelopes() == []
    assert world.hub.released(SESSION)["title"] == ""
    assert world.hub.head(SESSION)["title"] == "t"
    world.pump()
    assert a.envelopes()[-1]["action"] == TITLE


def test_deltas_leave_before_they_are_durable_but_never_overtake(world: World) -> None:
    """Architecture §4: one release queue."""
    world = with_turn()
    a = world.client("a", 1, CHAT, SESSION)
    world.held = True
    world.post(CHAT, delta("one"))
    assert a.envelopes()[-1]["action"] == delta("one")
    a.dispatch(SESSION, TITLE)
    world.post(CHAT, delta("two"))
    assert a.envelopes()[-1]["action"] == delta("one")
    world.pump()
    assert [e["action"] for e in a.envelopes()[-2:]] == [TITLE, delta("two")]


def test_a_snapshot_holds_nothing_that_may_still_be_dropped_and_its_tail_is_complete(world: World) -> None:
    """AHP §2.5: snapshot and registration are atomic."""
    a = world.client("a", 1)
    world.held = True
    a.dispatch(SESSION, TITLE)
    b = world.client("b", 2, SESSION)
    snapshot = b.answer["result"]["snapshots"][0]
    assert snapshot["state"]["title"] == ""
    world.pump()
    assert [e["serverSeq"] for e in b.envelopes()] == [world.hub.last_seq]
    assert b.envelopes()[0]["serverSeq"] > snapshot["fromSeq"]


def test_a_full_disk_rejects_actions_with_an_error_and_recovers(world: World) -> None:
    """Issue 2, section 4."""
    a = world.client("a", 1, SESSION)
    b = world.client("b", 2, SESSION)
    world.held = True
    a.dispatch(SESSION, TITLE)
    a.dispatch(SESSION, {**TITLE, "title": "second"})
    world.fail()
    assert len(a.rejections()) == 2
    assert "STORE_FULL" in a.rejections()[0]
    assert b.envelopes() == []
    assert world.hub.head(SESSION)["title"] == ""
    world.pump()
    a.dispatch(SESSION, {**TITLE, "title": "third"})
    assert b.envelopes()[-1]["action"]["title"] == "third"
    assert world.crash().hub.head(SESSION)["title"] == "third"


def test_what_left_before_a_failure_is_logged_when_the_log_takes_it_again() -> None:
    """Architecture §7: released deltas are not lost by a failure that came later."""
    world = with_turn()
    a = world.client("a", 1, CHAT, SESSION)
    world.held = True
    world.post(CHAT, delta("one"))
    a.dispatch(SESSION, TITLE)
    world.post(CHAT, delta("two"))
    world.fail()
    assert len(a.rejections()) == 1
    assert a.envelopes()[-1]["action"] == delta("two")
    world.pump()
    assert text_of(world.hub.released(CHAT)) == "onetwo"
    after = world.crash()
    after.hub.load(after.disk.stored(CHAT))
    assert text_of(after.hub.head(CHAT)) == "onetwo"


def test_commits_that_are_kept_are_applied_again_and_the_others_fail(world: World) -> None:
    """Architecture §7."""
    world.held = True
    world.commit(Act(SESSION, TITLE), token=1, keep=True)
    world.commit(Create("ahp-session:/n", "session", None, {"title": ""}), token=2, keep=False)
    world.fail()
    assert Committed(1) in world.others
    assert CommitFailed(2, "STORE_FULL") in world.others
    assert world.hub.head("ahp-session:/n") is None
    assert world.hub.head(SESSION)["title"] == "t"
    world.pump()
    assert world.crash().hub.head(SESSION)["title"] == "t"


def test_a_drop_that_could_not_be_stored_is_undone(world: World) -> None:
    """Architecture §7."""
    a = world.client("a", 1, SESSION)
    world.held = True
    world.commit(Drop(SESSION), token=1, keep=False)
    assert world.hub.head(SESSION) is None
    world.fail()
    assert world.hub.head(SESSION) is not None
    a.dispatch(SESSION, TITLE)
    world.pump()
    assert a.envelopes()[-1]["action"] == TITLE


def test_a_drop_takes_what_the_channel_owns_and_its_replay(world: World) -> None:
    """AHP §9.1: disposing a session cascades to its chats."""
    world.client("a", 1, CHAT).leave()
    world.post(CHAT, {"type": "chat/movableChanged", "movable": True})
    world.commit(Drop(SESSION))
    assert world.hub.kind(CHAT) is None
    world.hub.connect(2)
    back = Peer(world, "a", 2).request("reconnect", clientId="a", lastSeenServerSeq=0, subscriptions=[CHAT])
    assert back["result"] == {"type": "replay", "actions": [], "missing": [CHAT]}
    assert CHAT not in world.disk.channels


def test_a_late_answer_of_the_log_about_dropped_batches_changes_nothing(world: World) -> None:
    """ports.log: everything after a failed batch of its epoch fails too."""
    a = world.client("a", 1, SESSION)
    world.held = True
    a.dispatch(SESSION, TITLE)
    a.dispatch(SESSION, {**TITLE, "title": "two"})
    first, second = (batch.batch for batch in world.batches)
    world.batches.clear()
    world.run(world.hub.append_failed(first, "STORE_FULL"))
    world.run(world.hub.append_failed(second, "STORE_FULL"))
    assert len(a.rejections()) == 2


def test_numbers_are_reserved_before_they_leave_and_never_used_twice() -> None:
    """AHP §2.3, architecture §7."""
    world = World(sequence_block=8).with_session()
    world.client("a", 1, CHAT)
    for _ in range(50):
        world.post(CHAT, {"type": "chat/activityChanged", "activity": "x"})
        assert world.seqs[1] <= world.disk.reserved
    seen = world.seqs[1]
    after = world.crash()
    after.client("a", 1, CHAT)
    after.post(CHAT, {"type": "chat/activityChanged", "activity": "y"})
    assert after.seqs[1] > seen


def test_nothing_leaves_before_its_number_is_durably_reserved() -> None:
    """Architecture §7."""
    world = World(sequence_block=4)
    world.with_session()
    world.client("a", 1, CHAT)
    world.held = True
    for i in range(12):
        world.post(CHAT, {"type": "chat/activityChanged", "activity": str(i)})
    assert world.seqs[1] <= world.disk.reserved
    world.pump()
    assert world.hub.released(CHAT)["activity"] == "11"


def test_a_channel_is_folded_into_a_snapshot_so_that_a_start_reads_a_short_tail(world: World) -> None:
    """Architecture §7: snapshot and tail."""
    for i in range(40):
        world.post(CHAT, {"type": "chat/activityChanged", "activity": str(i)})
    world.pump()
    stored = world.disk.stored(CHAT)
    assert len(stored.tail) < 16
    after = world.crash()
    after.hub.load(after.disk.stored(CHAT))
    assert after.hub.head(CHAT) == world.hub.head(CHAT)


def test_an_idle_settled_channel_can_leave_memory_and_come_back(world: World) -> None:
    """Architecture §4: the prelude loads stored channels."""
    world.pump()
    a = world.client("a", 1, CHAT)
    world.pump()
    assert world.hub.unload(CHAT) is False
    a.leave()
    assert world.hub.unload(CHAT) is True
    assert world.hub.kind(CHAT) == "chat"
    assert world.hub.head(CHAT) is None
    again = world.client("b", 2)
    assert again.request("subscribe", channel=CHAT)["result"]["snapshot"]["state"] == chat_state()


def test_creating_a_channel_that_exists_is_refused(world: World) -> None:
    """AHP §8: the caller turns it into -32003."""
    with pytest.raises(KeyError):
        world.hub.commit([Create(SESSION, "session", None, {})])


def test_replies_leave_after_the_envelopes_that_their_command_caused(world: World) -> None:
    """AHP §4: `fetchTurns`, `createChat` and others promise it."""
    a = world.client("a", 1, SESSION)
    world.held = True
    world.commit(Act(SESSION, TITLE))
    world.run(world.hub.reply(1, 99, {}))
    assert a.frames()[-1].get("id") != 99
    world.pump()
    assert a.envelopes()[-1]["action"] == TITLE
    assert a.frames()[-1]["id"] == 99


def test_a_notification_goes_to_the_subscribers_of_its_channel(world: World) -> None:
    """AHP §5."""
    a = world.client("a", 1, ROOT)
    b = world.client("b", 2)
    world.run(world.hub.notify(ROOT, "root/sessionRemoved", {"session": SESSION}))
    assert a.frames()[-1] == {
        "jsonrpc": "2.0",
        "method": "root/sessionRemoved",
        "params": {"channel": ROOT, "session": SESSION},
    }
    assert all(m.get("method") != "root/sessionRemoved" for m in b.frames())


def test_a_request_to_a_client_is_answered_once_and_can_be_given_up(world: World) -> None:
    """AHP §4: `resource*` go both ways."""
    a = world.client("a", 1)
    call, effects = world.hub.call(1, "resourceRead", {"uri": "virtual://a/x"})
    world.run(effects)
    request = a.frames()[-1]
    assert isinstance(request["id"], int)
    a.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}})
    assert next(e for e in world.others if isinstance(e, Answered)).call == call
    second, effects = world.hub.call(1, "resourceRead", {"uri": "virtual://a/x"})
    world.run(effects)
    world.hub.forget_call(second)
    a.send({"jsonrpc": "2.0", "id": a.frames()[-1]["id"], "result": {}})
    assert len([e for e in world.others if isinstance(e, Answered)]) == 1
