"""What a server says while it works: log messages; and sampling, which it does not get (issue 3, item 7)."""

from typing import Any

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

pytestmark = pytest.mark.anyio

S = "session:/s"
LEVELS = ["debug", "warning", "error"]


@pytest.fixture(params=["--legacy", "--log-nothing"])
def switches(request: pytest.FixtureRequest) -> list[str]:
    """Servers of both protocol generations."""
    return ["--legacy"] if request.param == "--legacy" else []


def said(agent: Any) -> list[str]:
    return [message.params.level for message in agent.told if getattr(message, "method", "") == "notifications/message"]


async def test_log_messages_reach_the_agent_at_the_level_it_asked_for(
    inn: Any, agent_of: Any, mode: str, switches: list[str]
) -> None:
    offer = await inn.talking(*switches)
    async with agent_of(offer, mode, log_level="warning") as agent:
        if mode == "legacy" and switches:
            with pytest.warns(MCPDeprecationWarning):
                await agent.client.set_logging_level("warning")
            assert [entry["level"] for entry in inn.host.log("talk", "level")] == ["warning"]
        elif mode == "legacy":
            return  # a server of the second generation has no such capability, so an agent of the first cannot ask
        await agent.text("say", {"levels": LEVELS})
        assert said(agent) == ["warning", "error"]
        assert agent.told[0].params.data == {"said": "warning"}
        assert agent.told[0].params.logger == "voice"


async def test_agent_of_the_second_generation_that_wants_no_log_gets_none(inn: Any, agent_of: Any) -> None:
    async with agent_of(await inn.talking("--legacy"), "auto") as agent:
        await agent.text("say", {"levels": LEVELS})
        assert said(agent) == []


async def test_each_agent_hears_at_its_own_level(inn: Any, agent_of: Any) -> None:
    """One upstream, two agents: the server is told the lower level, each endpoint leaves out what its agent does not
    want; and the level is told again after a reconnect."""
    offer = await inn.talking("--legacy")
    inn.turn(subagent="call9")
    child = await inn.endpoints.offer(S, "talk", subagent="call9")
    async with agent_of(offer, "legacy") as main, agent_of(child, "legacy") as other:
        for agent, level in ((main, "error"), (other, "debug")):
            with pytest.warns(MCPDeprecationWarning):
                await agent.client.set_logging_level(level)
        await main.text("say", {"levels": LEVELS})
        await other.text("say", {"levels": LEVELS})
        assert said(main)[:1] == ["error"]
        assert "debug" not in said(main)
        assert set(said(other)) == set(LEVELS)
        await inn.host.servers.stop(S, "mcp:talk")
        await inn.host.servers.start(S, "mcp:talk")
        await inn.host.until(lambda: len(inn.host.log("talk", "level")) == 3)
    assert [entry["level"] for entry in inn.host.log("talk", "level")] == ["error", "debug", "debug"]


async def test_sampling_is_refused(inn: Any, agent_of: Any, mode: str) -> None:
    """A server gets no model of the person's through this host."""
    async with agent_of(await inn.talking("--legacy"), mode) as agent:
        assert "Sampling not supported" in await agent.text("sample")
