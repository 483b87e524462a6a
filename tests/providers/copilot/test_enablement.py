"""What reaches Copilot's model: the request that the model was sent decides (C6.5, issue 6 §3).

Each row has its positive control: the same thing, on, is in the request.
"""

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from providers.agent_host import FIXTURE, Rig, server_id, session, switch
from providers.copilot_rig import FakeService, conversations, copilot_host
from providers.enabling import files, item, markdown, of_file, shown, skill
from providers.matrix import cell, known_limit
from scripted.world import call_of, text_of
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

known_limit(
    "copilot",
    "prompt",
    "launch",
    "a prompt is what a person starts; Copilot offers none to the model, and the host hands none over",
)
known_limit("copilot", "hook", "back", "hooks are not handed over, also those that are on")
known_limit(
    "copilot",
    "agent",
    "runningTurn",
    "Copilot has no call that takes one agent away: the hook refuses it at once, the listing goes with the next turn",
)


def declared(name: str, log: Path) -> dict[str, Any]:
    arguments = [str(FIXTURE), "--name", name, "--log", str(log)]
    return {"type": "local", "tools": ["*"], "command": sys.executable, "args": arguments}


@cell("copilot", "server", "launch", "left out of session.create; its process never starts")
@cell("copilot", "server", "newSession", "the stored decision, at session.create")
async def test_a_server_that_is_off_at_launch_never_starts_and_is_never_named(host: Rig, llm: FakeService) -> None:
    """C6.1; a new session honours the stored decision."""
    host.declare("memo", "other")
    client = await host.client()
    first, chat = await session(client, host.work, "copilot")
    await shown(client, first, "memo", "other")
    await switch(client, first, server_id(client, first, "memo"), False, "workspace", host.work.as_uri())
    await client.turn(chat, "hi")
    second, other = await session(client, host.work, "copilot", "ahp-session:/2")
    await shown(client, second, "memo", "other")
    await client.turn(other, "hi")
    assert len(llm.asked) == 2
    for asked in llm.asked:
        assert asked.offers("other-echo") and not asked.offers("memo-echo") and not asked.mentions("memo")
    assert host.events("other", "start") and not host.events("memo", "start")


@cell("copilot", "server", "nextRequest", "mcp.disable, awaited and read back")
@cell("copilot", "server", "back", "mcp.startServer with the endpoint's new address")
@cell("copilot", "server", "otherSession", "each session of the runtime has its own")
async def test_a_server_that_is_switched_off_is_gone_from_the_next_request_and_comes_back(
    host: Rig, llm: FakeService
) -> None:
    """C6.2, C6.4; the other session keeps it."""
    host.declare("memo", "other")
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    _, beside = await session(client, host.work, "copilot", "ahp-session:/2")
    await client.turn(chat, "one")
    await client.turn(beside, "one")
    assert all(asked.offers("memo-echo") for asked in llm.asked)
    id = server_id(client, uri, "memo")
    await switch(client, uri, id, False)
    await client.turn(chat, "two", "t2")
    await client.turn(beside, "two", "t2")
    assert not llm.asked[2].offers("memo-echo") and llm.asked[2].offers("other-echo")
    assert llm.asked[3].offers("memo-echo")
    await switch(client, uri, id, True)
    llm.add(reply(call("memo-echo", text="back", id="call-1")), reply(say("done")))
    turn = await client.turn(chat, "three", "t3")
    assert llm.asked[4].offers("memo-echo") and llm.asked[4].offers("other-echo")
    assert call_of(turn)["success"] is True, "what is back can be called"


@cell("copilot", "server", "runningTurn", "the gate refuses at once; mcp.disable takes it from the next request")
async def test_a_call_on_its_way_is_refused_and_the_turns_next_request_has_the_server_no_more(
    host: Rig, llm: FakeService
) -> None:
    """C6.2"""
    host.declare("memo", "other")
    hold = asyncio.Event()
    llm.add(reply(call("memo-echo", text="late", id="call-1"), after=hold), reply(say("refused")))
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    client.start_turn(chat, "hi")
    assert (await llm.request(0)).offers("memo-echo")
    await switch(client, uri, server_id(client, uri, "memo"), False)
    hold.set()
    turn = await client.ended(chat)
    assert turn["state"] == "complete" and text_of(turn) == "refused"
    assert call_of(turn)["success"] is False and not host.events("memo", "call")
    assert not llm.asked[1].offers("memo-echo") and llm.asked[1].offers("other-echo")


async def test_a_tool_that_is_called_though_it_was_not_offered_is_not_run(host: Rig, llm: FakeService) -> None:
    host.declare("memo", "other")
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    await shown(client, uri, "memo", "other")
    await switch(client, uri, server_id(client, uri, "memo"), False)
    llm.add(reply(call("memo-echo", verbatim=True, text="x")), reply(say("no")))
    assert text_of(await client.turn(chat, "hi")) == "no"
    assert not host.events("memo", "call") and llm.asked[0].offers("other-echo")


async def test_switches_that_overtake_each_other_end_as_the_last_one_said(host: Rig, llm: FakeService) -> None:
    """The trap: Copilot lets an enable overtake a disable. One change at a time, and each is read back."""
    host.declare("memo", "other")
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    await client.turn(chat, "one")
    ids = {name: server_id(client, uri, name) for name in ("memo", "other")}
    chance = random.Random(6)
    for number in range(2):
        last: dict[str, bool] = {}
        for _ in range(8):
            name = chance.choice(("memo", "other"))
            last[name] = chance.random() < 0.5
            entry = {"kind": "session", "enabled": last[name]}
            seq = client.dispatch(uri, "session/customizationToggled", id=ids[name], enablement=[entry])
        await client.echo(seq)
        await client.turn(chat, "now", f"u{number}")
        for name, on in last.items():
            assert llm.asked[-1].offers(f"{name}-echo") is on, (name, on, number)


@cell("copilot", "caller", "runningTurn", "our hook puts Copilot's id of the call into the request")
async def test_the_agent_of_a_child_calls_as_a_child(host: Rig, llm: FakeService) -> None:
    """M6.3c"""
    host.declare("memo")
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    llm.when(lambda a: a.last == "childwork", reply(call("memo-echo", text="kid", id="kid-1")), 1)
    llm.when(lambda a: "kid" in a.last and "childwork" in str(a.body["input"]), reply(say("child is done")), 1)
    child = {"agent_type": "general-purpose", "name": "kid", "mode": "sync"}
    llm.add(
        reply(call("task", description="Do", prompt="childwork", id="spawn-1", **child)),
        reply(call("memo-echo", text="own", id="own-1")),
        reply(say("parent is done")),
    )
    assert (await client.turn(chat, "delegate"))["state"] == "complete"
    records = host.host._endpoints._gateway.calls(uri, server_id(client, uri, "memo"))
    assert [record.by for record in records] == ["child", "agent"]


@cell("copilot", "skill", "launch", "laid out in a folder of ours; what is off is not in it")
@cell("copilot", "skill", "nextRequest", "the session is closed and opened with what is on")
@cell("copilot", "skill", "back", "the session is closed and opened with what is on")
@cell("copilot", "skill", "runningTurn", "skills.disable; a call on its way is refused by the hook")
async def test_skills_follow_their_switches_at_launch_in_the_session_and_in_a_turn(host: Rig, llm: FakeService) -> None:
    skill(host.work / ".agents" / "skills" / "one", "skone")
    skill(host.work / ".github" / "skills" / "two", "sktwo")
    skill(host.home / ".copilot" / "skills" / "three", "skthree")
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    await shown(client, uri, "skone", "sktwo", "skthree")
    await switch(client, uri, item(client, uri, "sktwo"), False)
    await client.turn(chat, "one")
    assert [llm.asked[0].mentions(name) for name in ("SKONEWORDS", "SKTWOWORDS", "SKTHREEWORDS")] == [True, False, True]
    await switch(client, uri, item(client, uri, "skone"), False)
    await switch(client, uri, item(client, uri, "sktwo"), True)
    await client.turn(chat, "two", "t2")
    assert not llm.asked[1].mentions("SKONEWORDS") and llm.asked[1].mentions("SKTWOWORDS")
    hold = asyncio.Event()
    llm.add(reply(call("skill", skill="sktwo", id="call-1"), after=hold), reply(say("refused")))
    client.start_turn(chat, "three", "t3")
    assert (await llm.request(2)).mentions("SKTWOWORDS")
    await switch(client, uri, item(client, uri, "sktwo"), False)
    hold.set()
    turn = await client.ended(chat, "t3")
    assert call_of(turn)["success"] is False and not llm.asked[3].mentions("BODY of sktwo")
    assert "SKTWOWORDS" not in json.dumps(llm.asked[3].body.get("tools"))


@cell("copilot", "rule", "launch", "at the end of the system message; Copilot reads no instructions by itself")
@cell("copilot", "rule", "nextRequest", "the session is closed and opened with another system message")
@cell("copilot", "rule", "back", "the session is closed and opened with another system message")
async def test_rules_follow_their_switches(host: Rig, llm: FakeService) -> None:
    (host.work / "AGENTS.md").write_text("PROJECTRULE")
    (host.work / ".github").mkdir()
    (host.work / ".github" / "copilot-instructions.md").write_text("GITHUBRULE")
    (host.home / ".copilot").mkdir()
    (host.home / ".copilot" / "copilot-instructions.md").write_text("HOMERULE")
    rule = host.work / "AGENTS.md"
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    await client.state(uri, lambda s: rule.as_uri() in str(s.get("customizations")))
    await switch(client, uri, of_file(client, uri, rule), False)
    for number, on in enumerate((False, True, False)):
        await client.turn(chat, "hi", f"t{number}")
        asked = llm.asked[number]
        assert asked.mentions("PROJECTRULE") is on and asked.mentions("GITHUBRULE") and asked.mentions("HOMERULE")
        await switch(client, uri, of_file(client, uri, rule), not on)


@cell("copilot", "agent", "launch", "handed over one by one as custom agents")
@cell("copilot", "agent", "nextRequest", "the session is closed and opened with what is on")
@cell("copilot", "agent", "back", "the session is closed and opened with what is on")
async def test_agents_of_the_project_follow_their_switches(host: Rig, llm: FakeService) -> None:
    for name in ("rev", "doc"):
        markdown(host.work / ".github" / "agents" / f"{name}.agent.md", name)
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    await shown(client, uri, "rev", "doc")
    await switch(client, uri, item(client, uri, "rev"), False)
    await client.turn(chat, "one")
    assert llm.asked[0].mentions("DOCWORDS") and not llm.asked[0].mentions("REVWORDS")
    await switch(client, uri, item(client, uri, "rev"), True)
    await switch(client, uri, item(client, uri, "doc"), False)
    await client.turn(chat, "two", "t2")
    assert llm.asked[1].mentions("REVWORDS") and not llm.asked[1].mentions("DOCWORDS")
    hold = asyncio.Event()
    child = {"agent_type": "rev", "name": "kid", "mode": "sync"}
    llm.add(reply(call("task", description="Do", prompt="x", id="call-1", **child), after=hold), reply(say("no")))
    client.start_turn(chat, "three", "t3")
    await llm.request(2)
    await switch(client, uri, item(client, uri, "rev"), False)
    hold.set()
    turn = await client.ended(chat, "t3")
    assert call_of(turn)["success"] is False and not any(asked.mentions("BODY of rev") for asked in llm.asked)


@cell("copilot", "plugin", "launch", "its parts are handed over one by one")
@cell("copilot", "plugin", "nextRequest", "its parts, with the session opened again")
@cell("copilot", "plugin", "newSession", "the stored decision, at session.create")
@cell(
    "copilot", "hook", "launch", "not handed over", limit="no hook of a plugin or a project runs, also none that is on"
)
async def test_parts_of_a_plugin_follow_it_and_its_hooks_do_not_run(root: Path, llm: FakeService) -> None:
    plugin = root / "house"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "house", "version": "1.0.0"}')
    skill(plugin / "skills" / "tidy", "sktidy")
    markdown(plugin / "agents" / "keeper.md", "keeper")
    hook = {"hooks": [{"type": "command", "command": f"touch {root / 'RAN'}"}]}
    (plugin / "hooks").mkdir()
    (plugin / "hooks" / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [hook]}}))
    async with copilot_host(root, llm, plugins=(str(plugin),)) as host:
        client = await host.client()
        uri, chat = await session(client, host.work, "copilot")
        await shown(client, uri, "house", "sktidy", "keeper")
        await client.turn(chat, "one")
        assert llm.asked[0].mentions("SKTIDYWORDS") and llm.asked[0].mentions("KEEPERWORDS")
        await switch(client, uri, item(client, uri, "house"), False, "workspace", host.work.as_uri())
        await client.turn(chat, "two", "t2")
        second, other = await session(client, host.work, "copilot", "ahp-session:/2")
        await shown(client, second, "house")
        await client.turn(other, "one")
        for asked in llm.asked[1:]:
            assert not asked.mentions("SKTIDYWORDS") and not asked.mentions("KEEPERWORDS")
    assert not (root / "RAN").exists()


@cell("copilot", "pluginServer", "launch", "left out of session.create; its process never starts")
@cell("copilot", "pluginServer", "back", "mcp.startServer from the plugin's definition")
@cell("copilot", "pluginServer", "runningTurn", "mcp.disable: Copilot refuses the call, the next request is without")
async def test_the_server_of_a_plugin_follows_its_switch_and_is_asked_about(root: Path, llm: FakeService) -> None:
    """M6.5: no gate stands before it, so Copilot's own question is put to a person."""
    plugin, tool = root / "house", "plugin_house_attic-echo"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "house", "version": "1.0.0"}')
    server = {"command": sys.executable, "args": [str(FIXTURE), "--name", "attic", "--log", str(root / "attic.log")]}
    (plugin / ".mcp.json").write_text(json.dumps({"mcpServers": {"attic": server}}))
    async with copilot_host(root, llm, plugins=(str(plugin),)) as host:
        host.declare("other")
        client = await host.client()
        uri, chat = await session(client, host.work, "copilot")
        await shown(client, uri, "house", "attic", "other")
        id = item(client, uri, "attic")
        await switch(client, uri, id, False)
        await client.turn(chat, "one")
        assert not llm.asked[0].offers(tool) and llm.asked[0].offers("other-echo")
        assert not host.events("attic", "start")
        await switch(client, uri, id, True)
        hold = asyncio.Event()
        llm.add(reply(call(tool, text="x", id="call-1")))
        llm.add(reply(call(tool, text="late", id="call-2"), after=hold), reply(say("done")))
        client.start_turn(chat, "two", "t2")
        state = await client.state(uri, lambda s: s.get("inputNeeded"))
        asked = state["inputNeeded"][0]["toolCall"]
        assert asked["toolCallId"] == "call-1" and asked["contributor"] == {"kind": "mcp", "customizationId": id}
        option = next(one["id"] for one in asked["options"] if one["kind"] == "approve")
        given = {"turnId": "t2", "toolCallId": "call-1", "approved": True, "selectedOptionId": option}
        client.dispatch(chat, "chat/toolCallConfirmed", confirmed="user-action", **given)
        assert (await llm.request(2)).offers(tool)
        await switch(client, uri, id, False)
        hold.set()
        turn = await client.ended(chat, "t2")
        assert call_of(turn)["success"] is True and call_of(turn, "call-2")["success"] is False
        assert len(host.events("attic", "call")) == 1 and not llm.asked[3].offers(tool)


@cell("copilot", "ownConfiguration", "launch", "disabled_mcp_servers by name, in the host's own COPILOT_HOME")
@cell("copilot", "ownConfiguration", "nextRequest", "mcp.disable by name")
async def test_a_server_of_copilots_own_configuration_goes_with_its_name(root: Path, llm: FakeService) -> None:
    """C6.2; the trap: `mcp-config.json` loads whatever a session says."""
    own = root / "agent" / "home" / "mcp-config.json"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps({"mcpServers": {"own": declared("own", root / "theirs.log")}}))
    async with copilot_host(root, llm) as host:
        host.declare("own", "other")
        client = await host.client()
        uri, chat = await session(client, host.work, "copilot")
        await shown(client, uri, "own", "other")
        id = server_id(client, uri, "own")
        await switch(client, uri, id, False)
        await client.turn(chat, "one")
        assert not llm.asked[0].offers("own-echo") and llm.asked[0].offers("other-echo")
        assert not (root / "theirs.log").exists() and not host.events("own", "start")
        (host.work / ".mcp.json").unlink()
        second, other = await session(client, host.work, "copilot", "ahp-session:/2")
        await client.turn(other, "one")
        assert llm.asked[1].offers("own-echo"), "the positive control: without a decision it is there"
        assert second != uri


@cell("copilot", "server", "files", "the person's own folder is compared: a COPILOT_HOME of the host's")
async def test_what_project_and_person_configure_for_copilot_neither_starts_nor_is_changed(
    root: Path, llm: FakeService
) -> None:
    """Issue 6 §3: the files are compared; a project's folder is not trusted by the agent."""
    theirs, work = root / "user" / ".copilot", root / "work"
    theirs.mkdir(parents=True)
    (theirs / "mcp-config.json").write_text(json.dumps({"mcpServers": {"mine": declared("mine", root / "mine.log")}}))
    (theirs / "config.json").write_text('{"copilotTokens": {"https://github.com:me": "gho_theirs"}}')
    hooks = work / ".github" / "hooks"
    hooks.mkdir(parents=True)
    command = {"type": "command", "bash": f"touch {root / 'RAN'}"}
    names = ("sessionStart", "userPromptSubmitted", "preToolUse")
    (hooks / "h.json").write_text(json.dumps({"version": 1, "hooks": {name: [command] for name in names}}))
    before = files(theirs)
    async with copilot_host(root, llm, trust="manual", share_login=True) as host:
        (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"sly": declared("sly", root / "sly.log")}}))
        client = await host.client()
        _, chat = await session(client, host.work, "copilot")
        llm.add(reply(call("glob", pattern="*")), reply(say("done")))
        assert (await client.turn(chat, "one"))["state"] == "complete"
        assert not llm.asked[0].offers("mine-echo") and not llm.asked[0].offers("sly-echo")
    assert files(theirs) == before
    assert not any((root / name).exists() for name in ("mine.log", "sly.log", "RAN"))


async def test_tools_that_a_server_adds_reach_the_next_request(host: Rig, llm: FakeService) -> None:
    host.declare("memo")
    llm.add(reply(call("memo-grow")), reply(say("grew")), reply(say("seen")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    await client.turn(chat, "grow")
    assert not llm.asked[0].offers("memo-grown")

    async def again() -> bool:
        await client.turn(chat, "look", f"t{len(llm.asked)}")
        return llm.asked[-1].offers("memo-grown")

    assert await again() or await again()
    assert conversations(host)[0].open
