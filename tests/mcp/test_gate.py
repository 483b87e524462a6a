"""The gate's one decision (M6.3-M6.8)."""

import itertools
from dataclasses import replace

import pytest

from innkeeper.mcp.gate import Call, Decision, decide
from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance
from innkeeper.ports.decisions import Grant

CALL = Call(workspace="file:///repo", tool="mcp__git__log", fingerprint="sha256:1")
GRANT = Grant("file:///repo", "tool", "mcp__git__log", "sha256:1", "now")
NOTHING = McpSettings()


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
    for change in ({"denied_by_rule": True}, {"excluded_by_project": True}):
        for by_person, full, questions in itertools.product([True, False], repeat=3):
            call = replace(CALL, by_person=by_person, full_access=full, questions=questions, **change)
            assert decide(call, everything, [GRANT]).outcome == "deny"


def test_a_rule_that_asks_on_purpose_still_asks_except_under_full_access() -> None:
    call = replace(CALL, asked_by_rule=True)
    assert decide(call, McpSettings(trust_mode="all"), [GRANT]) == Decision("ask", "rule")
    assert decide(replace(call, full_access=True), NOTHING, []) == Decision("allow", "fullAccess")
