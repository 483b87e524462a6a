"""The project's own reducer cases (`tests/fixtures/reducers`): plain JSON that a port in any language can run.

A file holds the cases of one action as a list of `{description, rule, reducer, initial, actions, expected}`.
`null` and absent are one (AHP §1). A case whose `expected` equals `initial` is a no-op: the very same state must
come back. In every case the input must stay as it was, and what is not expected to change must keep its identity.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.channels import STATES
from innkeeper.protocol.check import check, check_action
from innkeeper.reduce import reduce

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "reducers"
FIELDS = {"description", "rule", "reducer", "initial", "actions", "expected"}

NEVER_CHANGES = {
    "terminal/input",
    "resourceWatch/changed",
    "automation/createRequested",
    "automation/updateRequested",
    "automationRun/cancelRequested",
}
"""Requests and events: the state never changes."""

ALWAYS_CHANGES = {
    "root/agentsChanged",
    "root/terminalsChanged",
    "session/creationFailed",
    "session/chatAdded",
    "session/serverToolsChanged",
    "session/activeClientSet",
    "session/inputNeededSet",
    "session/customizationsChanged",
    "session/customizationUpdated",
    "session/artifactSet",
    "chat/turnStarted",
    "chat/backgroundWorkSet",
    "chat/pendingMessageSet",
    "chat/steeringMessageSet",
    "terminal/claimed",
    "terminal/commandExecuted",
    "changeset/fileSet",
    "changeset/contentChanged",
    "annotations/set",
    "canvas/stateChanged",
    "automation/set",
    "automationRun/lifecycleChanged",
}
"""Structures replaced without comparing: no rule makes these a no-op."""


def load() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{path.parent.name}/{path.stem}: {case['description']}", case)
        for path in sorted(FIXTURES.glob("*/*.json"))
        for case in json.loads(path.read_text(encoding="utf-8"))
    ]


CASES = load()


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def text_of(value: Any) -> str:
    """One text per JSON value; unlike `==` it tells `1`, `1.0` and `true` apart."""
    return json.dumps(value, sort_keys=True)


def is_no_op(case: dict[str, Any]) -> bool:
    return text_of(case["expected"]) == text_of(case["initial"])


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_case_reduces_as_its_rule_says(case: dict[str, Any]) -> None:
    """AHP §7; the clause of each case is its `rule`."""
    initial, actions = case["initial"], case["actions"]
    before = copy.deepcopy((initial, actions))
    state = initial
    for action in actions:
        state = reduce(case["reducer"], state, action)
    assert text_of(without_nulls(state)) == text_of(without_nulls(case["expected"]))
    assert (initial, actions) == before
    if is_no_op(case):
        assert state is initial
    elif case["reducer"] != "canvas":
        kept = [key for key in initial if key in state and text_of(state[key]) == text_of(initial[key])]
        assert all(state[key] is initial[key] for key in kept)


def test_there_are_at_least_as_many_cases_as_upstream_has() -> None:
    """Issue 2, §3."""
    assert len(CASES) >= 286
    assert len({name for name, _ in CASES}) == len(CASES)


def test_every_case_has_the_documented_shape_and_place() -> None:
    for path in sorted(FIXTURES.glob("*/*.json")):
        for case in json.loads(path.read_text(encoding="utf-8")):
            assert set(case) == FIELDS, case["description"]
            assert case["reducer"] == path.parent.name
            assert case["rule"] and case["description"] and case["actions"]
            assert path.stem in {action["type"].partition("/")[2] for action in case["actions"]}


def test_every_action_has_a_case_that_changes_something_and_one_that_does_not() -> None:
    """AHP §7: the whole table of actions."""
    single = [case for _, case in CASES if len(case["actions"]) == 1]
    effects = {case["actions"][0]["type"] for case in single if not is_no_op(case)}
    no_ops = {case["actions"][0]["type"] for case in single if is_no_op(case)}
    assert set(ACTIONS) - effects == NEVER_CHANGES
    assert set(ACTIONS) - no_ops == ALWAYS_CHANGES


def test_every_channel_ignores_action_types_it_does_not_know() -> None:
    """AHP §1: unknown action types are ignored."""
    unknown = {case["reducer"] for _, case in CASES if case["actions"][0]["type"] not in ACTIONS}
    assert unknown == {spec.channel for spec in ACTIONS.values()}


def test_every_case_speaks_of_values_that_the_protocol_allows() -> None:
    """Actions pass the check at the door; states do too, unless the case is about one that lacks something."""
    for name, case in CASES:
        kind = case["reducer"]
        for action in case["actions"]:
            check_action(without_nulls(action))
        if not case["rule"].startswith("reducers never fail"):
            for state in (case["initial"], case["expected"]):
                check(STATES[kind], without_nulls(state), name)
