"""What reaches Codex's model and what only Codex has of it; the rest is the contract suite's (C6.5, issue 6 §3).

Each row has its positive control: the same thing, on, is in the request.
"""

import json
import sys
from pathlib import Path

import pytest

from providers.agent_host import FIXTURE, Rig, server_id, session, switch
from providers.codex.conftest import codex_host
from providers.enabling import shown
from providers.matrix import cell, known_limit
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

known_limit(
    "codex",
    "prompt",
    "launch",
    "a prompt is what a person starts; Codex offers none to the model, and the host hands none over",
)
known_limit(
    "codex",
    "ownConfiguration",
    "runningTurn",
    "what its own config.toml brings is not behind the gate: it goes with the next turn (C6.2)",
)


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-6-sol"])
async def test_models_that_defer_tools_or_call_them_from_code_meet_the_same_gate(
    host: Rig, llm: FakeOpenAI, model: str
) -> None:
    """C5.4: a deferred tool counts as offered; M6.9: code inside an agent passes the gate as well."""
    host.declare("memo", "other")
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    await shown(client, uri, "memo", "other")
    await switch(client, uri, server_id(client, uri, "memo"), False)
    message = {"text": "hi", "origin": {"kind": "user"}, "model": {"id": model}}
    code = "const r = await tools.mcp__other__echo({text: 'y'}); text(r); text(Object.keys(tools).join(' '))"
    if model == "gpt-6-sol":
        llm.add(reply(call("exec", raw=code)), reply(say("done")))
    else:
        llm.add(reply(call("tool_search", query="echo")), reply(say("done")))
    client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=message)
    turn = await client.ended(chat)
    assert turn["state"] == "complete", turn
    whole = [asked for asked in llm.asked if asked.mentions("other")]
    assert whole, "the server that is on is found"
    assert not any(asked.mentions("mcp__memo") for asked in llm.asked)
    if model == "gpt-6-sol":
        assert len(host.events("other", "call")) == 1


def own_server(name: str, log: Path) -> str:
    """A server in a `config.toml` of Codex."""
    arguments = [str(FIXTURE), "--name", name, "--log", str(log)]
    return f'[mcp_servers.{name}]\ncommand = "{sys.executable}"\nargs = {json.dumps(arguments)}\nrequired = true\n'


@cell("codex", "ownConfiguration", "launch", "a project's folder is not trusted: none of its servers and hooks starts")
async def test_what_the_projects_codex_folder_would_start_by_itself_does_not_start(root: Path, llm: FakeOpenAI) -> None:
    """The trap: Codex trusts a folder it is started in, writes that down, and runs what the folder configures."""
    folder = root / "work" / ".codex"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(own_server("sly", root / "sly.log"))
    hook = {"type": "command", "command": f"touch {root / 'RAN'}"}
    (folder / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    async with codex_host(root, llm, trust="manual") as host:
        before = (host.agent_folder / "home" / "config.toml").read_bytes()
        client = await host.client()
        _, chat = await session(client, host.work, "codex")
        for number in range(2):
            await client.turn(chat, "hi", f"t{number}")
        assert not host.events("sly", "start") and not llm.asked[-1].mentions("mcp__sly")
        assert not (root / "RAN").exists()
        assert (host.agent_folder / "home" / "config.toml").read_bytes() == before


@cell("codex", "ownConfiguration", "launch", "switched off by name in the thread's configuration")
async def test_a_server_of_codex_own_configuration_goes_with_its_name(root: Path, llm: FakeOpenAI) -> None:
    """C6.2: what the agent's own `config.toml` brings is switched off by name."""
    async with codex_host(root, llm, after=own_server("own", root / "theirs.log")) as host:
        host.declare("own", "other")
        client = await host.client()
        uri, chat = await session(client, host.work, "codex")
        await shown(client, uri, "own")
        await switch(client, uri, server_id(client, uri, "own"), False)
        await client.turn(chat, "one")
        assert not llm.asked[0].offers("mcp__own__echo") and llm.asked[0].offers("mcp__other__echo")
        assert not (root / "theirs.log").exists() and not host.events("own", "start")
    (root / "work" / ".mcp.json").unlink()
    async with codex_host(root, llm, after=own_server("own", root / "theirs.log")) as host:
        client = await host.client()
        _, chat = await session(client, host.work, "codex", "ahp-session:/2")
        await client.turn(chat, "one")
        assert llm.asked[1].offers("mcp__own__echo"), "the positive control: without a decision it is there"
