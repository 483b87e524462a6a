"""MCP servers, for every agent: the request that the model was sent decides (C6.5, issue 6 §3).

Each row has its positive control: the same thing, on, is in the request.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from innkeeper.host.customizations.handover import Handover
from providers.agent_host import Rig, server_id, session, switch
from providers.answering import calls
from providers.contract.agents import Agent
from providers.contract.means import Part, cell_of, row
from providers.enabling import files, of_file, shown
from scripted.world import call_of, text_of
from servers.fake_llm.recording import FakeModel, call, reply, say

pytestmark = pytest.mark.anyio


@row("server", "launch", "newSession")
async def test_a_server_that_is_off_at_launch_never_starts_and_is_never_named(
    agent: Agent, host: Rig, llm: FakeModel
) -> None:
    """C6.1: the process check, the tool list, and every word of the request. A call of a tool that was not offered goes
    nowhere. C5.4, the trap of tool search: what the model can call is in the list, nothing is deferred."""
    host.declare("zanzibar", "other")
    client = await host.client()
    first, chat = await session(client, host.work, agent.name)
    await shown(client, first, "zanzibar", "other")
    await switch(client, first, server_id(client, first, "zanzibar"), False, "workspace", host.work.as_uri())
    await client.turn(chat, "hi")
    second, other = await session(client, host.work, agent.name, "ahp-session:/2")
    await shown(client, second, "zanzibar", "other")
    llm.add(reply(call(agent.tool("zanzibar", "echo"), verbatim=True, text="x")), reply(say("no")))
    assert text_of(await client.turn(other, "hi")) == "no"
    for asked in llm.asked[:2]:
        assert asked.offers(agent.tool("other", "echo")) and not asked.mentions("zanzibar")
        assert not {"ToolSearch", "tool_search"} & set(asked.names)
    assert host.events("other", "start") and not host.events("zanzibar", "start")


@row("server", "nextRequest", "back", "otherSession")
async def test_a_server_that_is_switched_off_is_gone_from_the_next_request_and_comes_back(
    agent: Agent, host: Rig, llm: FakeModel
) -> None:
    """C6.2, C6.4; the other session keeps it, and what is back can be called."""
    host.declare("memo", "other")
    memo, other = agent.tool("memo", "echo"), agent.tool("other", "echo")
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name)
    _, beside = await session(client, host.work, agent.name, "ahp-session:/2")
    await client.turn(chat, "one")
    await client.turn(beside, "one")
    assert all(asked.offers(memo) for asked in llm.asked)
    id = server_id(client, uri, "memo")
    await switch(client, uri, id, False)
    await client.turn(chat, "two", "t2")
    await client.turn(beside, "two", "t2")
    assert not llm.asked[2].offers(memo) and llm.asked[2].offers(other)
    assert llm.asked[3].offers(memo)
    await switch(client, uri, id, True)
    llm.add(reply(call(memo, text="back", id="call-1")), reply(say("done")))
    turn = await client.turn(chat, "three", "t3")
    assert llm.asked[4].offers(memo) and llm.asked[4].offers(other)
    assert call_of(turn)["success"] is True and len(host.events("memo", "call")) == 1


@row("server", "runningTurn")
async def test_a_call_on_its_way_is_refused_when_its_server_is_switched_off(
    agent: Agent, host: Rig, llm: FakeModel
) -> None:
    """C6.2: the gate refuses at once. The next request of the same turn has the tools no more, or, where that is the
    documented limit, still has them; the next turn has them not."""
    host.declare("memo", "other")
    memo, other = agent.tool("memo", "echo"), agent.tool("other", "echo")
    hold, later = asyncio.Event(), asyncio.Event()
    llm.add(reply(call(memo, text="late", id="call-1"), after=hold), reply(say("refused"), after=later))
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name)
    client.start_turn(chat, "hi")
    assert (await llm.request(0)).offers(memo)
    await switch(client, uri, server_id(client, uri, "memo"), False)
    hold.set()
    second = await llm.request(1)
    later.set()
    turn = await client.ended(chat)
    assert (turn["state"], text_of(turn)) == ("complete", "refused")
    [late] = calls(turn)
    assert late["status"] == "cancelled" or late["success"] is False
    assert not host.events("memo", "call")
    stays = isinstance(cell_of(agent.name, "server", "runningTurn"), Part)
    assert second.offers(memo) is stays and second.offers(other)
    await client.turn(chat, "again", "t2")
    assert not llm.asked[-1].offers(memo) and llm.asked[-1].offers(other)


async def test_what_is_switched_off_while_the_agent_starts_is_in_no_request(
    agent: Agent, host: Rig, llm: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C6.1, C6.4: a decision that overtakes the start of a turn counts for it, about a server and about a rule."""
    host.declare("memo", "other")
    rule = host.work / agent.rules[0]
    rule.write_text("PROJECTRULE")
    endpoints, sent, reached, go = host.host._endpoints, asyncio.Event(), asyncio.Event(), asyncio.Event()
    offer, offered = endpoints.offer, Handover.offered

    def noted(*given: Any) -> Any:
        sent.set()
        return offered(*given)

    async def slow(*given: Any, **more: Any) -> Any:
        """The agent looks what it is to have, after the host has said what it may have."""
        found = await offer(*given, **more)
        if sent.is_set():
            reached.set()
            await go.wait()
        return found

    monkeypatch.setattr(Handover, "offered", noted)
    monkeypatch.setattr(endpoints, "offer", slow)
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name)
    await client.state(uri, lambda s: rule.as_uri() in str(s.get("customizations")))
    client.start_turn(chat, "hi")
    await reached.wait()
    await switch(client, uri, server_id(client, uri, "memo"), False)
    await switch(client, uri, of_file(client, uri, rule), False)
    go.set()
    assert (await client.ended(chat))["state"] == "complete"
    assert len(llm.asked) == 1 and not llm.asked[0].mentions("PROJECTRULE")
    assert llm.asked[0].offers(agent.tool("other", "echo")) and not llm.asked[0].offers(agent.tool("memo", "echo"))


@row("server", "files")
async def test_nothing_is_written_to_the_persons_or_the_projects_configuration(
    agent: Agent, root: Path, llm: FakeModel
) -> None:
    """Issue 6 §3: whatever is switched, the files are as they were; the person's own servers do not come in."""
    theirs = agent.theirs(root / "user")
    async with agent.host(root, llm, share_login=agent.links_login) as host:
        host.declare("memo", "other")
        before = files(theirs), files(host.work)
        client = await host.client()
        uri, chat = await session(client, host.work, agent.name)
        await client.turn(chat, "one")
        await switch(client, uri, server_id(client, uri, "memo"), False, "workspace", host.work.as_uri())
        await client.turn(chat, "two", "t2")
        memo = agent.tool("memo", "echo")
        assert llm.asked[0].offers(memo) and not llm.asked[1].offers(memo)
        assert not llm.asked[0].offers(agent.tool("mine", "echo"))
        assert (files(theirs), files(host.work)) == before


@row("caller", "runningTurn")
async def test_the_call_of_a_child_is_known_as_such(agent: Agent, host: Rig, llm: FakeModel) -> None:
    """M6.3c: a child has what is on, its chat shows its calls, and the gate knows whose they are."""
    host.declare("memo")
    memo = agent.tool("memo", "echo")
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name)
    done = asyncio.Event()
    llm.when(lambda asked: agent.child_of(asked, "childwork"), reply(say("child is done")))
    llm.when(lambda asked: agent.child_of(asked, "childwork"), reply(call(memo, text="kid", id="kid-1")), 1)
    llm.add(
        reply(agent.spawn("childwork", "spawn-1")),
        reply(call(memo, text="own", id="own-1"), after=done),
        reply(say("parent is done")),
    )
    client.start_turn(chat, "delegate")
    await llm.until(lambda: [one.done for one in llm.asked if agent.child_of(one, "childwork")] == [True, True])
    done.set()
    turn = await client.ended(chat)
    assert turn["state"] == "complete", turn
    block = next(one for one in call_of(turn, "spawn-1")["content"] if one["type"] == "subagent")
    child = await client.subscribe(block["resource"])
    assert child["interactivity"] == "read-only" and child["origin"]["toolCallId"] == "spawn-1"
    assert call_of(child["turns"][0], "kid-1")["success"] is True
    assert text_of(child["turns"][0]) == "child is done"
    records = host.host._endpoints._gateway.calls(uri, server_id(client, uri, "memo"))
    assert sorted(record.by for record in records) == ["agent", "child"]
