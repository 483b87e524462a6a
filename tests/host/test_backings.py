import asyncio

import pytest

from innkeeper.providers.spi import ProviderError
from scripted.world import text_of

pytestmark = pytest.mark.anyio


async def test_an_agent_is_opened_once_whoever_asks(world, client):
    session, chat = await client.new_session()
    await client.request("createChat", session, chat="ahp-chat:/two")
    await client.subscribe("ahp-chat:/two")
    client.start_turn(chat, "hello")
    client.start_turn("ahp-chat:/two", "hello", "t2")
    await client.ended(chat)
    await client.ended("ahp-chat:/two", "t2")
    assert len(world.scripted.opened) == 1


async def test_an_agent_that_failed_to_open_is_tried_again_by_the_next_turn(world, client):
    """A repaired agent needs no new session."""
    _, chat = await client.new_session()
    later = await world.crash()
    fail = True

    async def opening(_):
        if fail:
            raise ProviderError("noKey", "There is no key")

    later.scripted.opening = opening
    again = await later.client("alice")
    await again.subscribe(chat)
    turn = await again.turn(chat, "hello")
    assert turn["responseParts"][-1]["error"] == {"errorType": "noKey", "message": "There is no key"}
    fail = False
    assert text_of(await again.turn(chat, "hello", "t2")) == "Hello, world"
    await later.close()


@pytest.mark.parametrize("failure", ["raises", "hangs"])
async def test_an_agent_that_does_not_close_harms_nothing(world, client, failure, caplog):
    session, _ = await client.new_session()
    agent = world.service._backings.peek(session)

    async def close():
        if failure == "raises":
            raise RuntimeError("stuck")
        await asyncio.sleep(30)

    agent.close = close
    await client.request("disposeSession", session)
    await world.until(lambda: ("close", session) in world.mcp.log)
    assert "close" in caplog.text
    assert (await client.new_session("ahp-session:/2"))[0] == "ahp-session:/2"


async def test_a_turn_that_waits_for_its_agent_can_be_cancelled(world, client):
    never = asyncio.Event()

    async def opening(_):
        await never.wait()

    world.scripted.opening = opening
    await client.request("createSession", "ahp-session:/1", provider="scripted")
    chat = (await client.subscribe("ahp-session:/1"))["defaultChat"]
    await client.subscribe(chat)
    await client.echo(client.start_turn(chat, "hello"))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    assert (await client.ended(chat))["state"] == "cancelled"
    never.set()
    world.scripted.opening = None
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"
