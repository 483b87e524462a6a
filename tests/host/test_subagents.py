import asyncio

import pytest

from innkeeper.host.settings import HostSettings
from innkeeper.limits import EARLY_SIGNALS
from innkeeper.ports.questions import Confirmation
from innkeeper.providers.spi import SubagentStarted, TextDelta, ToolStarted
from scripted import provider
from scripted.world import World, call_of, text_of

pytestmark = pytest.mark.anyio


async def workers(client, session, count=1):
    state = await client.state(session, lambda s: len(s["chats"]) > count)
    found = state["chats"][1:]
    for chat in found:
        await client.subscribe(chat["resource"])
    return [client.states[chat["resource"]] for chat in found]


async def test_a_subagent_works_in_a_read_only_chat_of_its_own(world, client):
    """T2, AHP §9.3: tool origin, mirrored by a block in the call that spawned it; it has a turn of its own."""
    session, chat = await client.new_session()
    turn = await client.turn(chat, "subagent")
    (worker,) = await workers(client, session)
    assert worker["origin"] == {"kind": "tool", "chat": chat, "toolCallId": "task-1"}
    assert worker["interactivity"] == "read-only" and worker["title"] == "Explore"
    (inner,) = worker["turns"]
    assert inner["state"] == "complete" and text_of(inner) == "looking"
    assert inner["message"] == {"text": "Look around", "origin": {"kind": "agent"}}
    assert call_of(inner, "in-task-1")["status"] == "completed"
    blocks = call_of(turn, "task-1")["content"]
    assert blocks[0] == {
        "type": "subagent",
        "resource": worker["resource"],
        "title": "Explore",
        "agentName": "explorer",
        "description": "Look around",
    }
    assert blocks[1] == {"type": "text", "text": "explored"}
    world.check_mirrors(client)


async def test_its_chat_is_in_the_session_before_its_words(world, client):
    session, chat = await client.new_session()
    await client.turn(chat, "subagent")
    seqs = {e["action"]["type"]: e["serverSeq"] for e in client.actions(session)}
    block = next(e for e in client.actions(chat, "chat/toolCallContentChanged"))
    assert seqs["session/chatAdded"] < block["serverSeq"]


async def test_signals_before_the_start_wait_and_none_is_lost(world, client):
    """K1: out of order is normal for real agents."""
    session, chat = await client.new_session()
    turn = await client.turn(chat, "subagent-early")
    (worker,) = await workers(client, session)
    (inner,) = worker["turns"]
    assert text_of(inner) == "early bird" and inner["usage"] == {"inputTokens": 1} and inner["state"] == "complete"
    assert call_of(turn, "task-1")["content"][0]["resource"] == worker["resource"]


async def test_subagents_of_subagents_find_their_parents(world, client):
    session, chat = await client.new_session()
    await client.turn(chat, "subagent-nested")
    outer, inner = await workers(client, session, 2)
    assert outer["title"] == "Outer" and outer["origin"]["chat"] == chat
    assert inner["title"] == "Inner" and inner["origin"]["chat"] == outer["resource"]
    assert text_of(outer["turns"][0]) == "outer words" and text_of(inner["turns"][0]) == "inner words"


async def test_what_was_never_placed_is_told(world, client):
    session, chat = await client.new_session()
    turn = await client.turn(chat, "subagent-never")
    assert turn["responseParts"][-1]["kind"] == "systemNotification"
    assert len(client.states[session]["chats"]) == 1


async def test_a_subagent_that_fails_ends_its_own_turn_only(world, client):
    session, chat = await client.new_session()
    turn = await client.turn(chat, "subagent failed")
    (worker,) = await workers(client, session)
    assert worker["turns"][0]["state"] == "error" and turn["state"] == "complete"


async def test_a_subagent_may_ask_before_it_has_started(world, client):
    """M6.3c; a question is never lost."""
    session, chat = await client.new_session()
    client.start_turn(chat, "subagent-ask")
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    entry = state["inputNeeded"][0]
    assert entry["chat"] != chat
    client.dispatch(
        entry["chat"],
        "chat/toolCallConfirmed",
        turnId=entry["turnId"],
        toolCallId="in-1",
        approved=True,
        confirmed="user-action",
    )
    assert text_of(await client.ended(chat)) == "approved True"
    await client.state(session, lambda s: "inputNeeded" not in s)


async def test_a_worker_ends_with_the_turn_that_spawned_it(world, client):
    session, chat = await client.new_session()
    client.start_turn(chat, "subagent-wait")
    (worker,) = await workers(client, session)
    uri = worker["resource"]
    turn_id = worker["activeTurn"]["id"]
    seq = client.dispatch(uri, "chat/turnCancelled", turnId=turn_id, duration=0)
    assert "cancel the turn of that chat" in await client.rejection(seq)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=0)
    state = await client.state(uri, lambda s: s["turns"])
    assert state["turns"][0]["state"] == "cancelled"
    refused = await client.turn(uri, "hello", "x")
    assert refused["responseParts"][-1]["error"]["errorType"] == "readOnly", "C3 of the reference"
    await client.state(session, lambda s: all(c["status"] & 8 == 0 for c in s["chats"]))


async def test_an_id_that_an_agent_uses_again_gets_a_chat_of_its_own(world, client):
    session, chat = await client.new_session()
    await client.turn(chat, "subagent", "a")
    await client.turn(chat, "subagent", "b")
    first, second = await workers(client, session, 2)
    assert first["resource"] != second["resource"] and len(second["turns"]) == 1


async def test_more_early_signals_than_are_kept_fail_the_route(world, client):
    """T3: a thousand are drained in order; beyond that the route fails, and the parent's turn says so."""
    session, chat = await client.new_session()
    turn = await client.turn(chat, f"subagent-flood {EARLY_SIGNALS}")
    (worker,) = await workers(client, session)
    in_order = [f"{n}," for n in (*range(0, EARLY_SIGNALS, 2), *range(1, EARLY_SIGNALS, 2))]
    assert text_of(worker["turns"][0]) == "".join(in_order)
    assert all(part["kind"] != "systemNotification" for part in turn["responseParts"])
    turn = await client.turn(chat, f"subagent-flood {EARLY_SIGNALS + 1}", "t2")
    assert any(part["kind"] == "systemNotification" for part in turn["responseParts"])


async def test_a_question_of_a_subagent_that_never_starts_is_answered():
    """T4: the agent does not hang on it."""
    world = await World(settings=HostSettings(subagent_start=0.05)).start()
    client = await world.client()
    _, chat = await client.new_session()
    client.start_turn(chat, "subagent-ask-never")
    assert text_of(await client.ended(chat)).startswith("denied")
    await world.close()


@pytest.mark.parametrize("when", ["before", "while"])
async def test_a_question_of_a_subagent_of_which_nothing_is_taken_is_answered_at_once(world, client, monkeypatch, when):
    """T3, T4, reference §4.5: with its route its questions fail, and nobody waits for the longest time there is."""

    async def behaviour(session, request, output, rest):
        asked = Confirmation("Run?", "Run ls", "ls", provider.OPTIONS)
        asking = asyncio.create_task(output.confirm("in-1", asked, subagent="task-1")) if when == "while" else None
        await asyncio.sleep(0)
        output.emit(ToolStarted("in-1", "shell", "Shell", subagent="task-1"))
        for number in range(EARLY_SIGNALS):
            output.emit(TextDelta(f"{number},", f"t{number % 2}", subagent="task-1"))
        answer = await (asking or output.confirm("in-1", asked, subagent="task-1"))
        output.emit(SubagentStarted("task-1", "Explore"))
        output.emit(TextDelta("allowed" if answer.approved else f"denied {answer.reason}", "t"))

    monkeypatch.setitem(provider.PROMPTS, "flood-and-ask", behaviour)
    session, chat = await client.new_session()
    assert HostSettings().subagent_start > 20, "longer than this test waits"
    assert text_of(await client.turn(chat, "flood-and-ask")).endswith("denied cancelled")
    assert len(client.states[session]["chats"]) == 1, "its start comes too late"
