"""From what is shown to what is to be shown, in as few actions as that takes (AHP §7, changeset). Pure.

Rules
* A file that is as it was is not sent again, and stays reviewed. One that changed is, without `reviewed`: whoever read
  it has not read this (AHP Appendix A, `ChangesetFile.reviewed`).
* Few changes are `fileSet` and `fileRemoved`, many are one `contentChanged` with everything.
* `error` goes with the status `error`; what was shown before stays beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.host.changesets.files import JsonFile

State = Mapping[str, Any]

ONE_BY_ONE: Final = 64
"""Up to so many files are sent one by one."""


def file_actions(state: State, files: Sequence[JsonFile]) -> list[dict[str, Any]]:
    """What turns the files of `state` into `files`."""
    shown = {file["id"]: file for file in state.get("files") or ()}
    wanted = {file["id"]: file for file in files}
    gone = [id for id in shown if id not in wanted]
    changed = [file for id, file in wanted.items() if id not in shown or not same(shown[id], file)]
    if len(gone) + len(changed) > ONE_BY_ONE:
        kept = [shown[id] if id in shown and same(shown[id], file) else file for id, file in wanted.items()]
        return [{"type": "changeset/contentChanged", "files": kept}]
    return [
        *({"type": "changeset/fileRemoved", "fileId": id} for id in gone),
        *({"type": "changeset/fileSet", "file": file} for file in changed),
    ]


def status_action(state: State, status: str, error: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """What gives the changeset that status; nothing when it has it."""
    if state.get("status") == status and state.get("error") == error:
        return []
    return [{"type": "changeset/statusChanged", "status": status, **({} if error is None else {"error": error})}]


def operation_actions(state: State, operations: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """What makes those the operations. One that runs, or failed, says so until it is invoked again."""
    old = {operation["id"]: operation for operation in state.get("operations") or ()}
    wanted = None if operations is None else [_kept(old.get(operation["id"]), operation) for operation in operations]
    if (state.get("operations") or None) == (wanted or None):
        return []
    return [{"type": "changeset/operationsChanged", **({} if wanted is None else {"operations": wanted})}]


def same(shown: JsonFile, file: JsonFile) -> bool:
    """Whether the two show the same edit."""
    return bool(shown.get("edit") == file.get("edit") and shown.get("_meta") == file.get("_meta"))


def _kept(old: Mapping[str, Any] | None, operation: Mapping[str, Any]) -> Mapping[str, Any]:
    if old is None or old.get("status") not in ("running", "error"):
        return operation
    error = {"error": old["error"]} if "error" in old else {}
    return {**operation, "status": old["status"], **error}
