"""What a turn of Copilot says to the clients, and how it ends (issue 6 §1)."""

import asyncio
import base64
import time
from typing import Any

import pytest

from providers.agent_host import Rig, server_id, session
from providers.copilot_rig import FakeService
from scripted.world import Client, call_of, text_of
from servers.fake_llm.recording import call, failure, reply, say, think

pytestmark = pytest.mark.anyio

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d"
    "49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def begin(client: Client, chat: str, text: str, turn_id: str = "t1", **message: Any) -> None:
    said = {"text": text, "origin": {"kind": "user"}, **message}
    client.dispatch(chat, "chat/turnStarted", turnId=turn_id, startedAt="2026-01-01T00:00:00.000Z", message=said)


def error_of(turn: Any) -> dict[str, Any]:
    assert turn["state"] == "error", turn
    return dict(next(part for part in turn["responseParts"] if part["kind"] == "error")["error"])


async def test_text_and_reasoning_stream_and_usage_adds_up(host: Rig, llm: FakeService) -> None:
    llm.add(reply(think("h", "m"), say("Look", "ing"), call("bash", command="true", description="Nothing"), pause=0.1))
    llm.add(reply(say("Done")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot", config={"autoApprove": "autoApprove"})
    turn = await client.turn(chat, "hi")
    assert turn["state"] == "complete", turn
    assert [part["content"] for part in turn["responseParts"] if part["kind"] == "markdown"] == ["Looking", "Done"]
    assert [part["content"] for part in turn["responseParts"] if part["kind"] == "reasoning"] == ["hm"]
    assert client.actions(chat, "chat/delta"), "it streams"
    usage = turn["usage"]
    assert (usage["inputTokens"], usage["outputTokens"], usage["model"]) == (200, 40, "gpt-5")
    assert llm.asked[0].last == "hi"


async def test_a_tool_of_a_project_server_has_its_contributor_and_its_result_is_kept(
    host: Rig, llm: FakeService
) -> None:
    host.declare("memo")
    llm.add(reply(call("memo-echo", text="hi", id="call-1")), reply(say("echoed")))
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    turn = await client.turn(chat, "echo it")
    found = call_of(turn)
    assert found["toolName"] == "mcp__memo__echo" and found["status"] == "completed" and found["success"], found
    assert found["contributor"] == {"kind": "mcp", "customizationId": server_id(client, uri, "memo")}
    assert found["content"] == [{"type": "text", "text": "hi"}] and found["toolInput"] == '{"text": "hi"}'
    assert text_of(turn) == "echoed" and len(host.events("memo", "call")) == 1
    assert len([part for part in turn["responseParts"] if part["kind"] == "toolCall"]) == 1


async def test_a_command_shows_its_output_and_how_it_ended_and_an_edit_shows_its_file(
    host: Rig, llm: FakeService
) -> None:
    new = host.work / "new.txt"
    llm.add(
        reply(call("bash", command="echo one; sleep 0.3; echo two; exit 3", description="Say", id="call-1")),
        reply(call("create", path=str(new), file_text="a\nb\n", id="call-2")),
        reply(say("done")),
    )
    client = await host.client()
    _, chat = await session(client, host.work, "copilot", config={"autoApprove": "autoApprove"})
    turn = await client.turn(chat, "run it")
    ran, made = call_of(turn, "call-1"), call_of(turn, "call-2")
    assert not ran["success"] and "3" in ran["error"]["message"]
    assert ran["content"] == [{"type": "text", "text": "one\ntwo\n"}]
    assert client.actions(chat, "chat/toolCallContentChanged"), "its output comes while it runs"
    assert new.read_text() == "a\nb\n"
    edit = next(block for block in made["content"] if block["type"] == "fileEdit")
    assert edit["after"]["uri"] == new.as_uri() and edit["diff"] == {"added": 2, "removed": 0}
    assert "before" not in edit


async def test_an_error_of_the_service_ends_the_turn_with_its_words_and_without_its_keys(
    host: Rig, llm: FakeService
) -> None:
    llm.add(failure(400, "bad_request", "the words of the service, key sk-secret-1 rejected"))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    error = error_of(await client.turn(chat, "hi"))
    assert error["errorType"] == "AGENT_REFUSED" and "the words of the service" in error["message"]
    assert "sk-secret-1" not in error["message"]
    llm.otherwise = failure(401, "invalid_api_key", "Incorrect API key provided: sk-secret-2")
    error = error_of(await client.turn(chat, "again", "t2"))
    assert error["errorType"] == "AGENT_LOGIN_MISSING" and "sk-secret-2" not in error["message"]


async def test_a_try_that_failed_is_made_again_and_said_meanwhile(host: Rig, llm: FakeService) -> None:
    llm.add(failure(500), reply(say("at last")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    turn = await client.turn(chat, "hi")
    assert turn["state"] == "complete" and text_of(turn) == "at last"
    said = [one["action"].get("activity") for one in client.actions(chat, "chat/activityChanged")]
    assert any(words and "asked again" in words for words in said) and said[-1] is None


async def test_abort_closes_the_stream_and_ends_a_call_that_runs_within_a_second(host: Rig, llm: FakeService) -> None:
    host.declare("memo")
    llm.add(reply(say("begin"), then="hang"), reply(call("memo-wait", seconds=30)), reply(say("third")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    client.start_turn(chat, "hi")
    await client.state(chat, lambda s: (s.get("activeTurn") or {}).get("responseParts"))
    began = time.monotonic()
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    turn = await client.ended(chat)
    await llm.until(lambda: llm.asked[0].left, 1)
    assert turn["state"] == "cancelled" and time.monotonic() - began < 1
    client.start_turn(chat, "wait", "t2")
    await host.until(lambda: host.events("memo", "call"))
    client.dispatch(chat, "chat/turnCancelled", turnId="t2")
    assert (await client.ended(chat, "t2"))["state"] == "cancelled"
    await host.until(lambda: host.events("memo", "cancelled"))
    assert text_of(await client.turn(chat, "again", "t3")) == "third"


async def test_a_steering_message_reaches_the_model_within_the_turn(host: Rig, llm: FakeService) -> None:
    host.declare("memo")
    llm.add(reply(call("memo-wait", seconds=1)), reply(say("steered")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    client.start_turn(chat, "wait")
    await host.until(lambda: host.events("memo", "call"))
    message = {"text": "turn left", "origin": {"kind": "user"}}
    client.dispatch(chat, "chat/pendingMessageSet", kind="steering", id="m1", message=message)
    turn = await client.ended(chat)
    assert text_of(turn) == "steered" and len(llm.asked) == 2 and llm.asked[1].mentions("turn left")
    assert client.actions(chat, "chat/pendingMessageRemoved")


async def test_attachments_go_as_pictures_text_and_paths(host: Rig, llm: FakeService) -> None:
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    (host.work / "dot.png").write_bytes(PICTURE)
    (host.work / "b.txt").write_text("BEES")
    embedded = {"type": "embeddedResource", "label": "dot.png", "contentType": "image/png"}
    words = {"type": "embeddedResource", "label": "a.txt", "contentType": "text/plain"}
    attachments = [
        {**embedded, "data": base64.b64encode(PICTURE).decode()},
        {**words, "data": base64.b64encode(b"LETTERS").decode()},
        {"type": "resource", "label": "b.txt", "uri": (host.work / "b.txt").as_uri()},
        {"type": "resource", "label": "dot.png", "uri": (host.work / "dot.png").as_uri()},
        {"type": "simple", "label": "note", "modelRepresentation": "NOTED"},
    ]
    begin(client, chat, "look", attachments=attachments)
    assert (await client.ended(chat))["state"] == "complete"
    asked = llm.asked[0]
    assert str(asked.body).count("data:image/png;base64,") == 2
    assert asked.mentions("LETTERS") and asked.mentions("NOTED") and asked.mentions(str(host.work / "b.txt"))
    agents = {agent["provider"]: agent for agent in client.states["ahp-root://"]["agents"]}
    assert [model["id"] for model in agents["copilot"]["models"]] == ["gpt-5"], "the operator's own service and model"


async def test_plan_mode_is_copilots_own_and_carrying_the_plan_out_is_asked_about(host: Rig, llm: FakeService) -> None:
    llm.add(
        reply(call("exit_plan_mode", summary="- first", actions=["interactive"], recommendedAction="interactive")),
        reply(say("built")),
        reply(say("plain")),
    )
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot", config={"mode": "plan"})
    client.start_turn(chat, "plan it")
    state = await client.state(uri, lambda s: s.get("inputNeeded"))
    asked = state["inputNeeded"][0]["toolCall"]
    assert "- first" in str(asked) and {option["id"] for option in asked["options"]} == {"proceed", "keep"}
    client.dispatch(
        chat,
        "chat/toolCallConfirmed",
        turnId="t1",
        toolCallId=asked["toolCallId"],
        approved=True,
        confirmed="user-action",
        selectedOptionId="proceed",
    )
    assert text_of(await client.ended(chat)) == "built"
    assert llm.asked[0].mentions("<plan_mode>") and llm.asked[0].last == "plan it"
    client.dispatch(uri, "session/configChanged", config={"mode": "interactive"})
    await client.turn(chat, "build it", "t2")
    assert "[[PLAN]]" not in str(llm.asked[2].body["input"][-1])


async def test_a_question_of_the_agent_is_put_to_the_person(host: Rig, llm: FakeService) -> None:
    llm.add(reply(call("ask_user", question="Which?", choices=["red", "blue"])), reply(say("thanks")))
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    client.start_turn(chat, "ask")
    state = await client.state(uri, lambda s: s.get("inputNeeded"))
    request = state["inputNeeded"][0]["request"]
    value = {"kind": "selected", "value": request["questions"][0]["options"][1]["id"]}
    answers = {"0": {"state": "submitted", "value": value}}
    client.dispatch(chat, "chat/inputCompleted", requestId=request["id"], response="accept", answers=answers)
    turn = await client.ended(chat)
    assert text_of(turn) == "thanks" and llm.asked[1].last == "User selected: blue"


async def test_a_subagent_has_a_chat_of_its_own_with_its_calls(host: Rig, llm: FakeService) -> None:
    """AHP §9.3; one in the background ends the turn no earlier than itself, and its call with it."""
    host.declare("memo")
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    for mode in ("sync", "background"):
        work, kid, spawn = f"{mode} work", f"kid-{mode}", f"spawn-{mode}"
        begun, done = reply(call("memo-echo", text=kid, id=kid), pause=0.2), reply(say(f"{mode} child is done"))
        llm.when(lambda a, w=work: a.last == w, begun, 1)
        llm.when(lambda a, k=kid, w=work: k in a.last and w in str(a.body["input"][:3]), done, 1)
        child = {"agent_type": "general-purpose", "name": kid, "mode": mode}
        llm.add(reply(call("task", description="Do", prompt=work, id=spawn, **child)), reply(say("parent is done")))
        llm.otherwise = reply(say("parent woke"))
        turn = await client.turn(chat, f"delegate {mode}", mode)
        assert turn["state"] == "complete", turn
        spawned = call_of(turn, spawn)
        block = next(block for block in spawned["content"] if block["type"] == "subagent")
        assert {"type": "text", "text": f"{mode} child is done"} in spawned["content"]
        shown = await client.subscribe(block["resource"])
        assert shown["origin"]["toolCallId"] == spawn and call_of(shown["turns"][0], kid)["success"] is True
        assert text_of(shown["turns"][0]) == f"{mode} child is done"
        assert ("parent woke" in text_of(turn)) is (mode == "background")


async def test_a_tool_of_a_client_is_run_by_the_client_and_follows_what_it_offers(host: Rig, llm: FakeService) -> None:
    """AHP §9.2"""
    tool = {"name": "pick", "description": "Pick one", "inputSchema": {"type": "object", "properties": {}}}
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    await client.turn(chat, "before", "t0")
    own = {"clientId": client.client_id, "tools": [tool], "customizations": []}
    client.dispatch(uri, "session/activeClientSet", activeClient=own)
    await client.state(uri, lambda s: any(one.get("tools") for one in s["activeClients"]))
    llm.add(reply(call("pick", id="call-1")), reply(say("picked")))
    client.start_turn(chat, "pick one")

    def running(state: Any) -> bool:
        parts = (state.get("activeTurn") or {}).get("responseParts") or ()
        return any(part.get("toolCall", {}).get("status") == "running" for part in parts)

    await client.state(chat, running)
    result = {"success": True, "pastTenseMessage": "Picked", "content": [{"type": "text", "text": "THE-THIRD"}]}
    client.dispatch(chat, "chat/toolCallComplete", turnId="t1", toolCallId="call-1", result=result)
    turn = await client.ended(chat)
    assert text_of(turn) == "picked" and llm.asked[-1].last == "THE-THIRD"
    assert call_of(turn)["contributor"] == {"kind": "client", "clientId": client.client_id}
    assert not llm.asked[0].offers("pick") and llm.asked[1].offers("pick")
    client.dispatch(uri, "session/activeClientSet", activeClient={**own, "tools": []})
    await client.state(uri, lambda s: not any(one.get("tools") for one in s["activeClients"]))
    await client.turn(chat, "without", "t2")
    assert not llm.asked[-1].offers("pick")


async def test_turns_of_chats_and_sessions_run_at_the_same_time(host: Rig, llm: FakeService) -> None:
    hold = asyncio.Event()
    llm.otherwise = reply(say("held"), after=hold)
    client = await host.client()
    chats = [(await session(client, host.work, "copilot", f"ahp-session:/{n}"))[1] for n in range(3)]
    for chat in chats:
        client.start_turn(chat, f"to {chat}")
    await llm.until(lambda: len(llm.asked) == 3)
    hold.set()
    for chat in chats:
        assert text_of(await client.ended(chat)) == "held"
    assert {asked.last for asked in llm.asked} == {f"to {chat}" for chat in chats}
