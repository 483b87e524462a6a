"""A host's MCP side on real processes: declarations on disk, the fixture server, what was published and asked."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.customizations.enablement import ClientBase, Overlay, replace
from innkeeper.mcp.connections.values import Limits
from innkeeper.mcp.gateway import Gateway
from innkeeper.mcp.judging import target_of
from innkeeper.mcp.servers import ProjectServers
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.decisions import DecisionOp, Decisions
from innkeeper.ports.questions import Answer, Caller, Confirmation
from innkeeper.workspace.processes import LocalProcesses

SERVER = Path(__file__).resolve().parent.parent / "servers" / "fixture_server.py"
CANARY = "s3cret-canary-value"


class FixedClock:
    def now(self) -> str:
        return "2026-11-30T12:00:00.000Z"

    def monotonic(self) -> float:
        return time.monotonic()


class Listener:
    """Records what is published; `wait_for` waits for a publication that satisfies a condition."""

    def __init__(self) -> None:
        self.lists: list[tuple[str, Sequence[Any]]] = []
        self.states: list[tuple[str, Any]] = []
        self.news = asyncio.Event()

    def customizations_changed(self, session: str, customizations: Sequence[Any]) -> None:
        self.lists.append((session, customizations))
        self.news.set()

    def state_changed(self, session: str, customization: Any) -> None:
        self.states.append((session, customization))
        self.news.set()

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self.news.clear()
                await self.news.wait()


class Asked:
    """The question service: answers from `answers`, or leaves the question open until the test answers it."""

    def __init__(self) -> None:
        self.questions: list[tuple[Caller, Confirmation]] = []
        self.answers: list[Answer] = []
        self.open: asyncio.Future[Answer] | None = None
        self.asked = asyncio.Event()

    async def confirm(
        self, caller: Caller, confirmation: Confirmation, withdrawn: "asyncio.Future[str] | None" = None
    ) -> Answer:
        self.questions.append((caller, confirmation))
        self.asked.set()
        if self.answers:
            return self.answers.pop(0)
        self.open = asyncio.get_running_loop().create_future()
        await asyncio.wait([self.open, *([withdrawn] if withdrawn else [])], return_when=asyncio.FIRST_COMPLETED)
        if not self.open.done():
            assert withdrawn is not None
            return Answer(False, reason="withdrawn", message=withdrawn.result())
        return self.open.result()


class Host:
    """What `app` would join, with everything observable."""

    def __init__(self, place: Path, limits: Limits) -> None:
        self.place = place
        self.limits = limits
        self.processes = LocalProcesses()
        self.listener = Listener()
        self.asked = Asked()
        self.decisions = Decisions()
        self.stored: list[Sequence[DecisionOp]] = []
        self.store_fails = False
        self.settings = McpSettings()
        self.full_access: set[str] = set()
        """Sessions; a chat has it by its session."""
        self.sessions: dict[str, str] = {}
        self.environment = {**os.environ, "CANARY": CANARY, "NOT_LISTED": "x"}
        self.joined: dict[str, Any] = {}
        """What else `ProjectServers` is given; in force with the next `restart`."""
        self.servers = self._make_servers()
        self.gateway = self._make_gateway()

    def _make_servers(self) -> ProjectServers:
        servers = ProjectServers(
            processes=self.processes,
            clock=FixedClock(),
            decisions=lambda: self.decisions,
            store=self.store,
            settings=lambda: self.settings,
            environment=self.environment,
            limits=self.limits,
            **self.joined,
        )
        servers.publish_to(self.listener)
        return servers

    def _make_gateway(self, **changes: Any) -> Gateway:
        joined: dict[str, Any] = {
            "servers": self.servers,
            "questions": self.asked,
            "clock": FixedClock(),
            "decisions": lambda: self.decisions,
            "store": self.store,
            "settings": lambda: self.settings,
            "full_access": lambda place: self._session_of(place) in self.full_access,
        }
        return Gateway(**{**joined, **changes})

    async def restart(self) -> None:
        """Another host on the same decisions."""
        await self.servers.close()
        self.servers = self._make_servers()
        self.gateway = self._make_gateway()

    async def store(self, ops: Sequence[DecisionOp]) -> None:
        if self.store_fails:
            raise OSError("disk full")
        self.stored.append(ops)
        self.decisions = self.decisions.apply(ops)

    def log_file(self, name: str) -> Path:
        return self.place / f"{name}.log"

    def log(self, name: str, event: str | None = None) -> list[dict[str, Any]]:
        """What the fixture server of that name wrote."""
        try:
            lines = self.log_file(name).read_text().splitlines()
        except FileNotFoundError:
            return []
        events = [json.loads(line) for line in lines]
        return [found for found in events if event is None or found["event"] == event]

    def entry(self, name: str, *switches: str, **fields: Any) -> dict[str, Any]:
        """An entry of `.mcp.json` that runs the fixture server."""
        arguments = [os.fspath(SERVER), "--name", name, "--log", os.fspath(self.log_file(name)), *switches]
        return {"command": sys.executable, "args": arguments, **fields}

    def declare(self, directory: str, servers: Mapping[str, object] | str) -> str:
        """Write the directory's `.mcp.json`; gives the directory's URI."""
        path = self.place / directory
        path.mkdir(exist_ok=True)
        text = servers if isinstance(servers, str) else json.dumps({"mcpServers": servers}, indent=1)
        (path / ".mcp.json").write_text(text)
        return path.as_uri()

    async def connected(self, *names: str, session: str = "session:/s", directory: str = "ws", **fields: Any) -> str:
        """A session in which these fixture servers have been connected by hand."""
        uri = self.declare(directory, {name: self.entry(name, **fields) for name in names})
        await self.servers.open_session(session, uri)
        for name in names:
            await self.servers.start(session, f"mcp:{name}")
            assert self.row(name, session).status == "connected", self.row(name, session)
        return uri

    def row(self, name: str, session: str = "session:/s") -> Any:
        return next(row for row in self.servers.report(session) if row.name == name)

    def published(self, name: str, session: str = "session:/s") -> Any:
        """The last thing that clients were told of the server."""
        told: list[Any] = [c for s, many in self.listener.lists if s == session for c in many if c["name"] == name]
        states = [c for s, c in self.listener.states if s == session and c["name"] == name]
        return (states or told)[-1]

    async def toggle(self, session: str, name: str, *decisions: dict[str, Any]) -> None:
        """What the host does with a toggle: decide, store, publish, reconcile."""
        await self.decide(session, name, *decisions)
        await self.servers.reconcile(session)

    async def decide(self, session: str, name: str, *decisions: dict[str, Any]) -> None:
        """The complete set is stored; nothing acts on it yet."""
        found = self.servers._sessions[session]
        mount = found.find(f"mcp:{name}")
        assert mount is not None
        overlay = Overlay(self.decisions)
        target = target_of(mount.declared)
        ops, _ = replace(list(decisions), target, found.place, overlay, ClientBase(), FixedClock().now())  # type: ignore[arg-type]
        await self.store(ops)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that only a look can tell, such as a file that a server writes."""
        async with asyncio.timeout(5):
            while not condition():  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.01)

    def _session_of(self, place: str) -> str:
        return self.sessions.get(place, "session:/s") if place.startswith("chat:") else place

    def caller(self, session: str = "session:/s", **fields: Any) -> Caller:
        self.sessions["chat:/c"] = session
        return Caller(session, "chat:/c", "t1", "call1", **fields)

    def living_children(self) -> list[psutil.Process]:
        """Everything below this process except its guardian."""
        children = psutil.Process().children(recursive=True)
        guardian = self.processes.guardian_pid
        return [c for c in children if c.pid != guardian and c.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    made = Host(tmp_path, Limits(start=10.0))
    yield made
    await made.servers.close()
    await made.processes.close()


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def wait_dead() -> Callable[[list[int]], bool]:
    """Whether all these processes are gone within five seconds."""

    def wait(pids: list[int]) -> bool:
        deadline = time.monotonic() + 5
        while any(lives(pid) for pid in pids):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    return wait


@pytest.fixture
def make_answer() -> Callable[..., Answer]:
    return Answer
