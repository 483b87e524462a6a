"""Every shared reducer case of AHP 1.0.0 against our reducers. AHP §7: `null` and absent are one."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.reduce import reduce

CASES = 286


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def check(case: dict[str, Any]) -> None:
    initial, actions = case["initial"], case["actions"]
    before = copy.deepcopy((initial, actions))
    state = initial
    for action in actions:
        kept = copy.deepcopy(state)
        after = reduce(case["reducer"], state, action)
        assert state == kept, "the state before an action was changed"
        state = after
    assert without_nulls(state) == without_nulls(case["expected"])
    assert (initial, actions) == before, "the input was changed"


def test_every_shared_reducer_case_passes_and_none_is_left_out(shared: Path) -> None:
    """AHP §7; the file list is counted, so that a missing or unread file is an error."""
    files = sorted((shared / "ahp" / "fixtures" / "reducers").glob("*.json"))
    assert len(files) == CASES
    failures: list[str] = []
    for file in files:
        try:
            check(json.loads(file.read_text(encoding="utf-8")))
        except Exception as error:
            failures.append(f"{file.name}: {error!r}")
    if failures:
        pytest.fail(f"{len(failures)} of {len(files)} cases:\n" + "\n".join(failures))


def test_states_written_by_the_reducers_omit_absent_fields(shared: Path) -> None:
    """AHP §1: optional fields are omitted on the wire. Only what an action brought may hold a null."""
    for file in sorted((shared / "ahp" / "fixtures" / "reducers").glob("*.json")):
        case = without_nulls(json.loads(file.read_text(encoding="utf-8")))
        state = case["initial"]
        for action in case["actions"]:
            state = reduce(case["reducer"], state, action)
        assert state == without_nulls(state), file.name
