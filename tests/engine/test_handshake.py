"""`initialize`, `reconnect`, `subscribe` and what may come before them (AHP §2)."""

from typing import Any

import pytest

from harness.engine_world import CHAT, ROOT, SESSION, Peer, World
from innkeeper.engine.effects import ClientDetached, ClientLeft

DRAFT = {"type": "chat/draftChanged", "draft": {"text": "d", "origin": {"kind": "user"}}}


def test_initialize_returns_the_highest_fitting_version_and_snapshots_of_known_subscriptions(world: World) -> None:
    """AHP §2.1, §2.2."""
    peer = world.client("a", 1, ROOT, SESSION, "ahp-session:/unknown", version="1.4.2")
    result = peer.answer["result"]
    assert result["protocolVersion"] == "1.4.2"
    assert [s["resource"] for s in result["snapshots"]] == [ROOT, SESSION]
    assert result["snapshots"][1]["fromSeq"] == result["serverSeq"]


@pytest.mark.parametrize("offered", [["0.10.0"], ["2.0.0"], []])
def test_an_offer_that_fits_nothing_is_refused_with_the_supported_versions_and_the_connection_ends(
    world: World, offered: list[str]
) -> None:
    """AHP §2.2: -32005 with its required data, then close."""
    world.hub.connect(1)
    peer = Peer(world, "a", 1)
    answer = peer.request("initialize", channel=ROOT, protocolVersions=offered, clientId="a")
    assert answer["error"]["code"] == -32005
    assert answer["error"]["data"]["supportedVersions"]
    assert 1 in world.closed


def test_a_malformed_version_is_invalid_params(world: World) -> None:
    """AHP §2.2."""
    peer = world.client("a", 1, version="v1.0.0")
    assert peer.answer["error"]["code"] == -32602


def test_before_initialize_only_ping_is_answered(world: World) -> None:
    """AHP §13.2."""
    world.hub.connect(1)
    peer = Peer(world, "a", 1)
    assert peer.request("ping", channel=ROOT)["result"] is None
    assert peer.request("subscribe", channel=SESSION)["error"]["code"] == -32600
    peer.dispatch(CHAT, DRAFT)
    assert peer.envelopes() == []


def test_an_unknown_method_and_bad_params_have_their_codes_and_name_the_path(world: World) -> None:
    """AHP §13.1."""
    peer = world.client("a", 1)
    assert peer.request("doMagic", channel=ROOT)["error"]["code"] == -32601
    answer = peer.request("subscribe", channel=7)
    assert answer["error"]["code"] == -32602
    assert "channel" in answer["error"]["message"]
    assert peer.request("subscribe")["error"]["code"] == -32602


def test_an_id_of_any_json_type_is_echoed_as_it_came(world: World) -> None:
    """Issue 2, section 2."""
    peer = world.client("a", 1)
    for request_id in ("x", None, 1.5, {"deep": [1]}, -3):
        peer.send({"jsonrpc": "2.0", "id": request_id, "method": "ping", "params": {"channel": ROOT}})
        assert peer.frames()[-1]["id"] == request_id


def test_a_batch_and_bad_json_are_answered_with_an_error(world: World) -> None:
    """AHP §1, §13.1."""
    peer = world.client("a", 1)
    peer.send("[]")
    assert peer.frames()[-1]["error"]["code"] == -32600
    peer.send("{oops")
    assert peer.frames()[-1]["error"]["code"] == -32700
    assert peer.frames()[-1]["id"] is None


def test_reconnect_of_an_unknown_client_is_not_found_so_that_it_initializes_anew(world: World) -> None:
    """AHP §2.4, real clients: -32008 alone makes the web client initialize."""
    world.hub.connect(1)
    peer = Peer(world, "stranger", 1)
    answer = peer.request("reconnect", clientId="stranger", lastSeenServerSeq=1, subscriptions=[])
    assert answer["error"]["code"] == -32008


@pytest.mark.parametrize("with_channel", [True, False])
def test_reconnect_within_the_window_replays_only_what_was_missed_of_the_named_channels(
    world: World, with_channel: bool
) -> None:
    """AHP §2.4, with and without `channel`."""
    away = world.client("away", 1, SESSION, CHAT)
    other = world.client("other", 2)
    other.dispatch(CHAT, DRAFT)
    seen = world.seqs[1]
    away.leave()
    other.dispatch(CHAT, DRAFT)
    other.dispatch(SESSION, {"type": "session/titleChanged", "title": "t"})
    back = _reconnect(world, "away", 3, seen, [CHAT, "ahp-chat:/gone"], with_channel)
    result = back["result"]
    assert result["type"] == "replay"
    assert [e["action"]["type"] for e in result["actions"]] == ["chat/draftChanged"]
    assert result["missing"] == ["ahp-chat:/gone"]
    other.dispatch(CHAT, DRAFT)
    assert world.inbox[3][-1]["params"]["serverSeq"] == world.hub.last_seq


def test_reconnect_beyond_the_window_gives_snapshots(world: World) -> None:
    """AHP §2.4."""
    small = World(replay_envelopes=3).with_session()
    away = small.client("away", 1, CHAT)
    away.leave()
    other = small.client("other", 2)
    for _ in range(5):
        other.dispatch(CHAT, DRAFT)
    result = _reconnect(small, "away", 3, 1, [CHAT, "ahp-chat:/gone"])["result"]
    assert result["type"] == "snapshot"
    assert [s["resource"] for s in result["snapshots"]] == [CHAT]
    assert result["snapshots"][0]["state"]["draft"]["text"] == "d"


def test_reconnect_after_a_crash_replays_and_a_number_from_the_lost_range_gets_a_snapshot(world: World) -> None:
    """Architecture §7: never silence, never a number used twice."""
    world.client("away", 1, CHAT)
    world.post(CHAT, {"type": "chat/activityChanged", "activity": "kept"})
    world.pump()
    durable = world.hub.last_seq
    world.held = True
    world.post(CHAT, {"type": "chat/activityChanged", "activity": "lost"})
    lost = world.seqs[1]
    assert lost > durable
    after = world.crash()
    assert _reconnect(after, "away", 1, durable, [CHAT])["result"]["type"] == "replay"
    assert _reconnect(after, "away", 2, lost, [CHAT])["result"]["type"] == "snapshot"
    after.post(CHAT, {"type": "chat/activityChanged", "activity": "new"})
    assert after.seqs[1] > lost


def test_a_number_that_the_host_never_gave_gets_a_snapshot(world: World) -> None:
    """AHP §2.4: a client of another data directory."""
    world.client("a", 1).leave()
    assert _reconnect(world, "a", 2, 10_000_000, [CHAT])["result"]["type"] == "snapshot"


def test_the_version_is_remembered_over_a_restart_for_reconnect() -> None:
    """AHP §2.4: the result carries no version, so the host must remember it."""
    world = World().with_session()
    world.client("old", 1, version="0.9.0")
    world.pump()
    after = world.crash()
    _reconnect(after, "old", 1, 0, [CHAT])
    after.post(CHAT, {"type": "chat/canvasesChanged", "canvases": []})
    after.post(CHAT, {"type": "chat/movableChanged", "movable": True})
    assert [m["params"]["action"]["type"] for m in after.inbox[1] if m.get("method") == "action"] == [
        "chat/movableChanged"
    ]


def test_subscribing_twice_is_one_subscription_and_unsubscribing_ends_it(world: World) -> None:
    """AHP §2.5."""
    peer = world.client("a", 1, CHAT)
    peer.request("subscribe", channel=CHAT)
    world.post(CHAT, {"type": "chat/activityChanged", "activity": "x"})
    assert len(peer.envelopes()) == 1
    peer.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": CHAT}})
    world.post(CHAT, {"type": "chat/activityChanged", "activity": "y"})
    assert len(peer.envelopes()) == 1


def test_subscribing_an_unknown_channel_is_not_found(world: World) -> None:
    """AHP §16: -32008."""
    assert world.client("a", 1).request("subscribe", channel="ahp-chat:/none")["error"]["code"] == -32008


def test_a_client_that_resumes_without_naming_a_channel_has_left_it(world: World) -> None:
    """AHP §2.4, §9.5."""
    world.client("a", 1, SESSION, CHAT).leave()
    assert not [e for e in world.others if isinstance(e, ClientLeft)]
    _reconnect(world, "a", 2, 0, [CHAT])
    assert [e for e in world.others if isinstance(e, ClientLeft)] == [ClientLeft("a", SESSION)]


def test_after_its_grace_period_a_client_has_left_everything(world: World) -> None:
    """AHP §13.13."""
    world.client("a", 1, SESSION).leave()
    assert ClientDetached("a") in world.others
    world.run(world.hub.expire("a"))
    assert ClientLeft("a", SESSION) in world.others


def _reconnect(
    world: World, name: str, connection: int, seen: int, channels: list[str], named: bool = True
) -> dict[str, Any]:
    world.hub.connect(connection)
    peer = Peer(world, name, connection)
    extra = {"channel": ROOT} if named else {}
    return peer.request("reconnect", clientId=name, lastSeenServerSeq=seen, subscriptions=channels, **extra)


def test_the_language_a_client_asks_for_is_remembered_while_it_is_away_and_over_a_restart() -> None:
    """M9.4: texts sent over AHP follow the client's `locale`; it is no capability and never sent back."""
    world = World().with_session()
    world.client("a", 1, locale="zh-Hans-CN", capabilities={"mcpApps": {}})
    world.client("b", 2)
    world.run(world.hub.disconnect(1))
    world.pump()
    for hub in (world.hub, world.crash().hub):
        assert (hub.client_locale("a"), hub.client_locale("b"), hub.client_locale("c")) == ("zh-Hans-CN", None, None)
        assert hub.client_capabilities("a") == {"mcpApps": {}}
    world.client("a", 3, locale="en")
    assert world.hub.client_locale("a") == "en"
    world.client("a", 4)
    assert world.hub.client_locale("a") is None
