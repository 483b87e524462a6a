"""What Codex asks, and only Codex asks so; the rest is the contract suite's (issue 6 §2, M6.1-M6.8)."""

from typing import Any

import pytest

from innkeeper.providers.codex.approvals import Approvals
from innkeeper.providers.codex.items import Items
from innkeeper.providers.codex.rpc import NotOffered
from innkeeper.providers.spi import InputAnswer
from providers.agent_host import Rig, session
from providers.answering import answer, calls, question, questions
from providers.test_contract import Recorder
from scripted.world import call_of, text_of
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

PATCH = "*** Begin Patch\n*** Add File: made.txt\n+one\n+two\n*** End Patch"


async def test_an_edit_that_the_sandbox_forbids_is_asked_about_with_its_files(host: Rig, llm: FakeOpenAI) -> None:
    """M4.1b: and the host learns which file was written."""
    llm.add(reply(call("apply_patch", raw=PATCH, id="call-1")), reply(say("written")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex", config={"sandbox": "read-only"})
    message = {"text": "write it", "origin": {"kind": "user"}, "model": {"id": "gpt-5.5"}}
    client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=message)
    asked = await question(client, uri)
    assert "made.txt" in str(asked["toolInput"]) and not (host.work / "made.txt").exists()
    answer(client, chat, asked, True)
    turn = await client.ended(chat)
    assert text_of(turn) == "written" and (host.work / "made.txt").read_text() == "one\ntwo\n"
    [edit] = call_of(turn)["content"]
    assert edit["after"]["uri"] == (host.work / "made.txt").as_uri() and edit["diff"] == {"added": 2, "removed": 0}


async def test_a_command_that_is_not_known_to_be_harmless_is_asked_about_where_the_person_wants_it(
    host: Rig, llm: FakeOpenAI
) -> None:
    """`approvalPolicy: untrusted`: also about what stays in the sandbox."""
    llm.add(reply(call("exec_command", cmd="mkfifo made", id="call-1")), reply(say("done")))
    client = await host.client()
    uri, chat = await session(client, host.work, "codex", config={"approvalPolicy": "untrusted"})
    client.start_turn(chat, "go")
    answer(client, chat, await question(client, uri), True)
    turn = await client.ended(chat)
    [made] = calls(turn)
    assert made["success"] is True and (host.work / "made").exists() and len(questions(client, chat)) == 1


class Asking(Recorder):
    """A person who gives this answer to every question."""

    def __init__(self, given: InputAnswer) -> None:
        super().__init__()
        self.given = given
        self.requests: list[Any] = []

    async def ask(self, request: Any) -> InputAnswer:
        self.requests.append(request)
        return self.given


def approvals(output: Any) -> Approvals:
    items = Items(output.emit, "t", {"memo": "id"}, asks=True, now=lambda: 0.0, child=lambda thread, call: None)

    async def tell(subagent: str | None, words: str) -> None:
        raise AssertionError(words)

    return Approvals(output, items, tell)


async def test_a_form_of_a_server_that_the_host_does_not_own_is_put_to_the_person() -> None:
    fields = {"size": {"type": "integer"}, "colour": {"enum": ["red", "blue"], "description": "Which?"}}
    schema = {"type": "object", "properties": fields, "required": ["size"]}
    asked = {"threadId": "t", "turnId": "u", "message": "Choose", "mode": "form", "requestedSchema": schema}
    value: Any = {
        "size": {"state": "submitted", "value": {"kind": "number", "value": 3}},
        "colour": {"state": "skipped"},
    }
    person = Asking(InputAnswer("accept", value))
    answered = await approvals(person).request("mcpServer/elicitation/request", asked)
    assert answered == {"action": "accept", "content": {"size": 3}, "_meta": None}
    kinds = [(one["id"], one["kind"], one["required"]) for one in person.requests[0]["questions"]]
    assert kinds == [("size", "integer", True), ("colour", "single-select", False)]
    refusing = approvals(Asking(InputAnswer("decline")))
    declined = await refusing.request("mcpServer/elicitation/request", {**asked, "mode": "url", "url": "https://a"})
    assert declined == {"action": "decline", "content": None, "_meta": None}
    assert (await refusing.request("mcpServer/elicitation/request", {**asked, "mode": "x"}))["action"] == "cancel"


async def test_what_is_not_understood_is_not_allowed() -> None:
    """M6.4: a call that nobody knows, an old way of asking, a request of another kind."""
    asked = approvals(Recorder())
    meta = {"codex_approval_kind": "mcp_tool_call", "tool_params": {}}
    unknown = {"threadId": "t", "serverName": "memo", "_meta": meta}
    assert (await asked.request("mcpServer/elicitation/request", unknown))["action"] == "decline"
    assert await asked.request("execCommandApproval", {}) == {"decision": "denied"}
    with pytest.raises(NotOffered):
        await asked.request("account/chatgptAuthTokens/refresh", {})


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


__all__ = ["answer", "question"]
