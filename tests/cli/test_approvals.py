"""`innkeeper approvals`: why a call would run, be asked about or be denied (reference §5.11)."""

from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import exit_codes
from innkeeper.host.approval.shell.programs import PROGRAMS


def configured(home: Any, text: str) -> None:
    path = Path(home.run("config", "path").out.strip())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "outcome", "row"),
    [
        (["ls && git status"], "approve", "shell"),
        (["ls && rm -rf /"], "ask", "shell"),
        (["ls", "--language", "zsh"], "ask", "shell"),
        (["echo x > notes.md", "--mode", "plan"], "ask", "planMode"),
        (["--read", "notes.md"], "approve", "read"),
        (["--read", "/etc/passwd"], "ask", "read"),
        (["--write", "src/app.ts"], "approve", "write"),
        (["--write", ".env"], "ask", "write"),
        (["--tool", "mine"], "ask", "otherwise"),
    ],
)
def test_the_decision_is_told_without_a_host(inside: Any, words: list[str], outcome: str, row: str) -> None:
    done = inside("approvals", "explain", *words, "--json")
    told = done.json()
    assert (done.code, told["outcome"], told["row"]) == (exit_codes.OK, outcome, row)
    assert told["reason"] and told["message"].startswith("approval.")


def test_each_command_of_a_line_is_told_with_its_reason(quiet: Any) -> None:
    done = quiet.run("approvals", "explain", "ls && rm -rf /")
    assert done.out.splitlines() == [
        "Is asked about: rm is always asked about.",
        "Decided by: command lines",
        "  runs  ls",
        "      ls only looks, or is allowed by a rule.",
        "  asks  rm -rf /",
        "      rm is always asked about.",
    ]


def test_the_operators_own_rules_count_and_are_listed(quiet: Any) -> None:
    configured(
        quiet,
        '[approvals]\ndeny = ["danger"]\n[approvals.commands]\n"make test" = true\n'
        '[approvals.files]\n"**/x.gen" = false\n',
    )
    assert quiet.run("approvals", "explain", "make test", "--json").json()["outcome"] == "approve"
    assert quiet.run("approvals", "explain", "--write", "a/x.gen", "--json").json()["outcome"] == "ask"
    assert quiet.run("approvals", "explain", "--tool", "danger", "--json").json()["row"] == "deniedTool"
    told = quiet.run("approvals", "rules", "--json").json()
    assert told["allowed"] == sorted(PROGRAMS)
    assert told["operator"]["commands"] == [{"key": "make test", "approve": True, "matchCommandLine": False}]
    assert "make test: true" in quiet.run("approvals", "rules").out


def test_full_access_of_the_operator_is_told(quiet: Any) -> None:
    """M6.3b."""
    configured(quiet, 'access = "full"\n')
    assert quiet.run("approvals", "explain", "rm -rf /", "--json").json()["row"] == "fullAccess"


def test_only_one_thing_is_explained_at_a_time(inside: Any) -> None:
    assert inside("approvals", "explain", "ls", "--read", "x").code == exit_codes.USAGE


def test_a_session_of_a_host_counts_with_its_own_configuration(live: Any) -> None:
    live.run("chat", "--new", "-m", "hello")
    session = live.run("sessions", "list", "--json").json()["sessions"][0]["resource"]
    told = live.run("approvals", "explain", "--write", "a.py", "--session", session, "--json").json()
    assert (told["outcome"], told["row"]) == ("approve", "write")
    told = live.run("approvals", "explain", "--write", "/etc/a.py", "--session", session, "--json").json()
    assert (told["outcome"], told["row"]) == ("ask", "write")
