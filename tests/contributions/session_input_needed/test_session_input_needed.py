"""What waits for a person is listed in the session (rows C24 to C29 of the reference, AHP §9.8)."""

import asyncio

import pytest

from innkeeper.ports.questions import Confirmation
from innkeeper.providers.spi import ToolStarted
from scripted import provider

pytestmark = pytest.mark.anyio
INPUT_NEEDED = 24


async def test_a_tool_that_waits_is_listed_until_it_is_answered(world, client):
    """C24."""
    session, chat = await client.new_session()
    client.start_turn(chat, "ask")
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    (entry,) = state["inputNeeded"]
    assert entry["id"].startswith(f"toolConfirmation:{chat}:t1:") and entry["kind"] == "toolConfirmation"
    assert state["status"] & INPUT_NEEDED == INPUT_NEEDED
    call = entry["toolCall"]["toolCallId"]
    client.dispatch(
        chat, "chat/toolCallConfirmed", turnId="t1", toolCallId=call, approved=True, confirmed="user-action"
    )
    await client.ended(chat)
    assert await client.state(session, lambda s: not s.get("inputNeeded"))


async def test_a_question_that_is_answered_is_gone_and_an_equal_update_is_not_sent_again(world, client):
    """C28."""
    session, chat = await client.new_session()
    client.start_turn(chat, "question")
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    (entry,) = state["inputNeeded"]
    assert entry["kind"] == "chatInput" and entry["id"].startswith(f"chatInput:{chat}:")
    client.dispatch(chat, "chat/inputCompleted", requestId=entry["request"]["id"], response="decline", answers={})
    await client.ended(chat)
    await client.state(session, lambda s: not s.get("inputNeeded"))
    sent = client.actions(session, "session/inputNeededSet")
    assert len(sent) == len({str(e["action"]["request"]) for e in sent})


async def test_a_cancelled_turn_and_a_chat_that_is_gone_wait_for_nothing(world, client):
    """C29."""
    session, chat = await client.new_session()
    client.start_turn(chat, "ask")
    await client.state(session, lambda s: s.get("inputNeeded"))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.state(session, lambda s: not s.get("inputNeeded"))
    peer = "ahp-chat:/peer"
    await client.request("createChat", session, chat=peer)
    await client.subscribe(peer)
    client.start_turn(peer, "ask", "t2")
    await client.state(session, lambda s: s.get("inputNeeded"))
    await client.request("disposeChat", peer)
    assert await client.state(session, lambda s: not s.get("inputNeeded"))


async def test_a_clients_tool_that_runs_is_listed_for_its_client(world, client):
    """C27."""
    joined = {"clientId": client.client_id, "tools": [{"name": "pick"}]}
    session, chat = await client.new_session(activeClient=joined)
    client.start_turn(chat, f"client-tool {client.client_id}")
    (entry,) = (await client.state(session, lambda s: s.get("inputNeeded")))["inputNeeded"]
    assert entry["id"] == f"toolClientExecution:{chat}:t1:call-1" and entry["kind"] == "toolClientExecution"
    assert entry["clientId"] == client.client_id and entry["toolCall"]["status"] == "running"
    result = {"success": True, "pastTenseMessage": "Picked"}
    client.dispatch(chat, "chat/toolCallComplete", turnId="t1", toolCallId="call-1", result=result)
    await client.ended(chat)
    assert await client.state(session, lambda s: not s.get("inputNeeded"))


async def test_a_turn_that_waits_for_three_things_waits_for_none_when_it_is_cancelled(world, client, monkeypatch):
    """C29."""

    async def behaviour(session, request, output, rest):
        output.emit(ToolStarted("call-1", "shell", "Shell"))
        contributor = {"kind": "client", "clientId": rest}
        output.emit(ToolStarted("call-2", "pick", "Pick", contributor=contributor))
        question = {"id": "ask-1", "message": "Who?", "questions": [{"kind": "text", "id": "n", "message": "Name?"}]}
        await asyncio.gather(
            output.confirm("call-1", Confirmation("Run?", "Run ls", "ls", provider.OPTIONS)),
            output.run_client_tool("call-2", "{}", "Picking"),
            output.ask(question),
        )

    monkeypatch.setitem(provider.PROMPTS, "three", behaviour)
    joined = {"clientId": client.client_id, "tools": [{"name": "pick"}]}
    session, chat = await client.new_session(activeClient=joined)
    client.start_turn(chat, f"three {client.client_id}")
    state = await client.state(session, lambda s: len(s.get("inputNeeded") or ()) == 3)
    assert {e["kind"] for e in state["inputNeeded"]} == {"toolConfirmation", "toolClientExecution", "chatInput"}
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.ended(chat)
    assert await client.state(session, lambda s: not s.get("inputNeeded"))
    assert world.service._joined.counters.all()["toolCall.waited"] == 2
