"""Whose call it is: the provider says so, with how long its agent waits (M6.3c, M6.4b)."""

from typing import Any

import pytest

from innkeeper.ports.endpoints import CallSigns
from innkeeper.ports.questions import Caller

pytestmark = pytest.mark.anyio

S = "session:/s"


async def test_the_provider_names_the_call_and_the_agents_patience_goes_with_it(inn: Any, agent_of: Any) -> None:
    """The signs are the server's own name of the tool, the arguments, and what the agent wrote beside them."""
    seen: list[CallSigns] = []
    called: list[Caller] = []

    def who(signs: CallSigns) -> Caller | None:
        seen.append(signs)
        return None if signs.arguments["text"] == "mine" else Caller(S, "chat:/c", "t1", "call-7", subagent=True)

    calling = inn.host.gateway.call_tool

    async def call_tool(caller: Caller, *more: Any) -> Any:
        called.append(caller)
        return await calling(caller, *more)

    inn.host.gateway.call_tool = call_tool
    inn.host.full_access.add(S)
    inn.turn()
    await inn.host.connected("one")
    offer = await inn.endpoints.offer(S, "one", patience=60.0, who=who)
    async with agent_of(offer) as agent:
        assert await agent.text("echo", {"text": "hi"}, meta={"agent/call": "c"}) == "hi"
        assert await agent.text("echo", {"text": "mine"}) == "mine"
    assert (seen[0].tool, seen[0].arguments, seen[0].meta.get("agent/call")) == ("echo", {"text": "hi"}, "c")
    assert called == [
        Caller(S, "chat:/c", "t1", "call-7", subagent=True, patience=60.0),
        Caller(S, "chat:/c", "t1", "call1", patience=60.0),
    ]
