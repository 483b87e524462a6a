"""Changing one scope (C1.3) and the Global that a client owns (C6.6)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.client.enablement import find_customization, set_enabled_action, with_scope

W = "file:///w"
ON: dict[str, Any] = {"enabled": True}
OFF: dict[str, Any] = {"enabled": False}


def session(value: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "session", **value}


def workspace(value: dict[str, Any], uri: str = W) -> dict[str, Any]:
    return {"kind": "workspace", "uri": uri, **value}


def everywhere(value: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "global", **value}


def test_one_scope_changes_and_the_others_are_sent_back() -> None:
    """C1.3"""
    published = [session(ON), workspace(OFF), everywhere(ON)]
    assert with_scope(published, "workspace", True) == [session(ON), workspace(ON), everywhere(ON)]
    assert published == [session(ON), workspace(OFF), everywhere(ON)]


def test_the_set_is_sorted_session_workspace_global() -> None:
    assert with_scope([everywhere(ON)], "session", False) == [session(OFF), everywhere(ON)]
    assert with_scope([everywhere(ON), session(ON)], "workspace", False, uri=W) == [
        session(ON),
        workspace(OFF),
        everywhere(ON),
    ]


def test_none_removes_a_scope_and_no_decision_is_left_out() -> None:
    assert with_scope([session(ON), everywhere(OFF)], "session", None) == [everywhere(OFF)]
    assert with_scope([everywhere(OFF)], "global", None) == []
    assert with_scope(None, "global", None) == []


def test_a_workspace_decision_needs_a_directory_and_replaces_the_one_for_another() -> None:
    """C1.1: at most one workspace entry."""
    with pytest.raises(ValueError, match="directory"):
        with_scope([], "workspace", True)
    assert with_scope([workspace(ON, "file:///old")], "workspace", False, uri=W) == [workspace(OFF)]
    assert with_scope([workspace(ON, "file:///old")], "workspace", False) == [workspace(OFF, "file:///old")]


def test_a_scope_of_a_newer_protocol_survives() -> None:
    """AHP §1: unknown values of open enums are kept."""
    team = {"kind": "team", "enabled": False}
    assert with_scope([team, everywhere(ON)], "session", True) == [session(ON), everywhere(ON), team]


decisions = st.one_of(
    st.builds(session, st.sampled_from([ON, OFF])),
    st.builds(workspace, st.sampled_from([ON, OFF])),
    st.builds(everywhere, st.sampled_from([ON, OFF])),
)
scopes: Any = st.sampled_from(["session", "workspace", "global"])


@given(st.lists(decisions, max_size=5), scopes, st.sampled_from([True, False, None]))
def test_with_scope_keeps_one_decision_a_scope_and_changes_only_the_named_one(
    published: list[dict[str, Any]], scope: Any, value: bool | None
) -> None:
    """C1.1, C1.3"""
    result = with_scope(published, scope, value, uri=W)
    kinds = [decision["kind"] for decision in result]
    assert kinds == [kind for kind in ("session", "workspace", "global") if kind in kinds]
    for kind in ("session", "workspace", "global"):
        before = [decision["enabled"] for decision in published if decision["kind"] == kind][:1]
        after = [decision["enabled"] for decision in result if decision["kind"] == kind]
        assert after == (before if kind != scope else [] if value is None else [value])
    assert with_scope(result, scope, value, uri=W) == result


def state(owner: str = "client:me", **plugin: Any) -> dict[str, Any]:
    meta = {"_meta": {"x-innkeeper/globalOwner": owner}}
    bundled = {"type": "plugin", "uri": "vscode:/p", "name": "p", "enablement": [everywhere(ON)], **plugin}
    return {
        "workingDirectories": [W],
        "activeClients": [
            {"clientId": "other", "tools": []},
            {"clientId": "me", "tools": [], "customizations": [{"uri": "vscode:/q", "name": "q"}, bundled]},
        ],
        "customizations": [
            {
                "type": "mcpServer",
                "id": "top",
                "uri": "file:///w/.mcp.json",
                "name": "top",
                "enablement": [session(OFF)],
            },
            {
                "type": "plugin",
                "id": "plug",
                "uri": "vscode:/p",
                "name": "p",
                "clientId": "me",
                "enablement": [everywhere(ON)],
                **meta,
                "children": [{"type": "mcpServer", "id": "child", "uri": "x", "name": "srv", **meta}],
            },
        ],
    }


def test_an_item_of_the_host_is_toggled_with_its_complete_set() -> None:
    assert set_enabled_action(state(), "me", "top", "workspace", False) == {
        "type": "session/customizationToggled",
        "id": "top",
        "enablement": [session(OFF), workspace(OFF)],
    }


def test_the_owner_of_a_child_s_global_changes_its_own_base() -> None:
    """C6.6, C2.1: through `childEnablement`, never through the host's overlay."""
    action = set_enabled_action(state(childEnablement={"srv": [everywhere(ON)]}), "me", "child", "global", False)
    assert action["type"] == "session/activeClientSet"
    unrelated, plugin = action["activeClient"]["customizations"]
    assert unrelated == {"uri": "vscode:/q", "name": "q"}
    assert plugin["childEnablement"] == {"srv": [everywhere(OFF)]}
    assert action["activeClient"]["clientId"] == "me"


def test_removing_the_base_of_a_child_keeps_its_name_so_that_it_stays_the_client_s() -> None:
    action = set_enabled_action(state(childEnablement={"srv": [everywhere(ON)]}), "me", "child", "global", None)
    assert action["activeClient"]["customizations"][1]["childEnablement"] == {"srv": []}


def test_the_owner_of_a_plugin_s_global_changes_the_plugin_s_own_list() -> None:
    action = set_enabled_action(state(), "me", "plug", "global", False)
    assert action["activeClient"]["customizations"][1]["enablement"] == [everywhere(OFF)]


def test_other_scopes_of_an_owned_item_are_the_host_s() -> None:
    """C2.1: session and workspace decisions are the host's alone."""
    action = set_enabled_action(state(), "me", "plug", "session", False)
    assert action == {
        "type": "session/customizationToggled",
        "id": "plug",
        "enablement": [session(OFF), everywhere(ON)],
    }


@pytest.mark.parametrize("owner", ["host", "client:other"])
def test_a_client_that_does_not_own_the_global_asks_the_host(owner: str) -> None:
    assert set_enabled_action(state(owner), "me", "child", "global", False) == {
        "type": "session/customizationToggled",
        "id": "child",
        "enablement": [everywhere(OFF)],
    }


def test_an_owner_that_no_longer_publishes_the_plugin_asks_the_host() -> None:
    gone = state()
    gone["activeClients"][1]["customizations"] = []
    assert set_enabled_action(gone, "me", "child", "global", False)["type"] == "session/customizationToggled"
    gone["activeClients"] = []
    assert set_enabled_action(gone, "me", "child", "global", False)["type"] == "session/customizationToggled"


def test_an_unknown_item_is_an_error_and_the_top_level_is_searched_first() -> None:
    with pytest.raises(LookupError):
        set_enabled_action(state(), "me", "nothing", "global", True)
    twice = state()
    twice["customizations"][1]["children"][0]["id"] = "top"
    found = find_customization(twice, "top")
    assert found is not None
    assert found[1] is None
