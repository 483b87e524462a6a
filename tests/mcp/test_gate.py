"""The gate's one decision (M6.3-M6.8)."""

import itertools
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.gate import Call, Decision, decide
from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance
from innkeeper.ports.decisions import Grant
from innkeeper.ports.mcp import GateWhy
from innkeeper.ports.questions import Reason, Rules

CALL = Call(workspace="file:///repo", tool="mcp__git__log", fingerprint="sha256:1")
GRANT = Grant("file:///repo", "tool", "mcp__git__log", "sha256:1", "now")
NOTHING = McpSettings()
ASKING = Rules(asks=(Reason("gate.why.askingRule", {}),))


def test_a_tool_that_nobody_allowed_is_asked_about() -> None:
    assert decide(CALL, NOTHING, []) == Decision("ask", "unknown")


@pytest.mark.parametrize(
    ("call", "settings", "grants", "decision"),
    [
        (CALL, McpSettings(trust_mode="all"), [], Decision("allow", "trustMode")),
        (CALL, McpSettings(trusted_workspaces=frozenset({"/repo"})), [], Decision("allow", "trustedWorkspace")),
        (
            CALL,
            McpSettings(workspace_allowances=(WorkspaceAllowance("/repo", allow_tools=frozenset({CALL.tool})),)),
            [],
            Decision("allow", "allowance"),
        ),
        (CALL, NOTHING, [GRANT], Decision("allow", "grant")),
        (replace(CALL, full_access=True), NOTHING, [], Decision("allow", "fullAccess")),
        (CALL, McpSettings(full_access=True), [], Decision("allow", "fullAccess")),
        (replace(CALL, by_person=True), NOTHING, [], Decision("allow", "person")),
        (replace(CALL, questions=False), NOTHING, [], Decision("pass", "noQuestions")),
        (replace(CALL, subagent=True), NOTHING, [], Decision("pass", "childAgent")),
        (replace(CALL, subagent=True), McpSettings(gate_child_agents=True), [], Decision("ask", "unknown")),
        (replace(CALL, project_server=False), NOTHING, [], Decision("pass", "notOurs")),
    ],
)
def test_not_asked_cases(call: Call, settings: McpSettings, grants: list[Grant], decision: Decision) -> None:
    """M6.3"""
    assert decide(call, settings, grants) == decision


@pytest.mark.parametrize(
    "grant",
    [
        GRANT._replace(fingerprint="sha256:2"),
        GRANT._replace(name="mcp__git__push"),
        GRANT._replace(workspace="file:///repo/sub"),
        GRANT._replace(kind="server"),
    ],
)
def test_grant_for_something_else_does_not_count(grant: Grant) -> None:
    """M6.1: after a change of the declaration the next call asks again."""
    assert decide(CALL, NOTHING, [grant]).outcome == "ask"


def test_server_allowance_and_trust_of_another_directory_allow_no_tool() -> None:
    settings = McpSettings(
        trusted_workspaces=frozenset({"/repo/sub"}),
        workspace_allowances=(WorkspaceAllowance("/repo", allow_mcp=frozenset({"git", CALL.tool})),),
    )
    assert decide(CALL, settings, []).outcome == "ask"


def test_a_deny_wins_over_everything() -> None:
    """M6.7, M6.8"""
    everything = McpSettings(trust_mode="all", full_access=True)
    for change in ({"rules": Rules("session")}, {"rules": Rules("operator")}, {"excluded_by_project": True}):
        for by_person, full, questions in itertools.product([True, False], repeat=3):
            call = replace(CALL, by_person=by_person, full_access=full, questions=questions, **change)
            assert decide(call, everything, [GRANT]).outcome == "deny"


def test_a_rule_that_asks_on_purpose_still_asks_except_under_full_access() -> None:
    call = replace(CALL, rules=ASKING)
    for settings in (McpSettings(trust_mode="all"), McpSettings(trusted_workspaces=frozenset({"/repo"})), NOTHING):
        assert decide(call, settings, [GRANT]) == Decision("ask", "askingRule", ASKING.asks)
    assert decide(replace(call, subagent=True), NOTHING, []) == Decision("ask", "askingRule", ASKING.asks)
    assert decide(replace(call, full_access=True), NOTHING, []) == Decision("allow", "fullAccess")
    assert decide(replace(call, by_person=True), NOTHING, []) == Decision("allow", "person")


def test_the_gates_own_question_says_what_the_rules_would_have_asked() -> None:
    """M6.8: the person is asked once."""
    assert decide(replace(CALL, rules=ASKING), NOTHING, []) == Decision("ask", "unknown", ASKING.asks)


def test_where_nobody_can_be_asked_a_rule_that_asks_is_a_denial() -> None:
    """M6.8: a pass of the gate cancels no ask of a rule."""
    call = replace(CALL, rules=ASKING, questions=False)
    for settings in (NOTHING, McpSettings(trust_mode="all")):
        assert decide(call, settings, [GRANT]) == Decision("deny", "unanswerable")


CALLS = st.builds(
    Call,
    workspace=st.sampled_from(["file:///repo", "file:///other"]),
    tool=st.sampled_from([CALL.tool, "mcp__git__push"]),
    fingerprint=st.sampled_from(["sha256:1", "sha256:2"]),
    project_server=st.booleans(),
    by_person=st.booleans(),
    subagent=st.booleans(),
    full_access=st.booleans(),
    questions=st.booleans(),
    rules=st.sampled_from([Rules(), Rules("session"), Rules("operator"), ASKING]),
    excluded_by_project=st.booleans(),
)
SETTINGS = st.builds(
    McpSettings,
    trust_mode=st.sampled_from(["manual", "all"]),
    trusted_workspaces=st.sets(st.sampled_from(["/repo", "/other"])).map(frozenset),
    full_access=st.booleans(),
    gate_child_agents=st.booleans(),
)


@given(call=CALLS, settings=SETTINGS, grants=st.lists(st.just(GRANT), max_size=1))
def test_every_decision_keeps_the_order(call: Call, settings: McpSettings, grants: list[Grant]) -> None:
    """M6.8, whatever comes together."""
    decision = decide(call, settings, grants)
    assert decision.why in get_args(GateWhy)
    if not call.project_server:
        assert decision.outcome == "pass"
        return
    denied = call.rules.denied_by is not None or call.excluded_by_project
    full = call.by_person or call.full_access or settings.full_access
    assert (decision.outcome == "deny") == (denied or (not full and bool(call.rules.asks) and not call.questions))
    if denied:
        return
    if full:
        assert decision.outcome == "allow"
    elif call.rules.asks and call.questions:
        assert decision.outcome == "ask"
    if decision.outcome == "ask":
        assert call.questions and not call.by_person
        assert decision.also == call.rules.asks
