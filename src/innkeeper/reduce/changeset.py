"""Reducer of a changeset channel (AHP §7, Others).

An `error` belongs to the status `error` and goes with it, for the changeset and for each operation;
`changeset/contentChanged` says nothing about it and keeps both.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, assert_never

from innkeeper.protocol.changeset.actions import (
    ChangesetAction,
    ChangesetOperationStatusChangedAction,
    ChangesetStatusChangedAction,
)
from innkeeper.protocol.changeset.state import ChangesetState
from innkeeper.reduce.fields import drop, put, put_all, same_items, update, upsert

M = TypeVar("M", bound=Mapping[str, Any])


def reduce_changeset(state: ChangesetState, action: ChangesetAction) -> ChangesetState:
    """The changeset state after `action`."""
    match action["type"]:
        case "changeset/statusChanged":
            return _moved(state, action)
        case "changeset/fileSet":
            return upsert(state, "files", action["file"])
        case "changeset/fileRemoved":
            return drop(state, "files", action["fileId"])
        case "changeset/filesReviewChanged":
            return _reviewed(state, action["files"], action["reviewed"])
        case "changeset/contentChanged":
            operations = action.get("operations")
            changed = put(state, "files", action["files"])
            return changed if operations is None else put(changed, "operations", operations)
        case "changeset/operationsChanged":
            return put(state, "operations", action.get("operations"))
        case "changeset/operationStatusChanged":
            return update(state, "operations", action["operationId"], lambda operation: _moved(operation, action))
        case "changeset/cleared":
            return put(state, "files", []) if state.get("files") else state
        case _ as unknown:
            assert_never(unknown)


def _moved(subject: M, action: ChangesetStatusChangedAction | ChangesetOperationStatusChangedAction) -> M:
    status = action["status"]
    return put_all(subject, {"status": status, "error": action.get("error") if status == "error" else None})


def _reviewed(state: ChangesetState, files: Sequence[str], reviewed: bool) -> ChangesetState:
    named = set(files)
    current: Sequence[Mapping[str, Any]] = state.get("files") or ()
    marked = [put(file, "reviewed", reviewed) if file.get("id") in named else file for file in current]
    return state if same_items(marked, current) else put(state, "files", marked)
