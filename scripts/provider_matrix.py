"""The enablement matrix of every agent, made from what its tests declare (issue 6 §3, C6.2, C6.5).

Tests of one agent say `@cell(provider, what, when, how, limit=…)`, and `known_limit(provider, what, when, why)` beside
them. Tests of the contract suite say `@row(what, when, …)`; by what means each agent keeps to a row stands in
`providers.contract.means`. The tests are read as text and not imported, because an agent's extra need not be installed.
"""

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "providers"
sys.path.append(str(TESTS.parent))

from providers.contract.means import (  # type: ignore[import-not-found]  # noqa: E402  # mypy does not read tests/
    MEANS,
    Means,
    Never,
    Part,
)

TITLES = {"claude": "Claude", "codex": "Codex", "copilot": "Copilot", "acp": "ACP agents"}
WHAT = {
    "server": "MCP server of the project or the host",
    "pluginServer": "MCP server that a plugin defines",
    "plugin": "Plugin",
    "skill": "Skill",
    "agent": "Agent (subagent)",
    "prompt": "Prompt (command)",
    "rule": "Rule (instructions)",
    "hook": "Hook",
    "ownConfiguration": "What the agent's own configuration brings",
    "caller": "Who calls: main agent or child",
}
WHEN = {
    "launch": "off at launch",
    "nextRequest": "switched off: next turn",
    "runningTurn": "switched off: in a running turn",
    "back": "switched on again",
    "otherSession": "another session",
    "newSession": "a new session",
    "files": "files compared",
}
MARKS = {"yes": "✔", "part": "◐", "no": "✘"}

INTRODUCTION = """# Enablement, agent by agent

What a switch does to the request that the model is sent. Every ✔ is a test with the real agent and a fake of its
model's API, and what the test looks at is that request: its tools, its instructions, its messages. Each test has its
positive control. ◐ is a test that shows a limit, ✘ is what cannot be done. An empty field is not looked at for this
agent, or does not exist there.

What history already shows stays in it, for every agent: names and texts of earlier turns are part of the conversation.

"""


@dataclass(frozen=True)
class Cell:
    provider: str
    what: str
    when: str
    mark: str
    how: str
    test: str | None = None


def declared(folder: Path = TESTS) -> list[Cell]:
    """Every cell, in the order of the files. Raises ValueError for one that is not written as it has to be."""
    found: list[Cell] = []
    for file in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                where = f"{file.relative_to(folder.parent.parent)}::{node.name}"
                found.extend(_cell(call, where) for call in _calls(node.decorator_list, "cell"))
            elif isinstance(node, ast.Expr):
                found.extend(_limit(call, str(file)) for call in _calls([node.value], "known_limit"))
    return found


def contracted(folder: Path = TESTS / "contract", means: Mapping[str, Means] = MEANS) -> list[Cell]:
    """The cells of the contract suite: every row for every agent. Raises ValueError for a row of which nothing is said
    for an agent, and for a cell that no test shows."""
    rows: dict[tuple[str, str], str] = {}
    for file in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                where = f"{folder.name}/{file.name}::{node.name}"
                for call in _calls(node.decorator_list, "row"):
                    what, *whens = _texts(call.args, where, len(call.args))
                    rows |= {(_known(what, WHAT, where), _known(when, WHEN, where)): where for when in whens}
    said = {(what, when) for one in means.values() for what, whens in one.items() for when in whens}
    if unshown := said - rows.keys():
        raise ValueError(f"no test shows {sorted(unshown)}")
    return [_contracted(name, one, key, where) for name, one in means.items() for key, where in rows.items()]


def _contracted(name: str, means: Mapping[Any, Mapping[Any, object]], key: tuple[str, str], where: str) -> Cell:
    what, when = key
    match means.get(what, {}).get(when):
        case str(how):
            return Cell(name, what, when, "yes", how, where)
        case Part(how, limit):
            return Cell(name, what, when, "part", f"{how}. Limit: {limit}", where)
        case Never(why):
            return Cell(name, what, when, "no", why)
    raise ValueError(f"{where}: nothing is said of {name}")


def _calls(nodes: list[ast.expr], name: str) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def _cell(call: ast.Call, where: str) -> Cell:
    provider, what, when, how = _texts(call.args, where, 4)
    limits = [keyword.value for keyword in call.keywords if keyword.arg == "limit"]
    limit = _texts(limits, where, 1)[0] if limits else None
    said = how if limit is None else f"{how}. Limit: {limit}"
    return Cell(provider, _known(what, WHAT, where), _known(when, WHEN, where), "part" if limit else "yes", said, where)


def _limit(call: ast.Call, where: str) -> Cell:
    provider, what, when, why = _texts(call.args, where, 4)
    return Cell(provider, _known(what, WHAT, where), _known(when, WHEN, where), "no", why)


def _texts(nodes: list[ast.expr], where: str, count: int) -> list[str]:
    values = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    if len(values) != count or len(nodes) != count:
        raise ValueError(f"{where}: a cell is declared by {count} plain texts")
    return values


def _known(value: str, known: Mapping[str, str], where: str) -> str:
    if value not in known:
        raise ValueError(f"{where}: {value!r} is none of {', '.join(known)}")
    return value


def all_cells() -> list[Cell]:
    return [*contracted(), *declared()]


def matrix_page(table: Callable[..., str], cells: list[Cell]) -> str:
    """docs/reference/provider-matrix.md, without the notice."""
    page = INTRODUCTION
    for provider in sorted({cell.provider for cell in cells}, key=lambda name: [*TITLES, name].index(name)):
        mine = [cell for cell in cells if cell.provider == provider]
        page += f"## {TITLES.get(provider, provider)}\n\n" + _grid(mine, table) + _means(mine, table)
    return page.rstrip() + "\n"


def _grid(cells: list[Cell], table: Callable[..., str]) -> str:
    marks: dict[tuple[str, str], str] = {}
    for cell in cells:
        now = marks.get((cell.what, cell.when), MARKS[cell.mark])
        marks[cell.what, cell.when] = min(now, MARKS[cell.mark], key=["✘", "◐", "✔"].index)
    whats = [what for what in WHAT if any(cell.what == what for cell in cells)]
    whens = [when for when in WHEN if any(cell.when == when for cell in cells)]
    rows = [[WHAT[what], *(marks.get((what, when), "") for when in whens)] for what in whats]
    return table(["", *(WHEN[when] for when in whens)], rows)


def _means(cells: list[Cell], table: Callable[..., str]) -> str:
    order = [*WHAT], [*WHEN]
    listed = sorted(cells, key=lambda cell: (order[0].index(cell.what), order[1].index(cell.when)))
    rows = [[WHAT[cell.what], WHEN[cell.when], MARKS[cell.mark], cell.how, _shown(cell.test)] for cell in listed]
    return table(["what", "when", "", "how", "test"], rows)


def _shown(test: str | None) -> str:
    return "" if test is None else f"`{'/'.join(test.split('/')[-2:])}`"
