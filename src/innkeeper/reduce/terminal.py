"""Reducer of a terminal channel (AHP §7, Others).

`terminal/input` changes nothing: what a process prints cannot be predicted (AHP §6).
"""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from innkeeper.protocol.terminal.actions import (
    TerminalAction,
    TerminalCommandExecutedAction,
    TerminalCommandFinishedAction,
)
from innkeeper.protocol.terminal.state import TerminalState
from innkeeper.reduce.fields import present, put, put_all, same_items


def reduce_terminal(state: TerminalState, action: TerminalAction) -> TerminalState:
    """The terminal state after `action`."""
    match action["type"]:
        case "terminal/data":
            return _data(state, action["data"])
        case "terminal/input":
            return state
        case "terminal/resized":
            return put_all(state, {"cols": action["cols"], "rows": action["rows"]})
        case "terminal/claimed":
            return put(state, "claim", action["claim"])
        case "terminal/titleChanged":
            return put(state, "title", action["title"])
        case "terminal/cwdChanged":
            return put(state, "cwd", action["cwd"])
        case "terminal/exited":
            return _exited(state, action.get("exitCode"))
        case "terminal/cleared":
            return put(state, "content", []) if state.get("content") else state
        case "terminal/commandDetectionAvailable":
            return put(state, "supportsCommandDetection", True)
        case "terminal/commandExecuted":
            return _command_executed(state, action)
        case "terminal/commandFinished":
            return _command_finished(state, action)
        case _ as unknown:
            assert_never(unknown)


def _data(state: TerminalState, data: str) -> TerminalState:
    """Output belongs to the open command at the end, else to trailing unclassified text, else it starts such text."""
    content: Sequence[Mapping[str, Any]] = state.get("content") or ()
    last: Mapping[str, Any] = content[-1] if content else {}
    match last.get("type"):
        case "command" if not last.get("isComplete"):
            field = "output"
        case "unclassified":
            field = "value"
        case _:
            return put(state, "content", [*content, {"type": "unclassified", "value": data}])
    if not data:
        return state
    return put(state, "content", [*content[:-1], put(last, field, (last.get(field) or "") + data)])


def _exited(state: TerminalState, exit_code: int | None) -> TerminalState:
    lifecycle: Mapping[str, Any] = present({"status": "exited", "exitCode": exit_code})
    current: Mapping[str, Any] | None = state.get("lifecycle")
    return state if current == lifecycle else put(state, "lifecycle", lifecycle)


def _command_executed(state: TerminalState, action: TerminalCommandExecutedAction) -> TerminalState:
    command = {
        "type": "command",
        "commandId": action["commandId"],
        "commandLine": action["commandLine"],
        "output": "",
        "timestamp": action["timestamp"],
        "isComplete": False,
    }
    return put_all(state, {"content": [*(state.get("content") or ()), command], "supportsCommandDetection": True})


def _command_finished(state: TerminalState, action: TerminalCommandFinishedAction) -> TerminalState:
    result = {"isComplete": True, "exitCode": action.get("exitCode"), "durationMs": action.get("durationMs")}
    content: Sequence[Mapping[str, Any]] = state.get("content") or ()
    finished = [
        put_all(part, result)
        if part.get("type") == "command" and part.get("commandId") == action["commandId"]
        else part
        for part in content
    ]
    return state if same_items(finished, content) else put(state, "content", finished)
