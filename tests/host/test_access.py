"""The one table of what runs without asking (M6.3b, M6.8)."""

from collections.abc import Mapping
from typing import Any

import pytest

from innkeeper.host.access import UNRESTRICTED_MODES, decide, denied_by, full_access


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
        (session("console", permissionMode="bypassPermissions"), False, None),
        ({}, False, None),
        ({"config": {"values": "damaged"}}, False, None),
    ],
)
def test_full_access_has_three_sources(state: Mapping[str, Any], operator: bool, source: str | None) -> None:
    """M6.3b: the operator's, the session's unless policy restricts it, the agent's own mode by the provider table."""
    assert full_access(state, operator_full=operator) == source


def test_modes_are_listed_for_the_agents_that_have_one() -> None:
    assert set(UNRESTRICTED_MODES) == {"claude", "codex"}


@pytest.mark.parametrize("full", [True, False])
def test_a_deny_is_stronger_than_every_access(full: bool) -> None:
    """M6.8: a deny of any wins."""
    state = session(autoApprove="autoApprove", permissions={"allow": ["t", "u"], "deny": ["t"]})
    assert decide(state, "t", operator_full=full) == "deny"
    assert decide(state, "u", operator_full=full, operator_denies={"u"}) == "deny"
    assert (denied_by(state, "t"), denied_by(state, "u", operator_denies={"u"})) == ("session", "operator")
    assert denied_by(state, "u") is None
