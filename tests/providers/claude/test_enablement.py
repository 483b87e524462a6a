"""What reaches Claude's model and what only Claude has of it; the rest is the contract suite's (C6.5, issue 6 §3).

Each row has its positive control: the same thing, on, is in the request.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from providers.agent_host import Rig, session, switch
from providers.claude_rig import claude_host, conversations, pids
from providers.enabling import files, item, markdown, shown
from providers.matrix import cell, known_limit
from servers.fake_llm.anthropic import FakeAnthropic
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

# -- servers -------------------------------------------------------------------------------------------------------


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


@cell("claude", "prompt", "launch", "not in the plugin folders that the host hands over")
@cell("claude", "prompt", "nextRequest", "the agent is started anew for the next turn")
async def test_prompts_follow_their_switches(host: Rig, llm: FakeAnthropic) -> None:
    for name in ("rev", "doc"):
        markdown(host.work / ".claude" / "commands" / f"{name}cmd.md")
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    await shown(client, uri, "revcmd", "doccmd")
    await switch(client, uri, item(client, uri, "revcmd"), False)
    await client.turn(chat, "/claude:doccmd please")
    assert llm.asked[0].mentions("DOCCMDWORDS") and not llm.asked[0].mentions("REVCMDWORDS")
    assert llm.asked[0].mentions("BODY of doccmd")
    await switch(client, uri, item(client, uri, "doccmd"), False)
    await client.turn(chat, "/claude:doccmd please", "t2")
    assert json.dumps(llm.asked[1].body).count("BODY of doccmd") == 1, "what was said before, and not again"


known_limit(
    "claude", "prompt", "runningTurn", "A prompt is expanded when it is sent, so there is nothing to take away."
)


async def test_of_the_rules_those_are_handed_over_that_claude_reads(host: Rig, llm: FakeAnthropic) -> None:
    """C7.2: at the end of the system prompt; what is another agent's is not in it."""
    for file, words in (("CLAUDE.md", "CLAUDERULE"), ("AGENTS.md", "SHAREDRULE"), ("GEMINI.md", "FOREIGNRULE")):
        (host.work / file).write_text(words)
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    await client.state(uri, lambda s: (host.work / "CLAUDE.md").as_uri() in str(s.get("customizations")))
    await client.turn(chat, "one")
    system = json.dumps(llm.asked[0].body["system"])
    assert "CLAUDERULE" in system and "SHAREDRULE" in system and not llm.asked[0].mentions("FOREIGNRULE")


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
async def test_a_switch_is_written_nowhere_and_starts_no_new_process(host: Rig, llm: FakeAnthropic) -> None:
    """The trap of the persisting toggle: it would be in the agent's own file, and reach every later session."""
    host.declare("memo")
    before = files(host.work)
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    await client.turn(chat, "one")
    running = pids(host)
    await switch(client, uri, item(client, uri, "memo"), False)
    await client.turn(chat, "two", "t2")
    assert llm.asked[0].offers("mcp__memo__echo") and not llm.asked[1].offers("mcp__memo__echo")
    assert pids(host) == running and files(host.work) == before and not (host.home / ".claude").exists()
    own: Any = json.loads((host.agent_folder / "config" / ".claude.json").read_text())
    assert not any(project.get("disabledMcpServers") for project in (own.get("projects") or {}).values())
