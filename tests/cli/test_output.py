"""What is printed fits the terminal, the pipe and the person (architecture §3.14, issue 2)."""

import pty
import re
import subprocess
import sys
from typing import Any

import pytest

from innkeeper.cli import output

HEADS = ("server", "状态", "declared")
ROWS = [("files", "connected", ".mcp.json:3"), ("a name that is\nlong " * 3, "失败", ".vscode/mcp.json:1")]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def show(columns: int) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        output.print_table(HEADS, ROWS)
        return capsys.readouterr().out

    return show


def test_a_pipe_gets_one_line_a_row_and_whole_cells(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(HEADS, ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == [
        "server",
        "files",
        "a name that is long " * 2 + "a name that is long",
    ]


@pytest.mark.parametrize("columns", [120, 200])
def test_a_terminal_gets_a_table(terminal: Any, columns: int) -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal(columns))
    assert next(line.split() for line in shown.splitlines() if HEADS[0] in line) == list(HEADS)


@pytest.mark.parametrize("columns", [20, 40, 60])
def test_a_narrow_terminal_gets_a_paragraph_a_row(terminal: Any, columns: int) -> None:
    assert terminal(columns).splitlines()[:4] == ["server    files", "状态      connected", "declared  .mcp.json:3", ""]


def on_terminal(home: Any, *words: str, **more: str) -> str:
    """What a command prints at a terminal of 80 columns."""
    master, slave = pty.openpty()
    environment = {**home.environment, "TERM": "xterm-256color", **more}
    with open(master, "rb", buffering=0) as shown:
        done = subprocess.run(
            [sys.executable, "-m", "innkeeper", *words], cwd=home.project, env=environment,
            stdin=slave, stdout=slave, stderr=slave, timeout=20, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 1)
        return shown.read(65536).decode()


@pytest.mark.parametrize("words", [["customizations", "list"], ["doctor"], ["mcp", "presets"]], ids=" ".join)
def test_colour_is_for_terminals_and_for_who_wants_it(quiet: Any, words: list[str]) -> None:
    """NO_COLOR (no-color.org) counts everywhere; what is said is the same."""
    quiet.declare(a={"command": "x"})
    coloured = on_terminal(quiet, *words)
    plain = on_terminal(quiet, *words, NO_COLOR="1")
    assert re.search(r"\x1b\[[0-9;]*3[0-9]m|\x1b\[1m", coloured)
    assert not re.search(r"\x1b\[[0-9;]*[349][0-9]m", plain)
    assert "\x1b" not in quiet.run(*words).out
