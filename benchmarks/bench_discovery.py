"""Figures of discovery: first scan, unchanged rescan, one change. `python benchmarks/bench_discovery.py`.

Each figure is one line, with the target of issue 4 where it has one. Data in a temporary folder; the system's cache is
warm, as it is after a checkout.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from innkeeper.customizations.discovery import Discovery, Places
from innkeeper.workspace.files import LocalFiles

TARGET_MS = 500.0
PLAIN = "---\nname: skill-{n}\ndescription: Checks part {n} of the work and says what is missing\n---\n\n# Part {n}\n"
RICH = (
    "---\nname: skill-{n}\ndescription: >\n  Checks part {n} of the work:\n  says what is missing\n"
    "metadata:\n  author: somebody\nallowed-tools: [Read, Grep]\n---\n\n# Part {n}\n"
)
LIBRARY = PLAIN.replace("name:", "metadata:\n  owner:\n    team: a\nname:", 1)
BODY = "Read the files, then write what you found. " * 40


def fill(root: Path, count: int, text: str) -> None:
    for n in range(count):
        folder = root / ".claude" / "skills" / f"skill-{n}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text.format(n=n) + BODY, encoding="utf-8")


def milliseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def measure(label: str, text: str, count: int, rounds: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root, count, text)
        time.sleep(0.2)  # What was written a moment ago is read twice; that is not what is measured.
        places = Places(workspaces=(folder,))
        first = min(milliseconds(lambda: Discovery(LocalFiles()).scan(places)) for _ in range(rounds))
        discovery = Discovery(LocalFiles())
        discovery.scan(places)
        same = min(milliseconds(lambda: discovery.scan(places)) for _ in range(rounds * 3))
        (root / ".claude/skills/skill-7/SKILL.md").write_text(text.format(n=7).replace("missing", "there"), "utf-8")
        began = time.perf_counter()
        change = discovery.scan(places)
        one = (time.perf_counter() - began) * 1e3
    names = [child.name for found in change.changes for child in found.changed]
    print(f"{label:<22} first scan {first:7.1f} ms   unchanged {same:6.1f} ms   one changed {one:6.1f} ms {names}")
    return first


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--skills", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    plain = measure("simple front matter", PLAIN, options.skills, options.rounds)
    rich = measure("lists and block texts", RICH, options.skills, options.rounds)
    measure("by the YAML library", LIBRARY, options.skills, options.rounds)
    met = max(plain, rich) <= TARGET_MS
    print(f"target: {options.skills} skills in {TARGET_MS:.0f} ms: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
