"""What every agent must hold to (providers.spi). A new agent adds one row to `AGENTS`, or to `real_agents.REAL`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from innkeeper.customizations.eligibility import eligible
from innkeeper.customizations.testing import everything_on
from innkeeper.ports.questions import Answer
from innkeeper.protocol.check import check
from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.providers.console import ConsoleProvider
from innkeeper.providers.spi import (
    InputAnswer,
    Provider,
    SessionOpening,
    Signal,
    TextDelta,
    ToolCompleted,
    ToolStarted,
    TurnRequest,
)
from providers.real_agents import REAL, missing
from scripted.fakes import CountingIds, FakeMcp
from scripted.provider import ScriptedProvider
from scripted.world import WAIT, World, text_of

pytestmark = pytest.mark.anyio


@dataclass
class Agent:
    make: Callable[[], Provider]
    says: str
    """A prompt that is answered in words."""
    calls: str
    """A prompt by which a tool is called."""
    waits: str | None
    """A prompt that never ends by itself."""
    directory: str = "/w"


AGENTS = {
    "console": Agent(lambda: ConsoleProvider(_connected(), CountingIds()), "some words", "/call memo echo {}", None),
    "scripted": Agent(ScriptedProvider, "hello", "tool", "stuck"),
}


def _connected() -> FakeMcp:
    from scripted.fakes import FakeServer

    mcp = FakeMcp()
    mcp.sessions["s"] = {"memo": FakeServer("memo", state="ready")}
    return mcp


@dataclass
class Recorder:
    """A `TurnOutput` that allows and accepts everything."""

    signals: list[Signal] = field(default_factory=list)

    def emit(self, signal: Signal) -> None:
        self.signals.append(signal)

    async def confirm(self, call, confirmation, *, subagent=None):
        return Answer(True)

    async def ask(self, request):
        return InputAnswer("cancel")

    async def run_client_tool(self, call, tool_input, invocation):
        raise AssertionError("not asked for here")


NOTHING = eligible((), everything_on("s"))


def request(text: str, chat: str = "c") -> TurnRequest:
    message = {"text": text, "origin": {"kind": "user"}}
    return TurnRequest("s", chat, "t", message, text, (), (), (), {}, NOTHING)  # type: ignore[arg-type]


@pytest.fixture(params=[*AGENTS, *REAL])
async def agent(request, tmp_path):
    name = request.param
    if name in AGENTS:
        yield AGENTS[name]
        return
    if (why := missing(name)) is not None:
        pytest.skip(why)
    async with REAL[name][1](tmp_path) as real:
        yield Agent(real.make, real.says, real.calls, real.waits, real.directory)


@pytest.fixture
async def session(agent):
    opened = await agent.make().open_session(SessionOpening("s", [agent.directory], {}, NOTHING))
    yield opened
    await opened.close()


async def test_what_it_lists_is_what_the_protocol_declares(agent):
    """AHP §13.3, §13.9."""
    provider = agent.make()
    check(AgentInfo, provider.info)
    assert provider.info == provider.info and provider.info["provider"]
    check(SessionConfigSchema, provider.config_schema(None, {}))
    assert not {"autoApprove", "permissions", "mode"} & provider.config_schema(None, {})["properties"].keys()


async def test_what_is_in_the_way_is_known_and_nothing_is_resumed_that_was_never_begun(agent):
    """K14, M7.8"""
    provider = agent.make()
    assert provider.unavailable is None
    assert provider.can_resume(None) is False
    assert provider.watch(lambda: None) is None


async def test_closing_a_provider_twice_is_closing_it_once(agent):
    provider = agent.make()
    assert await provider.close() is None
    assert await provider.close() is None


async def test_a_turn_is_answered_and_nothing_comes_after_it(agent, session):
    output = Recorder()
    async with asyncio.timeout(WAIT):
        await session.run_turn(request(agent.says), output)
    said = len(output.signals)
    assert any(isinstance(signal, TextDelta) and signal.text for signal in output.signals)
    await asyncio.sleep(0)
    assert len(output.signals) == said


async def test_a_tool_call_is_started_before_it_is_completed_and_completed_once(agent, session):
    output = Recorder()
    async with asyncio.timeout(WAIT):
        await session.run_turn(request(agent.calls), output)
    started = [s.call for s in output.signals if isinstance(s, ToolStarted)]
    completed = [s.call for s in output.signals if isinstance(s, ToolCompleted)]
    assert started and sorted(started) == sorted(completed)
    for call in started:
        kinds = [type(s) for s in output.signals if getattr(s, "call", None) == call]
        assert kinds[0] is ToolStarted and kinds[-1] is ToolCompleted


async def test_a_cancelled_turn_lets_the_cancellation_through(agent, session):
    if agent.waits is None:
        return
    task = asyncio.create_task(session.run_turn(request(agent.waits), Recorder()))
    await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(WAIT):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_turns_of_two_chats_run_at_the_same_time(agent, session):
    first, second = Recorder(), Recorder()
    async with asyncio.timeout(WAIT):
        await asyncio.gather(
            session.run_turn(request(agent.says, "c1"), first), session.run_turn(request(agent.says, "c2"), second)
        )
    assert first.signals and second.signals


async def test_steering_without_a_turn_is_not_taken(agent, session):
    message = {"text": "left", "origin": {"kind": "user"}}
    assert await session.steer("no-such-chat", "m", message) is False


async def test_closing_twice_is_closing_once(agent):
    opened = await agent.make().open_session(SessionOpening("s", [], {}, NOTHING))
    assert await opened.close() is None
    assert await opened.close() is None


@pytest.mark.parametrize("name", AGENTS)
async def test_it_works_in_a_host(name):
    """The whole way: session, turn, restart of the host, history."""
    world = await World().start()
    client = await world.client()
    _, chat = await client.new_session(provider=name)
    first = await client.turn(chat, AGENTS[name].says)
    assert first["state"] == "complete" and text_of(first)
    later = await world.crash()
    again = await later.client()
    await again.subscribe(chat)
    second = await again.turn(chat, AGENTS[name].says, "t2")
    assert text_of(second) == text_of(first)
    await later.close()
