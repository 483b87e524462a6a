"""Local turns and peers need no store beside the log (T13, T17, S8 of the reference, with our expectation: K17)."""

import pytest

pytestmark = pytest.mark.anyio


async def local(client, chat, turn_id):
    """A turn of a local command."""
    return await client.turn(chat, "/rename New", turn_id)


async def test_a_local_turn_is_a_turn_like_any_other(world, client):
    """T13: truncating at it keeps it, and drops what came after."""
    _, chat = await client.new_session()
    await client.turn(chat, "hello", "a")
    await local(client, chat, "b")
    await client.turn(chat, "hello", "c")
    client.dispatch(chat, "chat/truncated", turnId="b")
    state = await client.state(chat, lambda s: len(s["turns"]) == 2)
    assert [turn["id"] for turn in state["turns"]] == ["a", "b"]
    await client.turn(chat, "hello", "d")
    assert [turn["id"] for turn in world.scripted.requests[-1].history] == ["a"], "the agent never had the command"


async def test_a_local_turn_needs_no_anchor(world, client):
    """T17: nothing it hangs on can vanish; it comes back where it was."""
    _, chat = await client.new_session()
    await local(client, chat, "a")
    await client.turn(chat, "hello", "b")
    later = await world.crash()
    again = await later.client("bob")
    assert [turn["id"] for turn in (await again.subscribe(chat))["turns"]] == ["a", "b"]
    await later.close()


async def test_no_peers_is_not_unknown_peers(world, client):
    """S8: the log has the peers of a session, also that there are none."""
    session, chat = await client.new_session()
    await client.turn(chat, "hello")
    later = await world.crash()
    again = await later.client("bob")
    assert [c["resource"] for c in (await again.subscribe(session))["chats"]] == [chat]
    await later.close()
