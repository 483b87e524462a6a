"""The one table of full access (M6.3b)."""

from collections.abc import Mapping
from typing import Any

import pytest

from innkeeper.host.access import UNRESTRICTED_MODES, edit_level, full_access
from innkeeper.protocol.status import IS_ARCHIVED


def session(provider: str = "console", offered: list[str] | None = None, **values: Any) -> Mapping[str, Any]:
    prop = {"type": "string", **({} if offered is None else {"enum": offered})}
    return {"provider": provider, "config": {"schema": {"properties": {"autoApprove": prop}}, "values": values}}


@pytest.mark.parametrize(
    ("state", "operator", "source"),
    [
        (session(), False, None),
        (session(), True, "operator"),
        (session(autoApprove="autoApprove"), False, "autoApprove"),
        (session(autoApprove="assisted"), False, None),
        (session(mode="autopilot"), False, None),
        (session(offered=["default", "assisted", "autoApprove"], autoApprove="autoApprove"), False, "autoApprove"),
        (session(offered=["default", "assisted"], autoApprove="autoApprove"), False, None),
        (session("claude", permissionMode="bypassPermissions"), False, "agentMode"),
        (session("claude", permissionMode="acceptEdits"), False, None),
        (session("codex", sandbox="danger-full-access"), False, "agentMode"),
        (session("codex", sandbox="workspace-write"), False, None),
        (session("codex", permissionMode="bypassPermissions"), False, None),
        (session("claude-acp", agentMode="bypassPermissions"), False, "agentMode"),
        (session("codex-acp", agentMode="full-access"), False, "agentMode"),
        (session("gemini", agentMode="yolo"), False, "agentMode"),
        (session("codex-acp", agentMode="auto"), False, None),
        (session("console", permissionMode="bypassPermissions"), False, None),
        ({}, False, None),
        ({"config": {"values": "damaged"}}, False, None),
    ],
)
def test_full_access_has_three_sources(state: Mapping[str, Any], operator: bool, source: str | None) -> None:
    """M6.3b: the operator's, the session's unless policy restricts it, the agent's own mode by the provider table."""
    assert full_access(state, operator_full=operator) == source


def test_modes_are_listed_for_the_agents_that_have_one() -> None:
    """Of an agent that speaks ACP, only where it is known what its modes mean."""
    assert set(UNRESTRICTED_MODES) == {"claude", "codex", "claude-acp", "codex-acp", "gemini"}


def test_the_effective_value_counts_where_there_are_more_layers_than_the_sessions() -> None:
    """§5.6: own session, parent, host."""
    assert full_access(session(), auto_approve="autoApprove") == "autoApprove"
    assert full_access(session(autoApprove="autoApprove"), auto_approve="default") is None
    assert full_access(session(offered=["default"]), auto_approve="autoApprove") is None


@pytest.mark.parametrize(
    ("state", "chat", "operator", "expected"),
    [
        (session(), None, False, ("workspace-write", None)),
        (session(), {"interactivity": "full"}, True, ("full", None)),
        (session(autoApprove="autoApprove"), None, False, ("full", None)),
        (session("codex", sandbox="danger-full-access"), None, False, ("full", None)),
        ({**session(), "status": IS_ARCHIVED}, None, True, ("read-only", "archived")),
        (session(), {"status": IS_ARCHIVED}, False, ("read-only", "archived")),
        (session(), {"interactivity": "read-only"}, True, ("read-only", "readOnlyChat")),
        (session(mode="plan"), None, True, ("read-only", "mode")),
        (session("claude", permissionMode="plan"), None, False, ("read-only", "agentMode")),
        (session("codex", sandbox="read-only"), None, False, ("read-only", "agentMode")),
        (session("claude-acp", agentMode="plan"), None, False, ("read-only", "agentMode")),
        (session("console", sandbox="read-only"), None, False, ("workspace-write", None)),
        ({}, None, False, ("workspace-write", None)),
    ],
)
def test_what_an_edit_may_do_is_one_table(
    state: Mapping[str, Any], chat: Mapping[str, Any] | None, operator: bool, expected: Any
) -> None:
    """M8.6b: what may only look comes before what may do everything."""
    assert edit_level(state, chat, operator_full=operator) == expected
