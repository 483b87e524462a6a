import pytest

from scripted.world import text_of

pytestmark = pytest.mark.anyio


async def test_a_client_opens_a_session_and_gets_an_answer(world, client):
    """AHP §15: initialize, createSession, subscribe, turnStarted is all a first contact needs."""
    _session, chat = await client.new_session()
    turn = await client.turn(chat, "hello")
    assert turn["state"] == "complete" and text_of(turn) == "Hello, world"
    world.check_mirrors(client)
