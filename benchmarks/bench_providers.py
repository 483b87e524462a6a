"""Agents: how long until one is there and until its first word, and how much memory sessions take (issue 6 §7).

Run: python benchmarks/bench_providers.py [--sessions N] [codex] [acp] …
Goals: at most 1.5 s until a session is there, and a first word within 1 s more; measured with a model that answers at
once. Memory is what the agent's processes have in RAM, shared pages counted by their share where the system says it.
Agents that are not installed are passed over.
"""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.append(os.fspath(TESTS))

from innkeeper.providers.spi import SessionOpening, TextDelta  # noqa: E402
from providers.real_agents import REAL, RealAgent, missing  # noqa: E402
from providers.test_contract import NOTHING, Recorder, request  # noqa: E402

START_GOAL = 1.5
WORD_GOAL = 1.0
MIB = 1024 * 1024


def memory(before: set[psutil.Process]) -> float:
    """MiB of the processes that have come since."""
    total = 0
    for process in set(psutil.Process().children(recursive=True)) - before:
        with contextlib.suppress(psutil.Error):
            full = process.memory_full_info()
            total += getattr(full, "pss", full.rss)
    return total / MIB


class First(Recorder):
    """Notes when the first word came."""

    def __init__(self) -> None:
        super().__init__()
        self.at: float | None = None

    def emit(self, signal: Any) -> None:
        if self.at is None and isinstance(signal, TextDelta):
            self.at = time.perf_counter()
        super().emit(signal)


async def one_session(agent: RealAgent) -> tuple[float, float, Any, Any]:
    """Seconds until the session is there, and from the message to the first word."""
    began = time.perf_counter()
    provider = agent.make()
    session = await provider.open_session(SessionOpening("s", [agent.directory], {}, NOTHING))
    there = time.perf_counter()
    output = First()
    await session.run_turn(request(agent.says), output)
    assert output.at is not None
    return there - began, output.at - there, provider, session


async def measure(name: str, made: Callable[[Path], AbstractAsyncContextManager[RealAgent]], sessions: int) -> bool:
    before = set(psutil.Process().children(recursive=True))
    async with in_folder(made) as agent:
        start, word, provider, session = await one_session(agent)
        alone = memory(before)
        began = time.perf_counter()
        more = await asyncio.gather(
            *(
                provider.open_session(SessionOpening(f"s{n}", [agent.directory], {}, NOTHING))
                for n in range(sessions - 1)
            )
        )
        await asyncio.gather(*(one.run_turn(request(agent.says, f"c{n}"), Recorder()) for n, one in enumerate(more)))
        taken = time.perf_counter() - began
        many = memory(before)
        for one in (session, *more):
            await one.close()
    good = start <= START_GOAL and word <= WORD_GOAL
    print(f"{name}: there after {start:.2f} s (goal {START_GOAL}), first word after {word:.2f} s (goal {WORD_GOAL})")
    print(f"{name}: {alone:.0f} MiB with one session; {many:.0f} MiB with {sessions}, {taken:.2f} s for a turn in each")
    return good


@asynccontextmanager
async def in_folder(made: Callable[[Path], AbstractAsyncContextManager[RealAgent]]) -> AsyncIterator[RealAgent]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with made(Path(folder)) as agent:
            yield agent


def main(agents: Mapping[str, Any] = REAL) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("agent", nargs="*", default=list(agents))
    given = parser.parse_args()
    good = True
    for name in given.agent:
        if (why := missing(name)) is not None:
            print(f"{name}: passed over, {why}")
            continue
        good &= asyncio.run(measure(name, agents[name][1], given.sessions))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
