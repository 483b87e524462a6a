"""Endpoints of a real host, and agents that reach them with the SDK's own client over HTTP."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from innkeeper.mcp.endpoint.endpoints import Endpoints
from innkeeper.ports.endpoints import EndpointOffer
from innkeeper.ports.questions import Caller
from mcp import Client

TALKING = Path(__file__).resolve().parents[2] / "servers" / "talking_server.py"
S = "session:/s"


class Agent:
    """One connected agent: the SDK's client, and what it was told."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.told: list[Any] = []
        self.news = asyncio.Event()

    async def notified(self, message: Any) -> None:
        self.told.append(message)
        self.news.set()

    def methods(self) -> list[str]:
        return [message.method for message in self.told if hasattr(message, "method")]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                self.news.clear()
                await self.news.wait()

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools(cache_mode="bypass")).tools]

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
        async with asyncio.timeout(10):
            return await self.client.call_tool(tool, arguments or {}, **more)

    async def text(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        return str((await self.call(tool, arguments, **more)).content[0].text)


class Inn:
    """A host's endpoints, with a turn running in each session unless a test ends it."""

    def __init__(self, host: Any) -> None:
        self.host = host
        self.callers: dict[tuple[str, str | None], Caller] = {}
        self.asked: list[tuple[Caller, Any]] = []
        self.answer: Any = None
        self.stack = AsyncExitStack()
        self.endpoints = self.make()

    def make(self, **changes: Any) -> Endpoints:
        joined: dict[str, Any] = {"gateway": self.host.gateway, "current": self.current, "linger": 600.0}
        made = Endpoints(**{**joined, **changes})
        self.host.servers.watch(made.changed)
        self.host.gateway.log_to(made.logged)
        return made

    def with_elicitation(self) -> None:
        """A host that was composed with somebody to ask."""
        self.host.servers.let_servers_ask()
        self.endpoints = self.make(ask=self.ask)

    def current(self, session: str, subagent: str | None) -> Caller | None:
        return self.callers.get((session, subagent))

    def turn(self, session: str = S, subagent: str | None = None) -> None:
        self.host.sessions["chat:/c"] = session
        self.callers[session, subagent] = Caller(session, "chat:/c", "t1", "call1", subagent is not None)

    async def ask(self, caller: Caller, request: Any) -> Any:
        self.asked.append((caller, request))
        return self.answer

    async def offered(self, *names: str, session: str = S, **more: Any) -> EndpointOffer:
        """The first server, connected and offered; calls pass the gate."""
        self.host.full_access.add(session)
        self.turn(session)
        await self.host.connected(*names, session=session, **more)
        return await self.endpoints.offer(session, names[0])

    async def talking(self, *switches: str, session: str = S) -> EndpointOffer:
        self.host.full_access.add(session)
        self.turn(session)
        log = os.fspath(self.host.log_file("talk"))
        entry = {"command": sys.executable, "args": [os.fspath(TALKING), "--name", "talk", "--log", log, *switches]}
        await self.host.servers.open_session(session, self.host.declare("talk-ws", {"talk": entry}))
        await self.host.servers.start(session, "mcp:talk")
        assert self.host.row("talk", session).status == "connected"
        return await self.endpoints.offer(session, "talk")


@asynccontextmanager
async def connect(offer: EndpointOffer, mode: str = "auto", **more: Any) -> AsyncIterator[Agent]:
    """An agent. `stream` is set once its own stream is open (first generation)."""
    agent: Agent = Agent.__new__(Agent)
    agent.told, agent.news = [], asyncio.Event()
    async with httpx2.AsyncClient(headers=dict(offer.headers), timeout=30) as http:
        transport = streamable_http_client(offer.url, http_client=http)
        async with Client(transport, mode=mode, message_handler=agent.notified, cache=None, **more) as client:
            agent.client = client
            yield agent


@pytest.fixture
def agent_of() -> Any:
    return connect


@pytest.fixture
async def inn(host: Any) -> AsyncIterator[Inn]:
    made = Inn(host)
    yield made
    await made.endpoints.close()


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """Both protocol generations that the SDK serves."""
    return str(request.param)
