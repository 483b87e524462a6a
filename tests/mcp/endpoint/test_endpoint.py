"""What an agent sees of a server through its endpoint, in both protocol generations (architecture §5, M5.7, M6.9)."""

import asyncio
import json
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from innkeeper.mcp.endpoint.endpoints import Endpoints
from innkeeper.mcp.names import qualified_tool_name
from innkeeper.ports.mcp import McpRefused
from innkeeper.ports.questions import Caller

pytestmark = pytest.mark.anyio

S = "session:/s"
LONG = "a_tool_whose_name_is_so_long_that_no_prefix_fits_before_it"


def refusal(result: Any) -> tuple[bool, str]:
    return result.is_error, (result.meta or {})["x-innkeeper/refusal"]


async def test_everything_a_server_offers_reaches_the_agent(inn: Any, agent_of: Any, mode: str) -> None:
    """M5.7"""
    offer = await inn.offered("one")
    assert offer.name == "one"
    async with agent_of(offer, mode) as agent:
        client = agent.client
        assert (client.protocol_version >= "2026") is (mode == "auto")
        assert client.instructions is None  # they come with each request, once (K19)
        stated = client.server_capabilities
        assert (stated.tools.list_changed, stated.resources.list_changed, stated.prompts.list_changed) == (True,) * 3
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) >= {"echo", "add", "fail", "leave", "wait", "picture", "grow"}
        assert tools["add"].input_schema["required"] == ["a", "b"]
        assert tools["add"].output_schema is not None
        assert tools["echo"].description == "Give the text back."
        assert [str(r.uri) for r in (await client.list_resources()).resources] == ["note://one", "note://blob"]
        assert (await client.list_resource_templates()).resource_templates == []
        assert (await client.read_resource("note://one")).contents[0].text == "the note"
        assert (await client.read_resource("note://blob")).contents[0].blob == "AAE="
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["greet"]
        greeting = await client.get_prompt("greet", {"name": "Ada"})
        assert greeting.messages[0].content.text == "Greet Ada."
        for wrong in (client.read_resource("note://none"), client.get_prompt("none")):
            with pytest.raises(MCPError) as refused:
                await wrong
            assert refused.value.error.data == {"x-innkeeper/refusal": "CALL_FAILED"}


async def test_what_the_server_has_not_stated_is_not_stated(inn: Any, agent_of: Any, mode: str) -> None:
    offer = await inn.talking("--legacy")
    async with agent_of(offer, mode) as agent:
        stated = agent.client.server_capabilities
        assert (stated.resources, stated.prompts, stated.completions) == (None, None, None)
        assert stated.tools is not None
        assert stated.logging is not None


async def test_results_come_as_the_server_gave_them(inn: Any, agent_of: Any, mode: str) -> None:
    async with agent_of(await inn.offered("one"), mode) as agent:
        added = await agent.call("add", {"a": 1, "b": 2})
        assert (added.is_error, added.content[0].text, added.structured_content) == (False, "3", {"result": 3})
        image = (await agent.call("picture")).content[0]
        assert (image.type, image.mime_type) == ("image", "image/png")
        failed = await agent.call("fail", {"text": "on purpose"})
        assert failed.is_error
        assert "x-innkeeper/refusal" not in (failed.meta or {})
        assert (await agent.call("add", {"a": "x"})).is_error


async def test_big_results_and_arguments_pass(inn: Any, agent_of: Any, mode: str) -> None:
    async with agent_of(await inn.talking(), mode) as agent:
        await agent.tools()
        size = 400_000 if mode == "legacy" else 3_000_000  # the SDK's client reads events of at most 1 MiB
        result = await agent.call("big", {"characters": size})
        assert len(result.content[0].text) == size
        assert result.meta["own"] == "kept"
        small = await agent.call("big", {"characters": 1, "padding": "x" * 6_000_000})
        assert small.content[0].text == "é"


async def test_structured_results_of_the_newer_protocol_do_not_break_the_older(
    inn: Any, agent_of: Any, mode: str
) -> None:
    """A list as structured content, and its schema, cannot be said in the first generation."""
    async with agent_of(await inn.talking(), mode) as agent:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        result = await agent.call("list")
        assert result.content[0].text == "[1]"
        newer = mode == "auto"
        assert (tools["list"].output_schema is not None, result.structured_content) == (newer, [1] if newer else None)


async def test_tool_names_with_the_agents_prefix_are_the_hosts(inn: Any, agent_of: Any) -> None:
    """M2.10: at most 64 characters, deterministic, reversible through the table."""
    offer = await inn.talking()
    async with agent_of(offer) as agent:
        shown = await agent.tools()
        for listed, tool in zip(shown[-2:], ("odd.name", LONG), strict=True):
            assert f"mcp__{offer.name}__{listed}" == qualified_tool_name("talk", tool)
            assert len(f"mcp__{offer.name}__{listed}") <= 64
            assert await agent.text(listed) == tool
        assert await agent.text("odd.name") == "odd.name"
        assert refusal(await agent.call("odd.name.not")) == (True, "TOOL_UNKNOWN")


async def test_calls_run_side_by_side(inn: Any, agent_of: Any, mode: str) -> None:
    async with agent_of(await inn.offered("one"), mode) as agent:
        slow = asyncio.create_task(agent.client.call_tool("wait", {"seconds": 60}))
        await inn.host.until(lambda: bool(inn.host.log("one", "call")))
        texts = await asyncio.gather(*(agent.text("echo", {"text": str(n)}) for n in range(20)))
        assert texts == [str(n) for n in range(20)]
        slow.cancel()
        await asyncio.wait([slow])


async def test_cancelled_call_is_cancelled_at_the_server_and_leaves_it_alive(
    inn: Any, agent_of: Any, mode: str
) -> None:
    """`notifications/cancelled` in the first generation, the end of the answer's stream in the second."""
    async with agent_of(await inn.offered("one"), mode) as agent:
        pid = inn.host.row("one").pid
        calling = asyncio.create_task(agent.client.call_tool("wait", {"seconds": 60}))
        await inn.host.until(lambda: bool(inn.host.log("one", "call")))
        calling.cancel()
        await asyncio.wait([calling])
        await inn.host.until(lambda: bool(inn.host.log("one", "cancelled")))
        assert await agent.text("echo", {"text": "x"}) == "x"
        assert inn.host.row("one").pid == pid


@pytest.mark.parametrize("upstream", ["--legacy", None])
async def test_progress_comes_back_under_the_agents_own_token(
    inn: Any, agent_of: Any, mode: str, upstream: str | None
) -> None:
    offer = await inn.talking(*filter(None, [upstream]))
    heard: dict[str, list[Any]] = {"a": [], "b": []}

    def listener(name: str) -> Any:
        async def progress(done: float, total: float | None, message: str | None) -> None:
            heard[name].append((done, total, message))

        return progress

    async with agent_of(offer, mode) as agent:
        await asyncio.gather(
            agent.call("progress", {"steps": 3}, progress_callback=listener("a")),
            agent.call("progress", {"steps": 5}, progress_callback=listener("b")),
            agent.call("progress", {"steps": 4}),
        )
        await agent.client.list_tools()
    assert heard["a"] == [(n, 3, f"step {n}") for n in (1, 2, 3)]
    assert heard["b"] == [(n, 5, f"step {n}") for n in (1, 2, 3, 4, 5)]


async def test_list_change_is_pushed_and_the_list_is_the_new_one(inn: Any, agent_of: Any, mode: str) -> None:
    """M5.7"""
    async with agent_of(await inn.offered("one"), mode) as agent, listening(agent, mode) as told:
        await agent.call("grow")
        await told("tools")
        assert "grown" in await agent.tools()
        assert await agent.text("grown") == "grown"


async def test_server_that_is_switched_off_lists_nothing_and_refuses_at_once(
    inn: Any, agent_of: Any, mode: str
) -> None:
    """architecture §5: in front of the connection, and without waiting for the connection to end."""
    async with agent_of(await inn.offered("one"), mode) as agent, listening(agent, mode) as told:
        await agent.tools()
        host = inn.host
        await host.decide(S, "one", {"kind": "global", "enabled": False})
        assert host.row("one").pid is not None
        assert refusal(await agent.call("echo", {"text": "x"})) == (True, "SERVER_DISABLED")
        assert await agent.tools() == []
        await host.servers.reconcile(S)
        await told("tools")
        assert await agent.tools() == []
        assert (await agent.client.list_prompts(cache_mode="bypass")).prompts == []
        with pytest.raises(MCPError):
            await agent.client.read_resource("note://one", cache_mode="bypass")
        assert host.log("one", "call") == []
        with pytest.raises(McpRefused) as off:
            await inn.endpoints.offer(S, "one")
        assert off.value.code == "SERVER_DISABLED"
        await host.toggle(S, "one")
        await host.servers.start(S, "mcp:one")
        assert await agent.text("echo", {"text": "again"}) == "again"


async def test_withdrawn_endpoint_refuses_and_lets_running_calls_end(inn: Any, agent_of: Any, mode: str) -> None:
    """M5.3: a change takes effect between calls, never inside one."""
    offer = await inn.offered("one")
    assert await inn.endpoints.offer(S, "mcp:one") == offer
    async with agent_of(offer, mode) as agent, listening(agent, mode) as told:
        running = asyncio.create_task(agent.call("wait", {"seconds": 0.3}))
        await inn.host.until(lambda: bool(inn.host.log("one", "call")))
        await inn.endpoints.withdraw(S, "one")
        await inn.endpoints.withdraw(S, "one")
        await told("tools")
        assert await agent.tools() == []
        assert refusal(await agent.call("echo", {"text": "x"})) == (True, "SERVER_DISABLED")
        assert (await running).content[0].text == "waited"
        again = await inn.endpoints.offer(S, "one")
        assert (again.url != offer.url, again.headers != offer.headers) == (True, True)
        async with agent_of(again, mode) as other:
            assert await other.text("echo", {"text": "x"}) == "x"


async def test_withdrawn_endpoint_is_gone_after_a_while(inn: Any, agent_of: Any) -> None:
    endpoints = inn.make(linger=0.0)
    await inn.offered("one")
    offer = await endpoints.offer(S, "one")
    await endpoints.withdraw(S)
    await inn.host.until(lambda: not endpoints._endpoints and not endpoints._tasks)
    with pytest.raises(BaseException) as gone:
        async with agent_of(offer, "legacy"):
            pass
    assert gone.value is not None
    await endpoints.close()


async def test_endpoints_are_gone_with_their_session(inn: Any, agent_of: Any, mode: str) -> None:
    """M5.6; another session's stay."""
    ending = await inn.offered("one", session="session:/a")
    staying = await inn.offered("one", session="session:/b", directory="other")
    async with agent_of(staying, mode) as other:
        async with agent_of(ending, mode) as agent:
            running = asyncio.create_task(agent.client.call_tool("wait", {"seconds": 60}))
            await inn.host.until(lambda: bool(inn.host.log("one", "call")))
            await inn.host.servers.close_session("session:/a")
            await asyncio.wait([running], timeout=5)
            assert running.done()
            with pytest.raises(MCPError):
                await asyncio.wait_for(agent.client.list_tools(cache_mode="bypass"), 5)
        assert await other.text("echo", {"text": "x"}) == "x"
    assert {endpoint.session for endpoint in inn.endpoints._endpoints.values()} == {"session:/b"}


async def test_server_that_dies_in_the_middle_is_a_result_and_comes_back(inn: Any, agent_of: Any, mode: str) -> None:
    """M7.5"""
    async with agent_of(await inn.offered("one"), mode) as agent, listening(agent, mode) as told:
        assert refusal(await agent.call("leave", {"code": 3})) == (True, "CONNECTION_LOST")
        await told("tools")
        assert await agent.tools() == []
        assert refusal(await agent.call("echo", {"text": "x"}))[0]
        await inn.host.servers.start(S, "mcp:one")
        assert await agent.text("echo", {"text": "x"}) == "x"
        assert [call["tool"] for call in inn.host.log("one", "call")] == ["leave", "echo"]


async def test_calls_are_made_for_the_running_turn_or_not_at_all(
    inn: Any, agent_of: Any, mode: str, make_answer: Any
) -> None:
    """M6.3c: who calls is the host's knowledge; no agent can say it."""
    offer = await inn.offered("one")
    inn.host.full_access.clear()
    inn.callers.clear()
    async with agent_of(offer, mode) as agent:
        await agent.tools()
        result = await agent.call("echo", {"text": "x"})
        assert refusal(result) == (True, "TOOL_DENIED")
        assert "No turn of this session is running" in result.content[0].text
        inn.turn()
        inn.host.asked.answers = [make_answer(True), make_answer(False, message="not on main")]
        assert await agent.text("echo", {"text": "yes"}) == "yes"
        denied = await agent.call("echo", {"text": "no"})
        assert (refusal(denied), denied.content[0].text) == ((True, "TOOL_DENIED"), "not on main")
        assert [caller for caller, _ in inn.host.asked.questions] == [Caller(S, "chat:/c", "t1", "call1")] * 2
    assert [call["text"] for call in inn.host.log("one", "call")] == ["yes"]


async def test_child_agent_calls_in_its_own_name(inn: Any, agent_of: Any) -> None:
    """M6.3, M6.3c: an endpoint for each child agent; its calls pass the gate as a delegated agent's."""
    await inn.offered("one")
    inn.host.full_access.clear()
    child = await inn.endpoints.offer(S, "one", subagent="call9")
    async with agent_of(child) as agent:
        assert refusal(await agent.call("echo", {"text": "x"})) == (True, "TOOL_DENIED")
        inn.turn(subagent="call9")
        assert await agent.text("echo", {"text": "child"}) == "child"
        assert inn.host.asked.questions == []
        await inn.endpoints.withdraw(S, subagent="call9")
        assert await agent.tools() == []
    async with agent_of(await inn.endpoints.offer(S, "one")) as main:
        assert "echo" in await main.tools()


async def test_agent_hears_of_a_call_that_waits_for_a_person(inn: Any, agent_of: Any, mode: str) -> None:
    """M6.4b; and a call that its agent cancels takes its question back."""
    inn.endpoints = inn.make(heartbeat=0.01)
    offer = await inn.offered("one")
    inn.host.full_access.clear()
    heard: list[float] = []
    enough = asyncio.Event()

    async def progress(done: float, total: float | None, message: str | None) -> None:
        assert message == "Waiting for a person to allow this call."
        heard.append(done)
        if len(heard) == 3:
            enough.set()

    async with agent_of(offer, mode) as agent:
        calling = asyncio.create_task(agent.client.call_tool("echo", {"text": "x"}, progress_callback=progress))
        await asyncio.wait_for(enough.wait(), 5)
        assert heard == sorted(set(heard))
        calling.cancel()
        await asyncio.wait([calling])
        await inn.host.until(lambda: [c.outcome for c in inn.host.gateway.calls(S, "one")] == ["cancelled"])
        assert inn.host.log("one", "call") == []


async def test_offer_is_refused_for_what_cannot_be_used(inn: Any) -> None:
    with pytest.raises(McpRefused) as unknown:
        await inn.endpoints.offer(S, "one")
    await inn.host.servers.open_session(S, inn.host.declare("ws", {"one": inn.host.entry("one")}))
    with pytest.raises(McpRefused) as stopped:
        await inn.endpoints.offer(S, "one")
    assert (unknown.value.code, stopped.value.code) == ("SERVER_UNKNOWN", "NOT_ALLOWED")
    await inn.endpoints.withdraw(S, "one")


async def test_closed_endpoints_offer_nothing(inn: Any, agent_of: Any) -> None:
    offer = await inn.offered("one")
    async with agent_of(offer) as agent:
        await agent.tools()
        await asyncio.wait_for(inn.endpoints.close(), 5)
    await inn.endpoints.close()
    with pytest.raises(McpRefused):
        await inn.endpoints.offer(S, "one")
    assert isinstance(inn.endpoints, Endpoints)


class listening:
    """The agent's ear for list changes: its own stream, or a subscription."""

    def __init__(self, agent: Any, mode: str) -> None:
        self.agent, self.mode = agent, mode
        self.events: list[str] = []

    async def __aenter__(self) -> Any:
        if self.mode == "legacy":
            return self.by_notification
        self.scope = self.agent.client.listen(tools_list_changed=True, prompts_list_changed=True)
        self.subscription = await self.scope.__aenter__()
        return self.by_subscription

    async def __aexit__(self, *error: Any) -> None:
        if self.mode != "legacy":
            await self.scope.__aexit__(*error)

    async def by_notification(self, part: str) -> None:
        await self.agent.until(lambda: f"notifications/{part}/list_changed" in self.agent.methods())

    async def by_subscription(self, part: str) -> None:
        async with asyncio.timeout(5):
            async for event in self.subscription:
                if type(event).__name__ == f"{part.capitalize()}ListChanged":
                    return
        raise AssertionError(json.dumps(part))
