import pytest

from innkeeper.host.settings import HostSettings
from scripted.fakes import FakeMcp, FakeServer
from scripted.provider import ScriptedProvider
from scripted.world import ROOT, World, text_of

pytestmark = pytest.mark.anyio


async def test_sessions_chats_and_transcripts_survive_a_kill(world, client):
    """issue 2: one restart."""
    session, chat = await client.new_session()
    turn = await client.turn(chat, "tool")
    later = await world.crash()
    again = await later.client("alice")
    listed = (await again.request("listSessions"))["items"]
    assert [item["resource"] for item in listed] == [session]
    assert (await again.subscribe(chat))["turns"] == [turn]
    await again.subscribe(session)
    assert text_of(await again.turn(chat, "hello", "t2")) == "Hello, world"
    assert [t["id"] for t in later.scripted.requests[-1].history] == ["t1"]
    later.check_mirrors(again)
    await later.close()


async def test_a_running_turn_comes_back_as_interrupted(world, client):
    """K14, AHP §13: error part executionInterrupted, not resumable where the agent does not say so."""
    session, chat = await client.new_session()
    client.start_turn(chat, "ask")
    await client.state(session, lambda s: s.get("inputNeeded"))
    later = await world.crash()
    again = await later.client("alice")
    state = await again.subscribe(chat)
    assert "activeTurn" not in state and state["status"] & 31 == 2
    part = state["turns"][0]["responseParts"][-1]
    assert part["error"]["errorType"] == "executionInterrupted" and "resumable" not in part
    await again.subscribe(session)
    state = await again.state(session, lambda s: "inputNeeded" not in s)
    assert state["chats"][0]["status"] & 31 == 2
    await again.turn(chat, "hello", "t2")
    await later.close()


async def test_a_turn_is_interrupted_also_when_the_session_did_not_know_of_it_yet(world, client):
    """The summary may lag behind the chat when the process dies; whoever looks puts it right."""
    _session, chat = await client.new_session()
    world.service._mirror.chat_changed = lambda released: None
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    later = await world.crash()
    again = await later.client("alice")
    await again.subscribe(chat)
    state = await again.state(chat, lambda s: "activeTurn" not in s)
    assert state["turns"][0]["state"] == "error"
    await later.close()


async def test_queue_steering_and_draft_survive(world, client):
    """K14: with their senders; the steering message goes to the next turn."""
    _, chat = await client.new_session()
    user = {"origin": {"kind": "user"}}
    client.start_turn(chat, "stuck")
    client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q", message={"text": "hello", **user})
    client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id="s", message={"text": "left", **user})
    await client.echo(client.dispatch(chat, "chat/draftChanged", draft={"text": "half", **user}))
    later = await world.crash()
    again = await later.client("bob")
    state = await again.subscribe(chat)
    assert state["queuedMessages"][0]["id"] == "q" and state["steeringMessage"]["id"] == "s"
    assert state["draft"]["text"] == "half" and state["turns"][0]["state"] == "error"
    waiting = (state["queuedMessages"][0]["message"], state["steeringMessage"]["message"], state["draft"])
    assert [one["_meta"]["x-innkeeper/sender"] for one in waiting] == ["alice"] * 3
    again.start_turn(chat, "steered", "t2")
    assert text_of(await again.ended(chat, "t2")) == "waiting steered: left"
    await later.close()


async def test_no_server_looks_alive_after_a_restart():
    """AHP §10.2: state is the only signal, so it must be true."""
    world = await World(mcp=FakeMcp(declared={"memo": FakeServer("memo")})).start()
    client = await world.client("alice")
    session, _ = await client.new_session()
    await client.request("x-innkeeper/mcp/connect", session, server="memo")
    await client.state(session, lambda s: s["customizations"][0]["state"]["kind"] == "ready")
    later = await world.crash()
    state = await (await later.client("bob")).subscribe(session)
    assert state["customizations"][0]["state"] == {"kind": "stopped"}
    await later.close()


async def test_a_session_that_was_being_created_is_opened_again(world, client):
    import asyncio

    never = asyncio.Event()

    async def opening(_):
        await never.wait()

    world.scripted.opening = opening
    await client.request("createSession", "ahp-session:/x")
    later = await world.crash()
    again = await later.client("alice")
    await again.subscribe("ahp-session:/x")
    assert await again.state("ahp-session:/x", lambda s: s["lifecycle"] == "ready")
    await later.close()


async def test_an_active_client_that_does_not_come_back_is_removed():
    """AHP §9.5, §13.13: after a restart the grace period runs from the start."""
    world = await World(settings=HostSettings(grace=0.05, summary_delay=0.001)).start()
    client = await world.client("alice")
    session, _ = await client.new_session(activeClient={"clientId": "alice", "tools": []})
    later = await world.crash()
    other = await later.client("bob")
    await other.subscribe(session)
    assert await other.state(session, lambda s: s["activeClients"] == [])
    await later.close()


async def test_an_agent_that_this_process_does_not_have_fails_the_turn_in_words(world, client):
    _, chat = await client.new_session()
    later = await world.crash(scripted=ScriptedProvider("another"))
    again = await later.client("alice")
    await again.subscribe(chat)
    error = (await again.turn(chat, "hello"))["responseParts"][-1]["error"]
    assert error["errorType"] == "PROVIDER_UNKNOWN" and "another, console" in error["message"]
    await later.close()


async def test_the_root_channel_says_what_this_process_offers(world, client):
    await client.new_session()
    later = await world.crash()
    again = await later.client("alice")
    assert again.states[ROOT]["activeSessions"] == 1
    assert [a["provider"] for a in again.states[ROOT]["agents"]] == ["scripted", "console"]
    await later.close()


async def test_a_clean_end_leaves_running_turns_to_be_interrupted(world, client):
    _, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    await world.close()
    later = await World(log=world.log.crash()).start()
    state = await (await later.client()).subscribe(chat)
    assert state["turns"][0]["responseParts"][-1]["error"]["errorType"] == "executionInterrupted"
    await later.close()


async def test_an_agent_that_will_not_stop_does_not_hold_up_the_end(world, client):
    """issue 2 §5: exit within 3 s."""
    import asyncio

    _, chat = await client.new_session()

    class Stubborn:
        async def run_turn(self, request, output):
            for _ in range(3):
                try:
                    await asyncio.sleep(30)
                except asyncio.CancelledError:
                    continue

        async def steer(self, *_):
            return False

        async def close(self):
            await asyncio.sleep(30)

    world.service._backings._open["ahp-session:/1"] = asyncio.ensure_future(asyncio.sleep(0, Stubborn()))
    client.start_turn(chat, "hello")
    await client.action(chat, "chat/turnStarted")
    async with asyncio.timeout(5) as limit:
        await world.close()
    assert not limit.expired()
