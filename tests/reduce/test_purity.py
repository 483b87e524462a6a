"""The layer stays pure: which modules it may know, and that states come back usable (architecture §3)."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import innkeeper.reduce
from innkeeper.reduce import reduce

MODULES = sorted(Path(innkeeper.reduce.__file__).parent.rglob("*.py"))
ALLOWED = {"collections.abc", "datetime", "operator", "types", "typing"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_reducer_module_imports_nothing_that_knows_a_clock_a_file_or_chance(path: Path) -> None:
    """AHP §6: reducers are pure and deterministic."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= ALLOWED
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert module in ALLOWED or module.startswith(("innkeeper.reduce", "innkeeper.protocol"))
        elif isinstance(node, ast.Attribute):
            assert node.attr not in ("now", "utcnow", "today"), "a reducer has no clock"


def chat(parts: list[Any], turns: int = 0) -> dict[str, Any]:
    message = {"text": "Go", "origin": {"kind": "user"}}
    start = "2026-03-01T08:00:00.000Z"
    done = [{"id": f"t{n}", "message": message, "responseParts": [], "state": "complete"} for n in range(turns)]
    active = {"id": "t", "startedAt": start, "message": message, "responseParts": parts}
    return {"resource": "c", "title": "", "status": 8, "modifiedAt": start, "turns": done, "activeTurn": active}


def test_a_delta_rebuilds_the_turn_its_parts_and_the_part_and_nothing_else() -> None:
    """Deltas cost the active turn, never the history."""
    state = chat([{"kind": "markdown", "id": "p", "content": "a"}, {"kind": "reasoning", "id": "q", "content": ""}], 3)
    after: Any = reduce("chat", state, {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "b"})
    assert after["activeTurn"]["responseParts"][0] == {"kind": "markdown", "id": "p", "content": "ab"}
    assert after["activeTurn"]["responseParts"][1] is state["activeTurn"]["responseParts"][1]
    assert after["activeTurn"]["message"] is state["activeTurn"]["message"]
    assert after["turns"] is state["turns"]


def test_a_tool_call_action_leaves_the_other_parts_alone() -> None:
    call = {"toolCallId": "k", "toolName": "n", "displayName": "N", "status": "streaming", "_meta": {"a": [1]}}
    state = chat([{"kind": "markdown", "id": "p", "content": "a"}, {"kind": "toolCall", "toolCall": call}], 2)
    ready = {"type": "chat/toolCallReady", "turnId": "t", "toolCallId": "k", "invocationMessage": "Run"}
    after: Any = reduce("chat", state, ready)
    parts = after["activeTurn"]["responseParts"]
    assert parts[0] is state["activeTurn"]["responseParts"][0]
    assert parts[1]["toolCall"]["_meta"] is call["_meta"]
    assert after["turns"] is state["turns"]
    assert after["status"] == 24


def test_the_end_of_a_turn_keeps_the_history_and_finished_parts() -> None:
    state = chat([{"kind": "markdown", "id": "p", "content": "a"}], 2)
    after: Any = reduce("chat", state, {"type": "chat/turnComplete", "turnId": "t", "duration": 1})
    assert all(new is old for new, old in zip(after["turns"], state["turns"], strict=False))
    assert after["turns"][2]["responseParts"][0] is state["activeTurn"]["responseParts"][0]
    assert "activeTurn" not in after


def test_a_payload_is_stored_as_the_object_that_came() -> None:
    """The wire shape is the model: nothing is copied, converted or filled in (architecture §3, principle 2)."""
    draft = {"text": "x", "origin": {"kind": "user"}, "futureField": {"deep": [None]}}
    after: Any = reduce("chat", chat([]), {"type": "chat/draftChanged", "draft": draft})
    assert after["draft"] is draft
    assert json.loads(json.dumps(after)) == after
