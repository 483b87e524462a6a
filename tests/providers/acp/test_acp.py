"""Agents that speak ACP: turns, approvals, what reaches the model, processes (issue 6).

Each test that takes `host` runs against the simple agent of the tests and against a real one.
"""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.providers.acp.conversation import STOP_SECONDS
from providers.acp.conftest import AcpHost, claude_host, codex_host, simple_host
from providers.agent_host import server_id, session, switch
from providers.answering import answer, question
from providers.matrix import cell, known_limit
from scripted.world import Client, call_of, text_of
from servers.fake_llm.recording import Asked, call, failure, reply, say, think

pytestmark = pytest.mark.anyio

known_limit("acp", "pluginServer", "launch", "a plugin's server reaches the agent only where the host has mounted it")
known_limit("acp", "plugin", "launch", "ACP has no call for plugins; nothing of them is handed over")
known_limit(
    "acp", "skill", "launch", "ACP has no call for skills; what the agent finds in the project by itself is the agent's"
)
known_limit("acp", "agent", "launch", "ACP has no call for agents")
known_limit(
    "acp", "rule", "launch", "ACP has no call for rules; what the agent reads in the project by itself is the agent's"
)
known_limit("acp", "prompt", "launch", "ACP has no call for prompts")
known_limit("acp", "hook", "launch", "ACP has no call for hooks")
known_limit(
    "acp",
    "ownConfiguration",
    "launch",
    "an agent that is known runs in a folder of the host's; another one brings what it is configured with",
)


async def opened(host: AcpHost, uri: str = "ahp-session:/1", **more: Any) -> tuple[Client, str, str]:
    client = await host.rig.client()
    session_uri, chat = await session(client, host.rig.work, host.name, uri, **more)
    return client, session_uri, chat


async def test_text_and_reasoning_stream_and_usage_is_told(host: AcpHost) -> None:
    host.llm.add(reply(think("hm", "m"), say("Hel", "lo")))
    client, _, chat = await opened(host)
    turn = await client.turn(chat, "hi")
    assert turn["state"] == "complete", turn
    assert text_of(turn) == "Hello"
    assert [p["content"].strip() for p in turn["responseParts"] if p["kind"] == "reasoning"] == ["hmm"]
    assert host.name == "codex-acp" or turn["usage"]["inputTokens"] == 100


async def test_a_tool_of_a_project_server_is_called_once_and_asked_about_by_the_gate_alone(root: Path) -> None:
    """M6.8, M6.3c: the agent asks too, and the host answers; the gate's question is about the very call."""
    async with simple_host(root, trust="manual") as host:
        host.rig.declare("memo")
        host.llm.add(reply(call("mcp__memo__echo", text="hi", id="call-1")), reply(say("done")))
        client, uri, chat = await opened(host)
        await client.state(uri, lambda s: s.get("customizations"))
        await client.request("x-innkeeper/mcp/connect", uri, server=server_id(client, uri, "memo"))
        client.start_turn(chat, "go")
        asked = await question(client, uri)
        assert asked["toolCallId"] == "call-1" and len(asked["options"]) == 3
        answer(client, chat, asked, True)
        turn = await client.ended(chat)
        assert call_of(turn)["success"] is True and len(host.rig.events("memo", "call")) == 1
        questions = [e for e in client.actions(chat, "chat/toolCallReady") if e["action"].get("options")]
        assert len(questions) == 1


@cell(
    "acp",
    "caller",
    "runningTurn",
    "the agent's id of the call where it gives one, else tool and arguments",
    limit="ACP has no children: a call is the main agent's unless the agent says in a field of its own whose it is",
)
async def test_a_call_shows_its_contributor_its_input_and_its_result(enabling: AcpHost) -> None:
    host = enabling
    host.rig.declare("memo")
    host.llm.add(reply(call(host.tool("memo", "echo"), text="hi", id="call-1")), reply(say("echoed")))
    client, uri, chat = await opened(host)
    turn = await client.turn(chat, "echo")
    found = call_of(turn)
    assert found["toolName"] == "mcp__memo__echo" and found["success"] is True, found
    assert found["contributor"] == {"kind": "mcp", "customizationId": server_id(client, uri, "memo")}
    assert "hi" in str(found["content"]) and '"hi"' in found["toolInput"]
    assert len(host.rig.events("memo", "call")) == 1 and text_of(turn) == "echoed"


async def test_a_denied_command_does_not_run_and_an_allowed_one_does(host: AcpHost) -> None:
    client, uri, chat = await opened(host)
    host.llm.add(reply(host.run("touch made", id="call-1")), reply(say("after")))
    client.start_turn(chat, "go")
    answer(client, chat, await question(client, uri), False)
    assert (await client.ended(chat))["state"] == "complete"
    assert not (host.rig.work / "made").exists()
    host.llm.forget()
    host.llm.add(reply(host.run("touch made", id="call-2")), reply(say("after")))
    client.start_turn(chat, "again", "t2")
    asked = await question(client, uri)
    options = [o for o in asked["options"] if o["kind"] == "approve"]
    client.dispatch(
        chat,
        "chat/toolCallConfirmed",
        turnId="t2",
        toolCallId=asked["toolCallId"],
        approved=True,
        selectedOptionId=options[0]["id"],
        confirmed="user-action",
    )
    turn = await client.ended(chat, "t2")
    assert turn["state"] == "complete" and (host.rig.work / "made").exists(), turn


async def test_abort_while_a_question_is_open_leaves_nothing_open(host: AcpHost) -> None:
    host.llm.add(reply(host.run("touch made", id="call-1")), reply(say("after")))
    client, uri, chat = await opened(host)
    client.start_turn(chat, "go")
    asked = await question(client, uri)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    await client.ended(chat)
    await client.state(uri, lambda s: not s.get("inputNeeded"))
    answer(client, chat, asked, True)
    host.llm.forget()
    host.llm.otherwise = reply(say("later"))
    assert (await client.turn(chat, "again", "t2"))["state"] == "complete"
    assert not (host.rig.work / "made").exists()


async def test_abort_closes_the_stream(host: AcpHost) -> None:
    host.llm.add(reply(say("begin"), then="hang"), reply(say("second")))
    client, _, chat = await opened(host)
    client.start_turn(chat, "hi")
    await client.state(chat, lambda s: "begin" in str((s.get("activeTurn") or {}).get("responseParts")))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    assert (await client.ended(chat))["state"] == "cancelled"
    if host.name != "codex-acp":  # which leaves the model's stream open, though its turn is over
        await host.llm.until(lambda: host.llm.asked[0].left, 3)
    assert text_of(await client.turn(chat, "again", "t2")) == "second"


@cell("acp", "server", "launch", "left out of the list that the agent's session begins with")
@cell("acp", "server", "nextRequest", "another process takes the session up with what is left")
@cell("acp", "server", "back", "another process takes the session up with it")
async def test_servers_follow_their_switches_at_launch_and_in_the_session(enabling: AcpHost) -> None:
    """C6.1, C6.2: left out at launch; taken away and brought back by another process that takes the session up."""
    host = enabling
    host.rig.declare("memo", "other")
    client, uri, chat = await opened(host)
    await client.state(uri, lambda s: len(s.get("customizations") or ()) >= 2)
    memo = server_id(client, uri, "memo")
    await switch(client, uri, memo, False)
    host.llm.otherwise = reply(say("ANSWER"))
    await client.turn(chat, "ONE")
    await switch(client, uri, memo, True)
    await client.turn(chat, "TWO", "t2")
    await switch(client, uri, memo, False)
    await client.turn(chat, "THREE", "t3")
    offers = [asked.offers(host.tool("memo", "echo")) for asked in host.asked]
    assert offers == [False, True, False]
    assert all(asked.offers(host.tool("other", "echo")) for asked in host.asked)
    assert not host.asked[0].mentions(host.tool("memo", "echo"))
    assert host.asked[2].mentions("ONE") and host.asked[2].mentions("ANSWER"), "the conversation went on"
    assert "REPLAY" not in str(client.frames), "what is replayed is no news"


@cell(
    "acp",
    "server",
    "runningTurn",
    "the gate refuses at once; the list that the agent asks for is empty",
    limit="an agent that does not ask again keeps the tools in its list until the turn ends",
)
async def test_a_call_on_its_way_is_refused_when_its_server_is_switched_off(enabling: AcpHost) -> None:
    host = enabling
    host.rig.declare("memo", "other")
    hold = asyncio.Event()
    host.llm.add(reply(call(host.tool("memo", "echo"), text="late", id="call-1"), after=hold), reply(say("refused")))
    client, uri, chat = await opened(host)
    client.start_turn(chat, "hi")
    assert (await host.request(0)).offers(host.tool("memo", "echo"))
    await switch(client, uri, server_id(client, uri, "memo"), False)
    hold.set()
    turn = await client.ended(chat)
    assert turn["state"] == "complete" and not host.rig.events("memo", "call")
    await client.turn(chat, "again", "t2")
    assert not host.asked[-1].offers(host.tool("memo", "echo")) and host.asked[-1].offers(host.tool("other", "echo"))


@cell("acp", "server", "otherSession", "a process for each session")
async def test_sessions_do_not_share_their_servers(enabling: AcpHost) -> None:
    """The trap: one process for several sessions shows each the servers of all."""
    host = enabling
    host.rig.declare("memo")
    client, uri, chat = await opened(host)
    _, second, other = await opened(host, "ahp-session:/2")
    await client.state(uri, lambda s: s.get("customizations"))
    await switch(client, uri, server_id(client, uri, "memo"), False)
    await client.subscribe(other)
    await client.turn(chat, "one")
    await client.turn(other, "two")
    assert [asked.offers(host.tool("memo", "echo")) for asked in host.asked] == [False, True] and second != uri


@cell("acp", "server", "files", "compared: the person's own folders, and the project's declaration")
async def test_nothing_is_written_to_the_persons_own_configuration(host: AcpHost) -> None:
    """Issue 6 §3: the files of the person are as they were, whatever was switched."""
    host.rig.declare("memo")
    for name in (".claude/settings.json", ".claude.json", ".codex/config.toml", ".config/opencode/opencode.json"):
        file = host.rig.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("" if name.endswith("toml") else "{}")

    def files() -> dict[str, bytes]:
        own = {os.fspath(f.relative_to(host.rig.home)): f.read_bytes() for f in host.rig.home.rglob("*") if f.is_file()}
        return {**own, "project": (host.rig.work / ".mcp.json").read_bytes()}

    before = files()
    client, uri, chat = await opened(host)
    await client.turn(chat, "one")
    await switch(client, uri, server_id(client, uri, "memo"), False, "workspace", host.rig.work.as_uri())
    await client.turn(chat, "two", "t2")
    assert [asked.offers(host.tool("memo", "echo")) for asked in host.asked] == [True, False]
    after = files()
    assert {name: after.get(name) for name in before} == before


@cell(
    "acp",
    "server",
    "newSession",
    "the stored decision; what the agent would read in the project is switched off where it can be",
    limit="only of agents that are known",
)
async def test_what_the_project_declares_is_not_started_by_the_agent_itself(host: AcpHost) -> None:
    """The trap: an adapter that reads the project's own file starts its servers unasked."""
    host.rig.declare("memo")
    client, uri, chat = await opened(host)
    await client.state(uri, lambda s: s.get("customizations"))
    await switch(client, uri, server_id(client, uri, "memo"), False)
    await client.turn(chat, "one")
    assert not host.rig.events("memo", "start") and not host.llm.asked[0].offers("echo")


async def test_after_a_restart_of_the_host_the_conversation_goes_on(host: AcpHost) -> None:
    host.llm.add(reply(say("first answer")), reply(say("second answer")))
    client, _, chat = await opened(host)
    await client.turn(chat, "ONE")
    await host.rig.restart()
    again = await host.rig.client()
    await again.subscribe(chat)
    turn = await again.turn(chat, "TWO", "t2")
    assert text_of(turn) == "second answer" and host.llm.asked[1].mentions("first answer")


async def test_a_conversation_that_is_cut_back_begins_anew_with_what_is_left(host: AcpHost) -> None:
    host.llm.add(reply(say("first answer")), reply(say("second answer")), reply(say("third answer")))
    client, _, chat = await opened(host)
    await client.turn(chat, "ONE")
    await client.turn(chat, "TWO", "t2")
    client.dispatch(chat, "chat/truncated", turnId="t1")
    await client.state(chat, lambda s: len(s["turns"]) == 1)
    await client.turn(chat, "THREE", "t3")
    assert host.llm.asked[2].mentions("first answer") and not host.llm.asked[2].mentions("second answer")


def in_plan_mode(asked: Asked) -> bool:
    return asked.body.get("mode") == "plan" or asked.mentions("Plan mode is active") or asked.mentions("[[PLAN]]")


async def test_modes_are_what_the_agent_reports_and_plan_is_its_plan_until_it_is_left(host: AcpHost) -> None:
    """Also where it writes its mode as an address; an agent without one says so."""
    client, _, chat = await opened(host)
    await client.turn(chat, "one")
    modes = host.rig.provider.config_schema(None, {})["properties"]["agentMode"]["enum"]
    assert modes and any(mode.split("#")[-1] == "plan" for mode in modes) is host.plans
    _, uri, other = await opened(host, "ahp-session:/2", config={"mode": "plan"})
    await client.subscribe(uri)
    await client.subscribe(other)
    turn = await client.turn(other, "two")
    assert in_plan_mode(host.asked[-1]) is host.plans
    notices = [part for part in turn["responseParts"] if part["kind"] == "systemNotification"]
    assert bool(notices) is not host.plans
    client.dispatch(uri, "session/configChanged", config={"mode": "interactive"})
    await client.state(uri, lambda s: s["config"]["values"]["mode"] == "interactive")
    await client.turn(other, "three", "t2")
    assert host.asked[-1].body.get("mode") != "plan" and "[[PLAN]]" not in host.asked[-1].last


async def test_secrets_of_the_host_do_not_reach_the_agent(host: AcpHost) -> None:
    client, _, chat = await opened(host)
    await client.turn(chat, "one")
    children = psutil.Process().children(recursive=True)
    environments = [child.environ() for child in children if "acp" in " ".join(line(child))]
    assert environments and all("HIDDEN" not in found.values() for found in environments)
    assert host.rig.environment["MY_SECRET"] == "HIDDEN"


def line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


async def test_a_killed_agent_ends_its_turn_and_the_next_turn_goes_on(host: AcpHost) -> None:
    host.llm.add(reply(say("one")), reply(say("half"), then="hang"), reply(say("two")))
    client, _, chat = await opened(host)
    await client.turn(chat, "ONE", "t0")
    client.start_turn(chat, "HALF")
    await host.llm.request(1)
    for child in psutil.Process().children(recursive=True):
        if "acp" in " ".join(line(child)):
            os.kill(child.pid, signal.SIGKILL)
    ended = await client.ended(chat)
    assert ended["state"] == "error", ended
    turn = await client.turn(chat, "TWO", "t2")
    assert text_of(turn) == "two" and host.llm.asked[-1].mentions("ONE"), turn


async def test_an_error_of_the_service_is_said(root: Path) -> None:
    async with simple_host(root) as host:
        host.llm.add(failure(400, "bad", "the words of the service"))
        client, _, chat = await opened(host)
        turn = await client.turn(chat, "hi")
        error = next(p for p in turn["responseParts"] if p["kind"] == "error")["error"]
        assert error["errorType"] == "AGENT_REFUSED" and "the words of the service" in error["message"]


async def test_an_agent_that_does_not_stop_is_ended(root: Path) -> None:
    """Issue 6 §1: within a second."""
    assert STOP_SECONDS < 1
    async with simple_host(root, "deaf") as host:
        host.llm.add(reply(say("begin"), then="hang"), reply(say("second")))
        client, _, chat = await opened(host)
        client.start_turn(chat, "hi")
        await client.state(chat, lambda s: (s.get("activeTurn") or {}).get("responseParts"))
        client.dispatch(chat, "chat/turnCancelled", turnId="t1")
        await client.ended(chat)
        await host.llm.until(lambda: host.llm.asked[0].left, 5)
        assert text_of(await client.turn(chat, "again", "t2")) == "second"


async def test_an_agent_that_cannot_load_is_told_what_was_said(root: Path) -> None:
    async with simple_host(root, "noload") as host:
        host.llm.add(reply(say("first answer")), reply(say("second answer")))
        client, _, chat = await opened(host)
        await client.turn(chat, "ONE")
        await host.rig.restart()
        again = await host.rig.client()
        await again.subscribe(chat)
        assert text_of(await again.turn(chat, "TWO", "t2")) == "second answer"
        assert host.llm.asked[1].mentions("<earlier_conversation>") and host.llm.asked[1].mentions("first answer")


async def test_a_plan_of_the_agent_is_shown_each_time_it_changes(root: Path) -> None:
    """Steps, or words; told twice it is shown once."""
    first = [{"content": "look", "status": "completed"}, {"content": "write", "status": "pending"}]
    second = [{"content": "look", "status": "completed"}, {"content": "write", "status": "in_progress"}]
    async with simple_host(root) as host:
        host.llm.add(reply(call("update_plan", plan=first)), reply(call("update_plan", plan=second)))
        host.llm.add(reply(call("update_plan", words="Look, then write.")), reply(say("planned")))
        client, _, chat = await opened(host)
        turn = await client.turn(chat, "plan")
        shown = [p["toolCall"] for p in turn["responseParts"] if p["kind"] == "toolCall"]
        assert {one["toolName"] for one in shown} == {"update_plan"} and all(one["success"] for one in shown), turn
        words = [one["content"][0]["text"] for one in shown]
        assert words == ["[x] look\n[ ] write", "[x] look\n[>] write", "Look, then write."]


def plans(turn: Any) -> list[str]:
    shown = [p["toolCall"] for p in turn["responseParts"] if p["kind"] == "toolCall"]
    return [one["content"][0]["text"] for one in shown if one["toolName"] == "update_plan"]


async def test_the_plan_of_codex_is_shown(root: Path) -> None:
    async with codex_host(root) as host:
        plan = [{"step": "look", "status": "completed"}, {"step": "write", "status": "pending"}]
        host.llm.add(reply(call("update_plan", plan=plan)), reply(say("planned")))
        client, _, chat = await opened(host)
        assert plans(await client.turn(chat, "plan")) == ["[x] look\n[ ] write"]


async def test_the_plan_of_claudes_adapter_is_shown(root: Path) -> None:
    """[claude-agent-acp] tells it after each of its model's tasks."""
    async with claude_host(root) as host:
        host.llm.add(reply(call("TaskCreate", subject="look", description="Look around")))
        host.llm.add(reply(call("TaskUpdate", taskId="1", status="in_progress")), reply(say("planned")))
        client, _, chat = await opened(host)
        assert plans(await client.turn(chat, "plan")) == ["[ ] look", "[>] look"]


async def test_the_call_of_a_subagent_of_claudes_adapter_is_known_as_such(root: Path) -> None:
    """M6.3c, AHP §9.3, [claude-agent-acp]"""
    async with claude_host(root) as host:
        host.rig.declare("memo")
        spawn = call("Agent", description="Ask memo", prompt="LOOK", subagent_type="general-purpose", id="task-1")

        def of_child(asked: Asked) -> bool:
            return not asked.offers("Agent") or "LOOK" in str(asked.body["messages"][0]["content"])[-400:]

        host.llm.add(reply(spawn), reply(say("done")))
        host.llm.when(of_child, reply(say("child done")))
        host.llm.when(of_child, reply(call("mcp__memo__echo", text="kid", id="kid-1")), 1)
        client, uri, chat = await opened(host)
        turn = await client.turn(chat, "delegate")
        block = next(one for one in call_of(turn, "task-1")["content"] if one["type"] == "subagent")
        assert (block["title"], block["agentName"]) == ("Ask memo", "general-purpose")
        await client.subscribe(block["resource"])
        (child,) = client.states[block["resource"]]["turns"]
        assert call_of(child, "kid-1")["success"] is True and text_of(turn) == "done"
        records = host.rig.host._endpoints._gateway.calls(uri, server_id(client, uri, "memo"))
        assert [record.by for record in records] == ["child"]


async def test_a_subagent_that_the_agent_tells_of_has_a_chat_with_its_calls(root: Path) -> None:
    """AHP §9.3, M6.3c: ACP has no children, but some agents say in a field of their own which call made a call."""
    async with simple_host(root, trust="manual") as host:
        host.rig.declare("memo")
        task = {"description": "Look", "call": "mcp__memo__echo", "with": {"text": "hi"}}
        host.llm.add(reply(call("task", id="task-1", **task)), reply(say("done")))
        client, uri, chat = await opened(host)
        await client.state(uri, lambda s: s.get("customizations"))
        await client.request("x-innkeeper/mcp/connect", uri, server=server_id(client, uri, "memo"))
        turn = await client.turn(chat, "go")
        parent = call_of(turn, "task-1")
        block = next(one for one in parent["content"] if one["type"] == "subagent")
        assert parent["success"] is True and block["title"] == "Look"
        await client.subscribe(block["resource"])
        (child,) = client.states[block["resource"]]["turns"]
        assert text_of(child) == "the subagent's words" and text_of(turn) == "done"
        made = call_of(child, "task-1-inner")
        assert made["toolName"] == "mcp__memo__echo" and made["success"] is True
        assert len(host.rig.events("memo", "call")) == 1, "a delegated agent's call passes the gate unasked"
