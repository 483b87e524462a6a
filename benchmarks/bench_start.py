"""From `innkeeper serve` to the answer to the first `initialize`, each time on a new and empty data directory.

    python benchmarks/bench_start.py                       this checkout, 15 starts
    python benchmarks/bench_start.py --against FOLDER      and another checkout by turns, so that both see the same load
    python benchmarks/bench_start.py --imports             what the imports of a start take, by package

Figures in ms: median and fastest, and the same of the processor time that it took. The goal is 400 ms (issue 2, section
9); the reference host (Node) took 418. A start is mostly imports: tests/app/test_start.py names what must not be among
them.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from websockets.sync.client import connect

from innkeeper.protocol.versions import BASELINES

HERE = Path(__file__).resolve().parents[1]
GOAL_MS = 400
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"channel": "ahp-root://", "clientId": "bench", "protocolVersions": list(BASELINES)},
}


class Start(NamedTuple):
    wall: float
    """Milliseconds until the answer had come."""
    cpu: float
    """Of the threads of the process, in milliseconds: it varies less where others work too."""


@contextmanager
def started(checkout: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A host of that checkout's sources, on this Python and its libraries."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "HOME": home, "INNKEEPER_HOME": home}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, *options, "-m", "innkeeper", "serve", "--quiet", "--no-token", "--port", "0"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=home
        )
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=20)


def first_answer(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    port = process.stdout.readline().strip().removeprefix("READY:")
    with connect(f"ws://127.0.0.1:{port}/", compression=None, proxy=None) as client:
        client.send(json.dumps(INITIALIZE))
        answer = json.loads(client.recv(timeout=20))
        if "result" not in answer:
            raise SystemExit(f"the host refused: {answer}")


def cpu_of(pid: int) -> float:
    """What its threads have run, by the kernel's own count."""
    running = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in running) / 1e6


def measure(checkout: Path) -> Start:
    began = time.perf_counter()
    with started(checkout) as process:
        first_answer(process)
        return Start((time.perf_counter() - began) * 1000, cpu_of(process.pid))


def show(checkout: Path, starts: list[Start]) -> None:
    walls, cpus = [start.wall for start in starts], [start.cpu for start in starts]
    missed = "" if statistics.median(walls) <= GOAL_MS else f"  goal {GOAL_MS} missed"
    print(
        f"{checkout!s:40} median {statistics.median(walls):6.0f}  fastest {min(walls):6.0f}"
        f"  cpu {statistics.median(cpus):6.0f}  least {min(cpus):6.0f}{missed}"
    )


def show_imports(checkout: Path) -> None:
    """By top-level package, ours by the package below: milliseconds and modules."""
    with tempfile.TemporaryFile("w+") as kept:
        with started(checkout, "-X", "importtime") as process:
            first_answer(process)
            process.terminate()
            kept.write(process.communicate(timeout=20)[1])
        kept.seek(0)
        found = re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", kept.read())
    spent, modules = Counter[str](), Counter[str]()
    for micros, name in found:
        package = ".".join(name.split(".")[: 2 if name.startswith("innkeeper.") else 1])
        spent[package] += int(micros)
        modules[package] += 1
    print(f"{sum(spent.values()) / 1000:8.1f} ms {len(found):5}")
    for package, micros in spent.most_common(30):
        print(f"{micros / 1000:8.1f} ms {modules[package]:5}  {package}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, action="append", default=[], help="another checkout")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--imports", action="store_true")
    options = parser.parse_args()
    if options.imports:
        show_imports(HERE)
        return
    checkouts = [HERE, *options.against]
    starts: dict[Path, list[Start]] = {checkout: [] for checkout in checkouts}
    for checkout in checkouts:
        measure(checkout)  # writes what Python keeps of a module
    for _ in range(options.runs):
        for checkout in checkouts:
            starts[checkout].append(measure(checkout))
    for checkout in checkouts:
        show(checkout, starts[checkout])


if __name__ == "__main__":
    main()
