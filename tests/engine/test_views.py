"""Views, older turns and held-back deltas (AHP §2.5, §4 `fetchTurns`)."""

from typing import Any

from harness.engine_world import CHAT, NOW, World, chat_state
from innkeeper.engine.effects import Act, Broadcast, Send
from innkeeper.reduce import reduce

USER = {"text": "hi", "origin": {"kind": "user"}}


def turns(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"t{i}", "startedAt": NOW, "duration": 1, "message": USER, "responseParts": [], "usage": None,
         "state": "complete"}
        for i in range(count)
    ]  # fmt: skip


def ids(state: Any) -> list[str]:
    return [turn["id"] for turn in state["turns"]]


def test_a_view_gives_about_that_many_newest_turns_and_a_cursor() -> None:
    """AHP §2.5; without a view all retained turns are returned."""
    world = World().with_session(chat_state(turns=turns(5)))
    peer = world.client("a", 1)
    state = peer.request("subscribe", channel=CHAT, view={"turns": 2})["result"]["snapshot"]["state"]
    assert ids(state) == ["t3", "t4"]
    assert state["turnsNextCursor"]
    whole = peer.request("subscribe", channel=CHAT)["result"]["snapshot"]["state"]
    assert len(whole["turns"]) == 5
    assert "turnsNextCursor" not in whole


def test_older_turns_are_loaded_page_by_page_before_the_answer_and_for_the_asker_alone() -> None:
    """AHP §4: `chat/turnsLoaded` goes out before the answer."""
    world = World(turn_page=2).with_session(chat_state(turns=turns(5)))
    peer = world.client("a", 1)
    other = world.client("b", 2, CHAT)
    state = peer.request("subscribe", channel=CHAT, view={"turns": 1})["result"]["snapshot"]["state"]
    while cursor := state.get("turnsNextCursor"):
        assert peer.request("fetchTurns", channel=CHAT, cursor=cursor)["result"] == {}
        assert peer.frames()[-2]["params"]["action"]["type"] == "chat/turnsLoaded"
        state = reduce("chat", state, peer.frames()[-2]["params"]["action"])
    assert ids(state) == ["t0", "t1", "t2", "t3", "t4"]
    assert other.envelopes() == []


def test_a_cursor_that_names_nothing_is_invalid_params() -> None:
    """AHP §4."""
    world = World().with_session(chat_state(turns=turns(2)))
    peer = world.client("a", 1, CHAT)
    assert peer.request("fetchTurns", channel=CHAT, cursor="before:x")["error"]["code"] == -32602
    assert peer.request("fetchTurns", channel="ahp-chat:/none")["error"]["code"] == -32008


def test_an_action_on_an_older_turn_loads_it_first_where_it_is_not_held() -> None:
    """AHP §9.3: any operation on an older turn makes the host load it first."""
    world = World().with_session(chat_state(turns=turns(5)))
    peer = world.client("a", 1)
    state = peer.request("subscribe", channel=CHAT, view={"turns": 1})["result"]["snapshot"]["state"]
    world.client("b", 2).dispatch(CHAT, {"type": "chat/truncated", "turnId": "t2"})
    for envelope in peer.envelopes():
        state = reduce("chat", state, envelope["action"])
    assert ids(state) == ["t2"]
    assert ids(world.hub.released(CHAT)) == ["t0", "t1", "t2"]


def test_only_deltas_are_held_back_and_only_where_it_was_asked_for(world: World) -> None:
    """AHP §2.5 `maxLatencyMs`; 0 is immediate."""
    world.post(CHAT, {"type": "chat/turnStarted", "turnId": "t", "startedAt": NOW, "message": USER})
    world.client("a", 1).request("subscribe", channel=CHAT, delivery={"maxLatencyMs": 40})
    world.client("b", 2).request("subscribe", channel=CHAT, delivery={"maxLatencyMs": 0})
    effects = world.hub.commit([Act(CHAT, {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "x"})])
    assert {(e.connection, e.delay_ms) for e in effects if isinstance(e, Send)} == {(1, 40), (2, 0)}
    effects = world.hub.commit([Act(CHAT, {"type": "chat/movableChanged", "movable": True})])
    effects += world.hub.appended(effects[0].batch)
    assert [e.connections for e in effects if isinstance(e, Broadcast)] == [(1, 2)]
