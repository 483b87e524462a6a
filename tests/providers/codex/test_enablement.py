"""What reaches Codex's model: the request that the model was sent decides (C6.5, issue 6 §3).

Each row has its positive control: the same thing, on, is in the request.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from providers.agent_host import FIXTURE, Rig, server_id, session, switch
from providers.codex.conftest import codex_host
from providers.matrix import cell, known_limit
from scripted.world import Client, call_of, text_of
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


async def settled(client: Client, uri: str, *names: str) -> None:
    """The session shows these customizations."""
    await client.state(uri, lambda s: set(names) <= {c.get("name") for c in s.get("customizations") or ()})


@cell("codex", "server", "launch", "left out of thread/start; its process never starts")
@cell("codex", "server", "newSession", "the stored decision, at thread/start")
async def test_a_server_that_is_off_at_launch_never_starts_and_is_never_named(host: Rig, llm: FakeOpenAI) -> None:
    """C6.1; a new session honours the stored decision."""
    host.declare("memo", "other")
    client = await host.client()
    first, chat = await session(client, host.work, "codex")
    await settled(client, first, "memo", "other")
    await switch(client, first, server_id(client, first, "memo"), False, "workspace", host.work.as_uri())
    await client.turn(chat, "hi")
    second, other = await session(client, host.work, "codex", "ahp-session:/2")
    await settled(client, second, "memo", "other")
    await client.turn(other, "hi")
    assert len(llm.asked) == 2
    for asked in llm.asked:
        assert asked.offers("mcp__other__echo") and not asked.offers("mcp__memo__echo")
        assert not asked.mentions("mcp__memo")
    assert host.events("other", "start") and not host.events("memo", "start")


@cell("codex", "server", "nextRequest", "unsubscribe and resume while the thread is idle")
@cell("codex", "server", "back", "unsubscribe and resume; the endpoint has another address")
@cell("codex", "server", "otherSession", "configuration of a thread, not of the process")
async def test_a_server_that_is_switched_off_is_gone_from_the_next_request_and_comes_back(
    host: Rig, llm: FakeOpenAI
) -> None:
    """C6.2, C6.4: unsubscribe and resume while idle; the other session keeps it."""
    host.declare("memo", "other")
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    _, beside = await session(client, host.work, "codex", "ahp-session:/2")
    await client.turn(chat, "one")
    await client.turn(beside, "one")
    assert all(asked.offers("mcp__memo__echo") for asked in llm.asked)
    id = server_id(client, uri, "memo")
    await switch(client, uri, id, False)
    await client.turn(chat, "two", "t2")
    await client.turn(beside, "two", "t2")
    assert not llm.asked[2].offers("mcp__memo__echo") and llm.asked[2].offers("mcp__other__echo")
    assert llm.asked[3].offers("mcp__memo__echo")
    await switch(client, uri, id, True)
    await client.turn(chat, "three", "t3")
    assert llm.asked[4].offers("mcp__memo__echo") and llm.asked[4].offers("mcp__other__echo")


@cell(
    "codex",
    "server",
    "runningTurn",
    "the gate refuses at once",
    limit="the process is shared by threads: the tools stay in the list until the turn ends",
)
async def test_a_call_on_its_way_is_refused_when_its_server_is_switched_off(host: Rig, llm: FakeOpenAI) -> None:
    """C6.2: mid-turn the gate refuses at once; the request after this turn has the server no more."""
    host.declare("memo", "other")
    hold = asyncio.Event()
    llm.add(reply(call("mcp__memo__echo", text="late", id="call-1"), after=hold), reply(say("refused")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "hi")
    assert (await llm.request(0)).offers("mcp__memo__echo")
    await switch(client, uri, server_id(client, uri, "memo"), False)
    hold.set()
    turn = await client.ended(chat)
    assert turn["state"] == "complete" and text_of(turn) == "refused"
    assert call_of(turn)["success"] is False
    assert not host.events("memo", "call")
    await client.turn(chat, "again", "t2")
    assert not llm.asked[-1].offers("mcp__memo__echo") and llm.asked[-1].offers("mcp__other__echo")


async def test_a_tool_that_is_called_though_it_was_not_offered_is_not_run(host: Rig, llm: FakeOpenAI) -> None:
    host.declare("memo", "other")
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    await settled(client, uri, "memo", "other")
    await switch(client, uri, server_id(client, uri, "memo"), False)
    llm.add(reply(call("mcp__memo__echo", verbatim=True, text="x")), reply(say("no")))
    assert text_of(await client.turn(chat, "hi")) == "no"
    assert "unsupported call" in llm.asked[1].last and not host.events("memo", "call")


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-6-sol"])
async def test_models_that_defer_tools_or_call_them_from_code_meet_the_same_gate(
    host: Rig, llm: FakeOpenAI, model: str
) -> None:
    """C5.4: a deferred tool counts as offered; M6.9: code inside an agent passes the gate as well."""
    host.declare("memo", "other")
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    await settled(client, uri, "memo", "other")
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


@cell("codex", "caller", "runningTurn", "Codex puts its id of the call and of the thread into the request")
async def test_the_agent_of_a_child_calls_as_a_child(host: Rig, llm: FakeOpenAI) -> None:
    """M6.3c: Codex says which thread a call is from; a child inherits what is on, and its chat shows its calls."""
    host.declare("memo")
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    llm.when(lambda a: a.last == "childwork", reply(call("mcp__memo__echo", text="kid", id="kid-1")), 1)
    llm.when(lambda a: "kid" in a.last and "childwork" in str(a.body["input"]), reply(say("child is done")), 1)
    llm.add(
        reply(call("spawn_agent", message="childwork", id="spawn-1")),
        reply(call("mcp__memo__wait", seconds=1)),
        reply(say("parent is done")),
    )
    turn = await client.turn(chat, "delegate")
    assert turn["state"] == "complete", turn
    blocks = [b for b in call_of(turn, "spawn-1")["content"] if b["type"] == "subagent"]
    child = await client.subscribe(blocks[0]["resource"])
    assert child["interactivity"] == "read-only" and child["origin"]["toolCallId"] == "spawn-1"
    assert call_of(child["turns"][0], "kid-1")["success"] is True
    assert text_of(child["turns"][0]) == "child is done"
    records = host.host._endpoints._gateway.calls(uri, server_id(client, uri, "memo"))
    assert sorted(record.by for record in records) == ["agent", "child"]


def own_server(name: str, log: Path) -> str:
    """A server in a `config.toml` of Codex."""
    arguments = [str(FIXTURE), "--name", name, "--log", str(log)]
    return f'[mcp_servers.{name}]\ncommand = "{sys.executable}"\nargs = {json.dumps(arguments)}\nrequired = true\n'


def skill(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True)
    file = folder / "SKILL.md"
    file.write_text(f"---\nname: {name}\ndescription: Does {name} things\n---\nBODY of {name}\n")
    return file


def item(client: Client, session: str, name: str) -> str:
    """The id of a customization, a child of a container too."""
    for container in client.states[session].get("customizations") or ():
        for one in (container, *(container.get("children") or ())):
            if one.get("name") == name:
                return str(one["id"])
    raise AssertionError(f"no {name} in {client.states[session].get('customizations')}")


async def shown(client: Client, uri: str, *names: str) -> None:
    def found(state: Any) -> bool:
        seen = {
            one.get("name")
            for container in state.get("customizations") or ()
            for one in (container, *(container.get("children") or ()))
        }
        return set(names) <= seen

    await client.state(uri, found)


@cell("codex", "skill", "launch", "skills.config by path")
@cell(
    "codex",
    "skill",
    "nextRequest",
    "skills.config by path, on resume",
    limit="the earlier list stays in the history; a new one follows",
)
@cell("codex", "skill", "back", "skills.config by path, on resume")
async def test_skills_follow_their_switches_at_launch_and_in_the_session(host: Rig, llm: FakeOpenAI) -> None:
    skill(host.work / ".agents" / "skills" / "one", "skone")
    skill(host.work / ".codex" / "skills" / "two", "sktwo")
    skill(host.home / ".codex" / "skills" / "three", "skthree")
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    await shown(client, uri, "skone", "sktwo", "skthree")
    await switch(client, uri, item(client, uri, "sktwo"), False)
    await client.turn(chat, "one")
    assert [llm.asked[0].mentions(name) for name in ("skone", "sktwo", "skthree")] == [True, False, True]
    await switch(client, uri, item(client, uri, "skone"), False)
    await switch(client, uri, item(client, uri, "sktwo"), True)
    await client.turn(chat, "two", "t2")
    listings = [str(i) for i in llm.asked[1].body["input"] if "<skills_instructions>" in str(i)]
    assert "skone" in listings[0], "history stays as it was"
    assert "skone" not in listings[-1] and "sktwo" in listings[-1], "what holds now comes last"


@cell("codex", "rule", "launch", "given as instructions; Codex reads no AGENTS.md in a folder that is not trusted")
@cell("codex", "rule", "newSession", "the rules that are on are given with the first message")
async def test_rules_follow_their_switches(host: Rig, llm: FakeOpenAI) -> None:
    (host.work / "AGENTS.md").write_text("PROJECTRULE")
    (host.home / ".codex").mkdir()
    (host.home / ".codex" / "AGENTS.md").write_text("HOMERULE")
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    await client.state(uri, lambda s: (host.work / "AGENTS.md").as_uri() in str(s.get("customizations")))
    await client.turn(chat, "one")
    assert llm.asked[0].mentions("PROJECTRULE") and llm.asked[0].mentions("HOMERULE")
    rule = next(
        one["id"]
        for container in client.states[uri]["customizations"]
        for one in container.get("children") or ()
        if one["uri"] == (host.work / "AGENTS.md").as_uri()
    )
    second, other = await session(client, host.work, "codex", "ahp-session:/2")
    await client.state(second, lambda s: (host.work / "AGENTS.md").as_uri() in str(s.get("customizations")))
    await switch(client, second, rule, False)
    await client.turn(other, "one")
    assert not llm.asked[1].mentions("PROJECTRULE") and llm.asked[1].mentions("HOMERULE")


@cell("codex", "agent", "launch", "roles of the thread: agents.NAME")
@cell("codex", "agent", "nextRequest", "roles, on resume")
@cell("codex", "agent", "back", "roles, on resume")
async def test_agents_of_the_project_follow_their_switches(host: Rig, llm: FakeOpenAI) -> None:
    folder = host.work / ".codex" / "agents"
    folder.mkdir(parents=True)
    for name in ("rev", "doc"):
        (folder / f"{name}.toml").write_text(
            f'name = "{name}"\ndescription = "{name.upper()}DESC"\ndeveloper_instructions = "be {name}"\n'
        )
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    await shown(client, uri, "rev", "doc")
    await switch(client, uri, item(client, uri, "rev"), False)
    await client.turn(chat, "one")
    assert llm.asked[0].mentions("DOCDESC") and not llm.asked[0].mentions("REVDESC")
    await switch(client, uri, item(client, uri, "rev"), True)
    await switch(client, uri, item(client, uri, "doc"), False)
    await client.turn(chat, "two", "t2")
    tools = str(llm.asked[1].body["tools"])
    assert "REVDESC" in tools and "DOCDESC" not in tools


@cell("codex", "plugin", "launch", "its parts are handed over one by one")
@cell("codex", "plugin", "nextRequest", "its parts, on resume")
async def test_parts_of_a_plugin_follow_it(root: Path, llm: FakeOpenAI) -> None:
    plugin = root / "house"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "house", "version": "1.0.0"}')
    skill(plugin / "skills" / "tidy", "sktidy")
    (plugin / "agents").mkdir()
    (plugin / "agents" / "keeper.md").write_text("---\nname: keeper\ndescription: KEEPERDESC\n---\nKEEPERBODY\n")
    async with codex_host(root, llm, plugins=(str(plugin),)) as host:
        client = await host.client()
        uri, chat = await session(client, host.work, "codex")
        await shown(client, uri, "house", "sktidy", "keeper")
        await client.turn(chat, "one")
        assert llm.asked[0].mentions("sktidy") and llm.asked[0].mentions("KEEPERDESC")
        await switch(client, uri, item(client, uri, "house"), False)
        await client.turn(chat, "two", "t2")
        assert "KEEPERDESC" not in str(llm.asked[1].body["tools"])
        last = [str(i) for i in llm.asked[1].body["input"] if "<innkeeper>" in str(i)][-1]
        assert "sktidy" not in last
        second, other = await session(client, host.work, "codex", "ahp-session:/2")
        await shown(client, second, "house")
        await switch(client, second, item(client, second, "house"), False)
        await client.turn(other, "one")
        assert not llm.asked[2].mentions("sktidy") and not llm.asked[2].mentions("KEEPERDESC")


PLUGIN_SERVER = "mcp__brought__echo"


@cell("codex", "pluginServer", "launch", "left out of thread/start; its process never starts")
@cell("codex", "pluginServer", "nextRequest", "unsubscribe and resume while the thread is idle")
@cell("codex", "pluginServer", "back", "unsubscribe and resume")
@cell(
    "codex",
    "pluginServer",
    "runningTurn",
    "the host declines the call when Codex asks about it",
    limit="with full access Codex asks about nothing",
)
async def test_the_server_of_a_plugin_follows_its_switch(root: Path, llm: FakeOpenAI) -> None:
    plugin = root / "house"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "house", "version": "1.0.0"}')
    arguments = [str(FIXTURE), "--name", "brought", "--log", "${CLAUDE_PLUGIN_ROOT}/brought.log"]
    entry = {"brought": {"command": sys.executable, "args": arguments}}
    (plugin / ".mcp.json").write_text(json.dumps({"mcpServers": entry}))
    noted = plugin / "brought.log"
    async with codex_host(root, llm, plugins=(str(plugin),)) as host:
        client = await host.client()
        uri, chat = await session(client, host.work, "codex")
        await shown(client, uri, "house", "brought")
        id = item(client, uri, "brought")
        await switch(client, uri, id, False)
        await client.turn(chat, "one")
        assert not llm.asked[0].offers(PLUGIN_SERVER) and not noted.exists()
        await switch(client, uri, id, True)
        hold = asyncio.Event()
        llm.add(reply(call(PLUGIN_SERVER, text="late", id="call-1"), after=hold), reply(say("declined")))
        client.start_turn(chat, "two", "t2")
        assert (await llm.request(1)).offers(PLUGIN_SERVER)
        await switch(client, uri, id, False)
        hold.set()
        turn = await client.ended(chat, "t2")
        assert text_of(turn) == "declined" and call_of(turn)["success"] is False
        assert '"call"' not in noted.read_text()
        await client.turn(chat, "three", "t3")
        assert not llm.asked[3].offers(PLUGIN_SERVER)


@cell(
    "codex",
    "hook",
    "launch",
    "the folder is not trusted: no hook of it runs",
    limit="Codex runs no hooks here, also none that are on",
)
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


@cell("codex", "server", "files", "the person's own folder is compared: a directory of our own, the login linked")
async def test_nothing_is_written_to_the_persons_own_configuration(root: Path, llm: FakeOpenAI) -> None:
    """Issue 6 §3: the files are compared; the person's own servers do not come in."""
    theirs = root / "user" / ".codex"
    theirs.mkdir(parents=True)
    (theirs / "config.toml").write_text('[mcp_servers.mine]\ncommand = "/bin/false"\n')
    (theirs / "auth.json").write_text('{"auth_mode": "apikey", "OPENAI_API_KEY": "sk-theirs"}')

    def files() -> dict[str, bytes]:
        return {str(p.relative_to(theirs)): p.read_bytes() for p in theirs.rglob("*") if p.is_file()}

    before = files()
    async with codex_host(root, llm, share_login=True) as host:
        host.declare("memo")
        client = await host.client()
        uri, chat = await session(client, host.work, "codex")
        await client.turn(chat, "one")
        await switch(client, uri, server_id(client, uri, "memo"), False, "workspace", host.work.as_uri())
        await client.turn(chat, "two", "t2")
        assert llm.asked[0].offers("mcp__memo__echo") and not llm.asked[1].offers("mcp__memo__echo")
        assert not llm.asked[0].mentions("mcp__mine")
        assert (host.agent_folder / "home" / "auth.json").is_symlink()
    assert files() == before


@cell("codex", "ownConfiguration", "launch", "switched off by name in the thread's configuration")
async def test_a_server_of_codex_own_configuration_goes_with_its_name(root: Path, llm: FakeOpenAI) -> None:
    """C6.2: what the agent's own `config.toml` brings is switched off by name."""
    async with codex_host(root, llm, after=own_server("own", root / "theirs.log")) as host:
        host.declare("own", "other")
        client = await host.client()
        uri, chat = await session(client, host.work, "codex")
        await settled(client, uri, "own")
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
