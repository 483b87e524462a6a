"""What the loopback endpoint adds to a tool call: the SDK's client at the server, and at the endpoint before it.

python benchmarks/bench_endpoint.py [--calls 100] [--rounds 15] [--json]

The server is a process of its own over stdio. `direct` is the SDK's client at the server. The two generations are the
SDK's client over HTTP at the endpoint, which calls such a server through gate and gateway; the client, as an agent
would, runs in a process of its own. Rounds alternate, so that a busy machine slows all; each figure is that of its best
round. The goal is at most 3 ms of the median added by the endpoint (issue 3, "Speed"). `host` is the CPU time of the
host's process for one call, its own client at the server included.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

SERVER = Path(__file__).resolve().parents[1] / "tests" / "servers" / "fixture_server.py"
SESSION = "session:/bench"
WARM_UP = 20
GOAL_MS = 3.0

Figures = dict[str, list[tuple[float, float, float]]]
"""Median, 95th percentile and CPU time of the host for one call, in milliseconds, of each round."""


async def timed(call: Callable[[], Awaitable[Any]], calls: int) -> list[float]:
    """Milliseconds of each call, one after the other."""
    found: list[float] = []
    for _ in range(calls):
        begun = time.perf_counter()
        await call()
        found.append((time.perf_counter() - begun) * 1000)
    return found


async def agent(mode: str, url: str, key: str) -> None:
    """The agent's process: a line with a number of calls in, a line of JSON with their milliseconds out."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from mcp import Client

    async with (
        httpx2.AsyncClient(headers={"x-innkeeper-key": key}, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as client,
    ):
        await client.list_tools()
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await timed(lambda: client.call_tool("add", {"a": 1, "b": 2}), int(line))), flush=True)


async def alternate(calls: int, rounds: int, figures: Figures, others: list[Any]) -> None:
    """Alternate rounds of the direct client, in this process, and of the agents."""
    from mcp import Client, StdioServerParameters

    command = StdioServerParameters(command=sys.executable, args=[os.fspath(SERVER)])
    async with Client(command, cache=None) as client:
        await client.list_tools()
        for round in range(-1, rounds):
            number = WARM_UP if round < 0 else calls
            begun = time.process_time()
            times = await timed(lambda: client.call_tool("add", {"a": 1, "b": 2}), number)
            found = {"direct": (times, time.process_time() - begun)}
            for name, process in others:
                begun = time.process_time()
                process.stdin.write(f"{number}\n".encode())
                times = json.loads(await process.stdout.readline())
                found[name] = (times, time.process_time() - begun)
            if round >= 0:
                for name, (times, spent) in found.items():
                    high = statistics.quantiles(times, n=20)[-1]
                    figures.setdefault(name, []).append((statistics.median(times), high, spent / number * 1000))


async def run(arguments: argparse.Namespace) -> Figures:
    from innkeeper.mcp.endpoint.endpoints import Endpoints
    from innkeeper.mcp.gateway import Gateway
    from innkeeper.mcp.servers import ProjectServers
    from innkeeper.mcp.settings import McpSettings
    from innkeeper.ports.decisions import Decisions
    from innkeeper.ports.questions import Caller
    from innkeeper.workspace.processes import LocalProcesses
    from innkeeper.workspace.system import SystemClock

    async def store(_ops: object) -> None: ...

    settings, decisions = McpSettings(trust_mode="all"), Decisions()
    joined: dict[str, Any] = {
        "clock": SystemClock(),
        "decisions": lambda: decisions,
        "store": store,
        "settings": lambda: settings,
    }
    processes = LocalProcesses()
    servers = ProjectServers(processes=processes, environment=os.environ, **joined)
    gateway = Gateway(servers=servers, questions=None, **joined)
    caller = Caller(SESSION, "chat:/bench", "turn", "call")
    endpoints = Endpoints(gateway=gateway, current=lambda _session, _subagent: caller)
    servers.watch(endpoints.changed)
    figures: Figures = {}
    agents: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        entry = {"command": sys.executable, "args": [os.fspath(SERVER)]}
        declarations = json.dumps({"mcpServers": {"bench": entry}})
        await asyncio.to_thread(Path(folder, ".mcp.json").write_text, declarations)
        try:
            await servers.open_session(SESSION, Path(folder).as_uri())
            await servers.prepare(SESSION, "turn")
            offer = await endpoints.offer(SESSION, "bench")
            for name, mode in (("first generation", "legacy"), ("second generation", "auto")):
                command = [sys.executable, __file__, "--agent", mode, offer.url, offer.headers["x-innkeeper-key"]]
                process = await asyncio.create_subprocess_exec(
                    *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 22
                )
                agents.append((name, process))
                await process.stdout.readline()  # type: ignore[union-attr]
            await alternate(arguments.calls, arguments.rounds, figures, agents)
        finally:
            for _, process in agents:
                process.stdin.close()
                await process.wait()
            await endpoints.close()
            await servers.close()
            await processes.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--agent", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.agent:
        asyncio.run(agent(*arguments.agent))
        return
    figures = asyncio.run(run(arguments))
    base = min(figures["direct"])[0]
    rows = {
        name: {
            "p50_ms": round(min(rounds)[0], 2),
            "p95_ms": round(min(rounds)[1], 2),
            "added_p50_ms": round(min(rounds)[0] - base, 2),
            "ratio": round(min(rounds)[0] / base, 2),
            "host_cpu_ms": round(min(spent for _, _, spent in rounds), 2),
        }
        for name, rounds in figures.items()
    }
    if arguments.json:
        print(json.dumps({"goal_added_p50_ms": GOAL_MS, **rows}))
        return
    print(f"one tool call, Python {sys.version.split()[0]}; goal: at most {GOAL_MS} ms added")
    for name, row in rows.items():
        print(
            f"  {name:18} p50 {row['p50_ms']:6.2f} ms  p95 {row['p95_ms']:6.2f} ms  added {row['added_p50_ms']:6.2f} ms"
            f"  ratio {row['ratio']:5.2f}  host {row['host_cpu_ms']:5.2f} ms CPU"
        )


if __name__ == "__main__":
    main()
