"""The comparison with the published schemas finds what it should and nothing else (issue 2 section 2)."""

import copy
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "drift_protocol.py"


@pytest.fixture(scope="module")
def drift() -> ModuleType:
    spec = importlib.util.spec_from_file_location("drift_protocol", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=30, check=False
    )


def test_the_declarations_agree_with_both_schemas(shared: Path) -> None:
    result = run(str(shared))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 of them unexplained" in result.stdout


def test_without_the_schemas_nothing_is_compared_and_that_is_said(tmp_path: Path) -> None:
    result = run(str(tmp_path))
    assert result.returncode == 0
    assert "not compared" in result.stdout


def remove_action(definitions: dict[str, Any]) -> None:
    del definitions["TerminalExitedAction"]


def add_action(definitions: dict[str, Any]) -> None:
    definitions["ChatNewAction"] = {"type": "object", "properties": {"type": {"const": "chat/new"}}}


def rename_tag(definitions: dict[str, Any]) -> None:
    definitions["ChatDeltaAction"]["properties"]["type"]["const"] = "chat/deltas"


def add_member(definitions: dict[str, Any]) -> None:
    definitions["Turn"]["properties"]["extra"] = {"type": "string"}


def remove_member(definitions: dict[str, Any]) -> None:
    del definitions["UsageInfo"]["properties"]["model"]


def require_member(definitions: dict[str, Any]) -> None:
    definitions["Turn"]["required"].append("duration")


def free_member(definitions: dict[str, Any]) -> None:
    definitions["ChatSummary"]["required"].remove("title")


def change_type(definitions: dict[str, Any]) -> None:
    definitions["CanvasState"]["properties"]["title"] = {"type": "number"}


def change_reference(definitions: dict[str, Any]) -> None:
    definitions["ChatState"]["properties"]["activeTurn"] = {"$ref": "#/$defs/Turn"}


def change_items(definitions: dict[str, Any]) -> None:
    definitions["ChatState"]["properties"]["turns"]["items"] = {"$ref": "#/$defs/ActiveTurn"}


def make_array(definitions: dict[str, Any]) -> None:
    definitions["CanvasState"]["properties"]["title"] = {"type": "array", "items": {"type": "string"}}


def add_value(definitions: dict[str, Any]) -> None:
    definitions["TurnState"]["enum"].append("paused")


def add_variant(definitions: dict[str, Any]) -> None:
    definitions["ResponsePart"]["oneOf"].append({"$ref": "#/$defs/Turn"})


def remove_variant(definitions: dict[str, Any]) -> None:
    definitions["ToolCallState"]["oneOf"].pop()


def change_variant_in_place(definitions: dict[str, Any]) -> None:
    definitions["ChatOrigin"]["oneOf"][1]["properties"]["turn"] = {"type": "string"}


def add_code(definitions: dict[str, Any]) -> None:
    definitions["AhpErrorCode"]["enum"].append(-32012)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (remove_action, "TerminalExitedAction: only ours"),
        (add_action, "action chat/new: only theirs"),
        (rename_tag, "ChatDeltaAction.type: values differ: chat/delta, chat/deltas"),
        (add_member, "Turn.extra: only theirs"),
        (remove_member, "UsageInfo.model: only ours"),
        (require_member, "Turn.duration: required in the schema"),
        (free_member, "ChatSummary.title: optional in the schema"),
        (change_type, "CanvasState.title: number in the schema"),
        (change_reference, "ChatState.activeTurn: Turn in the schema"),
        (change_items, "ChatState.turns[]: ActiveTurn in the schema"),
        (make_array, "CanvasState.title: an array in the schema"),
        (add_value, "TurnState: values differ: paused"),
        (add_variant, "ResponsePart: no variant like #/$defs/Turn"),
        (remove_variant, "ToolCallState: only ours: ToolCallCancelledState"),
        (change_variant_in_place, "ChatOrigin.turn: only theirs"),
        (add_code, "error -32012: only theirs"),
    ],
)
def test_each_kind_of_difference_is_found(
    drift: ModuleType, shared: Path, change: Callable[[dict[str, Any]], None], line: str
) -> None:
    definitions = copy.deepcopy(drift.read_schemas(shared / "ahp" / "schema-1.0.0"))
    declared = drift.read_declarations()
    before = set(drift.Comparison(definitions, declared).differences())
    change(definitions)
    after = set(drift.Comparison(definitions, declared).differences())
    assert line in after - before


def test_what_no_explanation_covers_is_left(drift: ModuleType) -> None:
    left = list(drift.unexplained(["schema: A.b[]: x", "schema: C: y"], {"*: C: *": "because"}))
    assert left == ["schema: A.b[]: x"]


def test_an_explanation_that_nothing_needs_is_reported(drift: ModuleType) -> None:
    assert list(drift.unexplained([], {"*: C: *": "because"})) == ["explained, but no such difference: *: C: *"]


def test_every_explanation_gives_a_reason(drift: ModuleType) -> None:
    assert all(drift.EXPLAINED.values())
