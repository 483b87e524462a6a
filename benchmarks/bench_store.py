"""Figures of the SQLite log: rate, latency of one batch, group commit, drop, start. `python benchmarks/bench_store.py`.

Each figure is printed as one line, with the target of the architecture where it has one. Data in a temporary folder;
`--folder` measures another disk.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from innkeeper.ports.log import Batch, DropChannel, PutChannel, PutEnvelope, StoreError
from innkeeper.store.sqlite import SWITCH_INTERVAL, Durability, SqliteLog

BODY = os.urandom(497).hex().encode()


class Source:
    """Numbers and versions of what is written."""

    def __init__(self, log: SqliteLog) -> None:
        self.log = log
        self.seq = 0
        self.versions: dict[str, int] = {}

    def batch(self, channel: str) -> Batch:
        self.seq += 1
        expected = self.versions[channel]
        self.versions[channel] = self.seq
        return Batch(0, (PutEnvelope(self.seq, channel, BODY, expected),))

    async def fold(self) -> None:
        """Snapshots of all channels, as a host writes them every 256 envelopes."""
        ops = (PutChannel(c, "session", None, seq, b"{}", created=False) for c, seq in self.versions.items())
        await store(self.log, Batch(0, tuple(ops)))

    async def create(self, *channels: str) -> None:
        ops = tuple(PutChannel(c, "session", None, self.seq, b"{}", created=True) for c in channels)
        self.versions.update(dict.fromkeys(channels, self.seq))
        await store(self.log, Batch(0, ops))


async def store(log: SqliteLog, batch: Batch) -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(error: StoreError | None) -> None:
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    log.submit(batch, done)
    await future


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


async def singly(source: Source, count: int) -> str:
    times = []
    began = time.perf_counter()
    for _ in range(count):
        batch = source.batch("s0")
        start = time.perf_counter()
        await store(source.log, batch)
        times.append((time.perf_counter() - start) * 1e6)
    rate = count / (time.perf_counter() - began)
    return (
        f"{rate:8,.0f}/s  p50 {share(times, 0.5):5.0f} µs  p99 {share(times, 0.99):5.0f} µs  max {max(times):6.0f} µs"
    )


async def together(source: Source, writers: int, count: int) -> str:
    async def one(channel: str) -> None:
        for _ in range(count // writers):
            await store(source.log, source.batch(channel))

    cpu, began = time.process_time(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(writers):
            group.create_task(one(f"s{number}"))
    elapsed, used = time.perf_counter() - began, time.process_time() - cpu
    return f"{count / elapsed:8,.0f}/s  {used / count * 1e6:5.1f} µs CPU each"


async def busy(source: Source, seconds: float, work_us: int) -> str:
    """The loop computes for `work_us` between submissions, as when it fans out."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    count = 0
    while time.perf_counter() < end:
        start = time.perf_counter()
        source.log.submit(source.batch("s0"), lambda _, start=start: times.append((time.perf_counter() - start) * 1e6))
        count += 1
        until = time.perf_counter() + work_us / 1e6
        while time.perf_counter() < until:
            pass
        await asyncio.sleep(0)
    await source.log.settle()
    return f"{count / seconds:8,.0f}/s  p50 {share(times, 0.5):5.0f} µs  p99 {share(times, 0.99):5.0f} µs"


async def drop(source: Source) -> str:
    await source.create("dropped")
    for _ in range(10_000):
        batch = source.batch("dropped")
        source.log.submit(batch, lambda _: None)
    await source.log.settle()
    start = time.perf_counter()
    await store(source.log, Batch(0, (DropChannel("dropped"),)))
    answered = time.perf_counter()
    times = []
    for _ in range(200):
        before = time.perf_counter()
        await store(source.log, source.batch("s0"))
        times.append((time.perf_counter() - before) * 1e6)
    await source.log.settle()
    gone = time.perf_counter()
    return (
        f"answered in {(answered - start) * 1e3:.1f} ms, all rows gone after {(gone - start) * 1e3:.0f} ms "
        f"(200 batches meanwhile, p50 {share(times, 0.5):.0f} µs, max {max(times):.0f} µs)"
    )


async def measure(folder: Path, durability: Durability, count: int) -> None:
    path = folder / durability / "innkeeper.db"
    log = SqliteLog(path, durability=durability)
    start = time.perf_counter()
    await log.open()
    print(f"{durability:6} create and open        {(time.perf_counter() - start) * 1e3:.1f} ms")
    source = Source(log)
    await source.create(*(f"s{number}" for number in range(50)))
    print(f"{durability:6} one at a time          {await singly(source, count)}   (p50 target 150 µs)")
    print(f"{durability:6} 50 waiting writers     {await together(source, 50, count * 5)}   (target 16,000/s)")
    print(f"{durability:6} loop busy 700 µs each  {await busy(source, 2, 700)}")
    print(f"{durability:6} drop 10,000 envelopes  {await drop(source)}   (target 100 ms)")
    await together(source, 50, 20_000)
    await source.fold()
    await log.settle()
    await log.close(last_seq=source.seq)
    start = time.perf_counter()
    log = SqliteLog(path, durability=durability)
    image = await log.open()
    size = path.stat().st_size / 1e6
    print(
        f"{durability:6} open                   {(time.perf_counter() - start) * 1e3:.1f} ms "
        f"(window of {len(image.window):,}, file of {size:.0f} MB)"
    )
    await log.close(last_seq=image.last_seq)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--count", type=int, default=5_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for durability in ("normal", "full"):
            await measure(Path(folder), durability, options.count)


if __name__ == "__main__":
    sys.setswitchinterval(SWITCH_INTERVAL)
    asyncio.run(main())
