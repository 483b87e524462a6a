"""A whole host as `app` joins it, with one real agent beside the console, in folders of its own (issue 6).

What a test asserts is what the fake model was asked, not what the agent or the host says of itself (C6.5).
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from innkeeper.app.compose import AgentSource, Circumstances, Host, Parts, open_host, standard_parts
from innkeeper.mcp.oauth.store import MemoryTokens
from innkeeper.ports.clock import Clock
from innkeeper.ports.processes import Processes
from innkeeper.providers.console import ConsoleProvider
from innkeeper.providers.spi import Provider, Surroundings
from innkeeper.settings.config import Settings
from scripted.world import Client

FIXTURE = Path(__file__).resolve().parent.parent / "servers" / "light_server.py"

Make = Callable[[Surroundings], Provider]


class OneAgent(AgentSource):
    """The console and the agent that a test is about."""

    def __init__(self, make: Make, rig: "Rig", processes: Processes, clock: Clock) -> None:
        self._make = make
        self._rig = rig
        self._processes = processes
        self._clock = clock

    def providers(self, gateway: Any, endpoints: Any, ids: Any, *more: Any, **others: Any) -> Sequence[Provider]:
        rig = self._rig
        given = Surroundings(
            gateway=gateway,
            endpoints=endpoints,
            processes=self._processes,
            clock=self._clock,
            ids=ids,
            environment=rig.environment,
            directory=rig.agent_folder,
            share_login=rig.share_login,
            program=rig.program,
        )
        rig.provider = self._make(given)
        return (ConsoleProvider(gateway, ids), rig.provider)


@dataclass
class Rig:
    """The folders of one test and the host in them; `restart` starts the next host on what the last one left."""

    root: Path
    make: Make
    settings: Settings
    environment: dict[str, str]
    share_login: bool = False
    program: str | None = None
    host: Host = None  # type: ignore[assignment]  # set by `start`
    provider: Any = None
    _clients: int = 0

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def home(self) -> Path:
        return self.root / "user"

    @property
    def agent_folder(self) -> Path:
        return self.root / "agent"

    @property
    def driver(self) -> Any:
        return self.host.driver

    async def start(self) -> None:
        data = self.root / "data"
        data.mkdir(exist_ok=True)
        parts: Parts = standard_parts(data / "innkeeper.db", self.settings, quiet=True)
        agents = OneAgent(self.make, self, parts.processes, parts.clock)
        parts = replace(parts, agents=agents, tokens=MemoryTokens())
        self.host = await open_host(parts, Circumstances(self.settings, self.environment, self.work))

    async def restart(self) -> None:
        await self.host.close(2)
        await self.start()

    async def client(self) -> Client:
        self._clients += 1
        client = Client(self, f"client-{self._clients}")  # type: ignore[arg-type]  # it needs the driver alone
        await client.initialize()
        return client

    async def until(self, found: Callable[[], Any], seconds: float = 15) -> Any:
        """What `found` gives once it gives something; for what no client is told."""
        async with asyncio.timeout(seconds):
            while not (result := found()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # nothing else tells when to look again
        return result

    def declare(self, *names: str, **fields: Any) -> None:
        """A `.mcp.json` in which each name is a fixture server that notes what it is asked in `<name>.log`."""
        servers = {
            name: {
                "command": sys.executable,
                "args": [os.fspath(FIXTURE), "--name", name, "--log", os.fspath(self.log(name))],
                **fields,
            }
            for name in names
        }
        (self.work / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))

    def log(self, name: str) -> Path:
        return self.root / f"{name}.log"

    def events(self, name: str, kind: str) -> list[dict[str, Any]]:
        """What the fixture server of that name noted."""
        if not self.log(name).exists():
            return []
        noted = [json.loads(line) for line in self.log(name).read_text().splitlines()]
        return [event for event in noted if event["event"] == kind]


@asynccontextmanager
async def rig(root: Path, make: Make, **changes: Any) -> AsyncIterator[Rig]:
    """`trust` is the trust mode; `more` are variables of the host's environment."""
    trust, plugins = changes.pop("trust", "all"), changes.pop("plugins", ())
    found = Rig(
        root,
        make,
        Settings(trust_mode=trust, plugins=plugins, generate_titles=changes.pop("titles", False)),
        {"PATH": os.environ["PATH"], "HOME": os.fspath(root / "user"), **changes.pop("more", {})},
        **changes,
    )
    for folder in (found.work, found.home):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(psutil.Process().children(recursive=True))
    await found.start()
    try:
        yield found
    finally:
        await found.host.close(2)
        left = await asyncio.to_thread(_left, before)
        assert not left, f"processes outlived the host: {left}"


def _left(before: set[psutil.Process]) -> list[str]:
    """Descendants that are there after the host has closed and were not before."""
    _, alive = psutil.wait_procs(set(psutil.Process().children(recursive=True)) - before, timeout=5)
    return [str(process) for process in alive if process.status() != psutil.STATUS_ZOMBIE]


async def session(
    client: Client, folder: Path, provider: str, uri: str = "ahp-session:/1", **more: Any
) -> tuple[str, str]:
    return await client.new_session(uri, provider=provider, workingDirectories=[folder.as_uri()], **more)


def server_id(client: Client, session: str, name: str) -> str:
    """The customization id of a server."""
    found = [c for c in client.states[session].get("customizations") or () if c.get("name") == name]
    return str(found[0]["id"])


async def switch(
    client: Client, session: str, id: str, on: bool, scope: str = "session", uri: str | None = None
) -> None:
    """Switch a customization for the session and wait for the echo."""
    entry: dict[str, Any] = {"kind": scope, "enabled": on}
    if uri is not None:
        entry["uri"] = uri
    seq = client.dispatch(session, "session/customizationToggled", id=id, enablement=[entry])
    echo = await client.echo(seq)
    assert "rejectionReason" not in echo, echo
