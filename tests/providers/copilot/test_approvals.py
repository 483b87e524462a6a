"""What Copilot may not do by itself is asked about, once, and answered by a person alone (issue 6 §2, M6.1-M6.8)."""

import time
from pathlib import Path
from typing import Any

import pytest

from providers.agent_host import Rig, server_id, session
from providers.copilot_rig import FakeService, conversations, copilot_host
from scripted.world import Client, call_of, text_of
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

MAKE = {"command": "touch made", "description": "Make a file", "id": "call-1"}


async def question(client: Client, uri: str) -> dict[str, Any]:
    """The call that waits for an answer."""
    state = await client.state(uri, lambda s: s.get("inputNeeded"))
    return dict(state["inputNeeded"][0]["toolCall"])


def answer(client: Client, chat: str, asked: dict[str, Any], approved: bool, turn_id: str = "t1", **more: Any) -> None:
    options = [one for one in asked["options"] if one["kind"] == ("approve" if approved else "deny")]
    how: dict[str, Any] = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    how |= {"turnId": turn_id, "toolCallId": asked["toolCallId"], "selectedOptionId": options[-1]["id"]}
    client.dispatch(chat, "chat/toolCallConfirmed", approved=approved, **how, **more)


async def test_a_command_runs_when_allowed_and_a_denial_goes_on_with_its_reason(host: Rig, llm: FakeService) -> None:
    """A changed command is never run as it was: it cannot be given back, so the model is told of it."""
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    made = host.work / "made"
    for number, (approved, more) in enumerate(
        ((False, {"reasonMessage": "not on a Monday"}), (True, {"editedToolInput": "touch other"}), (True, {}))
    ):
        turn_id = f"t{number}"
        llm.add(reply(call("bash", **{**MAKE, "id": f"call-{number}"})), reply(say("understood")))
        client.start_turn(chat, "go", turn_id)
        asked = await question(client, uri)
        assert asked["toolCallId"] == f"call-{number}" and {one["kind"] for one in asked["options"]} == {
            "approve",
            "deny",
        }
        assert "touch made" in str(asked) and not made.exists()
        answer(client, chat, asked, approved, turn_id=turn_id, **more)
        turn = await client.ended(chat, turn_id)
        assert turn["state"] == "complete" and text_of(turn) == "understood"
        assert all(llm.asked[-1].mentions(words) for words in more.values())
        assert made.exists() is (approved and not more)
    assert call_of(turn, "call-2")["success"] is True


async def test_abort_leaves_no_handler_waiting_and_a_later_answer_allows_nothing(host: Rig, llm: FakeService) -> None:
    """The trap: Copilot settles the question with its abort and leaves the handler waiting."""
    llm.add(reply(call("bash", **MAKE)))
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    client.start_turn(chat, "go")
    asked = await question(client, uri)
    assert conversations(host)[0].asking == 1
    began = time.monotonic()
    client.dispatch(chat, "chat/turnCancelled", turnId="t1")
    await client.ended(chat)
    await client.state(uri, lambda s: not s.get("inputNeeded"))
    await host.until(lambda: conversations(host)[0].asking == 0, 1)
    assert time.monotonic() - began < 1
    answer(client, chat, asked, True)
    turn = await client.turn(chat, "again", "t2")
    assert turn["state"] == "complete" and not (host.work / "made").exists()


async def test_a_call_of_a_project_server_is_asked_about_once_by_the_gate(root: Path, llm: FakeService) -> None:
    """M6.8: the gate's question is the call's own, and Copilot's question is answered by the host."""
    async with copilot_host(root, llm, trust="manual") as host:
        host.declare("memo")
        llm.add(reply(call("memo-echo", text="hi", id="call-1")), reply(say("done")))
        client = await host.client()
        uri, chat = await session(client, host.work, "copilot")
        await client.state(uri, lambda s: s.get("customizations"))
        await client.request("x-innkeeper/mcp/connect", uri, server=server_id(client, uri, "memo"))
        client.start_turn(chat, "go")
        asked = await question(client, uri)
        assert asked["toolCallId"] == "call-1" and len(asked["options"]) == 3
        assert not host.events("memo", "call")
        answer(client, chat, asked, True)
        turn = await client.ended(chat)
        assert call_of(turn)["success"] is True and len(host.events("memo", "call")) == 1
        ready = [one["action"] for one in client.actions(chat, "chat/toolCallReady") if not one.get("origin")]
        assert len([one for one in ready if one.get("options")]) == 1
        assert len([part for part in turn["responseParts"] if part["kind"] == "toolCall"]) == 1


async def test_full_access_asks_nothing_and_what_the_session_denies_is_not_run(host: Rig, llm: FakeService) -> None:
    """M6.3b; the hook denies also a tool about which Copilot asks nobody."""
    (host.work / "read.txt").write_text("READWORDS")
    host.declare("memo")
    llm.add(
        reply(call("bash", **MAKE)),
        reply(call("memo-echo", text="hi", id="call-2")),
        reply(call("view", path=str(host.work / "read.txt"), id="call-3")),
        reply(say("done")),
    )
    client = await host.client()
    config = {"autoApprove": "autoApprove", "permissions": {"allow": [], "deny": ["view"]}}
    _, chat = await session(client, host.work, "copilot", config=config)
    turn = await client.turn(chat, "go")
    assert turn["state"] == "complete" and (host.work / "made").exists()
    assert call_of(turn, "call-2")["success"] is True and call_of(turn, "call-3")["success"] is False
    assert not llm.asked[3].mentions("READWORDS")
    assert not [one for one in client.actions(chat, "chat/toolCallReady") if one["action"].get("options")]
