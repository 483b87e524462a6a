"""What is sent for a changeset, and what a reviewed file is (AHP Appendix A, `ChangesetFile.reviewed`)."""

from typing import Any

from innkeeper.host.changesets.publishing import ONE_BY_ONE, file_actions, operation_actions, status_action
from innkeeper.reduce import reduce


def file(id: str, nonce: str = "1") -> dict[str, Any]:
    return {"id": id, "edit": {"after": {"uri": id, "content": {"uri": "c:/" + nonce, "nonce": nonce}}}}


def after(state: dict[str, Any], files: list[dict[str, Any]]) -> Any:
    reduced: Any = state
    for action in file_actions(state, files):
        reduced = reduce("changeset", reduced, action)  # type: ignore[arg-type]
    return reduced


def test_an_unchanged_file_is_not_sent_and_stays_reviewed() -> None:
    state = {"status": "ready", "files": [{**file("a"), "reviewed": True}, file("b")]}
    assert file_actions(state, [file("a"), file("b")]) == []
    assert after(state, [file("a"), file("b", "2")])["files"] == [{**file("a"), "reviewed": True}, file("b", "2")]


def test_a_file_that_changes_again_is_not_reviewed_any_more() -> None:
    state = {"status": "ready", "files": [{**file("a"), "reviewed": True}]}
    assert after(state, [file("a", "2")])["files"] == [file("a", "2")]


def test_a_file_that_is_as_it_was_before_all_leaves_the_set() -> None:
    state = {"status": "ready", "files": [file("a"), file("b")]}
    assert file_actions(state, [file("b")]) == [{"type": "changeset/fileRemoved", "fileId": "a"}]


def test_many_changes_are_one_action_and_review_stays() -> None:
    many = [file(f"f{n:03}") for n in range(ONE_BY_ONE + 10)]
    state = {"status": "ready", "files": [{**file("f000"), "reviewed": True}]}
    (action,) = file_actions(state, many)
    assert action["type"] == "changeset/contentChanged"
    assert action["files"][0] == {**file("f000"), "reviewed": True}
    assert [f["id"] for f in action["files"]] == [f["id"] for f in many]


def test_a_status_is_said_once() -> None:
    error = {"errorType": "computeFailed", "message": "no"}
    assert status_action({"status": "ready"}, "ready") == []
    assert status_action({"status": "error", "error": error}, "error", error) == []
    assert status_action({"status": "ready"}, "error", error) == [
        {"type": "changeset/statusChanged", "status": "error", "error": error}
    ]


def test_operations_keep_how_the_last_invocation_ended() -> None:
    idle = [{"id": "commit", "label": "Commit", "scopes": ["changeset"], "status": "idle"}]
    failed = {**idle[0], "status": "error", "error": {"errorType": "GIT_LOCKED", "message": "x"}}
    assert operation_actions({"operations": idle}, idle) == []
    assert operation_actions({"operations": [failed]}, idle) == []
    assert operation_actions({}, idle) == [{"type": "changeset/operationsChanged", "operations": idle}]
    assert operation_actions({"operations": idle}, None) == [{"type": "changeset/operationsChanged"}]
