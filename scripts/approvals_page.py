"""`docs/reference/approvals.md`: the words of `approvals_page.md` and the tables of the code."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from innkeeper.host.approval import ROWS
from innkeeper.host.approval.files_table import ALWAYS, GUARDED
from innkeeper.host.approval.shell.programs import PROGRAMS, REFUSED, Program
from innkeeper.host.approval.values import Row
from innkeeper.limits import APPROVAL_COMMAND_CHARACTERS, APPROVAL_COMMANDS
from innkeeper.texts import text

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]
WORDS = Path(__file__).with_name("approvals_page.md")

DECIDES: Mapping[Row, tuple[str, str]] = {
    "deniedTool": ("deny", "`permissions.deny` of a layer, or the operator, names the tool"),
    "attachmentArea": ("deny", "a file would be written where the host keeps what was attached"),
    "managedPolicy": ("ask", "a policy demands a person: the agent's managed policy, or `ask` of the operator"),
    "sandbox": ("ask", "the agent asks to leave its sandbox for the call"),
    "fullAccess": (
        "approve",
        "the host runs with `access = \"full\"`, the session's `autoApprove` is `autoApprove`, or the agent's mode is "
        "unrestricted ([the gate](gate.md#full-access))",
    ),
    "planMode": ("ask", "`mode` is `plan`, and the call may change something"),
    "allowedTool": ("approve", "`permissions.allow` of a layer names the tool"),
    "inlineEditor": (
        "approve, ask",
        "the session is an editor's inline chat: its one file may be read and written; other files are not written, "
        "commands and MCP tools ask, and without a file everything does",
    ),
    "read": ("approve, ask", "files are read"),
    "write": ("approve, ask", "files are written"),
    "shell": ("approve, ask", "a command line runs"),
    "otherwise": ("ask", "anything else"),
}


def approvals_page(table: Table) -> str:
    """The whole page."""
    parts = {
        "rows": table(
            ("row", "decides", "when"),
            [(f"`{row}`: {text(f'approval.row.{row}')}", *DECIDES[row]) for row in ROWS],
        ),
        "guarded": table(("what", "patterns"), [(_name(group), _listed(names)) for group, names in GUARDED.items()]),
        "always": table(("what", "patterns"), [(_name(group), _listed(names)) for group, names in ALWAYS.items()]),
        "programs": table(("allowed", "how"), list(_programs("", PROGRAMS))),
        "refused": table(("asked about", "commands"), [(_name(g), _listed(names)) for g, names in REFUSED.items()]),
        "characters": f"{APPROVAL_COMMAND_CHARACTERS:,}",
        "commands": str(APPROVAL_COMMANDS),
    }
    page = WORDS.read_text(encoding="utf-8")
    for name, value in parts.items():
        page = page.replace(f"{{{{{name}}}}}", value.rstrip("\n"))
    return page


def _programs(before: str, programs: Mapping[str, Program]) -> Iterable[tuple[str, str]]:
    plain = [f"{before}{name}" for name, row in programs.items() if not _how(row) and not row.subcommands]
    if plain:
        yield _listed(plain), ""
    grouped: dict[str, list[str]] = {}
    for name, row in programs.items():
        if row.subcommands:
            if row.only:
                grouped.setdefault(f"before the subcommand only {_listed(row.only)}", []).append(f"{before}{name}")
        elif _how(row):
            grouped.setdefault(_how(row), []).append(f"{before}{name}")
    for how, names in grouped.items():
        yield _listed(names), how
    for name, row in programs.items():
        if row.subcommands:
            yield from _programs(f"{before}{name} ", row.subcommands)


def _how(row: Program) -> str:
    words = []
    if row.begins:
        words.append(f"begins with {_listed(row.begins)}")
    if row.needs is not None:
        words.append(f"needs `{row.needs}`")
    if row.only is not None:
        words.append(f"only with {_listed(row.only)}" if row.only else "without options")
    if row.refuse or row.refuse_words:
        words.append(f"not with {_listed((*row.refuse, *row.refuse_words))}")
    if row.most is not None:
        words.append("no other words" if row.most == 0 else f"at most {row.most} word that is no option")
    if row.first is not None:
        words.append(f"words begin with `{row.first}`")
    if row.effects:
        words.append("not in plan mode")
    return "; ".join(words)


def _name(group: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in group).replace("mcp", "MCP")


def _listed(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)
