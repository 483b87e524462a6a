"""What a turn of Codex says to the clients, and how it ends (issue 6 §1)."""

import asyncio
import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from providers.agent_host import Rig, server_id, session
from providers.answering import calls
from providers.codex.conftest import codex_host
from scripted.world import call_of, text_of
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import call, failure, reply, say, think

pytestmark = pytest.mark.anyio


async def test_text_and_reasoning_stream_and_usage_is_told(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(reply(think("hm", "m"), say("Hel", "lo")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    turn = await client.turn(chat, "hi")
    assert turn["state"] == "complete", turn
    assert text_of(turn) == "Hello"
    assert [part["content"] for part in turn["responseParts"] if part["kind"] == "reasoning"] == ["hmm"]
    assert turn["usage"]["inputTokens"] == 100 and turn["usage"]["outputTokens"] == 20
    assert llm.asked[0].last == "hi"


async def test_a_tool_of_a_project_server_is_called_with_its_contributor_and_its_result_is_kept(
    host: Rig, llm: FakeOpenAI
) -> None:
    host.declare("memo")
    llm.add(reply(call("mcp__memo__echo", text="hi", id="call-1")), reply(say("echoed")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    turn = await client.turn(chat, "echo it")
    found = call_of(turn)
    assert found["toolName"] == "mcp__memo__echo" and found["status"] == "completed" and found["success"]
    assert found["contributor"] == {"kind": "mcp", "customizationId": server_id(client, uri, "memo")}
    assert found["content"] == [{"type": "text", "text": "hi"}]
    assert found["toolInput"] == '{"text":"hi"}'
    assert text_of(turn) == "echoed"
    assert len(host.events("memo", "call")) == 1
    assert len([p for p in turn["responseParts"] if p["kind"] == "toolCall"]) == 1


async def test_a_command_that_runs_in_the_sandbox_shows_its_output(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(reply(call("exec_command", cmd="echo one; exit 3", id="call-1")), reply(say("done")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    turn = await client.turn(chat, "run it")
    found = call_of(turn)
    assert found["toolName"] == "shell" and found["status"] == "completed" and not found["success"]
    assert found["content"] == [{"type": "text", "text": "one\n"}]
    assert "exit code 3" in found["error"]["message"] and "echo one" in found["toolInput"]
    assert text_of(turn) == "done"


async def test_an_error_of_the_service_ends_the_turn_with_what_it_said(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(failure(400, "bad_request", "the words of the service"))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    turn = await client.turn(chat, "hi")
    assert turn["state"] == "error"
    error = next(p for p in turn["responseParts"] if p["kind"] == "error")["error"]
    assert error["errorType"] == "AGENT_REFUSED" and "the words of the service" in error["message"]


async def test_a_try_that_failed_is_made_again_and_said_meanwhile(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(failure(500), failure(500), reply(say("at last")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    turn = await client.turn(chat, "hi")
    assert turn["state"] == "complete" and text_of(turn) == "at last"
    said = [e["action"].get("activity") for e in client.actions(chat, "chat/activityChanged")]
    assert any(words and "econnect" in words for words in said) and said[-1] is None


async def test_a_service_that_is_gone_ends_the_turn_and_is_not_waited_for_for_ever(host: Rig, llm: FakeOpenAI) -> None:
    """The trap: Codex waits for a network without end unless that is switched off."""
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    assert (await client.turn(chat, "hi"))["state"] == "complete"
    await llm.__aexit__()
    began = time.monotonic()
    turn = await client.turn(chat, "hi", "t2")
    assert turn["state"] == "error" and time.monotonic() - began < 12


async def test_abort_closes_the_stream_within_a_second(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(reply(say("begin"), then="hang"), reply(say("second")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "hi")
    await client.state(chat, lambda s: (s.get("activeTurn") or {}).get("responseParts"))
    began = time.monotonic()
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    turn = await client.ended(chat)
    await llm.until(lambda: llm.asked[0].left, 1)
    assert turn["state"] == "cancelled" and time.monotonic() - began < 1
    assert text_of(await client.turn(chat, "again", "t2")) == "second"


async def test_abort_ends_a_tool_call_that_runs(host: Rig, llm: FakeOpenAI) -> None:
    host.declare("memo")
    llm.add(reply(call("mcp__memo__wait", seconds=30, id="call-1")), reply(say("after")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "wait")
    await host.until(lambda: host.events("memo", "call"))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    assert (await client.ended(chat))["state"] == "cancelled"
    await host.until(lambda: host.events("memo", "cancelled"))
    assert text_of(await client.turn(chat, "and now", "t2")) == "after"


async def test_a_steering_message_reaches_the_model_within_the_turn(host: Rig, llm: FakeOpenAI) -> None:
    host.declare("memo")
    llm.add(reply(call("mcp__memo__wait", seconds=1)), reply(say("steered")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "wait")
    await host.until(lambda: host.events("memo", "call"))
    message = {"text": "turn left", "origin": {"kind": "user"}}
    client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id="m1", message=message)
    turn = await client.ended(chat)
    assert text_of(turn) == "steered" and len(llm.asked) == 2
    assert llm.asked[1].mentions("turn left")
    assert client.actions(chat, "chat/pendingMessageRemoved")


async def test_attachments_go_as_pictures_text_and_paths(host: Rig, llm: FakeOpenAI) -> None:
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    (host.work / "b.txt").write_text("BEES")
    picture = base64.b64encode(
        bytes.fromhex(
            "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
            "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
        )
    ).decode()
    attachments: list[dict[str, Any]] = [
        {"type": "embeddedResource", "label": "dot.png", "data": picture, "contentType": "image/png"},
        {
            "type": "embeddedResource",
            "label": "a.txt",
            "data": base64.b64encode(b"LETTERS").decode(),
            "contentType": "text/plain",
        },
        {"type": "resource", "label": "b.txt", "uri": (host.work / "b.txt").as_uri()},
        {"type": "simple", "label": "note", "modelRepresentation": "NOTED"},
    ]
    message = {"text": "look", "origin": {"kind": "user"}, "attachments": attachments}
    client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=message)
    assert (await client.ended(chat))["state"] == "complete"
    asked = llm.asked[0]
    assert asked.mentions("data:image/png;base64,") and asked.mentions("LETTERS") and asked.mentions("NOTED")
    assert asked.mentions(str(host.work / "b.txt"))


async def test_the_model_and_its_effort_are_those_of_the_message(host: Rig, llm: FakeOpenAI) -> None:
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    agents = {agent["provider"]: agent for agent in client.states["ahp-root://"]["agents"]}
    models = {model["id"]: model for model in agents["codex"]["models"]}
    assert "gpt-5.5" in models, "models are what the agent reports"
    efforts = models["gpt-5.5"]["configSchema"]["properties"]["effort"]["enum"]
    assert "high" in efforts
    message = {"text": "hi", "origin": {"kind": "user"}, "model": {"id": "gpt-5.5", "config": {"effort": "high"}}}
    client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=message)
    assert (await client.ended(chat))["state"] == "complete"
    assert llm.asked[0].body["model"] == "gpt-5.5" and llm.asked[0].body["reasoning"]["effort"] == "high"


async def test_plan_mode_of_the_session_is_codex_own_and_ends_with_it(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(reply(say("<proposed_plan>\n- first\n</proposed_plan>")), reply(say("built")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex", config={"mode": "plan"})
    assert "- first" in text_of(await client.turn(chat, "plan it"))
    assert llm.asked[0].mentions("# Plan Mode")
    client.dispatch(uri, "session/configChanged", config={"mode": "interactive"})
    await client.turn(chat, "build it", "t2")
    last = [i for i in llm.asked[1].body["input"] if i.get("role") == "developer"][-1]
    assert "Plan Mode" not in str(last) or "Default" in str(last)


async def test_a_list_of_things_to_do_is_shown_each_time_it_changes(root: Path, llm: FakeOpenAI) -> None:
    """Issue 6 §1: as a call that is done, with the words and the standing of every step. Codex has the tool for it
    where its own configuration says so."""
    first = [{"step": "look", "status": "in_progress"}, {"step": "write", "status": "pending"}]
    then = [{"step": "look", "status": "completed"}, {"step": "write", "status": "in_progress"}]
    llm.add(reply(call("update_plan", plan=first)), reply(call("update_plan", plan=then)), reply(say("planned")))
    async with codex_host(root, llm, after="[tools.update_plan]\nenabled = true\n") as host:
        client = await host.client()
        _, chat = await session(client, host.work, "codex")
        turn = await client.turn(chat, "plan")
        assert text_of(turn) == "planned" and llm.asked[0].offers("update_plan")
        lists = calls(turn)
        assert [(one["toolName"], one["status"]) for one in lists] == [("update_plan", "completed")] * 2
        assert [one["content"][0]["text"] for one in lists] == ["[>] look\n[ ] write", "[x] look\n[>] write"]
        assert [step["step"] for step in json.loads(lists[0]["toolInput"])["plan"]] == ["look", "write"]


async def test_a_fork_that_is_taken_back_below_its_beginning_knows_no_more_than_it_shows(
    host: Rig, llm: FakeOpenAI
) -> None:
    """AHP §9.3, K14: turns that came with the fork can be cut like its own."""
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    llm.add(*(reply(say(words)) for words in ("one", "two", "forked", "again", "cleared")))
    await client.turn(chat, "FIRST", "t1")
    await client.turn(chat, "SECOND", "t2")
    fork = f"{uri}/fork"
    await client.request("createChat", uri, chat=fork, source={"kind": "fork", "chat": chat, "turnId": "t2"})
    copies = (await client.subscribe(fork))["turns"]
    await client.turn(fork, "OWN", "f1")
    client.dispatch(fork, "chat/truncated", turnId=copies[0]["id"])
    await client.state(fork, lambda s: len(s["turns"]) == 1)
    await client.turn(fork, "AGAIN", "f2")
    said = [word for word in ("FIRST", "SECOND", "OWN", "AGAIN") if llm.asked[-1].mentions(word)]
    assert said == ["FIRST", "AGAIN"]
    client.dispatch(fork, "chat/truncated")
    await client.state(fork, lambda s: not s["turns"])
    await client.turn(fork, "CLEARED", "f3")
    assert [word for word in ("FIRST", "AGAIN", "CLEARED") if llm.asked[-1].mentions(word)] == ["CLEARED"]


async def test_a_side_chat_and_a_fork_know_what_was_said(host: Rig, llm: FakeOpenAI) -> None:
    """AHP §9.3, K17."""
    llm.add(reply(say("first answer")), reply(say("second answer")), reply(say("aside")), reply(say("forked")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    await client.turn(chat, "ONE")
    await client.turn(chat, "TWO", "t2")
    side, fork = f"{uri}/side", f"{uri}/fork"
    await client.request("createChat", uri, chat=side, source={"kind": "sideChat", "chat": chat, "turnId": "t2"})
    await client.subscribe(side)
    assert text_of(await client.turn(side, "SIDE", "s1")) == "aside"
    assert llm.asked[2].mentions("first answer") and llm.asked[2].mentions("second answer")
    await client.request("createChat", uri, chat=fork, source={"kind": "fork", "chat": chat, "turnId": "t1"})
    await client.subscribe(fork)
    assert text_of(await client.turn(fork, "FORK", "f1")) == "forked"
    assert llm.asked[3].mentions("first answer") and not llm.asked[3].mentions("second answer")


async def test_a_conversation_that_is_cut_back_is_cut_back_for_the_model(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(reply(say("first answer")), reply(say("second answer")), reply(say("third answer")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    await client.turn(chat, "ONE")
    await client.turn(chat, "TWO", "t2")
    client.dispatch(chat, "chat/truncated", turnId="t1")
    await client.state(chat, lambda s: len(s["turns"]) == 1)
    await client.turn(chat, "THREE", "t3")
    assert llm.asked[2].mentions("first answer") and not llm.asked[2].mentions("second answer")


async def test_after_a_restart_of_the_host_the_conversation_goes_on(host: Rig, llm: FakeOpenAI) -> None:
    """K14: the thread is resumed from disk by the next process."""
    llm.add(reply(say("first answer")), reply(say("second answer")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    await client.turn(chat, "ONE")
    await host.restart()
    again = await host.client()
    await again.subscribe(chat)
    turn = await again.turn(chat, "TWO", "t2")
    assert text_of(turn) == "second answer"
    assert llm.asked[1].mentions("first answer") and llm.asked[1].last == "TWO"


async def test_a_thread_that_is_gone_from_disk_is_replaced_and_told_what_was_said(host: Rig, llm: FakeOpenAI) -> None:
    import shutil

    llm.add(reply(say("first answer")), reply(say("second answer")))
    client = await host.client()
    _, chat = await session(client, host.work, "codex")
    await client.turn(chat, "ONE")
    await host.host.close(2)
    for name in ("sessions", "state_5.sqlite", "thread_history_1.sqlite"):
        path = host.agent_folder / "home" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    await host.start()
    again = await host.client()
    await again.subscribe(chat)
    turn = await again.turn(chat, "TWO", "t2")
    assert text_of(turn) == "second answer", turn
    assert llm.asked[1].mentions("The conversation before this message") and llm.asked[1].mentions("first answer")


async def test_turns_of_two_chats_and_sessions_run_at_the_same_time(host: Rig, llm: FakeOpenAI) -> None:
    hold = asyncio.Event()
    llm.otherwise = reply(say("held"), after=hold)
    client = await host.client()
    chats = [(await session(client, host.work, "codex", f"ahp-session:/{n}"))[1] for n in range(4)]
    for chat in chats:
        client.start_turn(chat, f"to {chat}")
    await llm.until(lambda: len(llm.asked) == 4)
    hold.set()
    for chat in chats:
        assert text_of(await client.ended(chat)) == "held"
    assert {asked.last for asked in llm.asked} == {f"to {chat}" for chat in chats}
