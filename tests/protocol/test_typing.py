"""What the type checker must refuse in code that uses the declarations (architecture §3, dependencies §1.3)."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
HEAD = """
from typing import assert_never

from innkeeper.protocol.chat.actions import ChatAction
from innkeeper.protocol.chat.state import ChatState, ResponsePart, ToolCallState, Turn
from innkeeper.protocol.terminal.actions import TerminalAction

"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def errors(code: str, cache: Path, folder: Path) -> list[str]:
    """mypy's lines on a snippet, without the place."""
    snippet = folder / "snippet.py"
    snippet.write_text(HEAD + textwrap.dedent(code), "utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", str(snippet)],
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
        env=os.environ | {"MYPYPATH": str(SOURCE)},
    )
    assert result.returncode in (0, 1), result.stdout + result.stderr
    return [line.split(": ", 2)[2] for line in result.stdout.splitlines() if ": error: " in line]


def test_reading_narrowing_and_copying_need_no_help(cache: Path, tmp_path: Path) -> None:
    code = """
        def describe(action: TerminalAction) -> str:
            match action["type"]:
                case "terminal/data" | "terminal/input":
                    return action["data"]
                case "terminal/exited":
                    return str(action.get("exitCode", 0))
                case _:
                    return action["type"]

        def retitle(state: ChatState, title: str) -> ChatState:
            return {**state, "title": title}

        def add(state: ChatState, turn: Turn) -> ChatState:
            return {**state, "turns": [*state["turns"], turn]}

        def text(part: ResponsePart) -> str:
            return part["content"] if part["kind"] == "markdown" else ""

        def result(call: ToolCallState) -> bool:
            return call["status"] == "completed" and call["success"]

        def approved(action: ChatAction) -> str:
            if action["type"] == "chat/toolCallConfirmed":
                return action["confirmed"] if action["approved"] else action["reason"]
            return ""
    """
    assert errors(code, cache, tmp_path) == []


def test_mistakes_are_errors(cache: Path, tmp_path: Path) -> None:
    code = """
        def write(state: ChatState) -> None:
            state["title"] = "x"
            del state["modifiedAt"]
            state["turns"].append(state["turns"][0])

        def misspell(state: ChatState) -> ChatState:
            return {**state, "titel": "x"}

        def wrong_value(state: ChatState) -> ChatState:
            return {**state, "title": 5}

        def wrong_tag(action: TerminalAction) -> bool:
            return action["type"] == "terminal/dada"

        def forget(action: TerminalAction) -> str:
            match action["type"]:
                case "terminal/data":
                    return action["data"]
            assert_never(action)
    """
    found = errors(code, cache, tmp_path)
    for part in (
        'ReadOnly TypedDict key "title" TypedDict is mutated',
        'Key "modifiedAt" of TypedDict "ChatState" cannot be deleted',
        'has no attribute "append"',
        'Extra key "titel" for TypedDict "ChatState"',
        'Incompatible types (expression has type "int", TypedDict item "title" has type "str")',
        "Non-overlapping equality check",
        'Argument 1 to "assert_never" has incompatible type',
    ):
        assert any(part in line for line in found), (part, found)
    assert len(found) == 7, found
