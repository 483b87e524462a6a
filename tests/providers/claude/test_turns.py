"""What a turn of Claude Code looks like in a chat (issue 6 §1, §2). Each test runs the real agent; what all agents do
alike is in the contract suite."""

import asyncio
import base64
import json
import re
import time
from typing import Any

import pytest

from providers.agent_host import Rig, session
from providers.answering import answer, calls
from providers.claude_rig import pids
from scripted.world import Client, text_of
from servers.fake_llm.anthropic import FakeAnthropic
from servers.fake_llm.recording import Asked, call, failure, reply, say, think

pytestmark = pytest.mark.anyio

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one point."""


ASKED_FOR = "package.json"
"""A file in the working directory that the approval rules let nobody write without a question."""


async def asked_about(client: Client, chat: str, name: str) -> Any:
    """The call of that tool, once a person is asked about it."""

    def found() -> Any:
        turn = client.states[chat].get("activeTurn")
        return [one for one in calls(turn) if one["toolName"] == name and one["status"] == "pending-confirmation"]

    return (await client.until(found))[0]


async def test_text_reasoning_a_tool_call_and_usage_stream_into_the_chat(host: Rig, llm: FakeAnthropic) -> None:
    """Issue 6 §1; the environment of the tool has none of the host's secrets (§5)."""
    shell = call("Bash", command="echo hello $HOST_SECRET", description="Greet")
    llm.add(reply(think("Let me", " see."), say("I will ", "look."), shell), reply(say("Done.")))
    client = await host.client()
    _, chat = await session(client, host.work, "claude", config={"autoApprove": "autoApprove"})
    turn = await client.turn(chat, "greet me")
    assert turn["state"] == "complete", turn
    assert text_of(turn) == "I will look.Done."
    assert [p["content"] for p in turn["responseParts"] if p["kind"] == "reasoning"] == ["Let me see."]
    [echo] = calls(turn)
    assert (echo["toolName"], echo["status"], echo["success"]) == ("Bash", "completed", True)
    assert json.loads(echo["toolInput"])["description"] == "Greet"
    assert echo["content"] == [{"type": "text", "text": "hello"}]
    assert (turn["usage"]["inputTokens"], turn["usage"]["outputTokens"]) == (200, 40)
    deltas = [e["action"]["content"] for e in client.actions(chat, "chat/delta")]
    assert deltas, "the text came in one piece"


async def test_an_approved_edit_is_made_and_said_to_the_host(host: Rig, llm: FakeAnthropic) -> None:
    """M4.1b: the host learns which file an agent wrote. A person may change the input of the call."""
    file = host.work / ASKED_FOR
    llm.add(reply(call("Write", file_path=str(file), content="as asked\n")), reply(say("Written.")))
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    client.start_turn(chat, "write it")
    asked = await asked_about(client, chat, "Write")
    edited = json.dumps({"file_path": str(file), "content": "as the person wants\n"})
    answer(client, chat, asked, True, editedToolInput=edited)
    turn = await client.ended(chat)
    assert turn["state"] == "complete", turn
    [edit] = [c for c in calls(turn)[0]["content"] if c["type"] == "fileEdit"]
    assert (edit["after"]["uri"], edit["diff"]) == (file.as_uri(), {"added": 1, "removed": 0})
    assert "before" not in edit
    assert file.read_text() == "as the person wants\n"


async def test_full_access_is_the_hosts_to_give_and_its_deny_rules_still_count(host: Rig, llm: FakeAnthropic) -> None:
    """M6.3b, M6.8: the agent goes on asking; a tool that it would not ask about is denied before it is called."""
    (host.work / "seen.txt").write_text("SEENWORDS")
    llm.add(
        reply(call("Bash", command="touch made", description="Make")),
        reply(call("Read", file_path=str(host.work / "seen.txt"))),
        reply(say("Only one.")),
    )
    config = {"permissionMode": "bypassPermissions", "permissions": {"allow": [], "deny": ["Read"]}}
    client = await host.client()
    _, chat = await session(client, host.work, "claude", config=config)
    turn = await client.turn(chat, "make and look")
    assert text_of(turn) == "Only one." and (host.work / "made").exists()
    made, read = calls(turn)
    assert (made["status"], made["confirmed"]) == ("completed", "setting")
    assert read["success"] is False and not llm.asked[-1].mentions("SEENWORDS")
    assert "permissions of this session deny" in llm.asked[-1].last


async def test_abort_closes_the_stream_within_a_second_and_the_conversation_goes_on(
    host: Rig, llm: FakeAnthropic
) -> None:
    """Issue 6 §1"""
    llm.add(reply(say("Forever"), then="hang"), reply(say("Here again.")))
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    client.start_turn(chat, "talk")
    await client.until(lambda: "Forever" in text_of(client.states[chat].get("activeTurn") or {"responseParts": []}))
    began = time.monotonic()
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    await llm.until(lambda: llm.asked[0].left)
    assert time.monotonic() - began < 1.0
    assert (await client.ended(chat))["state"] == "cancelled"
    pid = pids(host)
    assert text_of(await client.turn(chat, "again", "t2")) == "Here again."
    assert pids(host) == pid, "the agent was started anew though it had stopped by itself"
    assert llm.asked[-1].mentions("talk")


async def test_a_subagent_has_a_chat_of_its_own_until_it_ends(host: Rig, llm: FakeAnthropic) -> None:
    """AHP §9.3: it runs in the background, and the turn is over when it has reported."""
    spawn = call("Agent", description="Look around", prompt="LOOK", subagent_type="Explore")
    llm.add(reply(say("I send somebody."), spawn), reply(say(" Waiting.")), reply(say(" It reports.")))

    def of_child(asked: Asked) -> bool:
        return not asked.offers("Agent")

    llm.when(of_child, reply(say("I am done.")))
    llm.when(of_child, reply(think("hm"), say("I look."), call("Bash", command="echo seen", description="See")), 1)
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    turn = await client.turn(chat, "look")
    assert turn["state"] == "complete", turn
    [spawned] = calls(turn)
    assert (spawned["toolName"], spawned["status"]) == ("Agent", "completed")
    [block] = [c for c in spawned["content"] if c["type"] == "subagent"]
    assert (block["title"], block["agentName"]) == ("Look around", "Explore")
    assert any("I am done." in c.get("text", "") for c in spawned["content"])
    assert "launched" not in json.dumps(spawned["content"])
    inner = await client.subscribe(block["resource"])
    assert inner["origin"] == {"kind": "tool", "chat": chat, "toolCallId": spawned["toolCallId"]}
    [work] = inner["turns"]
    assert (work["state"], text_of(work)) == ("complete", "I look.I am done.")
    assert calls(work)[0]["content"] == [{"type": "text", "text": "seen"}]
    assert text_of(turn) == "I send somebody. Waiting. It reports."
    assert len(client.states[uri]["chats"]) == 2


async def test_a_question_of_the_agent_is_an_input_request(host: Rig, llm: FakeAnthropic) -> None:
    """AHP §9.8"""
    options = [{"label": "Blue", "description": "cold"}, {"label": "Red", "description": "warm"}]
    question = {"question": "Which colour?", "header": "Colour", "multiSelect": False, "options": options}
    llm.add(reply(call("AskUserQuestion", questions=[question])), reply(say("Red it is.")))
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    client.start_turn(chat, "ask me")
    asked = (await client.action(chat, "chat/inputRequested"))["action"]["request"]
    assert [option["label"] for option in asked["questions"][0]["options"]] == ["Blue", "Red"]
    chosen = {"0": {"state": "submitted", "value": {"kind": "selected", "value": "1"}}}
    client.dispatch(chat, "chat/inputCompleted", requestId=asked["id"], response="accept", answers=chosen)
    assert text_of(await client.ended(chat)) == "Red it is."
    assert '"Which colour?"="Red"' in llm.asked[-1].last


async def test_a_plan_is_shown_before_it_is_carried_out(host: Rig, llm: FakeAnthropic) -> None:
    """Issue 6 §1: plan mode comes with the session's mode. The agent keeps the plan in a file that it names."""
    client = await host.client()
    _, chat = await session(client, host.work, "claude", config={"mode": "plan"})
    await client.turn(chat, "think of a plan", "t0")
    assert llm.asked[0].mentions("Plan mode is active")
    [file] = set(re.findall(r"/[^\s\"]*/plans/[\w-]+\.md", json.dumps(llm.asked[0].body)))
    llm.add(reply(call("Write", file_path=file, content="1. Build\n2. Rest")), reply(call("ExitPlanMode")))
    llm.add(reply(say("Building.")))
    client.start_turn(chat, "plan it")
    asked = await asked_about(client, chat, "ExitPlanMode")
    assert "1. Build" in str(asked["invocationMessage"])
    assert [option["id"] for option in asked["options"]] == ["proceed", "keep"]
    answer(client, chat, asked, True, selectedOptionId="proceed")
    assert text_of(await client.ended(chat)) == "Building."
    assert llm.asked[-1].mentions("User has approved your plan")


async def test_steering_reaches_the_running_turn(host: Rig, llm: FakeAnthropic) -> None:
    """AHP §9.7"""
    llm.add(reply(call("Bash", command="sleep 0.7; echo slept", description="Wait")), reply(say("Left it is.")))
    client = await host.client()
    _, chat = await session(client, host.work, "claude", config={"autoApprove": "autoApprove"})
    client.start_turn(chat, "walk")
    await client.until(lambda: calls(client.states[chat].get("activeTurn")))
    message = {"text": "TURN LEFT", "origin": {"kind": "user"}}
    client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id="s1", message=message)
    turn = await client.ended(chat)
    assert text_of(turn) == "Left it is."
    assert llm.asked[1].mentions("TURN LEFT") and not llm.asked[0].mentions("TURN LEFT")
    assert client.states[chat].get("steeringMessage") is None


async def test_a_failing_service_is_retried_and_said_and_a_refusal_ends_the_turn(host: Rig, llm: FakeAnthropic) -> None:
    """Issue 6 §1: error and retry."""
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    llm.add(failure(529, "overloaded_error", "busy"), reply(say("At last.")))
    assert text_of(await client.turn(chat, "one")) == "At last."
    activity = [e["action"].get("activity") for e in client.actions(chat, "chat/activityChanged")]
    assert any("attempt 1" in str(one) for one in activity) and activity[-1] is None
    llm.otherwise = failure(400, "invalid_request_error", "the model is confused by sk-ant-secret")
    turn = await client.turn(chat, "two", "t2")
    error = turn["responseParts"][-1]["error"]
    assert (turn["state"], error["errorType"]) == ("error", "AGENT_REFUSED")
    assert "the model is confused" in error["message"] and "sk-ant-secret" not in error["message"]
    llm.otherwise = failure(401, "authentication_error", "no such key")
    turn = await client.turn(chat, "three", "t3")
    assert turn["responseParts"][-1]["error"]["errorType"] == "AGENT_LOGIN_MISSING"


async def test_attachments_reach_the_model(host: Rig, llm: FakeAnthropic) -> None:
    """AHP §9.7: text, an image, a file by reference."""
    (host.work / "pic.png").write_bytes(base64.b64decode(DOT))
    (host.work / "code.py").write_text("pass")
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    attachments = [
        {"type": "simple", "label": "note", "modelRepresentation": "NOTEWORDS"},
        {
            "type": "embeddedResource",
            "label": "log",
            "contentType": "text/plain",
            "data": base64.b64encode(b"LOGWORDS").decode(),
        },
        {"type": "resource", "label": "pic", "uri": (host.work / "pic.png").as_uri()},
        {"type": "resource", "label": "code", "uri": (host.work / "code.py").as_uri()},
    ]
    message = {"text": "look", "origin": {"kind": "user"}, "attachments": attachments}
    client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=message)
    await client.ended(chat)
    [request] = llm.asked
    assert request.mentions("NOTEWORDS") and request.mentions("LOGWORDS") and request.mentions("code.py")
    blocks = request.body["messages"][0]["content"]
    assert any(block["type"] == "image" for block in blocks)


async def test_models_and_modes_come_from_the_agent_and_are_chosen_by_message(host: Rig, llm: FakeAnthropic) -> None:
    """Issue 6 §1, AHP §13.9: before its first start one model is listed, then those that it reports."""
    client = await host.client()
    listed = next(agent for agent in client.states["ahp-root://"]["agents"] if agent["provider"] == "claude")
    assert [model["id"] for model in listed["models"]] == ["default"]
    uri, chat = await session(client, host.work, "claude")
    modes = client.states[uri]["config"]["schema"]["properties"]["permissionMode"]["enum"]
    assert "plan" in modes and "bypassPermissions" in modes
    await client.turn(chat, "hello")
    await client.until(lambda: client.actions("ahp-root://", "root/agentsChanged"))
    now = next(agent for agent in client.states["ahp-root://"]["agents"] if agent["provider"] == "claude")
    ids = [model["id"] for model in now["models"]]
    assert {"default", "opus", "sonnet", "haiku"} <= set(ids)
    message = {"text": "hello", "origin": {"kind": "user"}, "model": {"id": "haiku"}}
    client.dispatch(chat, "chat/turnStarted", turnId="t2", startedAt="2026-01-01T00:00:00.000Z", message=message)
    await client.ended(chat, "t2")
    assert "haiku" in llm.asked[-1].body["model"] and "haiku" not in llm.asked[0].body["model"]
    await host.restart()
    again = await host.client()
    later = next(agent for agent in again.states["ahp-root://"]["agents"] if agent["provider"] == "claude")
    assert [model["id"] for model in later["models"]] == ids


async def test_a_tool_of_a_client_is_executed_by_that_client(host: Rig, llm: FakeAnthropic) -> None:
    """AHP §9.2"""
    llm.add(reply(call("pick", what="a card")), reply(say("The ace.")))
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    tools = [{"name": "pick", "description": "Pick one", "inputSchema": {"type": "object"}}]
    client.dispatch(uri, "session/activeClientSet", activeClient={"clientId": client.client_id, "tools": tools})
    await client.until(lambda: client.states[uri]["activeClients"])
    client.start_turn(chat, "pick")
    ready = await client.action(chat, "chat/toolCallReady")
    call_id = ready["action"]["toolCallId"]
    [running] = calls(client.states[chat]["activeTurn"])
    assert running["contributor"] == {"kind": "client", "clientId": client.client_id}
    result = {"success": True, "pastTenseMessage": "Picked", "content": [{"type": "text", "text": "ace"}]}
    client.dispatch(chat, "chat/toolCallComplete", turnId="t1", toolCallId=call_id, result=result)
    turn = await client.ended(chat)
    assert text_of(turn) == "The ace."
    assert llm.asked[0].offers("pick") and llm.asked[-1].last == "ace"
    others = [{"name": "drop", "description": "Drop one", "inputSchema": {"type": "object"}}]
    client.dispatch(uri, "session/activeClientSet", activeClient={"clientId": client.client_id, "tools": others})
    await client.state(uri, lambda s: s["activeClients"][0]["tools"][0]["name"] == "drop")
    await client.turn(chat, "again", "t2")
    assert llm.asked[-1].offers("drop") and not llm.asked[-1].offers("pick")


async def test_turns_of_two_chats_run_at_once(host: Rig, llm: FakeAnthropic) -> None:
    """AHP §9.3"""
    held = asyncio.Event()
    llm.when(lambda asked: asked.mentions("chestnut"), reply(say("slow"), after=held))
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    client.start_turn(chat, "chestnut")
    await llm.request(0)
    await client.request("createChat", uri, chat="ahp-chat:/other")
    await client.subscribe("ahp-chat:/other")
    assert (await client.turn("ahp-chat:/other", "and now", "o1"))["state"] == "complete"
    held.set()
    assert text_of(await client.ended(chat)) == "slow"
    assert len(pids(host)) == 2
