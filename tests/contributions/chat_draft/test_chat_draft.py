"""Drafts: kept, and gone when sent (K14, K17; row C42 of the reference)."""

import pytest

from innkeeper.contributions.spi import HydratedChat, Hydration

pytestmark = pytest.mark.anyio


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


async def drafted(client, chat, text="hello"):
    await client.echo(client.dispatch(chat, "chat/draftChanged", draft=message(text)))


async def test_a_draft_and_who_typed_it_survive_a_kill(world, client):
    """C42, K14: in a peer chat too."""
    session, chat = await client.new_session()
    peer = "ahp-chat:/peer"
    await client.request("createChat", session, chat=peer)
    await client.subscribe(peer)
    for one in (chat, peer):
        await drafted(client, one, "half a")
    later = await world.crash()
    again = await later.client("bob")
    for one in (chat, peer):
        draft = (await again.subscribe(one))["draft"]
        assert draft["text"] == "half a" and draft["_meta"] == {"x-innkeeper/sender": "alice"}
    await later.close()


async def test_a_draft_that_was_sent_is_gone_for_everybody(world, client):
    _, chat = await client.new_session()
    other = await world.client("bob")
    await other.subscribe(chat)
    await drafted(client, chat)
    client.start_turn(chat, "hello ")
    for one in (client, other):
        assert "draft" not in await one.state(chat, lambda s: s["turns"] and "draft" not in s)


async def test_another_message_leaves_the_draft(world, client):
    _, chat = await client.new_session()
    await drafted(client, chat, "later")
    await client.turn(chat, "hello")
    assert client.states[chat]["draft"]["text"] == "later"


async def test_a_chat_that_enters_keeps_the_draft_that_it_brings(world, client):
    """D18: a field is filled only while it is empty."""
    session, chat = await client.new_session()
    await drafted(client, chat, "here")
    of = Hydration(session, chat, "snapshot")
    found = await world.service.hooks.hydrate_chat(of, HydratedChat(draft=message("brought")))
    assert found.draft["text"] == "brought"
    assert (await world.service.hooks.hydrate_chat(of, HydratedChat())).draft["text"] == "here"
