"""Start, first reply and memory of the real agents, each before a fake of its model's API (issue 6 §7).

python benchmarks/bench_providers.py [--agent claude …] [--sessions 1 5 20] [--json]

For each agent and number of sessions: seconds from opening the sessions to the end of their first turns, seconds of a
second turn of one session, and the memory of the agent's processes (proportional set size where the system has it, so
that shared pages are counted once). An agent whose extra is not installed is left out.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from innkeeper.customizations.eligibility import eligible
from innkeeper.customizations.testing import everything_on
from innkeeper.providers.spi import ProviderSession, SessionOpening, TurnRequest
from providers.real_agents import REAL, RealAgent, missing

MIB = 1024 * 1024
NOTHING = eligible((), everything_on("s"))


class Silent:
    """A `TurnOutput` of turns in which nothing is asked."""

    def emit(self, signal: object) -> None:
        return


async def turn(session: ProviderSession, agent: RealAgent, name: str, number: int) -> None:
    message: Any = {"text": agent.says, "origin": {"kind": "user"}}
    output: Any = Silent()
    request = TurnRequest(name, f"{name}/c", f"t{number}", message, agent.says, (), (), (), {}, NOTHING)
    await session.run_turn(request, output)


async def measured(name: str, count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        async with REAL[name][1](Path(folder)) as agent:
            provider = agent.make()
            before = set(psutil.Process().children(recursive=True))
            began = time.perf_counter()
            openings = [SessionOpening(f"s{n}", [agent.directory], {}, NOTHING) for n in range(count)]
            sessions = await asyncio.gather(*(provider.open_session(opening) for opening in openings))
            await asyncio.gather(*(turn(one, agent, f"s{n}", 1) for n, one in enumerate(sessions)))
            first = time.perf_counter() - began
            began = time.perf_counter()
            await turn(sessions[0], agent, "s0", 2)
            second = time.perf_counter() - began
            processes = set(psutil.Process().children(recursive=True)) - before
            found = {
                "agent": name,
                "sessions": count,
                "first_seconds": round(first, 2),
                "second_seconds": round(second, 3),
                "processes": len(processes),
                "memory_mib": round(sum(map(memory, processes)) / MIB),
            }
            await asyncio.gather(*(one.close() for one in sessions))
            return found


def memory(process: psutil.Process) -> int:
    try:
        found = process.memory_full_info()
        return int(getattr(found, "pss", None) or found.rss)
    except psutil.Error:
        return 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", nargs="*", default=list(REAL))
    parser.add_argument("--sessions", nargs="*", type=int, default=[1, 5, 20])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    rows = []
    for name in given.agent:
        if (why := missing(name)) is not None:
            print(f"{name}: {why}", file=sys.stderr)
            continue
        rows += [asyncio.run(measured(name, count)) for count in given.sessions]
    if given.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        print(
            f"{row['agent']:8} {row['sessions']:3} sessions  first turns {row['first_seconds']:6.2f} s  "
            f"second turn {row['second_seconds']:6.3f} s  {row['processes']} processes {row['memory_mib']} MiB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
