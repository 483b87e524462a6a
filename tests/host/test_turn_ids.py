"""A turn's id is unique in its session: checkpoints and changesets are named by it; and what is read for that."""

import asyncio

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


async def test_a_slow_reading_keeps_the_order_of_its_client_and_delays_no_other(world, client):
    """T20, architecture §4, the prelude."""
    _, chat = await client.new_session()
    session, other = await client.new_session("ahp-session:/2")
    later = await world.crash()
    alice, bob = await later.client("alice"), await later.client("bob")
    for one in (alice, bob):
        await one.subscribe(session)
        await one.subscribe(other)
    reading, go, read = asyncio.Event(), asyncio.Event(), later.log.channel

    async def slowly(channel):
        if channel == chat:
            reading.set()
            await go.wait()
        return await read(channel)

    later.log.channel = slowly
    seqs = [
        alice.dispatch(chat, "chat/isReadChanged", isRead=True),
        alice.dispatch(other, "chat/isReadChanged", isRead=True),
    ]
    async with asyncio.timeout(5):
        await reading.wait()
    await bob.echo(bob.dispatch(session, "session/titleChanged", title="not delayed"))
    assert not [echo for echo in alice.actions() if echo.get("origin", {}).get("clientId") == "alice"]
    go.set()
    await alice.echo(seqs[1])
    echoes = [
        echo["origin"]["clientSeq"] for echo in bob.actions() if echo.get("origin", {}).get("clientId") == "alice"
    ]
    assert echoes == seqs[1:] and later.hub.head(chat)["status"] & 32, "the first one came first"
    await later.close()
