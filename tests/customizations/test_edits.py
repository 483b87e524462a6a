"""Edits and what comes of them (C1.3, C3.3, C8.1; issue 4 item 6)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from customizations.world import A, P, declared, one_of_each, plugin, world
from innkeeper.customizations.edits import Refused, Replace, SetScope, Stored, affected, edit_of, fault_of
from innkeeper.customizations.enablement import InvalidSet, Overlay, with_value
from innkeeper.customizations.places import Pending, Place
from innkeeper.ports.decisions import Decision, Decisions, DropDecision, PutDecision

WORKSPACE = {"kind": "workspace", "uri": "file:///repo", "enabled": False}


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ([{"kind": "session", "enabled": True}, {"kind": "session", "enabled": True}], "two session"),
        ([WORKSPACE, {**WORKSPACE, "uri": "file:///other"}], "two workspace"),
        ([{"kind": "user", "enabled": True}], "kind"),
        ([{**WORKSPACE, "uri": "file:///other"}], "another directory"),
    ],
)
def test_set_that_cannot_be_applied_is_refused_with_a_reason(wanted: list[Any], reason: str) -> None:
    played = world()
    outcome = played.edit(Replace(wanted))
    assert isinstance(outcome, Refused) and reason in outcome.reason
    assert played.stored() == "-"


def test_faulty_set_does_not_wait() -> None:
    played = world().run(["directory-unknown"])
    assert isinstance(played.edit(Replace([{"kind": "user", "enabled": True}])), Refused)  # type: ignore[list-item]
    assert played.waiting.edits == ()
    assert fault_of(SetScope("everywhere", True)) is not None  # type: ignore[arg-type]


def test_toggle_of_before_0_8_sets_the_session_and_keeps_the_rest() -> None:
    """Item 6: its `enabled` names no scope."""
    played = world().run(["set G off", "set W on"])
    action = {"type": "session/customizationToggled", "id": P}
    for enabled, published in ((False, "S:off W:on G:off"), (True, "W:on G:off")):
        edit = edit_of(action | {"enabled": enabled})
        assert edit is not None and isinstance(played.edit(edit), Stored)
        assert played.words() == published
    assert edit_of(action | {"enablement": [], "enabled": False}) == Replace(())
    assert edit_of(action) is None and edit_of(action | {"enabled": "no"}) is None


@pytest.mark.parametrize("child", [one.type for one in one_of_each()])
@pytest.mark.parametrize("scope", ["session", "workspace", "global"])
def test_every_type_takes_decisions_in_every_scope_and_keeps_them_over_a_restart(child: str, scope: Any) -> None:
    """C1.4, item 3"""
    name = {"mcpServer": "m", "hook": "Stop"}.get(child, child[0])
    id = f"{P}#{child}={name}"
    played = world(id, [plugin(P, one_of_each())])
    assert isinstance(played.edit(SetScope(scope, False)), Stored)
    played.restart()
    others = [f"{P}#{one.type}={one.name}" for one in one_of_each() if one.type != child]
    assert played.words() == f"{scope[0].upper()}:off" and not played.reaches()
    assert all(played.reaches(other) and played.words(other) == "-" for other in others)


def test_id_of_an_earlier_version_is_read_and_replaced_by_the_key() -> None:
    """C3.2"""
    played = world("mcp:git", [declared("git")])
    played.overlay = Overlay(Decisions((Decision("mcp:git", "session", "s1", False, ""),)))
    assert played.words() == "S:off"
    played.step("set S none")
    assert (played.words(), played.stored()) == ("-", "-")


def test_name_only_key_of_an_earlier_version_is_read_and_replaced_by_the_key() -> None:
    """C3.1b"""
    played = world("mcp:git", [declared("git"), declared("other")])
    played.overlay = Overlay(Decisions((Decision("mcpServers#git", "global", "", False, ""),)))
    assert (played.words(), played.words("mcp:other")) == ("G:off", "-")
    played.step("replace W:off G:off")
    assert played.stored() == "G=off" and played.words() == "G:off"
    played.step("set W on")
    assert played.words() == "W:on G:off"
    played.step("replace")
    assert (played.words(), played.stored()) == ("-", "-")


def test_write_under_the_key_removes_what_an_older_key_says_in_that_scope_only() -> None:
    played = world("mcp:git", [declared("git")])
    old = (
        Decision("mcpServers#git", "global", "", False, ""),
        Decision("mcpServers#git", "session", "s1", True, ""),
        Decision("mcpServers#git", "session", "s9", True, ""),
    )
    played.overlay = Overlay(Decisions(old))
    played.step("set W off")
    assert played.stored() == "G=off S[s1]=on S[s9]=on"
    played.step("set S off")
    assert played.words() == "G:off" and "S[s9]=on" in played.stored()


def test_unchanged_edit_stores_nothing() -> None:
    played = world().run(["set G off"])
    outcome = played.edit(SetScope("global", False))
    assert isinstance(outcome, Stored) and outcome.unchanged and outcome.overlay is played.overlay


def test_affected_sessions() -> None:
    sessions: dict[str, Place | Pending] = {
        "a": Place("a", "file:///repo"),
        "b": Place("b", "file:///repo/"),
        "c": Place("c"),
        "d": Pending("session"),
    }
    workspace = PutDecision(Decision("k", "workspace", "file:///repo", False, ""))
    assert affected([workspace], sessions) == ("a", "b")
    assert affected([DropDecision(("k", "global", ""))], sessions) == ("a", "b", "c", "d")
    assert affected([DropDecision(("k", "session", "d"))], sessions) == ("d",)
    assert affected([], sessions) == ()


def test_with_value_changes_one_scope_and_sorts() -> None:
    place = Place("s", "file:///repo")
    made = with_value(({"kind": "global", "enabled": False},), "workspace", True, place)
    made = with_value(made, "session", False, place)
    assert [one["kind"] for one in made] == ["session", "workspace", "global"]
    assert with_value(made, "session", None, place) == made[1:]
    with pytest.raises(InvalidSet):
        with_value((), "workspace", True, Place("s"))


def test_unknown_item_is_refused() -> None:
    assert isinstance(world().edit(Replace(()), A), Refused)


ENTRY = st.one_of(
    st.fixed_dictionaries({"kind": st.sampled_from(["session", "global", "user", ""]), "enabled": st.booleans()}),
    st.fixed_dictionaries(
        {"kind": st.just("workspace"), "uri": st.sampled_from(["file:///repo/", "/repo", "x:", "", "file://["])}
        | {"enabled": st.booleans()}
    ),
)


@given(st.lists(ENTRY, max_size=4), st.sampled_from(["", "directory-unknown", "workspaceless", "row broken"]))
def test_no_set_raises_and_a_refused_one_stores_nothing(wanted: list[Any], state: str) -> None:
    """C4.3, item 6"""
    played = world().run([state] if state else [])
    outcome = played.edit(Replace(wanted))
    assert isinstance(outcome, Stored) or played.stored() == "-"
    assert isinstance(outcome, Refused) or len({entry["kind"] for entry in wanted}) == len(wanted)
    played.run(["directory /repo"])
    assert state == "row broken" or played.waiting.edits == ()
