"""Skills, agents, rules and plugins, for every agent: the request that the model was sent decides (C6.5, issue 6 §3).

Each row has its positive control: the same thing, on, is in the request.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from providers.agent_host import FIXTURE, Rig, session, switch
from providers.answering import calls
from providers.contract.agents import Agent
from providers.contract.means import Never, Part, cell_of, row
from providers.enabling import entries, item, markdown, of_file, shown, skill
from scripted.world import Client, text_of
from servers.fake_llm.recording import Asked, Call, FakeModel, call, reply, say

pytestmark = pytest.mark.anyio


def words(agent: Agent, asked: Asked, *names: str) -> list[bool]:
    """Which of these the model is told of now, by the words of their description. Where history keeps a list that it
    has, what is off is seen by its being refused."""
    return [f"{name.upper()}WORDS" in agent.now(asked) for name in names]


async def off_in_a_turn(
    uri: str, llm: FakeModel, client: Client, chat: str, made: Call, id: str
) -> list[dict[str, Any]]:
    """The model makes the call `made`, and what it is of is switched off while it does. The calls of that turn."""
    number, hold = len(llm.asked), asyncio.Event()
    llm.add(reply(made, after=hold), reply(say("refused")))
    client.start_turn(chat, "use it", "running")
    await llm.request(number)
    await switch(client, uri, id, False)
    hold.set()
    turn = await client.ended(chat, "running")
    assert (turn["state"], text_of(turn)) == ("complete", "refused")
    return calls(turn)


@row("skill", "launch", "nextRequest", "runningTurn", "back", "otherSession", "newSession")
async def test_skills_follow_their_switches(agent: Agent, host: Rig, llm: FakeModel) -> None:
    """Of the project, and of the person."""
    for name in ("one", "two", "four"):
        skill(host.work / agent.folder / "skills" / name, name)
    skill(host.home / agent.home / "skills" / "three", "three")
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name, config=agent.full_access)
    _, beside = await session(client, host.work, agent.name, "ahp-session:/2")
    await shown(client, uri, "one", "two", "three")
    await switch(client, uri, item(client, uri, "two"), False)
    await client.turn(chat, "a")
    assert words(agent, llm.asked[-1], "one", "two", "three") == [True, False, True]
    await client.turn(beside, "a")
    assert words(agent, llm.asked[-1], "one", "two", "three") == [True, True, True]
    await switch(client, uri, item(client, uri, "one"), False, "workspace", host.work.as_uri())
    await switch(client, uri, item(client, uri, "two"), True)
    if agent.uses:
        llm.add(reply(agent.use("one", "call-1")), reply(agent.use("two", "call-2")), reply(say("one of them")))
    used = calls(await client.turn(chat, "b", "t2"))
    assert words(agent, llm.asked[-1], "one", "two", "three") == [agent.keeps, True, True]
    if agent.uses:
        assert [one["success"] for one in used] == [False, True]
        assert llm.asked[-1].mentions("BODY of two") and not llm.asked[-1].mentions("BODY of one")
        four = item(client, uri, "four")
        made = await off_in_a_turn(uri, llm, client, chat, agent.use("four", "call-3"), four)
        assert made[0]["success"] is False and not llm.asked[-1].mentions("BODY of four")
    third, new = await session(client, host.work, agent.name, "ahp-session:/3")
    await shown(client, third, "one", "two", "three")
    await client.turn(new, "a")
    assert words(agent, llm.asked[-1], "one", "two", "three") == [False, True, True]


@row("agent", "launch", "nextRequest", "runningTurn", "back", "otherSession", "newSession")
async def test_agents_follow_their_switches(agent: Agent, host: Rig, llm: FakeModel) -> None:
    for name in ("rev", "doc"):
        agent.define(host.work / agent.folder, name)
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name, config=agent.full_access)
    _, beside = await session(client, host.work, agent.name, "ahp-session:/2")
    await shown(client, uri, "rev", "doc")
    await switch(client, uri, item(client, uri, "rev"), False)
    await client.turn(chat, "a")
    assert words(agent, llm.asked[-1], "rev", "doc") == [False, True]
    await client.turn(beside, "a")
    assert words(agent, llm.asked[-1], "rev", "doc") == [True, True]
    await switch(client, uri, item(client, uri, "rev"), True)
    await switch(client, uri, item(client, uri, "doc"), False, "workspace", host.work.as_uri())
    if agent.keeps:
        llm.add(reply(agent.spawn("childwork", "call-1", "doc")), reply(say("none")))
    made = calls(await client.turn(chat, "b", "t2"))
    assert words(agent, llm.asked[-1], "rev", "doc") == [True, agent.keeps]
    assert not any(one["success"] for one in made) and not any(asked.mentions("BODY of doc") for asked in llm.asked)
    if not isinstance(cell_of(agent.name, "agent", "runningTurn"), Never):
        spawn = agent.spawn("childwork", "call-2", "rev")
        made = await off_in_a_turn(uri, llm, client, chat, spawn, item(client, uri, "rev"))
        assert made[0]["success"] is False and not any(asked.mentions("BODY of rev") for asked in llm.asked)
    third, new = await session(client, host.work, agent.name, "ahp-session:/3")
    await shown(client, third, "rev", "doc")
    await client.turn(new, "a")
    assert words(agent, llm.asked[-1], "rev", "doc") == [True, False]


@row("rule", "launch", "nextRequest", "runningTurn", "back", "otherSession", "newSession")
async def test_rules_follow_their_switches(agent: Agent, host: Rig, llm: FakeModel) -> None:
    """The project's and the person's. Also a change of the file counts from the next turn."""
    rule, own = host.work / agent.rules[0], host.home / agent.home / agent.rules[1]
    own.parent.mkdir()
    rule.write_text("PROJECTRULE")
    own.write_text("HOMERULE")
    client = await host.client()
    uri, chat = await session(client, host.work, agent.name)
    _, beside = await session(client, host.work, agent.name, "ahp-session:/2")
    await client.state(uri, lambda s: rule.as_uri() in str(s.get("customizations")))
    id = of_file(client, uri, rule)

    def said() -> list[bool]:
        return [one in agent.now(llm.asked[-1]) for one in ("PROJECTRULE", "HOMERULE")]

    await switch(client, uri, id, False)
    await client.turn(chat, "a")
    assert said() == [False, True] and not llm.asked[-1].mentions("PROJECTRULE")
    await client.turn(beside, "a")
    assert said() == [True, True]
    await switch(client, uri, id, True)
    await client.turn(chat, "b", "t2")
    assert said() == [True, True]
    await switch(client, uri, id, False, "workspace", host.work.as_uri())
    await client.turn(chat, "c", "t3")
    assert said() == [False, True]
    history = isinstance(cell_of(agent.name, "rule", "nextRequest"), Part)
    assert llm.asked[-1].mentions("PROJECTRULE") is history
    third, new = await session(client, host.work, agent.name, "ahp-session:/3")
    await client.state(third, lambda s: rule.as_uri() in str(s.get("customizations")))
    await client.turn(new, "a")
    assert said() == [False, True] and not llm.asked[-1].mentions("PROJECTRULE")
    await switch(client, uri, id, True, "workspace", host.work.as_uri())
    rule.write_text("OTHERWORDS")
    await client.turn(chat, "d", "t4")
    assert "OTHERWORDS" in agent.now(llm.asked[-1]) and "PROJECTRULE" not in agent.now(llm.asked[-1])


# -- plugins -------------------------------------------------------------------------------------------------------


def house(root: Path) -> Path:
    """A plugin with one of everything. Its hook notes that a message was sent."""
    plugin = root / "house"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "house", "version": "1.0.0"}')
    skill(plugin / "skills" / "tidy", "tidy")
    markdown(plugin / "agents" / "keeper.md", "keeper")
    markdown(plugin / "commands" / "sweep.md")
    hook = {"type": "command", "command": f'echo "$CLAUDE_PLUGIN_ROOT" >> {hooked(root)}'}
    (plugin / "hooks").mkdir()
    (plugin / "hooks" / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    arguments = [str(FIXTURE), "--name", "attic", "--log", str(root / "attic.log")]
    servers = {"attic": {"command": sys.executable, "args": arguments}}
    (plugin / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return plugin


def hooked(root: Path) -> Path:
    return root / "hook.log"


PARTS = ("tidy", "keeper")


@row("plugin", "launch", "nextRequest", "runningTurn", "back", "otherSession", "newSession")
@row("pluginServer", "launch", "back", "otherSession", "newSession")
@row("hook", "launch", "back")
async def test_a_plugin_and_all_that_is_in_it_follow_its_switch(agent: Agent, root: Path, llm: FakeModel) -> None:
    """C1.5. A hook of it runs where the agent is handed hooks, and nowhere else."""
    tool, runs = agent.tool("plugin_house_attic", "echo"), not isinstance(cell_of(agent.name, "hook", "launch"), Part)
    async with agent.host(root, llm, plugins=(str(house(root)),)) as host:
        client = await host.client()
        uri, chat = await session(client, host.work, agent.name)
        _, beside = await session(client, host.work, agent.name, "ahp-session:/2")
        await shown(client, uri, "house", *PARTS, "attic")
        await switch(client, uri, item(client, uri, "house"), False)
        await client.turn(chat, "a")
        assert not any(words(agent, llm.asked[-1], *PARTS, "sweep")) and not llm.asked[-1].mentions("attic")
        assert not hooked(root).exists() and not host.events("attic", "start")
        await switch(client, uri, item(client, uri, "house"), True)
        await client.turn(chat, "b", "t2")
        assert all(words(agent, llm.asked[-1], *PARTS)) and llm.asked[-1].offers(tool)
        assert ("SWEEPWORDS" in agent.now(llm.asked[-1])) is agent.prompts and host.events("attic", "start")
        assert not runs or hooked(root).read_text() == f"{root / 'house'}\n"
        assert hooked(root).exists() is runs
        await client.turn(beside, "a")
        assert all(words(agent, llm.asked[-1], *PARTS)) and llm.asked[-1].offers(tool)
        call_late = call(tool, text="late", id="late")
        [late] = await off_in_a_turn(uri, llm, client, chat, call_late, item(client, uri, "house"))
        assert not late.get("success") and not host.events("attic", "call")
        await switch(client, uri, item(client, uri, "house"), False, "workspace", host.work.as_uri())
        ran, started = hooked(root).exists() and hooked(root).read_text(), len(host.events("attic", "start"))
        if agent.keeps:
            llm.add(reply(agent.use("tidy", "call-1", "house")), reply(say("none")))
        made = calls(await client.turn(chat, "c", "t3"))
        assert words(agent, llm.asked[-1], *PARTS) == [agent.keeps] * 2 and not llm.asked[-1].offers(tool)
        assert not any(one["success"] for one in made) and not llm.asked[-1].mentions("BODY of tidy")
        third, new = await session(client, host.work, agent.name, "ahp-session:/3")
        await shown(client, third, "house")
        await client.turn(new, "a")
        assert not any(words(agent, llm.asked[-1], *PARTS)) and not llm.asked[-1].mentions("attic")
        assert (hooked(root).exists() and hooked(root).read_text()) == ran
        assert len(host.events("attic", "start")) == started


@row("pluginServer", "nextRequest", "runningTurn")
@row("hook", "nextRequest")
async def test_single_parts_of_a_plugin_are_withheld_one_by_one(agent: Agent, root: Path, llm: FakeModel) -> None:
    """C4.2: the plugin is on, and of it the agent has what is on. M6.5: no gate stands before its server, so the agent
    asks, and the question is put to a person; a call on its way is refused."""
    tool = agent.tool("plugin_house_attic", "echo")
    async with agent.host(root, llm, plugins=(str(house(root)),)) as host:
        client = await host.client()
        uri, chat = await session(client, host.work, agent.name)
        await shown(client, uri, "house", *PARTS, "attic")
        id = item(client, uri, "attic")
        made = await off_in_a_turn(uri, llm, client, chat, call(tool, text="x", id="call-1"), id)
        assert llm.asked[0].offers(tool) and all(words(agent, llm.asked[0], *PARTS))
        assert made[0]["status"] == "cancelled" or made[0]["success"] is False
        assert not host.events("attic", "call")
        stays = isinstance(cell_of(agent.name, "pluginServer", "runningTurn"), Part)
        assert llm.asked[1].offers(tool) is stays
        for one in (
            item(client, uri, "tidy"),
            *(one["id"] for one in entries(client.states[uri]) if one["type"] == "hook"),
        ):
            await switch(client, uri, one, False)
        hooked(root).unlink(missing_ok=True)
        await client.turn(chat, "b", "t2")
        assert words(agent, llm.asked[-1], *PARTS) == [agent.keeps, True] and not llm.asked[-1].offers(tool)
        assert not hooked(root).exists()
