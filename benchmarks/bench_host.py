"""A whole host under load, by the shared load generator (`$INNKEEPER_SHARED/bench/bench_host.py`), against its goals.

    python benchmarks/bench_host.py                  ours, and the ratio to the figures recorded of the reference host
    python benchmarks/bench_host.py --peer URL       the same tests on a running AHP host, and the ratio to it
    python benchmarks/bench_host.py --full           the generator's own number of rounds

Each line: figure, ours, goal, the other host's, ratio. Loopback only; wall-clock figures of a shared machine vary.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

SHARED = Path(os.environ.get("INNKEEPER_SHARED") or Path(__file__).resolve().parents[2] / "shared")
GENERATOR = SHARED / "bench" / "bench_host.py"
LAUNCH = (
    "sh -c 'unset PYTHONDONTWRITEBYTECODE; export INNKEEPER_HOME={{data}}/home; mkdir -p $INNKEEPER_HOME/config;"
    ' echo "durability = \\"{durability}\\"" > $INNKEEPER_HOME/config/config.toml;'
    " exec {python} -m innkeeper serve --quiet --no-token --port {{port}}'"
)
QUICK = ("--repeats", "3", "--rtt-rounds", "3")


class Figure(NamedTuple):
    """One measured figure; `recorded` is the reference host's (Node), measured with the same generator."""

    name: str
    unit: str
    read: Callable[[Mapping[str, Any]], float]
    goal: float
    recorded: float
    more_is_better: bool = False


FIGURES = (
    Figure("start to first initialize", "ms", lambda r: r["startup_ms_to_initialize"]["median"], 400, 418),
    Figure("idle memory", "MiB", lambda r: r["idle_rss_mib_largest_process"]["median"], 70, 122),
    Figure("memory with 1,000 sessions", "MiB", lambda r: r["sessions"]["1000"]["rss_largest"], 200, 276),
    Figure("createSession p50", "ms", lambda r: r["sessions"]["create_latency"]["p50_ms"], 5, 51),
    Figure("draft echo p50, 1 subscriber", "ms", lambda r: _rtt(r, 1, "p50_ms"), 0.5, 0.14),
    Figure("draft echo p99, 1 subscriber", "ms", lambda r: _rtt(r, 1, "p99_ms"), 1.5, 0.66),
    Figure("draft echo p50, 50 subscribers", "ms", lambda r: _rtt(r, 50, "p50_ms"), 7, 1.15),
    Figure("draft echo p99, 50 subscribers", "ms", lambda r: _rtt(r, 50, "p99_ms"), 7, 7.0),
    Figure("actions to 1 subscriber", "/s", lambda r: r["fanout"]["draft/1"]["deliveries_per_s"], 15_800, 15_760, True),
    Figure("deliveries to 50", "/s", lambda r: r["fanout"]["draft/50"]["deliveries_per_s"], 64_000, 64_400, True),
    Figure("dispose after 10,000 drafts", "ms", lambda r: _dispose(r), 100, 12_100),
    Figure("10,000 missed actions replayed", "ms", lambda r: _replay(r), 100, float("nan")),
)


def _rtt(result: Mapping[str, Any], subscribers: int, percentile: str) -> float:
    return float(result["rtt"][f"draft/{subscribers}"]["own_echo"][percentile]["median"])


def _dispose(result: Mapping[str, Any]) -> float:
    return float(result["fanout"]["draft/1"]["dispose_after_s"]["max"]) * 1000


def _replay(result: Mapping[str, Any]) -> float:
    """Not a number where only a snapshot came back."""
    missed = result["reconnect"]["10000"]
    return float(missed["ms"]["median"]) if missed["result"] == ["replay"] else float("nan")


def measure(url: str, options: argparse.Namespace, launch: str | None) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        tests = "startup,rss,rtt,fanout,reconnect" if launch else "rss,rtt,fanout,reconnect"
        command = [sys.executable, str(GENERATOR), url, "--ws", folder, "--tests", tests, "--out", str(out)]
        command += ["--clients", "1,50", "--actions", "draft", "--missed", "100,10000"]
        command += ["--launch", launch, "--scheme", "ahp-session", "--provider", "console"] if launch else []
        command += [] if options.full else QUICK
        done = subprocess.run(command, cwd=GENERATOR.parent, stdout=subprocess.DEVNULL, stderr=sys.stderr, check=False)
        if done.returncode:
            raise SystemExit(f"the load generator ended with {done.returncode}")
        result: Mapping[str, Any] = json.loads(out.read_text())
        return result


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def show(ours: Mapping[str, Any], peer: Mapping[str, Any] | None) -> None:
    other = "peer" if peer is not None else "recorded"
    print(f"{'figure':34} {'ours':>10} {'goal':>8} {other:>10} {'ratio':>7}")
    for figure in FIGURES:
        value = figure.read(ours)
        try:
            against = figure.recorded if peer is None else figure.read(peer)
        except KeyError:
            against = float("nan")
        ratio = value / against if figure.more_is_better else against / max(value, 1e-9)
        reached = value >= figure.goal if figure.more_is_better else value <= figure.goal
        mark = "" if reached else "  goal missed"
        print(
            f"{figure.name:34} {value:>10,.4g} {figure.goal:>8,g} {against:>10,.4g} {ratio:>6.1f}x {figure.unit}{mark}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="URL of another AHP host that runs")
    parser.add_argument("--full", action="store_true", help="as many rounds as the generator's defaults")
    parser.add_argument("--durability", choices=("normal", "full"), default="normal")
    options = parser.parse_args()
    if not GENERATOR.is_file():
        print(f"not measured: the load generator is not at {GENERATOR}; set INNKEEPER_SHARED")
        return
    launch = LAUNCH.format(python=sys.executable, durability=options.durability)
    ours = measure(f"ws://127.0.0.1:{free_port()}/", options, launch)
    show(ours, measure(options.peer, options, None) if options.peer else None)


if __name__ == "__main__":
    main()
