"""A turn's id is unique in its session (T12 of the reference): checkpoints and changesets are named by it."""

import pytest

pytestmark = pytest.mark.anyio
PEER = "ahp-chat:/peer"


async def test_an_id_of_another_chat_is_refused(world, client):
    session, chat = await client.new_session()
    await client.request("createChat", session, chat=PEER)
    await client.subscribe(PEER)
    await client.turn(chat, "hello", "used")
    assert "unique" in await client.rejection(client.start_turn(PEER, "hello", "used"))
    assert (await client.turn(PEER, "hello", "other"))["state"] == "complete"


async def test_a_chat_that_nobody_has_opened_since_the_restart_is_looked_at_first(world, client):
    """T12: peers are read before the id is judged."""
    session, chat = await client.new_session()
    await client.request("createChat", session, chat=PEER)
    await client.turn(chat, "hello", "used")
    later = await world.crash()
    again = await later.client("bob")
    await again.subscribe(PEER)
    assert later.hub.head(chat) is None, "nobody needs it yet"
    assert "unique" in await again.rejection(again.start_turn(PEER, "hello", "used"))
    await later.close()
