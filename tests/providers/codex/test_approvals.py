"""What Codex may not do by itself is asked about, once, and answered by a person alone (issue 6 §2, M6.1-M6.8)."""

import time
from typing import Any

import pytest

from innkeeper.settings.config import Settings
from providers.agent_host import Rig, server_id, session
from scripted.world import Client, call_of, text_of
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

LEAVES = {"sandbox_permissions": "require_escalated", "justification": "it must"}


async def question(client: Client, uri: str) -> dict[str, Any]:
    """The call that waits for an answer."""
    state = await client.state(uri, lambda s: s.get("inputNeeded"))
    found: dict[str, Any] = state["inputNeeded"][0]["toolCall"]
    return found


def answer(client: Client, chat: str, asked: dict[str, Any], approved: bool, **more: Any) -> None:
    options = [o for o in asked["options"] if o["kind"] == ("approve" if approved else "deny")]
    how = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    client.dispatch(
        chat,
        "chat/toolCallConfirmed",
        turnId="t1",
        toolCallId=asked["toolCallId"],
        approved=approved,
        selectedOptionId=options[0]["id"],
        **how,
        **more,
    )


async def test_a_command_that_leaves_the_sandbox_is_asked_about_and_runs_when_allowed(
    host: Rig, llm: FakeOpenAI
) -> None:
    llm.add(reply(call("exec_command", cmd="echo out > made", id="call-1", **LEAVES)), reply(say("done")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "go")
    asked = await question(client, uri)
    assert asked["toolCallId"] == "call-1" and {o["kind"] for o in asked["options"]} == {"approve", "deny"}
    assert not (host.work / "made").exists()
    answer(client, chat, asked, True)
    turn = await client.ended(chat)
    assert call_of(turn)["success"] is True and (host.work / "made").read_text() == "out\n"


async def test_a_denial_with_a_reason_lets_the_turn_go_on_and_the_model_hears_why(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(reply(call("exec_command", cmd="touch made", id="call-1", **LEAVES)), reply(say("understood")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "go")
    answer(client, chat, await question(client, uri), False, reasonMessage="not on a Monday")
    turn = await client.ended(chat)
    assert turn["state"] == "complete" and text_of(turn) == "understood"
    assert call_of(turn)["status"] == "cancelled" and not (host.work / "made").exists()
    assert llm.asked[1].mentions("rejected by user") and llm.asked[1].mentions("not on a Monday")


async def test_abort_leaves_no_question_open_and_a_later_answer_allows_nothing(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(reply(call("exec_command", cmd="touch made", id="call-1", **LEAVES)))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex")
    client.start_turn(chat, "go")
    asked = await question(client, uri)
    began = time.monotonic()
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    await client.ended(chat)
    await client.state(uri, lambda s: not s.get("inputNeeded"))
    assert time.monotonic() - began < 1
    answer(client, chat, asked, True)
    turn = await client.turn(chat, "again", "t2")
    assert turn["state"] == "complete" and not (host.work / "made").exists()


async def test_a_call_of_a_project_server_is_asked_about_once_by_the_gate(root: Any, llm: FakeOpenAI) -> None:
    """M6.8: the gate's question is the call's own, and Codex's question is answered by the host."""
    from providers.codex.conftest import codex_host

    async with codex_host(root, llm, trust="manual") as host:
        host.declare("memo")
        llm.add(reply(call("mcp__memo__echo", text="hi", id="call-1")), reply(say("done")))
        client = await host.client()
        uri, chat = await session(client, host.work, "codex")
        await client.state(uri, lambda s: s.get("customizations"))
        await client.request("x-innkeeper/mcp/connect", uri, server=server_id(client, uri, "memo"))
        client.start_turn(chat, "go")
        asked = await question(client, uri)
        assert asked["toolCallId"] == "call-1" and len(asked["options"]) == 3
        assert not host.events("memo", "call")
        answer(client, chat, asked, True)
        turn = await client.ended(chat)
        assert call_of(turn)["success"] is True and len(host.events("memo", "call")) == 1
        questions = [
            e for e in client.actions(chat, "chat/toolCallReady") if e["action"].get("options") and not e.get("origin")
        ]
        assert len(questions) == 1
        assert len([p for p in turn["responseParts"] if p["kind"] == "toolCall"]) == 1


async def test_full_access_asks_nothing(host: Rig, llm: FakeOpenAI) -> None:
    """M6.3b: `danger-full-access` is in the table of unrestricted modes."""
    host.declare("memo")
    llm.add(
        reply(call("exec_command", cmd="echo out > made", id="call-1")),
        reply(call("mcp__memo__echo", text="hi", id="call-2")),
        reply(say("done")),
    )
    client = await host.client()
    _, chat = await session(client, host.work, "codex", config={"sandbox": "danger-full-access"})
    turn = await client.turn(chat, "go")
    assert turn["state"] == "complete" and (host.work / "made").exists()
    assert call_of(turn, "call-2")["success"] is True
    assert not [e for e in client.actions(chat, "chat/toolCallReady") if e["action"].get("options")]


async def test_a_tool_that_the_session_denies_is_not_run_and_nobody_is_asked(host: Rig, llm: FakeOpenAI) -> None:
    llm.add(reply(call("exec_command", cmd="touch made", id="call-1", **LEAVES)), reply(say("ok")))
    client = await host.client()
    permissions = {"allow": [], "deny": ["shell"]}
    _, chat = await session(client, host.work, "codex", config={"permissions": permissions})
    turn = await client.turn(chat, "go")
    assert turn["state"] == "complete" and not (host.work / "made").exists()
    assert call_of(turn)["status"] == "cancelled"


async def test_a_question_of_the_agent_is_put_to_the_person(host: Rig, llm: FakeOpenAI) -> None:
    options = [{"label": "red", "description": "r"}, {"label": "blue", "description": "b"}]
    questions = [{"id": "colour", "header": "Colour", "question": "Which?", "options": options}]
    llm.add(reply(call("request_user_input", questions=questions)), reply(say("thanks")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex", config={"mode": "plan"})
    client.start_turn(chat, "ask")
    state = await client.state(uri, lambda s: s.get("inputNeeded"))
    request = state["inputNeeded"][0]["request"]
    value = {"kind": "selected", "value": "blue"}
    client.dispatch(
        chat,
        "chat/inputCompleted",
        requestId=request["id"],
        response="accept",
        answers={"colour": {"state": "submitted", "value": value}},
    )
    turn = await client.ended(chat)
    assert turn["state"] == "complete" and llm.asked[1].mentions("blue")


def test_settings_of_these_tests_are_the_defaults() -> None:
    """The gate is not switched off behind these tests' back."""
    assert Settings().trust_mode == "manual"
