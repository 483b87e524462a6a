"""A call ends at the limit that its declaration states, and is never made again (M2.8b, M7.5)."""

import asyncio
from typing import Any

import pytest

from innkeeper.mcp.call_limit import within
from innkeeper.ports.questions import Caller

pytestmark = pytest.mark.anyio
S = "session:/s"


class SlowPerson:
    """An exchange whose person takes a tenth of a second to answer."""

    caller = Caller(S, "chat:/c", "t", "k")
    log_level = "info"
    wants_progress = True

    def __init__(self) -> None:
        self.heard: list[object] = []

    def began(self) -> None:
        self.heard.append("began")

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.heard.append(progress)

    async def elicit(self, request: Any) -> Any:
        await asyncio.sleep(0.1)
        return {"action": "accept"}

    def answered(self, result: Any) -> None:
        self.heard.append(result)


async def test_clock_stands_while_a_person_is_asked_and_runs_on_after() -> None:
    person = SlowPerson()

    async def ask_twice(exchange: Any) -> object:
        await asyncio.gather(exchange.elicit({}), exchange.elicit({}))
        return await exchange.elicit({})

    assert await within(0.05, person, ask_twice) == {"action": "accept"}

    async def ask_and_hang(exchange: Any) -> None:
        await exchange.elicit({})
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await within(0.05, person, ask_and_hang)


async def test_everything_else_passes_unchanged() -> None:
    person = SlowPerson()

    async def use(exchange: Any) -> object:
        exchange.began()
        await exchange.progress(0.5, None, None)
        exchange.answered({})
        return exchange.caller, exchange.log_level, exchange.wants_progress

    assert await within(5, person, use) == (person.caller, "info", True)
    assert person.heard == ["began", 0.5, {}]


async def test_without_a_limit_the_exchange_is_the_callers_own() -> None:
    person = SlowPerson()

    async def given(exchange: Any) -> object:
        return exchange

    assert await within(None, person, given) is person
    assert await within(5, None, given) is None


@pytest.mark.parametrize("way", ["person", "agent"])
async def test_call_over_the_declared_limit_is_cancelled_once_and_leaves_the_server_alive(host: Any, way: str) -> None:
    """M2.8b: `timeout` is milliseconds of a call."""
    await host.connected("one", timeout=300)
    host.full_access.add(S)
    pid = host.row("one").pid
    if way == "person":
        result = await host.gateway.call_tool_by_person(S, "one", "wait", {"seconds": 60})
    else:
        result = await host.gateway.call_tool(host.caller(), "one", "wait", {"seconds": 60})
    assert (result["success"], result["error"]["code"]) == (False, "CALL_TIMEOUT")
    await host.until(lambda: host.log("one", "cancelled"))
    assert len(host.log("one", "call")) == 1
    assert (await host.gateway.call_tool_by_person(S, "one", "echo", {"text": "still"}))["success"]
    assert (host.row("one").status, host.row("one").pid) == ("connected", pid)
    first = host.gateway.calls(S, "one")[0]
    assert (first.outcome, first.code) == ("failed", "CALL_TIMEOUT")
