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
from innkeeper.mcp.declarations.model import StdioLaunch
from innkeeper.mcp.gate import ALLOW_ALWAYS, ALLOW_ONCE, DENY
from innkeeper.mcp.gateway import Gateway
from innkeeper.mcp.results import CONTENT_LIMIT, completed
from innkeeper.mcp.settings import HostServer, McpSettings
from innkeeper.ports.decisions import Grant
from innkeeper.ports.mcp import McpGateway, McpRefused
from innkeeper.ports.questions import Reason, Rules

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
    assert question.meta["x-innkeeper/gate"] == {
        "message": "gate.title",
        "invocation": "gate.invocation",
        "values": {"server": "one", "tool": "echo"},
        "options": {"allow-once": "gate.allow_once", "allow-always": "gate.allow_always", "deny": "gate.deny"},
        "tool": "mcp__one__echo",
        "why": "unknown",
        "also": [],
    }


async def test_texts_are_in_the_language_of_the_callers_turn(host: Any, make_answer: Any) -> None:
    """M9.4"""
    await host.connected("one")
    gateway = host._make_gateway(language=lambda caller: "zh_Hans" if caller.chat == "chat:/c" else "en")
    host.asked.answers = [make_answer(True, ALLOW_ONCE), make_answer(False)]
    result = await gateway.call_tool(host.caller(), "one", "echo", {"text": "x"})
    refused = await gateway.call_tool(host.caller(), "one", "echo", {"text": "x"})
    by_hand = await gateway.call_tool_by_person(S, "one", "echo", {"text": "x"}, "zh_Hans")
    (_, question), _ = host.asked.questions
    assert (question.title, question.lang) == ("要运行 MCP 服务器 one 的 echo 吗？", "zh_Hans")
    assert [option.label for option in question.options] == ["允许一次", "始终允许此工具", "拒绝"]
    assert result["pastTenseMessage"] == by_hand["pastTenseMessage"] == "已调用 one 的 echo"
    assert refused["error"]["message"] == "用户拒绝了此调用。"


async def test_the_one_question_says_what_the_rules_would_have_asked(host: Any, make_answer: Any) -> None:
    """M6.8: the person is asked once, and sees what else the approval rules would have asked."""
    await host.connected("one")
    reason = Reason("gate.why.sessionRule", {"tool": "echo"})
    gateway = host._make_gateway(rules=lambda _session, tool: Rules(asks=(reason,) if "echo" in tool else ()))
    host.settings = McpSettings(trust_mode="all")
    host.asked.answers = [make_answer(True, ALLOW_ONCE)]
    assert (await gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    assert (await gateway.call_tool(host.caller(), "one", "add", {"a": 1, "b": 1}))["success"]
    ((_, question),) = host.asked.questions
    assert question.title == ("Run echo of the MCP server one? Rules ask as well: A rule of this session denies echo.")
    meta = question.meta["x-innkeeper/gate"]
    assert meta["also"] == [{"message": "gate.why.sessionRule", "values": {"tool": "echo"}}]
    assert meta["why"] == "askingRule"


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("session", "A rule of this session denies echo."),
        ("operator", "The operator's configuration denies echo."),
    ],
)
async def test_a_deny_rule_wins_over_every_access_and_over_a_person(host: Any, by: Any, words: str) -> None:
    """M6.8, M6.9"""
    await host.connected("one")
    host.settings = McpSettings(trust_mode="all", full_access=True)
    gateway = host._make_gateway(rules=lambda _session, tool: Rules(by if tool == "mcp__one__echo" else None))
    for result in (
        await gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}),
        await gateway.call_tool_by_person(S, "one", "echo", {"text": "x"}),
    ):
        assert result["error"] == {"message": words, "code": "TOOL_DENIED"}
    assert host.log("one", "call") == []
    assert host.asked.questions == []


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


async def asked(host: Any, tool: str = "echo", **arguments: Any) -> "asyncio.Task[Any]":
    """A call whose question stands open."""
    host.asked.asked.clear()
    calling = asyncio.create_task(host.gateway.call_tool(host.caller(), "one", tool, arguments or {"text": "x"}))
    await asyncio.wait_for(host.asked.asked.wait(), 5)
    return calling


async def switch_off(host: Any) -> None:
    await host.toggle(S, "one", {"kind": "session", "enabled": False})


async def disconnect(host: Any) -> None:
    await host.servers.stop(S, "mcp:one")


async def close_session(host: Any) -> None:
    await host.servers.close_session(S)


async def take_entry_away(host: Any) -> None:
    host.declare("ws", {})
    await host.servers.prepare(S, "t2")


async def change_entry(host: Any) -> None:
    host.declare("ws", {"one": host.entry("one", "--slow", "0")})
    await host.servers.prepare(S, "t2")


async def take_tool_away(host: Any) -> None:
    await host.gateway.call_tool_by_person(S, "one", "shrink", {"name": "echo"})


@pytest.mark.parametrize(
    ("happens", "code"),
    [
        (switch_off, "SERVER_DISABLED"),
        (disconnect, "SERVER_NOT_CONNECTED"),
        (close_session, "SERVER_UNKNOWN"),
        (take_entry_away, "SERVER_UNKNOWN"),
        (change_entry, "DECLARATION_CHANGED"),
        (take_tool_away, "TOOL_UNKNOWN"),
    ],
)
async def test_a_question_ends_with_deny_when_its_tool_or_server_goes(host: Any, happens: Any, code: str) -> None:
    """Issue 3, item 6; reference D1: what was switched off is not called, and nobody has to answer."""
    await host.connected("one")
    calling = await asked(host)
    await happens(host)
    result = await asyncio.wait_for(calling, 5)
    assert (result["success"], result["error"]["code"]) == (False, code)
    assert result["error"]["message"]
    assert [call["tool"] for call in host.log("one", "call")] == (["shrink"] if code == "TOOL_UNKNOWN" else [])
    assert host.gateway._open == {}


async def test_a_question_about_an_unharmed_tool_stays_open(host: Any, make_answer: Any) -> None:
    """Changes of other servers and other tools end no question."""
    await host.connected("one", "two")
    calling = await asked(host)
    await host.gateway.call_tool_by_person(S, "one", "grow", {})
    await host.toggle(S, "two", {"kind": "session", "enabled": False})
    await host.until(lambda: any(t["name"] == "grown" for s in host.gateway.tools(S) for t in s.tools))
    assert not calling.done()
    host.asked.open.set_result(make_answer(True, ALLOW_ONCE))
    assert (await asyncio.wait_for(calling, 5))["success"]


async def test_what_changed_in_the_moment_of_the_answer_is_not_called(host: Any, make_answer: Any) -> None:
    """The checks are made again after an approval."""
    await host.connected("one")
    calling = await asked(host)
    host.asked.open.set_result(make_answer(True, ALLOW_ONCE))
    await host.toggle(S, "one", {"kind": "session", "enabled": False})
    result = await asyncio.wait_for(calling, 5)
    assert not result["success"]
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


async def test_the_chat_that_calls_is_asked_for_its_access_and_rules(host: Any) -> None:
    """M6.3b, K15: a chat may have a configuration of its own; a person's call has its session's."""
    await host.connected("one")
    asked: list[tuple[str, str]] = []

    def full(place: str) -> bool:
        asked.append(("access", place))
        return True

    def rules(place: str, tool: str) -> Rules:
        asked.append((tool, place))
        return Rules()

    gateway = host._make_gateway(full_access=full, rules=rules)
    assert (await gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    assert set(asked) == {("access", host.caller().chat), ("mcp__one__echo", host.caller().chat)}
    asked.clear()
    assert (await gateway.call_tool_by_person(S, "one", "echo", {"text": "x"}))["success"]
    assert {place for _, place in asked} == {S}


class ExcludeEcho:
    def excludes(self, declared: Any, tool: str) -> bool:
        return (declared.name, tool) == ("one", "echo")


async def test_project_filter_wins_over_a_person_and_full_access(host: Any) -> None:
    """M6.7"""
    await host.connected("one")
    gateway = host._make_gateway(project_filter=ExcludeEcho(), full_access=lambda _: True)
    for result in (
        await gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}),
        await gateway.call_tool_by_person(S, "one", "echo", {"text": "x"}),
    ):
        assert result["error"]["message"] == "Disabled by the project: .mcp.json excludes echo of one."
    assert "echo" not in [tool["name"] for server in gateway.tools(S) for tool in server.tools]
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
    "survey": lambda g, h: g.survey(S, "one"),
    "offering": lambda g, h: g.offering(S, "one"),
    "set_log_level": lambda g, h: g.set_log_level(S, "one", "error"),
    "log_to": None,
    "allow_tool": lambda g, h: g.allow_tool(S, "one", "echo"),
    "calls": None,
    "revoke_tool": None,
}
"""None: reaches no server. The others must be shut where a server cannot be used."""


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
                answer = enter(host.gateway, host)
                if inspect.isawaitable(answer):
                    await answer
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
    holders = {"mcp/mounts.py", "mcp/servers.py", "mcp/starting.py", "mcp/supervision/supervisor.py"}
    assert users == holders | {"mcp/gateway.py"}
    for inside in holders:
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


def test_huge_answer_is_bounded_and_says_what_is_not_there() -> None:
    """Reference X3"""
    big, data = "x" * (CONTENT_LIMIT + 5), {"type": "image", "data": "A" * 80, "mimeType": "image/png"}
    blocks: list[Any] = [{"type": "text", "text": "first"}, {"type": "text", "text": big}, data]
    found = completed(RawResult(blocks, False, {"a": big}), "s", "t", "en")
    texts: list[Any] = [block["text"] for block in found.get("content", ()) if block["type"] == "text"]
    assert texts[0] == "first"
    assert texts[1].startswith("x" * (CONTENT_LIMIT - 5) + "\n[")
    assert str(len(big)) in texts[1].partition("[")[2]
    assert ["80" in texts[2], str(len(big) + 8) in texts[3]] == [True, True]
    assert "structuredContent" not in found
    assert completed(RawResult([data], False, {"a": 1}), "s", "t", "en")["structuredContent"] == {"a": 1}


def test_block_of_a_newer_protocol_is_left_out() -> None:
    assert completed(RawResult([{"type": "hologram"}], False), "s", "t", "en")["content"] == []


async def test_a_tool_is_allowed_and_revoked_for_good_by_hand(host: Any, make_answer: Any) -> None:
    """M4.2b, M6.1; reference A1, A3: exactly this tool of this declaration, also after a restart."""
    uri = await host.connected("one")
    await host.gateway.allow_tool(S, "one", "echo")
    assert host.decisions.grants == (
        Grant(uri, "tool", "mcp__one__echo", host.decisions.grants[0].fingerprint, "2026-11-30T12:00:00.000Z"),
    )
    assert (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    host.asked.answers = [make_answer(False), make_answer(False)]
    assert not (await host.gateway.call_tool(host.caller(), "one", "add", {"a": 1, "b": 1}))["success"]
    await host.gateway.revoke_tool(S, "one", "echo")
    await host.gateway.revoke_tool(S, "one", "echo")
    assert host.decisions.grants == ()
    assert not (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    with pytest.raises(McpRefused) as refused:
        await host.gateway.allow_tool(S, "one", "no-such-tool")
    assert refused.value.code == "TOOL_UNKNOWN"


async def test_a_survey_tells_weight_and_permission_of_each_tool_and_calls_nothing(host: Any) -> None:
    """M11.4, M6.7; reference D5."""
    await host.connected("one")
    gateway = host._make_gateway(
        project_filter=ExcludeEcho(), rules=lambda _session, tool: Rules("session" if "leave" in tool else None)
    )
    await gateway.allow_tool(S, "one", "add")
    rows = {row.tool: row for row in gateway.survey(S)}
    assert [(rows[name].outcome, rows[name].why) for name in ("add", "wait", "leave", "echo")] == [
        ("allow", "grant"),
        ("ask", "unknown"),
        ("deny", "sessionRule"),
        ("deny", "projectFilter"),
    ]
    assert (rows["add"].qualified, rows["add"].granted) == ("mcp__one__add", "2026-11-30T12:00:00.000Z")
    assert rows["wait"].granted is None
    assert rows["echo"].description == "Give the text back."
    assert 20 < rows["add"].tokens < 500
    assert host.log("one", "call") == []
    assert gateway.survey("session:/none") == []


async def test_the_call_log_tells_everything_but_what_was_said(host: Any, make_answer: Any) -> None:
    """M11.5; reference V4: time, tool, duration, outcome, bytes; never arguments, never results."""
    await host.connected("one")
    secret = "s3cret-in-arguments"
    host.asked.answers = [make_answer(True, ALLOW_ONCE), make_answer(False), make_answer(True, ALLOW_ONCE)]
    for tool in ("echo", "echo", "fail"):
        await host.gateway.call_tool(host.caller(), "one", tool, {"text": secret})
    await host.gateway.call_tool_by_person(S, "one", "echo", {"text": secret})
    await host.gateway.call_tool(host.caller(subagent=True), "one", "echo", {"text": secret})
    waiting = await asked(host)
    waiting.cancel()
    await asyncio.wait([waiting])
    calls = host.gateway.calls(S, "one")
    assert [(c.tool, c.by, c.outcome, c.code) for c in calls] == [
        ("echo", "agent", "ok", None),
        ("echo", "agent", "refused", "TOOL_DENIED"),
        ("fail", "agent", "failed", None),
        ("echo", "person", "ok", None),
        ("echo", "child", "ok", None),
        ("echo", "agent", "cancelled", None),
    ]
    assert calls[0].sent == len(b'{"text":"s3cret-in-arguments"}')
    assert calls[0].received > calls[0].sent
    assert calls[1].received == 0
    assert all(call.milliseconds >= 0 and call.time for call in calls)
    assert secret not in repr(calls)
    assert host.gateway.calls(S, "mcp:one") == calls
    assert host.gateway.calls(S, "two") == ()
    await host.servers.close_session(S)
    assert host.gateway.calls(S, "mcp:one") == ()


ODD_NAMES = ("__proto__", "constructor", "with space é", "x" * 120, "a__b")


async def test_odd_names_of_tools_are_never_dropped_and_each_has_its_own_permission(
    host: Any, make_answer: Any
) -> None:
    """Reference N1, N2, N3, N4; M2.10: at most 64 characters towards agents, one name a tool, and all can be called."""
    switches = [word for name in ODD_NAMES for word in ("--tool", name)]
    uri = host.declare("ws", {"one": host.entry("one", *switches)})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:one")
    (shown,) = host.gateway.tools(S)
    assert set(ODD_NAMES) <= {tool["name"] for tool in shown.tools}
    rows = {row.tool: row for row in host.gateway.survey(S)}
    names = [rows[name].qualified for name in ODD_NAMES]
    assert len(set(names)) == len(ODD_NAMES)
    assert all(len(name) <= 64 and name.startswith("mcp__one__") for name in names)
    for name in ODD_NAMES:
        host.asked.answers = [make_answer(True, ALLOW_ALWAYS)]
        assert (await host.gateway.call_tool(host.caller(), "one", name, {}))["success"]
        assert (await host.gateway.call_tool(host.caller(), "one", name, {}))["success"]
    assert len(host.asked.questions) == len(ODD_NAMES)
    assert sorted(grant.name for grant in host.decisions.grants) == sorted(names)


async def test_the_gate_stands_before_the_connection_of_the_project_and_no_other_of_that_name(
    host: Any, make_answer: Any
) -> None:
    """M6.5, M6.9, M5.2: the operator's server of that name is not asked about; the project's, which shadows it, is."""
    entry = host.entry("one")
    launch = StdioLaunch(entry["command"], tuple(entry["args"]), {}, str(host.place))
    host.settings = McpSettings(host_servers=(HostServer("one", launch),))
    uri = host.declare("ws", {})
    await host.servers.open_session(S, uri)
    await host.servers.prepare(S, "t1")
    await host.until(lambda: bool(host.gateway.tools(S)))
    (row, *_) = host.gateway.survey(S)
    assert (row.outcome, row.why) == ("pass", "notOurs")
    assert (await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"}))["success"]
    assert host.asked.questions == []
    host.declare("ws", {"one": host.entry("one")})
    await host.servers.refresh(S, start=False)
    await host.servers.start(S, "mcp:one")
    host.asked.answers = [make_answer(False)]
    result = await host.gateway.call_tool(host.caller(), "one", "echo", {"text": "x"})
    assert result["error"]["code"] == "TOOL_DENIED"
    assert len(host.asked.questions) == 1


WAYS_IN = {
    "call_tool": {"providers/console/commands.py"},
    "call_tool_by_person": {"host/extensions.py"},
}


def test_every_part_that_calls_a_tool_is_known() -> None:
    """M6.9: who calls as an agent and who as a person is a list; what is new in it is looked at."""
    package = Path(innkeeper.__file__).parent
    found: dict[str, set[str]] = {name: set() for name in WAYS_IN}
    for path in package.rglob("*.py"):
        inside = path.relative_to(package).as_posix()
        if inside.startswith(("mcp/connections/", "mcp/gateway.py", "ports/")):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in found:
                found[node.attr].add(inside)
    assert found["call_tool_by_person"] == WAYS_IN["call_tool_by_person"]
    assert WAYS_IN["call_tool"] <= found["call_tool"]
    others = {inside for inside in found["call_tool"] - WAYS_IN["call_tool"] if not inside.startswith("mcp/endpoint/")}
    assert others == set()
