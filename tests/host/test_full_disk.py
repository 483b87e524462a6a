"""A log that takes nothing (issue 2 §4, bad input): refused with words, recovered when it takes again."""

import pytest

from innkeeper.ports.log import StoreFull
from scripted.world import RpcFailure, text_of

pytestmark = pytest.mark.anyio


async def test_a_session_is_not_half_created(world, client):
    world.log.fail_next(StoreFull("no space"))
    with pytest.raises(RpcFailure) as caught:
        await client.request("createSession", "ahp-session:/x")
    assert caught.value.code == -32603 and caught.value.data == {"code": "STORAGE_FULL"}
    assert (await client.request("listSessions"))["items"] == [] and not client.notices("root/sessionAdded")
    _session, chat = await client.new_session("ahp-session:/x")
    assert text_of(await client.turn(chat, "hello")) == "Hello, world"


async def test_a_session_that_could_not_be_disposed_goes_on(world, client):
    session, chat = await client.new_session()
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    world.log.fail_next(StoreFull("no space"))
    with pytest.raises(RpcFailure):
        await client.request("disposeSession", session)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    assert (await client.ended(chat))["state"] == "cancelled"
    await client.request("disposeSession", session)


async def test_a_chat_that_could_not_be_disposed_goes_on(world, client):
    session, _ = await client.new_session()
    await client.request("createChat", session, chat="ahp-chat:/two")
    await client.subscribe("ahp-chat:/two")
    client.start_turn("ahp-chat:/two", "slow 0.02")
    await client.action("ahp-chat:/two", "chat/turnStarted")
    world.log.fail_next(StoreFull("no space"))
    with pytest.raises(RpcFailure):
        await client.request("disposeChat", "ahp-chat:/two")
    assert text_of(await client.ended("ahp-chat:/two")) == "at last"


async def test_a_turn_that_cannot_be_stored_does_not_start(world, client):
    """architecture §3.13: durable before acknowledged."""
    _, chat = await client.new_session()
    world.log.fail_next(StoreFull("no space"))
    assert "STORAGE_FULL" in await client.rejection(client.start_turn(chat, "hello"))
    assert not world.scripted.requests
    assert text_of(await client.turn(chat, "hello", "t2")) == "Hello, world"


async def test_a_turn_ends_although_its_cancellation_could_not_be_stored(world, client):
    """The agent was through while the cancellation still waited for the log."""
    _, chat = await client.new_session()
    client.start_turn(chat, "deaf")
    await client.action(chat, "chat/responsePart")
    world.log.hold()
    seq = client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    turn = world.conversation.running.get(chat)
    turn.task.cancel()
    await world.until(lambda: len(world.conversation.running) == 0)
    world.log.fail_next(StoreFull("no space"))
    world.log.let_go()
    assert "STORAGE_FULL" in await client.rejection(seq)
    assert (await client.ended(chat))["state"] == "complete"
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"


async def test_a_running_turn_survives_a_disk_that_fills_up(world, client):
    """What an agent did is not lost: it is stored when there is space again."""
    _, chat = await client.new_session()
    client.start_turn(chat, "slow 0.02")
    await client.action(chat, "chat/turnStarted")
    world.log.fail_next(StoreFull("no space"), 2)
    turn = await client.ended(chat)
    assert turn["state"] == "complete" and text_of(turn) == "at last"
    world.check_mirrors(client)
