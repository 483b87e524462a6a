"""Time of one decision of the gate.

python benchmarks/bench_gate.py [--grants 1000] [--workspaces 100] [--json]

A decision is made for each tool call, before anything else happens; the goal is 0.1 ms (issue 3). Each row is another
way through the table; the settings have that many trusted directories and allowances, the host that many grants.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from innkeeper.mcp.gate import Call, decide
from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance
from innkeeper.ports.decisions import Grant
from innkeeper.ports.questions import Reason, Rules

GOAL_MILLISECONDS = 0.1
ROUNDS = 30
CALLS = 100

CALL = Call(workspace="file:///work/repo", tool="mcp__git__log", fingerprint="sha256:1")


def settings(workspaces: int) -> McpSettings:
    """So many trusted directories and as many allowances, none of them ours."""
    names = [f"/work/other-{n}" for n in range(workspaces)]
    return McpSettings(
        trusted_workspaces=frozenset(names),
        workspace_allowances=tuple(WorkspaceAllowance(name, allow_tools=frozenset({"mcp__a__b"})) for name in names),
    )


def grants(count: int) -> list[Grant]:
    """So many grants; the last one is ours."""
    others = [Grant("file:///work/repo", "tool", f"mcp__server{n}__tool", "sha256:0", "now") for n in range(count - 1)]
    return [*others, Grant(CALL.workspace, "tool", CALL.tool, CALL.fingerprint, "now")]


def median(decided: Callable[[], object]) -> float:
    """Milliseconds of one decision."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            decided()
        times.append((time.perf_counter() - began) / CALLS)
    return statistics.median(times) * 1000


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--grants", type=int, default=1000)
    parser.add_argument("--workspaces", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    known, many = settings(given.workspaces), grants(given.grants)
    asking = Rules(asks=(Reason("gate.why.askingRule", {}),))
    rows = {
        "asked": lambda: decide(replace_free, known, many[:-1]),
        "granted (last of all grants)": lambda: decide(CALL, known, many),
        "full access": lambda: decide(full, known, many),
        "denied by a rule": lambda: decide(denied, known, many),
        "rules ask as well": lambda: decide(asked, known, many),
        "everything trusted": lambda: decide(CALL, trusting, many),
    }
    replace_free, trusting = CALL, McpSettings(trust_mode="all")
    full, denied = replace(CALL, full_access=True), replace(CALL, rules=Rules("session"))
    asked = replace(CALL, rules=asking)
    found = {name: median(decided) for name, decided in rows.items()}
    worst = max(found.values())
    if given.json:
        print(json.dumps({"milliseconds": found, "goal": GOAL_MILLISECONDS, "ratio": worst / GOAL_MILLISECONDS}))
    else:
        print(f"{given.grants} grants, {given.workspaces} trusted directories, {given.workspaces} allowances")
        for name, took in found.items():
            print(f"{name:32} {took * 1000:8.1f} us   {took / GOAL_MILLISECONDS:5.2f} of the goal")
    return 0 if worst <= GOAL_MILLISECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
