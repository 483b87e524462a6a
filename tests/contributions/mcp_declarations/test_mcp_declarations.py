"""Required servers that are known to be down, and what servers say about their use (K19, M5.5, M5.7)."""

import pytest

from scripted.fakes import FakeMcp

pytestmark = pytest.mark.anyio


async def test_a_required_server_that_is_down_refuses_at_once(world, client):
    """K19: synchronously, without waiting for what cannot come."""
    world.declarations.down = (("db", "SPAWN_FAILED"),)
    _, chat = await client.new_session()
    turn = await client.turn(chat, "hello")
    error = turn["responseParts"][-1]["error"]
    assert error["errorType"] == "requiredServerUnavailable" and "db (SPAWN_FAILED)" in error["message"]
    assert not [entry for entry in world.mcp.log if entry[0] == "prepare"]
    world.declarations.down = ()
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"


async def test_a_queued_message_stays_at_the_head_and_the_queue_says_why(world, client):
    """K12."""
    from innkeeper.contributions.queue_drain import PAUSED

    world.declarations.down = (("db", "SPAWN_FAILED"),)
    session, chat = await client.new_session()
    message = {"text": "hello", "origin": {"kind": "user"}}
    client.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q", message=message)
    state = await client.state(session, lambda s: PAUSED in s["_meta"])
    assert "db (SPAWN_FAILED)" in state["_meta"][PAUSED][chat]["message"]
    assert [m["id"] for m in client.states[chat]["queuedMessages"]] == ["q"] and not client.states[chat]["turns"]


async def test_what_servers_say_goes_with_each_turn(world, client):
    """M5.7."""
    assert isinstance(world.mcp, FakeMcp)
    world.mcp.instructions = lambda session: {"db": "Ask politely."}
    _, chat = await client.new_session()
    for number in ("a", "b"):
        await client.turn(chat, "hello", number)
        assert world.scripted.requests[-1].instructions == ("The MCP server db says about its use:\nAsk politely.",)
