"""Conversations that take no messages (rows C2 to C4 of the reference, K13)."""

import pytest

from innkeeper.contributions.spi import Context, Contribution

pytestmark = pytest.mark.anyio


def ends(told):
    def init(self, context: Context) -> None:
        self.context = context

    members = {"id": "ends", "order": 9_000, "__init__": init, "on_turn_end": lambda self, end: told.append(end)}
    return type("Ends", (Contribution,), members)


async def test_an_archived_conversation_refuses_and_says_so_in_the_history(world, client):
    """C2, K10."""
    told = []
    world.service.contributions.register(ends(told))
    session, chat = await client.new_session()
    await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=True))
    turn = await client.turn(chat, "hello")
    assert turn["responseParts"][-1]["error"]["errorType"] == "archived"
    assert not world.scripted.requests
    (end,) = told
    assert end.reason.kind == "rejected" and end.turn_id == "t1" and end.client == "alice"
    await client.echo(client.dispatch(session, "session/isArchivedChanged", isArchived=False))
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete", "C4"


async def test_an_archived_chat_refuses_alone(world, client):
    session, chat = await client.new_session()
    peer = "ahp-chat:/peer"
    await client.request("createChat", session, chat=peer)
    await client.subscribe(peer)
    await client.echo(client.dispatch(peer, "chat/isArchivedChanged", isArchived=True))
    assert (await client.turn(peer, "hello"))["state"] == "error"
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"


async def test_a_subagents_chat_is_read_only_and_its_turn_is_told_as_one(world, client):
    """C3, K10: with a flag."""
    told = []
    world.service.contributions.register(ends(told))
    session, chat = await client.new_session()
    await client.turn(chat, "subagent")
    worker = next(c["resource"] for c in client.states[session]["chats"] if c["resource"] != chat)
    await client.subscribe(worker)
    refused = await client.turn(worker, "hello", "x")
    assert refused["responseParts"][-1]["error"]["errorType"] == "readOnly"
    kinds = [(end.chat == worker, end.subagent, end.reason.kind) for end in told]
    assert (True, True, "success") in kinds and (False, False, "success") in kinds
    assert kinds.count((True, True, "success")) == 1
