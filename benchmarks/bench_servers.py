"""Starting several servers at once, and what idle connections cost.

python benchmarks/bench_servers.py [--sessions 200] [--seconds 5] [--json]

Goals (issue 3): five stdio servers whose start waits a second are ready within 1.2 times the slowest alone; 200
sessions with two idle connections each use no measurable CPU. The idle ones run on a scripted process, so that what
is measured is this host and not four hundred interpreters; CPU-bound starts are reported beside the waiting ones.
"""

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from innkeeper.mcp.connections.values import Limits
from innkeeper.mcp.servers import ProjectServers
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.decisions import Decisions
from innkeeper.ports.processes import CloseOutcome, Command
from innkeeper.workspace.processes import LocalProcesses
from innkeeper.workspace.system import SystemClock

COUNT = 5
WAITING = """
import json, sys, time
if sys.argv[1] == "wait":
    time.sleep(1)
else:
    end = time.process_time() + 1
    while time.process_time() < end:
        pass
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}}
    else:
        answer = {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""  # noqa: E501 - a program


class Scripted:
    """A process that answers the handshake and is silent then."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit_code: int | None = None
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._gone = asyncio.Event()

    async def write(self, data: bytes) -> None:
        message = json.loads(data)
        if "id" not in message:
            return
        answer: dict[str, Any] = {"error": {"code": -32601, "message": "no such method"}}
        if message["method"] == "initialize":
            version, info = message["params"]["protocolVersion"], {"name": "s", "version": "1"}
            answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        elif message["method"] == "tools/list":
            answer = {"result": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}}
        self._lines.put_nowait(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode())

    async def output(self) -> AsyncIterator[bytes]:
        while (line := await self._lines.get()) is not None:
            yield line

    def stderr_tail(self) -> bytes:
        return b""

    async def note_tree(self) -> None:
        """There is none."""

    async def wait(self) -> int:
        await self._gone.wait()
        return 0

    async def close(self) -> CloseOutcome:
        self.exit_code = 0
        self._gone.set()
        self._lines.put_nowait(None)
        return CloseOutcome(0, True)


class ScriptedProcesses:
    def __init__(self) -> None:
        self.spawned = 0

    async def spawn(self, command: Command) -> Scripted:
        self.spawned += 1
        return Scripted(self.spawned)

    async def close(self) -> None:
        """Nothing runs."""


def servers_on(processes: Any) -> ProjectServers:
    async def store(ops: object) -> None:
        raise AssertionError("nothing is stored")

    return ProjectServers(
        processes=processes,
        clock=SystemClock(),
        decisions=Decisions,
        store=store,
        settings=lambda: McpSettings(trust_mode="all"),
        environment=os.environ,
        limits=Limits(start=60),
    )


def declare(place: Path, names: list[str], *arguments: str) -> str:
    place.mkdir(parents=True, exist_ok=True)
    entries = {name: {"command": sys.executable, "args": ["-c", WAITING, *arguments]} for name in names}
    (place / ".mcp.json").write_text(json.dumps({"mcpServers": entries}))
    return place.as_uri()


async def seconds_to_ready(place: Path, count: int, kind: str) -> float:
    processes = LocalProcesses()
    servers = servers_on(processes)
    uri = declare(place / f"{kind}{count}", [f"s{n}" for n in range(count)], kind)
    await servers.open_session("session:/b", uri)
    began = time.perf_counter()
    await servers.prepare("session:/b", "t1")
    took = time.perf_counter() - began
    states = {row.status for row in servers.report("session:/b")}
    assert states == {"connected"}, states
    await servers.close()
    await processes.close()
    return took


async def idle_share(place: Path, sessions: int, seconds: float) -> tuple[float, int]:
    """Share of one CPU while so many sessions with two connections each are idle; and their number."""
    servers = servers_on(ScriptedProcesses())
    uri = declare(place / "idle", ["a", "b"], "wait")
    for n in range(sessions):
        await servers.open_session(f"session:/{n}", uri)
        await servers.prepare(f"session:/{n}", "t1")
    ready = sum(row.status == "connected" for n in range(sessions) for row in servers.report(f"session:/{n}"))
    before = resource.getrusage(resource.RUSAGE_SELF)
    await asyncio.sleep(seconds)
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    await servers.close()
    return used / seconds, ready


async def measure(sessions: int, seconds: float) -> dict[str, float]:
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        await seconds_to_ready(place, 1, "wait")  # the SDK is imported once
        for kind in ("wait", "work"):
            alone = await seconds_to_ready(place, 1, kind)
            together = await seconds_to_ready(place, COUNT, kind)
            figures[f"{kind}_alone_s"] = round(alone, 2)
            figures[f"{kind}_{COUNT}_s"] = round(together, 2)
            figures[f"{kind}_ratio"] = round(together / alone, 2)
        share, ready = await idle_share(place, sessions, seconds)
        figures["idle_connections"] = ready
        figures["idle_cpu_percent"] = round(share * 100, 3)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments.sessions, arguments.seconds))
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{os.cpu_count()} CPUs, Python {sys.version.split()[0]}")
    for name, value in figures.items():
        print(f"  {name:20} {value:10}")


if __name__ == "__main__":
    main()
