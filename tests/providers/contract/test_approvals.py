"""What an agent may not do by itself is asked about, once, and answered by a person alone (issue 6 §2, M6.1-M6.8)."""

import time
from pathlib import Path

import pytest

from providers.agent_host import Rig, server_id, session
from providers.answering import answer, calls, question, questions
from providers.contract.agents import Agent
from scripted.world import call_of, text_of
from servers.fake_llm.recording import FakeModel, call, reply, say

pytestmark = pytest.mark.anyio


async def test_a_command_runs_when_allowed_and_a_denial_goes_on_with_its_reason(
    agent: Agent, host: Rig, llm: FakeModel
) -> None:
    """M6.1: the reason reaches the model; nothing runs before the answer."""
    made = host.work / "made"
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name)
    for id, approved in (("call-1", False), ("call-2", True)):
        llm.add(reply(agent.run("touch made", id)), reply(say("understood")))
        client.start_turn(chat, "go", id)
        asked = await question(client, uri)
        assert asked["toolCallId"] == id and {one["kind"] for one in asked["options"]} == {"approve", "deny"}
        assert "touch made" in str(asked) and not made.exists()
        answer(client, chat, asked, approved, id, **({} if approved else {"reasonMessage": "not on a Monday"}))
        turn = await client.ended(chat, id)
        assert (turn["state"], text_of(turn)) == ("complete", "understood")
        assert llm.asked[-1].mentions("not on a Monday")
        assert made.exists() is approved and (call_of(turn, id).get("success") is True) is approved
        assert len([one for one in calls(turn) if one["toolCallId"] == id]) == 1


async def test_a_command_that_a_person_changes_never_runs_as_it_was(agent: Agent, host: Rig, llm: FakeModel) -> None:
    """It runs as the person wants it, or, where the agent takes no other input, the model is told what to run."""
    llm.add(reply(agent.run("touch made", "call-1")), reply(say("understood")))
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name)
    client.start_turn(chat, "go")
    answer(client, chat, await question(client, uri), True, editedToolInput=agent.edited("touch other"))
    turn = await client.ended(chat)
    assert (turn["state"], text_of(turn)) == ("complete", "understood")
    assert not (host.work / "made").exists()
    assert (host.work / "other").exists() or llm.asked[1].mentions("touch other")


async def test_abort_leaves_nothing_waiting_and_a_later_answer_allows_nothing(
    agent: Agent, host: Rig, llm: FakeModel
) -> None:
    """Issue 6 §2; the trap: an agent settles the question with its abort and leaves the handler waiting."""
    llm.add(reply(agent.run("touch made", "call-1")))
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name)
    client.start_turn(chat, "go")
    asked = await question(client, uri)
    began = time.monotonic()
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    await client.ended(chat)
    await client.state(uri, lambda s: not s.get("inputNeeded"))
    await host.until(lambda: not agent.asking(host))
    assert time.monotonic() - began < 1
    await client.echo(answer(client, chat, asked, True))
    turn = await client.turn(chat, "again", "t2")
    assert turn["state"] == "complete" and not (host.work / "made").exists()


async def test_a_call_of_a_project_server_is_asked_about_once_and_on_the_call_itself(
    agent: Agent, root: Path, llm: FakeModel
) -> None:
    """M6.8: the gate's question is the call's own; the agent's own question is answered by the host."""
    async with agent.host(root, llm, trust="manual") as host:
        host.declare("memo")
        llm.add(reply(call(agent.tool("memo", "echo"), text="hi", id="call-1")), reply(say("done")))
        client = await host.client()
        uri, chat = await session(client, host.work, agent.name)
        await client.state(uri, lambda s: s.get("customizations"))
        id = server_id(client, uri, "memo")
        await client.request("x-innkeeper/mcp/connect", uri, server=id)
        client.start_turn(chat, "go")
        asked = await question(client, uri)
        assert asked["toolCallId"] == "call-1" and len(asked["options"]) == 3
        assert not host.events("memo", "call")
        answer(client, chat, asked, True)
        turn = await client.ended(chat)
        [made] = calls(turn)
        assert made["success"] is True and made["contributor"] == {"kind": "mcp", "customizationId": id}
        assert text_of(turn) == "done"
        assert len(host.events("memo", "call")) == len(questions(client, chat)) == 1


async def test_full_access_asks_nothing(agent: Agent, host: Rig, llm: FakeModel) -> None:
    """M6.3b: what counts as full access stands in one table, each agent's own word for it too."""
    host.declare("memo")
    llm.add(
        reply(agent.runs_unasked("touch made", "call-1")),
        reply(call(agent.tool("memo", "echo"), text="hi", id="call-2")),
        reply(say("done")),
    )
    client = await host.client()
    _, chat = await session(client, host.work, agent.name, config=agent.full_access)
    turn = await client.turn(chat, "go")
    assert turn["state"] == "complete" and (host.work / "made").exists()
    assert call_of(turn, "call-2")["success"] is True and not questions(client, chat)


@pytest.mark.parametrize("free", [False, True], ids=["asking", "full access"])
async def test_a_tool_that_the_session_denies_is_not_run_and_nobody_is_asked(
    agent: Agent, host: Rig, llm: FakeModel, free: bool
) -> None:
    """M6.8: a deny of the session wins, with full access too, and also where the agent would ask nobody."""
    llm.add(reply(agent.runs_unasked("touch made", "call-1")), reply(say("ok")))
    client = await host.client()
    config = {**(agent.full_access if free else {}), "permissions": {"allow": [], "deny": [agent.shell]}}
    _, chat = await session(client, host.work, agent.name, config=config)
    turn = await client.turn(chat, "go")
    assert turn["state"] == "complete" and not (host.work / "made").exists()
    assert not questions(client, chat)
    assert not any(one.get("success") for one in calls(turn))
