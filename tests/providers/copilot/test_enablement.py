"""What reaches Copilot's model and what only Copilot has of it; the rest is the contract suite's (C6.5, issue 6 §3).

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
from providers.enabling import files, item, shown
from providers.matrix import cell, known_limit
from scripted.world import call_of
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

known_limit(
    "copilot",
    "prompt",
    "launch",
    "a prompt is what a person starts; Copilot offers none to the model, and the host hands none over",
)


def declared(name: str, log: Path) -> dict[str, Any]:
    arguments = [str(FIXTURE), "--name", name, "--log", str(log)]
    return {"type": "local", "tools": ["*"], "command": sys.executable, "args": arguments}


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


@cell("copilot", "ownConfiguration", "files", "compared: the person's own folder; the project's is not read")
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
