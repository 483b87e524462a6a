"""The parts of the Copilot provider that need neither the agent nor its SDK."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.customizations.eligibility import eligible
from innkeeper.customizations.testing import everything_on
from innkeeper.ports.questions import Answer
from innkeeper.providers.copilot import permissions, runtime, servers
from innkeeper.providers.copilot.permissions import Permissions, intent_of
from innkeeper.providers.copilot.servers import Served, Servers, Wanted
from innkeeper.providers.copilot.turn import Named, Running
from innkeeper.providers.mounted import Mounts
from innkeeper.providers.spi import (
    ActivityChanged,
    InputAnswer,
    ProviderError,
    SteeringConsumed,
    TitleSuggested,
    ToolCompleted,
    UsageReported,
)
from scripted.fakes import FakeMcp, FakeServer

pytestmark = pytest.mark.anyio


# -- servers: one at a time, read back, and what a status means ------------------------------------------------------


class FakeAgent:
    """The agent's side of its MCP calls: slow, so that calls which overlap would be seen."""

    def __init__(self, statuses: Mapping[str, str]) -> None:
        self.statuses = dict(statuses)
        self.calls: list[tuple[str, str]] = []
        self.stuck: set[str] = set()
        self.rpc = SimpleNamespace(mcp=self)
        self._busy = False

    async def _alone(self, what: str, name: str = "") -> None:
        assert not self._busy, f"{what} {name} overlaps"
        self._busy = True
        await asyncio.sleep(0)
        self._busy = False
        self.calls.append((what, name))

    async def disable(self, request: Any) -> None:
        await self._alone("disable", request.server_name)
        if request.server_name not in self.stuck:
            self.statuses[request.server_name] = "disabled"

    async def stop_server(self, request: Any) -> None:
        await self._alone("stop", request.server_name)
        self.statuses[request.server_name] = "stopped"

    async def start_server(self, request: Any) -> None:
        await self._alone("start", request.server_name)
        self.statuses[request.server_name] = "connected"

    async def list(self) -> Any:
        await self._alone("list")
        listed = [
            SimpleNamespace(name=name, status=SimpleNamespace(value=status)) for name, status in self.statuses.items()
        ]
        return SimpleNamespace(servers=listed)


class FakeRuntime:
    async def ask(self, work: Any, **_: Any) -> Any:
        return await work


class Shapes:
    """The SDK's shapes, as far as they are used here."""

    @staticmethod
    def of(**given: Any) -> Any:
        return SimpleNamespace(**given)

    MCPDisableRequest = MCPStopServerRequest = MCPStartServerRequest = of
    MCPSerializableServerConfig = SimpleNamespace(from_dict=lambda config: config)


@pytest.fixture(autouse=True)
def shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "rpc", lambda: Shapes)


def wanted(*names: str, off: tuple[str, ...] = (), address: str = "a") -> Wanted:
    return Wanted({name: {"url": f"{address}/{name}"} for name in names}, {name: name for name in names}, off)


def served(agent: FakeAgent, opened: Wanted) -> Served:
    return Served(FakeRuntime(), agent, opened)  # type: ignore[arg-type]  # it asks, and nothing else


@pytest.mark.parametrize("status", ["pending", "not_configured", "connected", "needs-auth"])
async def test_what_should_be_gone_and_may_be_there_is_an_error_and_not_a_success(status: str) -> None:
    """C6.3, C6.4: only `disabled`, `stopped`, `failed` and nothing at all mean gone."""
    agent = FakeAgent({"memo": status, "other": "connected"})
    agent.stuck.add("memo")
    with pytest.raises(ProviderError, match="memo"):
        await served(agent, wanted("memo", "other")).set(wanted("other"))
    assert agent.calls.count(("disable", "memo")) == servers.TRIES
    agent.stuck.clear()
    assert await served(agent, wanted("memo", "other")).set(wanted("other")) == ["other"]


@pytest.mark.parametrize("status", ["pending", "not_configured", "needs-auth", "failed"])
async def test_a_status_that_may_mean_anything_never_means_that_a_server_is_on(status: str) -> None:
    """C6.3"""
    agent = FakeAgent({"memo": status, "other": "connected"})
    assert await served(agent, wanted("memo", "other")).set(wanted("memo", "other")) == ["other"]


async def test_a_server_that_comes_back_with_another_address_is_started_anew_and_an_equal_one_is_left_alone() -> None:
    agent = FakeAgent({"memo": "connected"})
    one = served(agent, wanted("memo"))
    await one.set(wanted("memo"))
    assert [call for call in agent.calls if call[0] != "list"] == []
    await one.set(wanted("memo", address="b"))
    assert [call for call in agent.calls if call[0] != "list"] == [("stop", "memo"), ("start", "memo")]


@given(st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=6), st.booleans())
def test_whatever_is_wanted_in_whatever_order_the_last_one_holds(sets: list[set[str]], at_once: bool) -> None:
    """The trap: calls that overlap are carried out in any order. They never overlap here (`FakeAgent` asserts it)."""

    async def play() -> dict[str, str]:
        agent = FakeAgent({})
        one = served(agent, wanted())
        changes = [one.set(wanted(*sorted(names))) for names in sets]
        if at_once:
            await asyncio.gather(*changes)
        else:
            for change in changes:
                await change
        return agent.statuses

    statuses = asyncio.run(play())
    assert {name for name, status in statuses.items() if status == "connected"} == sets[-1]


async def test_the_agents_own_server_for_github_is_off_and_one_that_is_withheld_loses_its_endpoint_first() -> None:
    mcp = FakeMcp()
    mcp.sessions["s"] = {"memo": FakeServer("memo", state="ready")}
    gone: list[str] = []

    class Endpoints:
        async def offer(self, session: str, server: str, **_: object) -> Any:
            return SimpleNamespace(name="memo", url="http://127.0.0.1:1", headers={"x": "y"})

        async def withdraw(self, session: str, server: str | None = None, **_: object) -> None:
            gone.append(str(server))

    mounts = Mounts("s", mcp, Endpoints(), 900, lambda signs: None)  # type: ignore[arg-type]  # the parts it uses
    found: Any = Servers(mounts, 900)
    nothing = eligible((), everything_on("s"))
    on = await found.look(nothing)
    assert list(on.configs) == ["memo"] and on.off == servers.BUILT_IN and on.configs["memo"]["timeout"] == 900_000
    assert on.gated("memo") and not on.gated("bash") and not Wanted({"x": {}}, own=frozenset({"x"})).gated("x")
    assert on.tool("memo-echo") == ("memo", "echo") and on.tool("bash") is None
    memo = SimpleNamespace(id=on.ids["memo"])
    withheld = SimpleNamespace(withheld=[memo], names_off=lambda: ("memo",), servers=(), plugins=())
    off = await found.look(withheld)
    assert not off.configs and off.off == (*servers.BUILT_IN, "memo") and gone == [on.ids["memo"]]


class FakeProcess:
    """Lives until it is closed, and says nothing."""

    pid, exit_code = 1, None

    def __init__(self) -> None:
        self.over = asyncio.Event()

    async def output(self) -> AsyncIterator[bytes]:
        await self.over.wait()
        return
        yield b""

    async def wait(self) -> int:
        await self.over.wait()
        return 0

    async def close(self) -> None:
        self.over.set()


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_server_that_is_slow_to_start_does_not_end_the_runtime_of_all_sessions(
    monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    """Issue 6 §7: unless the runtime does not answer either."""
    monkeypatch.setattr(runtime, "PING_SECONDS", 0.01)
    process: Any = FakeProcess()
    one = runtime.Runtime(process)
    never = asyncio.Event()

    async def ping() -> None:
        if hangs:
            await never.wait()

    one.client = SimpleNamespace(ping=ping)
    with pytest.raises(ProviderError if hangs else runtime.Refused):
        await one.ask(never.wait(), seconds=0.01, outside=True)
    assert one.alive is not hangs
    one.client = None
    await one.close()


# -- a turn ----------------------------------------------------------------------------------------------------------


class Output:
    def __init__(self) -> None:
        self.signals: list[Any] = []

    def emit(self, signal: Any) -> None:
        self.signals.append(signal)

    async def confirm(self, call: str, confirmation: Any, *, subagent: str | None = None) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    async def ask(self, request: Any) -> InputAnswer:
        return InputAnswer("cancel")


async def running(words: str = "do it") -> tuple[Running, Output]:
    output = Output()
    return Running(output, lambda tool: Named(tool, tool), words), output  # type: ignore[arg-type]


async def test_an_idle_session_ends_no_turn_that_it_has_not_begun() -> None:
    turn, _ = await running()
    turn.heard("session.idle", {}, None, "e0")
    assert not turn.over.done()
    turn.heard("user.message", {"messageId": "m", "content": "do it"}, None, "e1")
    turn.heard("session.idle", {}, "child", "e2")
    assert turn.point == "e1" and not turn.over.done()
    turn.heard("session.idle", {}, None, "e3")
    assert turn.over.result() is None


async def test_titles_of_the_agents_own_are_told_and_the_message_itself_is_no_title() -> None:
    turn, output = await running("Please fix the parser")
    for title in ("Please fix the parser", "Please fix the…", "Please fix (fork)", "", "Parser repair"):
        turn.heard("session.title_changed", {"title": title}, None, "e")
    assert output.signals == [TitleSuggested("Parser repair")]


async def test_a_steering_message_is_consumed_once_whichever_is_told_first() -> None:
    for early in (False, True):
        turn, output = await running()
        delivered = {"messageId": "m1", "delivery": "steering"}
        if early:
            turn.heard("user.message", delivered, None, "e")
            turn.steers("m1", "mine")
        else:
            turn.steers("m1", "mine")
            turn.heard("user.message", delivered, None, "e")
        assert output.signals == [SteeringConsumed("mine")] and turn.point is None


@pytest.mark.parametrize(
    ("status", "code", "resumable"),
    [
        (401, "AGENT_LOGIN_MISSING", True),
        (403, "AGENT_REFUSED", False),
        (503, "AGENT_REFUSED", True),
        (400, "AGENT_REFUSED", False),
    ],
)
async def test_an_error_says_whether_it_is_worth_another_try(status: int, code: str, resumable: bool) -> None:
    """Who may not is logged in: what the service says of it is told, and no other login asked for."""
    turn, _ = await running()
    turn.heard("session.error", {"message": "no", "statusCode": status}, None, "e")
    turn.heard("session.idle", {}, None, "e")
    error = turn.over.result()
    assert error is not None and (error.error_type, error.resumable) == (code, resumable)


async def test_what_a_subagent_in_the_background_says_completes_its_call_and_a_failure_is_told() -> None:
    turn, output = await running()
    turn.heard("tool.execution_start", {"toolCallId": "t", "toolName": "task", "arguments": {}}, None, "e")
    started = {"toolCallId": "t", "agentName": "rev", "executionMode": "background"}
    turn.heard("subagent.started", started, "agent-1", "e")
    turn.heard("tool.execution_complete", {"toolCallId": "t", "success": True, "result": {"content": "x"}}, None, "e")
    assert not any(isinstance(one, ToolCompleted) for one in output.signals)
    turn.heard("subagent.failed", {"toolCallId": "t", "error": "it broke"}, "agent-1", "e")
    completed = [one for one in output.signals if isinstance(one, ToolCompleted)]
    assert len(completed) == 1 and completed[0].result["error"]["message"] == "it broke"


async def test_compaction_is_an_activity_and_usage_of_a_child_is_the_childs() -> None:
    turn, output = await running()
    turn.heard("session.compaction_start", {}, None, "e")
    turn.heard("session.compaction_complete", {}, None, "e")
    turn.heard("assistant.usage", {"inputTokens": 5.0, "outputTokens": 1.0, "model": "m"}, "child", "e")
    assert [one.activity is None for one in output.signals if isinstance(one, ActivityChanged)] == [False, True]
    usage = next(one for one in output.signals if isinstance(one, UsageReported))
    assert usage.subagent == "child" and usage.usage == {
        "inputTokens": 5,
        "outputTokens": 1,
        "cacheReadTokens": 0,
        "model": "m",
    }


@given(
    st.sampled_from(("assistant.future", "tool.future", "subagent.future", "session.future", "unknown", "hook.start")),
    st.dictionaries(st.text(max_size=5), st.integers()),
)
def test_what_a_newer_agent_says_besides_is_passed_over(kind: str, data: dict[str, int]) -> None:
    async def play() -> list[Any]:
        turn, output = await running()
        turn.heard(kind, data, None, "e")
        return output.signals

    assert asyncio.run(play()) == []


# -- permissions -----------------------------------------------------------------------------------------------------


async def test_the_hook_refuses_when_it_fails_and_when_no_turn_runs() -> None:
    """The trap: a hook of this agent that raises lets the call through."""
    turn, _ = await running()

    def broken(tool: str, input: Any) -> str | None:
        raise RuntimeError("not to be seen")

    for asked in (
        Permissions(lambda: turn, "/w", broken, lambda server: True),
        Permissions(lambda: None, "/w", lambda t, i: None, lambda s: True),
    ):
        answer = await asked.before({"toolName": "bash", "toolArgs": {}}, None)
        assert answer is not None and answer["permissionDecision"] == "deny" and "seen" not in str(answer)
    fine = Permissions(lambda: turn, "/w", lambda tool, input: None, lambda server: True)
    assert await fine.before({"toolName": "bash", "toolArgs": {}}, None) is None


class Request(dict[str, Any]):
    def to_dict(self) -> dict[str, Any]:
        return dict(self)


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    given = SimpleNamespace(
        PermissionDecisionApproveOnce=lambda: "yes", PermissionDecisionReject=lambda feedback: feedback
    )
    monkeypatch.setattr(permissions, "rpc", lambda: given)


async def test_a_question_that_the_turns_end_overtakes_is_denied_and_nobody_waits(decisions: None) -> None:
    turn, _ = await running()
    asking = Permissions(lambda: turn, "/w", lambda tool, input: None, lambda server: False)
    waiting = asyncio.ensure_future(asking.ask(Request(kind="shell", fullCommandText="ls", toolCallId="c"), None))
    await asyncio.sleep(0.01)
    assert asking.asking == 1
    asking.end()
    assert "cancelled" in await waiting and asking.asking == 0
    nobody = Permissions(lambda: None, "/w", lambda tool, input: None, lambda server: True)
    assert await nobody.ask(Request(kind="mcp", serverName="memo", toolCallId="c"), None) != "yes"


async def test_a_call_of_a_hosts_server_is_left_to_the_gate_and_one_of_another_is_asked_about(decisions: None) -> None:
    """M6.5, M6.8"""
    turn, _ = await running()
    asking = Permissions(lambda: turn, "/w", lambda tool, input: None, lambda server: server == "memo")
    assert await asking.ask(Request(kind="mcp", serverName="memo", toolCallId="c"), None) == "yes"
    other = asyncio.ensure_future(
        asking.ask(Request(kind="mcp", serverName="own", toolName="own-x", toolCallId="d"), None)
    )
    await asyncio.sleep(0.01)
    assert asking.asking == 1
    asking.end()
    assert await other != "yes"
    assert await asking.ask(Request(kind="shell", fullCommandText="ls"), None) != "yes", "a call without an id"


async def test_each_request_to_a_server_is_signed_with_the_call_and_keeps_what_it_had() -> None:
    asking = Permissions(lambda: None, "/w", lambda tool, input: None, lambda server: True)
    signed = asking.sign({"toolCallId": "c1", "_meta": {"progressToken": 1}}, None)
    assert signed == {"metaToUse": {"progressToken": 1, permissions.META: "c1"}}
    assert asking.sign({"_meta": {"a": 1}}, None) == {"metaToUse": {"a": 1}}


@pytest.mark.parametrize(
    ("request_", "kind", "has"),
    [
        ({"kind": "shell", "fullCommandText": "ls"}, "shell", {"command": "ls", "language": "bash"}),
        (
            {"kind": "write", "fileName": "a", "fileEdits": [{"path": "/a"}, {"path": "/b"}]},
            "write",
            {"paths": ("/a", "/b")},
        ),
        ({"kind": "read", "path": "/etc"}, "read", {"paths": ("/etc",)}),
        ({"kind": "url", "url": "https://x"}, "url", {"urls": ("https://x",)}),
        ({"kind": "shell", "fullCommandText": "ls", "requestSandboxBypass": True}, "shell", {"leaves_sandbox": True}),
        ({"kind": "memory", "managedApprovalRequired": True}, "tool", {"managed": True}),
        ({"kind": "mcp"}, "mcp", {"tool": "t"}),
        ({"kind": "shell"}, "tool", {}),
    ],
)
def test_what_a_call_wants_is_told_as_far_as_it_is_certain(
    request_: dict[str, Any], kind: str, has: dict[str, Any]
) -> None:
    found = intent_of(request_, "t", "/w")
    assert found.kind == kind and found.directory == "/w"
    assert {name: getattr(found, name) for name in has} == has


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"kind": "selected", "value": "1"}, {"answer": "blue", "wasFreeform": False}),
        ({"kind": "text", "value": "green"}, {"answer": "green", "wasFreeform": True}),
        ({"kind": "selected", "value": "0", "freeformValues": ["green"]}, {"answer": "green", "wasFreeform": True}),
    ],
)
def test_an_answer_is_the_choice_or_the_persons_own_words(value: dict[str, Any], expected: dict[str, Any]) -> None:
    answered = InputAnswer("accept", {"0": {"state": "submitted", "value": value}})  # type: ignore[dict-item]
    assert permissions._chosen({"choices": ["red", "blue"]}, answered) == expected
    assert permissions._chosen({"choices": ["red"]}, InputAnswer("decline")) is None
