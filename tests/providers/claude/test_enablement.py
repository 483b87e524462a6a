"""What reaches Claude's model: the request that the model was sent decides (C6.5, issue 6 §3).

Each row has its positive control: the same thing, on, is in the request.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from providers.agent_host import FIXTURE, Rig, server_id, session, switch
from providers.claude_rig import claude_host, conversations, pids
from providers.enabling import entries, files, item, markdown, of_file, shown, skill
from providers.matrix import cell, known_limit
from scripted.world import call_of, text_of
from servers.fake_llm.anthropic import FakeAnthropic
from servers.fake_llm.recording import Asked, call, reply, say

pytestmark = pytest.mark.anyio

FREE = {"autoApprove": "autoApprove"}


def system(asked: Asked) -> str:
    return json.dumps(asked.body.get("system"))


# -- servers -------------------------------------------------------------------------------------------------------


@cell("claude", "server", "launch", "left out of `mcp_set_servers`; the host does not start it")
@cell("claude", "server", "newSession", "the stored decision holds before the agent starts")
async def test_a_server_that_is_off_at_launch_never_starts_and_is_never_named(host: Rig, llm: FakeAnthropic) -> None:
    """C6.1: the process check, the tool list, and every word of the request. A call of a tool that was not offered goes
    nowhere. C5.4, the trap of tool search: what the model can call is in the list, nothing is deferred."""
    host.declare("memo", "other")
    client = await host.client()
    first, chat = await session(client, host.work, "claude")
    await shown(client, first, "memo", "other")
    await switch(client, first, server_id(client, first, "memo"), False, "workspace", host.work.as_uri())
    await client.turn(chat, "hi")
    second, other = await session(client, host.work, "claude", "ahp-session:/2")
    await shown(client, second, "memo", "other")
    llm.add(reply(call("mcp__memo__echo", verbatim=True, text="x")), reply(say("no")))
    assert text_of(await client.turn(other, "hi")) == "no"
    assert len(llm.asked) == 3 and "No such tool" in llm.asked[2].last
    for asked in llm.asked[:2]:
        assert asked.offers("mcp__other__echo") and not asked.offers("mcp__memo__echo")
        assert not asked.mentions("mcp__memo") and not any("ToolSearch" in name for name in asked.names)
    assert host.events("other", "start") and not host.events("memo", "start")


@cell("claude", "server", "nextRequest", "`mcp_set_servers` with the rest, in the running process")
@cell("claude", "server", "back", "`mcp_set_servers` with it again")
@cell("claude", "server", "otherSession", "one process a chat; nothing is written to disk")
async def test_a_server_that_is_switched_off_is_gone_from_the_next_request_and_comes_back(
    host: Rig, llm: FakeAnthropic
) -> None:
    """C6.2, C6.4"""
    host.declare("memo", "other")
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    _, beside = await session(client, host.work, "claude", "ahp-session:/2")
    await client.turn(chat, "one")
    await client.turn(beside, "one")
    assert all(asked.offers("mcp__memo__echo") for asked in llm.asked)
    running = pids(host)
    id = server_id(client, uri, "memo")
    await switch(client, uri, id, False)
    await client.turn(chat, "two", "t2")
    await client.turn(beside, "two", "t2")
    assert not llm.asked[2].offers("mcp__memo__echo") and llm.asked[2].offers("mcp__other__echo")
    assert llm.asked[3].offers("mcp__memo__echo")
    await switch(client, uri, id, True)
    await client.turn(chat, "three", "t3")
    assert llm.asked[4].offers("mcp__memo__echo") and llm.asked[4].offers("mcp__other__echo")
    assert pids(host) == running


@cell("claude", "server", "runningTurn", "the gate refuses at once; the tools leave with the next request of the turn")
async def test_a_call_on_its_way_is_refused_when_its_server_is_switched_off(host: Rig, llm: FakeAnthropic) -> None:
    """C6.2: also the next request of the same turn has it no more."""
    host.declare("memo", "other")
    hold, later = asyncio.Event(), asyncio.Event()
    llm.add(reply(call("mcp__memo__echo", text="late", id="call-1"), after=hold), reply(say("refused"), after=later))
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    client.start_turn(chat, "hi")
    assert (await llm.request(0)).offers("mcp__memo__echo")
    await switch(client, uri, server_id(client, uri, "memo"), False)
    hold.set()
    second = await llm.request(1)
    later.set()
    turn = await client.ended(chat)
    assert (turn["state"], text_of(turn)) == ("complete", "refused")
    assert call_of(turn)["status"] == "cancelled" or call_of(turn)["success"] is False
    assert not host.events("memo", "call")
    assert not second.offers("mcp__memo__echo") and second.offers("mcp__other__echo")


async def test_a_call_of_a_project_server_is_asked_about_once_and_on_the_call_itself(
    root: Path, llm: FakeAnthropic
) -> None:
    """M6.8: the gate's question stands on the call that the chat shows; the agent's own confirmation is not asked."""
    async with claude_host(root, llm, trust="manual") as host:
        host.declare("memo")
        llm.add(reply(call("mcp__memo__echo", text="hi", id="call-1")), reply(say("done")))
        client = await host.client()
        uri, chat = await session(client, host.work, "claude")
        await shown(client, uri, "memo")
        id = server_id(client, uri, "memo")
        client.dispatch(uri, "session/mcpServerStartRequested", id=id)
        await client.state(uri, lambda s: any((c.get("state") or {}).get("kind") == "ready" for c in entries(s)))
        client.start_turn(chat, "hi")
        ready = await client.action(chat, "chat/toolCallReady")

        def pending() -> bool:
            turn = client.states[chat].get("activeTurn") or {"responseParts": []}
            found = [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]
            return [one["status"] for one in found] == ["pending-confirmation"]

        await client.until(pending)
        assert ready["action"]["toolCallId"] == "call-1"
        asked = call_of(client.states[chat]["activeTurn"])
        once = next(option for option in asked["options"] if option["kind"] == "approve")
        client.dispatch(
            chat,
            "chat/toolCallConfirmed",
            turnId="t1",
            toolCallId="call-1",
            approved=True,
            confirmed="user-action",
            selectedOptionId=once["id"],
        )
        turn = await client.ended(chat)
        assert text_of(turn) == "done" and call_of(turn)["success"] is True
        questions = [e for e in client.actions(chat, "chat/toolCallReady") if e["action"].get("confirmed") is None]
        assert len(questions) == 1
        assert call_of(turn)["contributor"] == {"kind": "mcp", "customizationId": id}


@cell("claude", "caller", "runningTurn", "the agent names its call; the hook before it says which subagent makes it")
async def test_the_call_of_a_subagent_is_known_as_such(host: Rig, llm: FakeAnthropic) -> None:
    """M6.3c"""
    host.declare("memo")
    spawn = call("Agent", description="Ask memo", prompt="LOOK", subagent_type="general-purpose")

    def of_child(asked: Asked) -> bool:
        return not asked.offers("Agent") or "LOOK" in str(asked.body["messages"][0]["content"])[-400:]

    llm.add(
        reply(spawn), reply(say(" Waiting.")), reply(call("mcp__memo__echo", text="own", id="own-1")), reply(say("Ok"))
    )
    llm.when(of_child, reply(say("child done")))
    llm.when(of_child, reply(call("mcp__memo__echo", text="kid", id="kid-1")), 1)
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    turn = await client.turn(chat, "delegate")
    assert turn["state"] == "complete", turn
    records = host.host._endpoints._gateway.calls(uri, server_id(client, uri, "memo"))
    assert sorted(record.by for record in records) == ["agent", "child"]


async def test_what_a_server_says_about_its_use_comes_once(host: Rig, llm: FakeAnthropic) -> None:
    """M5.7, K19: with the request, and not again while it stays the same."""
    host.declare("memo")
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    await client.turn(chat, "one")
    await client.turn(chat, "two", "t2")
    for asked in llm.asked:
        assert json.dumps(asked.body).count("fixture instructions") == 1
    await host.restart()
    again = await host.client()
    await again.subscribe(chat)
    await again.turn(chat, "three", "t3")
    assert json.dumps(llm.asked[-1].body).count("fixture instructions") == 1


# -- what lies in directories --------------------------------------------------------------------------------------


@cell("claude", "skill", "launch", "not in the plugin folders that the host hands over")
@cell(
    "claude", "skill", "nextRequest", "the agent is started anew for the next turn; history keeps what it said before"
)
@cell("claude", "skill", "back", "the same")
async def test_skills_follow_their_switches(host: Rig, llm: FakeAnthropic) -> None:
    """Of every ecosystem, and of the home: the format is one."""
    skill(host.work / ".claude" / "skills" / "one", "one")
    skill(host.work / ".github" / "skills" / "two", "two")
    skill(host.home / ".claude" / "skills" / "three", "three")
    client = await host.client()
    uri, chat = await session(client, host.work, "claude", config=FREE)
    await shown(client, uri, "one", "two", "three")
    await switch(client, uri, item(client, uri, "two"), False)
    llm.add(reply(call("Skill", skill="claude:one")), reply(say("used")))
    assert text_of(await client.turn(chat, "a")) == "used"
    assert [llm.asked[0].mentions(f"{name}WORDS") for name in ("ONE", "TWO", "THREE")] == [True, False, True]
    assert llm.asked[1].mentions("BODY of one")
    await switch(client, uri, item(client, uri, "one"), False)
    await switch(client, uri, item(client, uri, "two"), True)
    llm.add(reply(call("Skill", skill="claude:one")), reply(say("not there")))
    await client.turn(chat, "b", "t2")
    assert llm.asked[2].mentions("TWOWORDS")
    assert "Unknown skill" in llm.asked[3].last


@cell("claude", "skill", "runningTurn", "the hook before every call refuses it")
@cell("claude", "agent", "runningTurn", "the hook before every call refuses it")
async def test_a_skill_and_an_agent_that_are_switched_off_while_a_turn_runs_are_refused(
    host: Rig, llm: FakeAnthropic
) -> None:
    skill(host.work / ".claude" / "skills" / "one", "one")
    markdown(host.work / ".claude" / "agents" / "rev.md", "rev")
    hold = asyncio.Event()
    llm.add(
        reply(call("Skill", skill="claude:one"), after=hold),
        reply(call("Agent", description="Review", prompt="now", subagent_type="claude:rev")),
        reply(say("neither")),
    )
    client = await host.client()
    uri, chat = await session(client, host.work, "claude", config=FREE)
    await shown(client, uri, "one", "rev")
    client.start_turn(chat, "go")
    first = await llm.request(0)
    assert first.mentions("ONEWORDS") and first.mentions("REVWORDS")
    await switch(client, uri, item(client, uri, "one"), False)
    await switch(client, uri, item(client, uri, "rev"), False)
    hold.set()
    assert text_of(await client.ended(chat)) == "neither"
    assert "claude:one is switched off" in llm.asked[1].last
    assert "claude:rev is switched off" in llm.asked[2].last


@cell("claude", "agent", "launch", "not in the plugin folders that the host hands over")
@cell("claude", "agent", "nextRequest", "the agent is started anew for the next turn")
@cell("claude", "agent", "back", "the same")
@cell("claude", "prompt", "launch", "not in the plugin folders that the host hands over")
@cell("claude", "prompt", "nextRequest", "the agent is started anew for the next turn")
async def test_agents_and_prompts_follow_their_switches(host: Rig, llm: FakeAnthropic) -> None:
    for name in ("rev", "doc"):
        markdown(host.work / ".claude" / "agents" / f"{name}.md", name)
        markdown(host.work / ".claude" / "commands" / f"{name}cmd.md")
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    await shown(client, uri, "rev", "doc", "revcmd", "doccmd")
    await switch(client, uri, item(client, uri, "rev"), False)
    await switch(client, uri, item(client, uri, "revcmd"), False)
    await client.turn(chat, "/claude:doccmd please")
    assert llm.asked[0].mentions("DOCWORDS") and not llm.asked[0].mentions("REVWORDS")
    assert llm.asked[0].mentions("DOCCMDWORDS") and not llm.asked[0].mentions("REVCMDWORDS")
    assert llm.asked[0].mentions("BODY of doccmd")
    await switch(client, uri, item(client, uri, "rev"), True)
    await switch(client, uri, item(client, uri, "doc"), False)
    await switch(client, uri, item(client, uri, "doccmd"), False)
    await client.turn(chat, "/claude:doccmd please", "t2")
    assert llm.asked[1].mentions("REVWORDS")
    assert json.dumps(llm.asked[1].body).count("BODY of doccmd") == 1, "what was said before, and not again"


@cell("claude", "rule", "launch", "not in the text at the end of the system prompt")
@cell("claude", "rule", "nextRequest", "the agent is started anew with another text, so nothing of it is left")
@cell("claude", "rule", "back", "the same")
@cell("claude", "rule", "otherSession", "one process a chat")
async def test_rules_follow_their_switches_and_leave_no_trace(host: Rig, llm: FakeAnthropic) -> None:
    """Also a change of the file counts from the next turn."""
    for file, words in (("CLAUDE.md", "CLAUDERULE"), ("AGENTS.md", "SHAREDRULE"), ("GEMINI.md", "FOREIGNRULE")):
        (host.work / file).write_text(words)
    markdown(host.home / ".claude" / "CLAUDE.md")
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    _, beside = await session(client, host.work, "claude", "ahp-session:/2")
    await client.state(uri, lambda s: (host.work / "CLAUDE.md").as_uri() in str(s.get("customizations")))
    await client.turn(chat, "one")
    assert "CLAUDERULE" in system(llm.asked[0]) and "SHAREDRULE" in system(llm.asked[0])
    assert "BODY of CLAUDE" in system(llm.asked[0]) and not llm.asked[0].mentions("FOREIGNRULE")
    await switch(client, uri, of_file(client, uri, host.work / "CLAUDE.md"), False)
    await client.turn(chat, "two", "t2")
    assert not llm.asked[1].mentions("CLAUDERULE") and "SHAREDRULE" in system(llm.asked[1])
    await client.turn(beside, "one")
    assert "CLAUDERULE" in system(llm.asked[2])
    await switch(client, uri, of_file(client, uri, host.work / "CLAUDE.md"), True)
    (host.work / "CLAUDE.md").write_text("NEWRULE")
    await client.turn(chat, "three", "t3")
    assert "NEWRULE" in system(llm.asked[3]) and not llm.asked[3].mentions("CLAUDERULE")


known_limit("claude", "rule", "runningTurn", "The system prompt of a turn that runs stays as it is.")
known_limit(
    "claude", "prompt", "runningTurn", "A prompt is expanded when it is sent, so there is nothing to take away."
)


# -- plugins -------------------------------------------------------------------------------------------------------


def house(root: Path) -> Path:
    """A plugin with one of everything."""
    plugin = root / "house"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "house", "version": "1.0.0"}')
    skill(plugin / "skills" / "tidy", "tidy")
    markdown(plugin / "agents" / "keeper.md", "keeper")
    markdown(plugin / "commands" / "sweep.md")
    (plugin / "hooks").mkdir()
    hook = {"type": "command", "command": f'echo "$CLAUDE_PLUGIN_ROOT" >> {root / "hook.log"}'}
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}
    (plugin / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    arguments = [str(FIXTURE), "--name", "attic", "--log", str(root / "attic.log")]
    servers = {"attic": {"command": sys.executable, "args": arguments}}
    (plugin / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return plugin


@cell("claude", "plugin", "launch", "not among the plugin folders; none of its parts is there, its server never starts")
@cell("claude", "plugin", "nextRequest", "the agent is started anew for the next turn")
@cell("claude", "plugin", "back", "the same")
@cell("claude", "hook", "launch", "only those of plugins that are on are handed over")
@cell("claude", "pluginServer", "launch", "left out of `mcp_set_servers`; the agent does not start it")
@cell("claude", "pluginServer", "back", "`mcp_set_servers` with it")
async def test_a_plugin_and_all_that_is_in_it_follow_its_switch(root: Path, llm: FakeAnthropic) -> None:
    """C1.5"""
    plugin = house(root)
    shell = reply(call("Bash", command="echo hi", description="Greet"))
    async with claude_host(root, llm, plugins=(str(plugin),)) as host:
        client = await host.client()
        uri, chat = await session(client, host.work, "claude", config=FREE)
        await shown(client, uri, "house", "tidy", "keeper", "sweep", "attic")
        await switch(client, uri, item(client, uri, "house"), False)
        llm.add(shell)
        await client.turn(chat, "one")
        for words in ("TIDYWORDS", "KEEPERWORDS", "SWEEPWORDS", "attic"):
            assert not llm.asked[0].mentions(words), words
        assert not (root / "hook.log").exists() and not host.events("attic", "start")
        await switch(client, uri, item(client, uri, "house"), True)
        llm.add(shell)
        await client.turn(chat, "two", "t2")
        for words in ("TIDYWORDS", "KEEPERWORDS", "SWEEPWORDS"):
            assert llm.asked[2].mentions(words), words
        assert llm.asked[2].offers("mcp__plugin_house_attic__echo") and host.events("attic", "start")
        assert (root / "hook.log").read_text() == f"{plugin}\n"
        await switch(client, uri, item(client, uri, "house"), False)
        llm.add(shell, reply(call("Skill", skill="house:tidy")), reply(say("gone")))
        await client.turn(chat, "three", "t3")
        assert "Unknown skill" in llm.asked[-1].last
        assert not llm.asked[-1].offers("mcp__plugin_house_attic__echo")
        assert (root / "hook.log").read_text() == f"{plugin}\n"


@cell("claude", "hook", "nextRequest", "the agent is started anew for the next turn")
@cell("claude", "pluginServer", "nextRequest", "`mcp_set_servers` with the rest")
@cell("claude", "pluginServer", "runningTurn", "the hook before every call refuses it, then `mcp_set_servers`")
async def test_single_parts_of_a_plugin_are_withheld_one_by_one(root: Path, llm: FakeAnthropic) -> None:
    """C4.2: the folder that the agent sees holds what is on."""
    plugin = house(root)
    async with claude_host(root, llm, plugins=(str(plugin),)) as host:
        client = await host.client()
        uri, chat = await session(client, host.work, "claude", config=FREE)
        await shown(client, uri, "house", "tidy", "keeper", "sweep", "attic")
        hold = asyncio.Event()
        llm.add(reply(call("mcp__plugin_house_attic__echo", text="x", id="call-1"), after=hold), reply(say("off")))
        client.start_turn(chat, "one")
        first = await llm.request(0)
        assert first.mentions("TIDYWORDS") and first.offers("mcp__plugin_house_attic__echo")
        hooks = [one["id"] for one in entries(client.states[uri]) if one["type"] == "hook"]
        for id in (item(client, uri, "attic"), item(client, uri, "tidy"), *hooks):
            await switch(client, uri, id, False)
        hold.set()
        await client.ended(chat)
        assert not host.events("attic", "call")
        llm.add(reply(call("Bash", command="echo hi", description="Greet")))
        await client.turn(chat, "two", "t2")
        last = llm.asked[-1]
        assert not last.offers("mcp__plugin_house_attic__echo") and last.mentions("KEEPERWORDS")
        assert not (root / "hook.log").exists()


# -- what the agent would find by itself, and what it must not write -----------------------------------------------


@cell("claude", "ownConfiguration", "launch", "no setting source is read, and servers come by one way only")
async def test_what_the_projects_claude_folder_would_start_by_itself_does_not_start(
    root: Path, llm: FakeAnthropic
) -> None:
    """The trap: `.mcp.json` and hooks of a project start without a question when setting sources are read."""
    ran = root / "RAN"
    hook = {"type": "command", "command": f"touch {ran}"}
    settings = {"permissions": {"allow": ["Bash"]}, "hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}
    (root / "work" / ".claude").mkdir(parents=True)
    (root / "work" / ".claude" / "settings.json").write_text(json.dumps(settings))
    async with claude_host(root, llm, trust="manual") as host:
        host.declare("sly")
        client = await host.client()
        _, chat = await session(client, host.work, "claude")
        llm.add(reply(call("Bash", command=f"touch {ran}", description="Make")), reply(say("done")))
        client.start_turn(chat, "hi")
        await client.until(lambda: client.actions(chat, "chat/toolCallReady"))
        await host.until(lambda: any(chat.asking for chat in conversations(host)))
        client.dispatch(chat, "chat/turnCancelled", turnId="t1")
        await client.ended(chat)
        assert not ran.exists() and not host.events("sly", "start")
        assert not llm.asked[0].mentions("mcp__sly")


@cell("claude", "ownConfiguration", "files", "compared: the person's own folder, the project's files")
@cell("claude", "server", "files", "the toggle that is written to disk is not used")
async def test_nothing_is_written_to_the_persons_or_the_projects_configuration(root: Path, llm: FakeAnthropic) -> None:
    """Issue 6 §3; the trap of the persisting toggle."""
    theirs = root / "user" / ".claude"
    theirs.mkdir(parents=True)
    (theirs / "settings.json").write_text('{"theme": "dark"}')
    (theirs / ".claude.json").write_text(json.dumps({"mcpServers": {"mine": {"command": "/bin/false"}}}))
    skill(root / "work" / ".claude" / "skills" / "one", "one")
    async with claude_host(root, llm) as host:
        host.declare("memo", "other")
        before = files(theirs), files(host.work)
        client = await host.client()
        uri, chat = await session(client, host.work, "claude")
        await shown(client, uri, "memo", "one")
        await client.turn(chat, "one")
        for name in ("memo", "one"):
            await switch(client, uri, item(client, uri, name), False)
        await client.turn(chat, "two", "t2")
        assert llm.asked[0].offers("mcp__memo__echo") and not llm.asked[1].offers("mcp__memo__echo")
        assert not llm.asked[0].mentions("mcp__mine")
        assert (files(theirs), files(host.work)) == before
        own: Any = json.loads((host.agent_folder / "config" / ".claude.json").read_text())
        assert not any(project.get("disabledMcpServers") for project in (own.get("projects") or {}).values())
