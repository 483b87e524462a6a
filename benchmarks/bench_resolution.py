"""CPU time of resolving, publishing and handing over the customizations of one session.

python benchmarks/bench_resolution.py [--items 1000] [--decisions 1000] [--json]

The items are skills in directories, and plugins with servers; half as many decisions as asked for are about them, the
rest about others. The goal is 5 ms for resolving 1,000 customizations (issue 4).
"""

import argparse
import json
import sys
import time
from collections.abc import Callable

from innkeeper.customizations.discovery.items import (
    LOADED,
    DiscoveredDirectory,
    DiscoveredPlugin,
    DiscoveredServer,
    DiscoveredSkill,
)
from innkeeper.customizations.eligibility import eligible_of
from innkeeper.customizations.enablement import Overlay, Place
from innkeeper.customizations.identity import owner_map
from innkeeper.customizations.items import RawItem, defined_servers
from innkeeper.customizations.publishing import Published
from innkeeper.customizations.resolution import Context, Resolution, ScopedEnablement
from innkeeper.ports.decisions import Decision, Decisions

REPEATS = 30
NOW = "2026-11-30T12:00:00.000Z"
SESSION = "ahp-session:/bench"


def customizations(count: int) -> list[RawItem]:
    """Nine tenths skills in two directories, the rest plugins with nine servers each."""
    items: list[RawItem] = []
    for folder in (".claude/skills", ".github/skills"):
        uri = f"file:///work/repo/{folder}"
        skills = [
            DiscoveredSkill(
                uri=f"{uri}/skill-{n}/SKILL.md", name=f"skill-{n}", description="What it is for, in a line."
            )
            for n in range(count * 45 // 100)
        ]
        items.append(
            DiscoveredDirectory(
                uri=uri,
                name=folder,
                contents="skill",
                writable=True,
                source="workspace",
                ecosystem="claude",
                load=LOADED,
                children=skills,
            )
        )
    for n in range(count // 100):
        uri = f"file:///plugins/p{n}"
        servers = [
            DiscoveredServer(uri=f"{uri}/.mcp.json", name=f"server {m}", pointer=("mcpServers",)) for m in range(9)
        ]
        items.append(
            DiscoveredPlugin(
                uri=uri, name=f"p{n}", path=uri[7:], format="claude", source="host", load=LOADED, children=servers
            )
        )
    return items


def decisions(items: list[RawItem], context: Context, count: int) -> Decisions:
    """About every item in turn, in the three scopes, and as many about items that are not there."""
    found = Resolution(items, ScopedEnablement(context, Overlay()))
    keys = [item.target.key for item in found.items.values() if item.target is not None]
    places = (("session", SESSION), ("workspace", "file:///work/repo"), ("global", ""))
    made = [
        Decision(keys[n % len(keys)] if n % 2 else f"gone/{n}", *places[n % 3], bool(n % 5), NOW)  # type: ignore[arg-type]
        for n in range(count)
    ]
    return Decisions(tuple({decision.slot: decision for decision in made}.values()))


def milliseconds(work: Callable[[], object]) -> tuple[float, float]:
    """Best and median, of CPU time."""
    took = []
    for _ in range(REPEATS):
        begun = time.process_time()
        work()
        took.append((time.process_time() - begun) * 1000)
    took.sort()
    return round(took[0], 2), round(took[len(took) // 2], 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--decisions", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    items = customizations(arguments.items)
    context = Context(
        session=SESSION,
        place=Place(SESSION, "file:///work/repo"),
        provider="console",
        owners=owner_map(defined_servers(items)),
    )
    overlay = Overlay(decisions(items, context, arguments.decisions))
    enablement = ScopedEnablement(context, overlay)
    resolution = Resolution(items, enablement)
    figures = {
        "resolve": milliseconds(lambda: Resolution(items, enablement)),
        "publish": milliseconds(lambda: Published(resolution)),
        "hand_over": milliseconds(lambda: eligible_of(resolution)),
        "index_decisions": milliseconds(lambda: Decisions(overlay.decisions.decisions).by_key),
    }
    if arguments.json:
        print(json.dumps({"items": len(resolution.items), "decisions": arguments.decisions, "ms": figures}))
        return
    print(f"{len(resolution.items)} items, {arguments.decisions} decisions, Python {sys.version.split()[0]}")
    for name, (best, median) in figures.items():
        print(f"  {name:16} {best:6.2f} ms best  {median:6.2f} ms median")


if __name__ == "__main__":
    main()
