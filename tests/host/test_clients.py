import pytest

from innkeeper.host.clients import Grace
from innkeeper.host.settings import HostSettings
from scripted.world import Client, World, call_of, text_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world():
    started = await World(settings=HostSettings(grace=0.03, summary_delay=0.001, close_timeout=0.2)).start()
    yield started
    await started.close()


def joined(name):
    return {"clientId": name, "tools": [{"name": "pick"}]}


def test_a_grace_period_ends_once_and_a_return_ends_it_too():
    """AHP §13.13."""
    grace = Grace(30)
    grace.away("a", 0)
    grace.away("b", 10)
    grace.away("a", 20)
    assert grace.next() == 30 and grace.over(29) == []
    assert grace.over(30) == ["a"] and grace.over(30) == []
    grace.back("b")
    assert grace.next() is None and grace.over(1000) == []


async def test_a_client_that_stays_away_loses_its_place_and_its_calls_fail(world):
    """AHP §9.5: active-client entry and running tool calls."""
    alice, bob = await world.client("alice"), await world.client("bob")
    session, chat = await alice.new_session(activeClient=joined("alice"))
    await bob.subscribe(session)
    await bob.subscribe(chat)
    alice.start_turn(chat, "client-tool alice")
    await bob.action(chat, "chat/toolCallReady")
    alice.lose()
    turn = await bob.ended(chat)
    assert call_of(turn)["success"] is False and "gone away" in text_of(turn)
    assert bob.states[session]["activeClients"] == []


async def test_a_client_that_comes_back_in_time_keeps_its_place(world):
    """AHP §2.4, §9.5."""
    world.service._clients._grace._seconds = 30
    alice = await world.client("alice")
    session, chat = await alice.new_session(activeClient=joined("alice"))
    alice.start_turn(chat, "client-tool alice")
    ready = await alice.action(chat, "chat/toolCallReady")
    alice.lose()
    back = Client(world, "alice", after=alice)
    await back.request(
        "reconnect", clientId="alice", lastSeenServerSeq=ready["serverSeq"], subscriptions=[session, chat]
    )
    result = {"success": True, "pastTenseMessage": "Picked", "structuredContent": {"picked": 1}}
    back.dispatch(chat, "chat/toolCallComplete", turnId="t1", toolCallId="call-1", result=result)
    await back.action(chat, "chat/turnComplete")
    assert world.hub.head(session)["activeClients"][0]["clientId"] == "alice"


async def test_a_client_that_unsubscribes_from_a_session_has_left_it(world):
    """AHP §9.5."""
    alice, bob = await world.client("alice"), await world.client("bob")
    session, chat = await alice.new_session(activeClient=joined("alice"))
    await bob.subscribe(session)
    alice.start_turn(chat, "client-tool alice")
    await alice.action(chat, "chat/toolCallReady")
    alice.unsubscribe(session)
    await bob.state(session, lambda s: s["activeClients"] == [])
    assert call_of(await alice.ended(chat))["success"] is False


async def test_a_client_that_removes_itself_fails_its_calls(world):
    alice = await world.client("alice")
    session, chat = await alice.new_session(activeClient=joined("alice"))
    alice.start_turn(chat, "client-tool alice")
    await alice.action(chat, "chat/toolCallReady")
    alice.dispatch(session, "session/activeClientRemoved", clientId="alice")
    assert call_of(await alice.ended(chat))["success"] is False


async def test_an_active_client_that_never_subscribed_is_removed_too(world):
    alice, bob = await world.client("alice"), await world.client("bob")
    await alice.request("createSession", "ahp-session:/x", activeClient=joined("alice"))
    await bob.subscribe("ahp-session:/x")
    alice.lose()
    assert await bob.state("ahp-session:/x", lambda s: s["activeClients"] == [])


async def test_the_turn_of_a_client_that_goes_away_runs_on(world):
    """The host outlives its clients."""
    alice, bob = await world.client("alice"), await world.client("bob")
    _session, chat = await alice.new_session()
    await bob.subscribe(chat)
    alice.start_turn(chat, "slow 0.05")
    await bob.action(chat, "chat/turnStarted")
    alice.lose()
    assert (await bob.ended(chat))["state"] == "complete"
