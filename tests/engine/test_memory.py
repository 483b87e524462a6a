"""What the engine knows of channels that are not in memory, and its list of sessions (architecture §4, §7)."""

from collections.abc import Mapping
from typing import Any

import pytest

from harness.engine_world import CHAT, NOW, ROOT, SESSION, Disk, World
from innkeeper.engine.effects import Act, Append, Create, Drop
from innkeeper.engine.known import KnownChannels
from innkeeper.engine.records import PutChannel, PutListing
from innkeeper.wire.json import encode

TITLE = {"type": "session/titleChanged", "title": "t"}
USER = {"text": "hi", "origin": {"kind": "user"}}
OTHER = "ahp-session:/other"


def row(uri: str, state: Mapping[str, Any]) -> PutListing:
    return PutListing(uri, float(len(state["title"])), bool(state.get("busy")), encode(state["title"]))


def listed_world(**settings: Any) -> World:
    """A world that keeps the list: the length of a title is its place."""
    world = World(Disk(), **settings)
    world.hub.describe_by(row)
    return world.with_session()


def titles(world: World) -> list[bytes]:
    return [one.summary for one in world.hub.listed(9)]


def stored_rows(batches: list[Append]) -> list[PutListing]:
    return [op for batch in batches for op in batch.ops if isinstance(op, PutListing)]


def test_a_row_is_stored_with_the_change_that_made_it_different_and_with_no_other() -> None:
    """Architecture §7: the list and the session are never of different times."""
    world = listed_world()
    world.held = True
    world.post(SESSION, TITLE)
    world.post(SESSION, {"type": "session/activityChanged", "activity": "x"})
    world.post(SESSION, TITLE)
    assert stored_rows(list(world.batches)) == [PutListing(SESSION, 1.0, False, b'"t"')]
    assert titles(world) == [b'"t"']


def test_the_list_follows_the_head_and_goes_back_with_it() -> None:
    world = listed_world()
    world.pump()
    world.held = True
    a = world.client("a", 1, SESSION)
    a.dispatch(SESSION, TITLE)
    world.commit(Create(OTHER, "session", None, {"title": "longer"}), token=1, keep=False)
    world.commit(Drop(SESSION), token=2, keep=False)
    assert titles(world) == [b'"longer"'] and world.hub.known("session") == (OTHER,)
    assert world.hub.kind(CHAT) is None and world.hub.count("chat") == 0
    world.fail()
    assert titles(world) == [b'""'] and world.hub.known("session") == (SESSION,)
    assert world.hub.owned_by(SESSION) == (CHAT,) and world.hub.kind(CHAT) == "chat"


def test_a_dropped_channel_is_not_known_from_its_acceptance_on_also_when_it_was_not_in_memory() -> None:
    world = listed_world()
    world.pump()
    assert world.hub.unload(CHAT) and world.hub.unload(SESSION)
    world.held = True
    world.commit(Drop(SESSION))
    assert world.hub.known("session") == world.hub.known("chat") == () and titles(world) == []
    assert world.hub.load(world.disk.stored(SESSION)) == [] and world.hub.head(SESSION) is None
    world.commit(Create(SESSION, "session", None, {"title": "again"}))
    world.pump()
    assert world.hub.head(SESSION) == {"title": "again"} and titles(world) == [b'"again"']


def test_a_session_without_a_row_gets_one_when_it_is_read() -> None:
    world = World(Disk()).with_session()
    world.pump()
    later = World(world.disk)
    later.hub.describe_by(row)
    assert titles(later) == [] and later.hub.listing(SESSION) is None
    later.run(later.hub.load(later.disk.stored(SESSION)))
    later.held = True
    later.run(later.hub.flush())
    assert stored_rows(list(later.batches)) == [PutListing(SESSION, 0.0, False, b'""')]


@pytest.mark.parametrize("state", [b"{", b"[]", b'"x"', b"{}"])
def test_a_damaged_state_changes_nothing_and_says_so(state: bytes) -> None:
    """S9."""
    world = World(Disk()).with_session()
    world.pump()
    world.disk.channels[SESSION] = world.disk.channels[SESSION]._replace(state=state)
    later = World(world.disk)
    later.hub.describe_by(row)
    with pytest.raises(Exception):  # noqa: B017 - whatever a damaged state makes a reader raise
        later.hub.load(later.disk.stored(SESSION))
    assert later.hub.head(SESSION) is None and later.hub.is_dormant(SESSION) and later.hub.kind(SESSION) == "session"


def test_what_is_stored_and_not_in_memory_is_never_told_to_be_gone() -> None:
    """S6: -32603, which a client may try again; an action is rejected with the reason."""
    world = World(Disk()).with_session()
    world.pump()
    later = World(world.disk)
    a = later.client("a", 1, ROOT)
    later.disk.channels[SESSION] = later.disk.channels[SESSION]._replace(state=b"{")
    a.world.hub.load = lambda _stored: []  # type: ignore[method-assign]
    for method, channel in (("subscribe", SESSION), ("subscribe", CHAT), ("fetchTurns", CHAT)):
        assert a.request(method, channel=channel)["error"]["code"] == -32603
    a.dispatch(SESSION, TITLE)
    assert "cannot be read" in a.rejections()[0]
    assert a.request("subscribe", channel="ahp-session:/nothing")["error"]["code"] == -32008


def test_a_session_leaves_memory_only_after_its_chats_and_with_nothing_on_its_way() -> None:
    world = World(Disk()).with_session()
    world.pump()
    assert not world.hub.unload(SESSION), "its chat is in memory"
    world.held = True
    world.post(CHAT, {"type": "chat/draftChanged", "draft": USER})
    assert world.hub.is_pending(CHAT) and not world.hub.is_pending(SESSION)
    assert not world.hub.unload(CHAT)
    world.pump()
    a = world.client("a", 1, CHAT)
    assert world.hub.is_watched(CHAT) and not world.hub.unload(CHAT)
    a.leave()
    assert world.hub.unload(CHAT) and world.hub.unload(SESSION)


def test_other_channels_on_their_way_keep_none_in_memory() -> None:
    """A host that streams all day lets its idle sessions go."""
    world = World(Disk()).with_session()
    world.commit(Create(OTHER, "session", None, {"title": ""}))
    world.pump()
    world.held = True
    world.post(CHAT, {"type": "chat/draftChanged", "draft": USER})
    assert world.hub.unload(OTHER) and not world.hub.unload(CHAT)


def test_a_long_tail_becomes_a_snapshot_before_its_channel_leaves_and_a_short_one_stays() -> None:
    world = World(Disk(), fold_envelopes=1_000).with_session()
    for number in range(7):
        world.post(CHAT, {"type": "chat/draftChanged", "draft": {**USER, "text": str(number)}})
    assert world.hub.fold(CHAT) == []
    world.post(CHAT, {"type": "chat/draftChanged", "draft": USER})
    world.pump()
    world.held = True
    world.run(world.hub.fold(CHAT))
    world.run(world.hub.flush())
    folds = [op for batch in world.batches for op in batch.ops if isinstance(op, PutChannel)]
    assert [(op.channel, op.created) for op in folds] == [(CHAT, False)]
    world.pump()
    before = world.hub.head(CHAT)
    assert world.hub.unload(CHAT)
    assert world.disk.stored(CHAT).tail == ()
    world.hub.load(world.disk.stored(CHAT))
    assert world.hub.head(CHAT) == before


def test_a_chat_comes_back_by_its_message_together_with_its_session() -> None:
    world = World(Disk()).with_session()
    world.pump()
    later = World(world.disk)
    a = later.client("a", 1, ROOT)
    a.dispatch(CHAT, {"type": "chat/turnStarted", "turnId": "t", "startedAt": NOW, "message": USER})
    assert later.hub.channels("session") == (SESSION,)
    assert (later.hub.head(CHAT) or {})["activeTurn"]["id"] == "t"


def test_what_is_known_answers_by_owner_and_by_kind() -> None:
    known = KnownChannels([("r", "root", None), ("s", "session", None), ("c", "chat", "s"), ("t", "terminal", "c")])
    known.add("d", "chat", "s")
    assert known.with_owned("s") == ["s", "c", "d", "t"] and known.owned_by("s") == ("c", "d")
    assert known.of_kind("chat") == ("c", "d") and known.count("session") == 1
    removed = known.remove("c")
    assert removed is not None and removed.owner == "s" and known.remove("c") is None
    assert known.owned_by("s") == ("d",) and known.kind("c") is None and known.owner("t") == "c"


def test_the_host_acts_on_nothing_that_is_not_in_memory() -> None:
    world = World(Disk()).with_session()
    world.pump()
    later = World(world.disk)
    with pytest.raises(KeyError):
        later.hub.commit([Act(SESSION, TITLE)])
    with pytest.raises(KeyError):
        later.hub.commit([Create(SESSION, "session", None, {})])
