"""Calls on their way to a server: enablement, gate, question, connection (M6, M7.5), with real processes."""

import ast
import asyncio
import base64
import inspect
from pathlib import Path
from typing import Any

import pytest

import innkeeper
from innkeeper.mcp.connections.values import RawResult
from innkeeper.mcp.gateway import ALLOW_ALWAYS, ALLOW_ONCE, DENY, Gateway
from innkeeper.mcp.results import completed
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.mcp import McpGateway, McpRefused

pytestmark = pytest.mark.anyio

S = "session:/s"


async def test_question_has_three_answers_and_carries_message_ids(host: Any, make_answer: Any) -> None:
    """M6.1, M6.2"""
    await host.connected("one")
    host.asked.answers = [make_answer(True, ALLOW_ONCE)]
    result = await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "hé"})
    assert result == {
        "success": True,
        "pastTenseMessage": "Called echo of one",
        "content": [{"type": "text", "text": "hé"}],
        "structuredContent": {"result": "hé"},
    }
    ((caller, question),) = host.asked.questions
    assert caller == host.caller()
    assert [(o.id, o.label, o.kind) for o in question.options] == [
        ("allow-once", "Allow once", "approve"),
        ("allow-always", "Always allow this tool", "approve"),
        ("deny", "Deny", "deny"),
    ]
    assert question.title == "Run echo of the MCP server one?"
    assert question.tool_input == '{\n  "text": "hé"\n}'
    assert question.meta["x-innkeeper/gate"]["message"] == "gate.title"
    assert question.meta["x-innkeeper/gate"]["values"] == {"server": "one", "tool": "echo"}


async def test_allow_once_is_once(host: Any, make_answer: Any) -> None:
    await host.connected("one")
    host.asked.answers = [make_answer(True, ALLOW_ONCE), make_answer(True)]
    for _ in range(2):
        assert (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    assert len(host.asked.questions) == 2
    assert host.stored == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"approved": False, "option": DENY}, "The user denied this call."),
        ({"approved": True, "option": DENY}, "The user denied this call."),
        ({"approved": False, "message": "not on main"}, "not on main"),
        ({"approved": False, "reason": "timeout"}, "Nobody answered the question in time."),
        ({"approved": False, "reason": "cancelled"}, "The question was cancelled."),
        ({"approved": False, "reason": "no-conversation"}, "There is no conversation in which to ask."),
    ],
)
async def test_anything_but_an_approval_is_a_result_with_its_reason_and_no_call(
    host: Any, make_answer: Any, answer: dict[str, Any], reason: str
) -> None:
    """M6.1, M6.4"""
    await host.connected("one")
    host.asked.answers = [make_answer(**answer)]
    result = await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"})
    assert result == {
        "success": False,
        "pastTenseMessage": "Did not call echo of one",
        "error": {"message": reason, "code": "TOOL_DENIED"},
    }
    assert host.log("one", "call") == []


async def test_always_allow_is_stored_before_the_call_and_survives_a_restart(host: Any, make_answer: Any) -> None:
    """M6.1, C8.1"""
    uri = await host.connected("one")
    order: list[str] = []
    store = host.store

    async def watched(ops: Any) -> None:
        order.append(f"stored before {len(host.log('one', 'call'))} calls")
        await store(ops)

    host.store = watched
    host.gateway = host._make_gateway()
    host.asked.answers = [make_answer(True, ALLOW_ALWAYS)]
    assert (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    assert order == ["stored before 0 calls"]
    (grant,) = host.decisions.grants
    assert (grant.workspace, grant.kind, grant.name) == (uri, "tool", "mcp__one__echo")
    assert (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    await host.restart()
    await host.servers.open_session("session:/later", uri)
    await host.servers.start("session:/later", "mcp:one")
    result = await host.gateway.call_tool(host.caller("session:/later"), "one", "echo", {"text": "x"})
    assert result["success"]
    assert len(host.asked.questions) == 1
    host.asked.answers = [make_answer(False)]
    other = await host.gateway.call_tool(host.caller("session:/later"), "one", "add", {"a": 1, "b": 2})
    assert not other["success"]


async def test_always_allow_ends_with_the_declaration(host: Any, make_answer: Any) -> None:
    """M6.1: after a change of the declaration the next call asks again."""
    await host.connected("one")
    host.asked.answers = [make_answer(True, ALLOW_ALWAYS), make_answer(False)]
    assert (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    host.declare("ws", {"one": host.entry("one", "--slow", "0")})
    await host.servers.prepare(S, "t1")
    await host.servers.start(S, "mcp:one")
    assert not (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    assert len(host.asked.questions) == 2


async def test_permission_that_cannot_be_stored_is_none(host: Any, make_answer: Any) -> None:
    await host.connected("one")
    host.store_fails = True
    host.asked.answers = [make_answer(True, ALLOW_ALWAYS)]
    result = await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"})
    assert result["error"]["code"] == "STORAGE_FAILED"
    assert host.log("one", "call") == []


async def test_edited_input_is_what_is_called(host: Any, make_answer: Any) -> None:
    await host.connected("one")
    host.asked.answers = [make_answer(True, edited_input='{"text": "mine"}'), make_answer(True, edited_input="[1]")]
    result = await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "theirs"})
    assert result["content"] == [{"type": "text", "text": "mine"}]
    refused = await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "theirs"})
    assert refused["error"]["message"] == "The edited input is not a JSON object."


async def test_server_switched_off_while_the_question_is_open_is_not_called(host: Any, make_answer: Any) -> None:
    await host.connected("one")
    calling = asyncio.create_task(host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))
    await asyncio.wait_for(host.asked.asked.wait(), 5)
    await host.toggle(S, "one", {"kind": "session", "enabled": False})
    host.asked.open.set_result(make_answer(True, ALLOW_ONCE))
    result = await asyncio.wait_for(calling, 5)
    assert (result["success"], result["error"]["code"]) == (False, "SERVER_DISABLED")
    assert host.log("one", "call") == []


async def test_declaration_changed_while_the_question_is_open_is_not_called(host: Any, make_answer: Any) -> None:
    host.settings = McpSettings()
    await host.connected("one")
    calling = asyncio.create_task(host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))
    await asyncio.wait_for(host.asked.asked.wait(), 5)
    host.declare("ws", {"one": host.entry("one", "--slow", "0")})
    await host.servers.prepare(S, "t1")
    await host.servers.start(S, "mcp:one")
    host.asked.open.set_result(make_answer(True, ALLOW_ONCE))
    result = await asyncio.wait_for(calling, 5)
    assert result["error"]["code"] == "DECLARATION_CHANGED"
    assert host.log("one", "call") == []


async def test_not_asked_under_full_access_by_a_person_or_for_a_child(host: Any) -> None:
    """M6.3, M6.9"""
    await host.connected("one")
    assert (await host.gateway.call_tool_by_person(S, "one", "echo", {"text": "x"}))["success"]
    assert (await host.gateway.call_tool(host.caller(subagent=True), "one", "echo", {"text": "x"}))["success"]
    host.full_access.add(S)
    assert (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    silent = host._make_gateway(questions=None, full_access=lambda _: False)
    assert (await silent.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    assert host.asked.questions == []


class ExcludeEcho:
    def excludes(self, server: str, tool: str) -> bool:
        return (server, tool) == ("one", "echo")


async def test_project_filter_wins_over_a_person_and_full_access(host: Any) -> None:
    """M6.7"""
    await host.connected("one")
    gateway = host._make_gateway(project_filter=ExcludeEcho(), full_access=lambda _: True)
    for result in (
        await gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}),
        await gateway.call_tool_by_person(S, "one", "echo", {"text": "x"}),
    ):
        assert result["error"]["message"] == "The project's configuration excludes this tool."
    assert (await gateway.call_tool(host.caller(), "one", "add", {"a": 1, "b": 1}))["success"]
    assert host.asked.questions == []


ENTRY_POINTS = {
    "tools": None,
    "instructions": None,
    "call_tool": lambda g, h: g.call_tool(h.caller(), "one", "echo", {"text": "x"}),
    "call_tool_by_person": lambda g, h: g.call_tool_by_person(S, "one", "echo", {"text": "x"}),
    "list_resources": lambda g, h: g.list_resources(S, "one"),
    "read_resource": lambda g, h: g.read_resource(S, "note://one", "one"),
    "list_prompts": lambda g, h: g.list_prompts(S, "one"),
    "get_prompt": lambda g, h: g.get_prompt(S, "one", "greet", {"name": "x"}),
}


async def test_every_entry_point_refuses_what_is_off_stopped_unknown_or_dead(host: Any) -> None:
    """M6.9: this list is complete, and each way in is shut."""
    public = {name for name, _ in inspect.getmembers(Gateway, inspect.isfunction) if not name.startswith("_")}
    assert public == set(ENTRY_POINTS)
    assert {name for name, _ in inspect.getmembers(McpGateway, inspect.isfunction) if name[0] != "_"} == public

    async def codes() -> set[str]:
        assert host.gateway.tools(S) == []
        assert host.gateway.instructions(S) == {}
        found: set[str] = set()
        for enter in filter(None, ENTRY_POINTS.values()):
            with pytest.raises(McpRefused) as refused:
                await enter(host.gateway, host)
            found.add(refused.value.code)
        return found

    assert await codes() == {"SERVER_UNKNOWN"}
    uri = host.declare("ws", {"one": host.entry("one")})
    await host.servers.open_session(S, uri)
    assert await codes() == {"NOT_ALLOWED"}
    await host.servers.start(S, "mcp:one")
    await host.toggle(S, "one", {"kind": "global", "enabled": False})
    assert await codes() == {"SERVER_DISABLED"}
    await host.toggle(S, "one")
    assert await codes() == {"SERVER_NOT_CONNECTED"}
    await host.servers.start(S, "mcp:one")
    host.full_access.add(S)
    await host.gateway.call_tool(host.caller(), "one", "leave", {"code": 0})
    await host.until(lambda: host.row("one").status == "failed")
    assert await codes() == {"SERVER_NOT_CONNECTED"}
    await host.servers.close_session(S)
    assert await codes() == {"SERVER_UNKNOWN"}
    assert len(host.log("one", "call")) == 1


def test_nothing_but_the_gateway_reaches_a_connection() -> None:
    """M6.9: gate and filter stand at one place; `servers` connects, `mounts` holds, only `gateway` calls."""
    package = Path(innkeeper.__file__).parent
    users: set[str] = set()
    for path in package.rglob("*.py"):
        inside = path.relative_to(package).as_posix()
        if inside.startswith("mcp/connections/"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "innkeeper.mcp.connections.connection":
                users.add(inside)
    assert users == {"mcp/gateway.py", "mcp/mounts.py", "mcp/servers.py"}
    for inside in ("mcp/mounts.py", "mcp/servers.py"):
        tree = ast.parse((package / inside).read_text())
        called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not called & {"call_tool", "read_resource", "get_prompt", "request"}


async def test_unknown_tool_is_refused_before_anyone_is_asked(host: Any) -> None:
    await host.connected("one")
    with pytest.raises(McpRefused) as refused:
        await host.gateway.call_tool(host.caller(), "one", "no-such-tool", {})
    assert refused.value.code == "TOOL_UNKNOWN"
    assert host.asked.questions == []


async def test_failing_tool_and_wrong_arguments_are_unsuccessful_results(host: Any) -> None:
    host.full_access.add(S)
    await host.connected("one")
    result = await host.gateway.call_tool(host.caller(), "one", "fail", {"text": "broken on purpose"})
    assert result["success"] is False
    assert result["pastTenseMessage"] == "fail of one failed"
    wrong = await host.gateway.call_tool(host.caller(), "one", "add", {"a": "x"})
    assert wrong["success"] is False
    assert wrong["error"]["message"]


async def test_server_that_dies_in_the_middle_of_a_call_is_not_called_again(host: Any) -> None:
    """M7.5"""
    host.full_access.add(S)
    await host.connected("one", "two")
    waiting = asyncio.create_task(host.gateway.call_tool(host.caller(), "one", "wait", {"seconds": 60}))
    await host.until(lambda: bool(host.log("one", "call")))
    result = await asyncio.wait_for(host.gateway.call_tool(host.caller(), "one", "leave", {"code": 7}), 5)
    assert (result["success"], result["error"]["code"]) == (False, "CONNECTION_LOST")
    assert (await asyncio.wait_for(waiting, 5))["error"]["code"] == "CONNECTION_LOST"
    await host.until(lambda: host.row("one").status == "failed")
    assert [call["tool"] for call in host.log("one", "call")] == ["wait", "leave"]
    assert len(host.log("one", "start")) == 1
    assert (await host.gateway.call_tool(host.caller(), "two", "echo", {"text": "x"}))["success"]


async def test_cancelled_call_is_cancelled_at_the_server_and_leaves_it_alive(host: Any) -> None:
    host.full_access.add(S)
    await host.connected("one")
    pid = host.row("one").pid
    calling = asyncio.create_task(host.gateway.call_tool(host.caller(), "one", "wait", {"seconds": 60}))
    await host.until(lambda: bool(host.log("one", "call")))
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(calling, 5)
    await host.until(lambda: bool(host.log("one", "cancelled")))
    assert (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    assert host.row("one").pid == pid


async def test_calls_run_side_by_side(host: Any) -> None:
    host.full_access.add(S)
    await host.connected("one")
    slow = asyncio.create_task(host.gateway.call_tool(host.caller(), "one", "wait", {"seconds": 60}))
    await host.until(lambda: bool(host.log("one", "call")))
    many = [host.gateway.call_tool(host.caller(), "one", "echo", {"text": str(n)}) for n in range(20)]
    texts = [result["content"][0]["text"] for result in await asyncio.wait_for(asyncio.gather(*many), 10)]
    assert texts == [str(n) for n in range(20)]
    slow.cancel()
    await asyncio.wait([slow])


async def test_image_comes_as_an_embedded_resource(host: Any) -> None:
    host.full_access.add(S)
    await host.connected("one")
    result = await host.gateway.call_tool(host.caller(), "one", "picture", {})
    (content,) = result["content"]
    assert (content["type"], content["contentType"]) == ("embeddedResource", "image/png")
    assert base64.b64decode(content["data"]).startswith(b"\x89PNG")


async def test_resources_and_prompts_are_listed_and_read(host: Any) -> None:
    await host.connected("one", "two")
    assert [r["uri"] for r in await host.gateway.list_resources(S, "one")] == ["note://one", "note://blob"]
    ((note,), (blob,)) = (
        await host.gateway.read_resource(S, "note://one"),
        await host.gateway.read_resource(S, "note://blob", "mcp:two"),
    )
    assert note["text"] == "the note"
    assert base64.b64decode(str(blob["blob"])) == b"\x00\x01"
    assert [p["name"] for p in await host.gateway.list_prompts(S, "one")] == ["greet"]
    prompt = await host.gateway.get_prompt(S, "one", "greet", {"name": "Ada"})
    assert prompt["messages"][0]["content"]["text"] == "Greet Ada."
    for refusal, reading in (
        ("RESOURCE_UNKNOWN", host.gateway.read_resource(S, "note://none")),
        ("CALL_FAILED", host.gateway.read_resource(S, "note://none", "one")),
        ("CALL_FAILED", host.gateway.get_prompt(S, "one", "none", {})),
    ):
        with pytest.raises(McpRefused) as refused:
            await reading
        assert refused.value.code == refusal


@pytest.mark.parametrize(
    ("block", "content"),
    [
        ({"type": "text", "text": "x"}, {"type": "text", "text": "x"}),
        (
            {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
            {"type": "embeddedResource", "data": "AA==", "contentType": "audio/wav"},
        ),
        (
            {"type": "resource", "resource": {"uri": "a:b", "blob": "AA==", "mimeType": "image/png"}},
            {"type": "embeddedResource", "data": "AA==", "contentType": "image/png"},
        ),
        ({"type": "resource", "resource": {"uri": "a:b", "text": "x"}}, {"type": "text", "text": "x"}),
        (
            {"type": "resource", "resource": {"uri": "a:b", "text": "{}", "mimeType": "application/json"}},
            {"type": "embeddedResource", "data": "e30=", "contentType": "application/json"},
        ),
        (
            {"type": "resource_link", "uri": "file:///x", "name": "x", "mimeType": "text/plain"},
            {"type": "resource", "uri": "file:///x", "contentType": "text/plain"},
        ),
        ({"type": "resource_link", "uri": "file:///x", "name": "x"}, {"type": "resource", "uri": "file:///x"}),
    ],
)
def test_every_block_has_its_form(block: dict[str, Any], content: dict[str, Any]) -> None:
    assert completed(RawResult([block], False), "s", "t", "en")["content"] == [content]


def test_block_of_a_newer_protocol_is_left_out() -> None:
    assert completed(RawResult([{"type": "hologram"}], False), "s", "t", "en")["content"] == []
