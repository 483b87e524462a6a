"""Scoped decisions (C1, C2): rows of the reference behaviour, and invariants over random histories."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.customizations.enablement import (
    SCOPES,
    ClientBase,
    InvalidSet,
    Overlay,
    Place,
    Resolved,
    Target,
    inherit,
    put,
    replace,
    resolve,
    set_client_base,
)
from innkeeper.customizations.publishing import is_on
from innkeeper.limits import DECISIONS
from innkeeper.ports.decisions import Decision, Decisions, DropDecision, PutDecision
from innkeeper.protocol.session.state import CustomizationEnablement

NOW = "2026-11-30T12:00:00.000Z"
HERE = Place("session:/s1", "file:///repo")
OTHER = Place("session:/s2", "file:///other")
TARGET = Target("mcp/workspace/git")


def decisions(*words: str, uri: str = "file:///repo") -> list[CustomizationEnablement]:
    """`S:on`, `W:off`, `G:on`."""
    made: list[CustomizationEnablement] = []
    for word in words:
        enabled = word.endswith("on")
        match word[0]:
            case "S":
                made.append({"kind": "session", "enabled": enabled})
            case "W":
                made.append({"kind": "workspace", "uri": uri, "enabled": enabled})
            case _:
                made.append({"kind": "global", "enabled": enabled})
    return made


def words(resolved: Resolved) -> list[str]:
    return [f"{entry['kind'][0].upper()}:{'on' if entry['enabled'] else 'off'}" for entry in resolved.enablement]


NOTHING = Overlay()
NO_BASE = ClientBase()


def after(
    *sets: Sequence[str],
    start: Overlay = NOTHING,
    base: ClientBase = NO_BASE,
    target: Target = TARGET,
    place: Place = HERE,
) -> Overlay:
    """The overlay after these complete sets, one after the other."""
    overlay = start
    for wanted in sets:
        _, overlay = replace(decisions(*wanted), target, place, overlay, base, NOW)
    return overlay


ROWS = [
    ("C1", [["G:off", "W:on", "S:off"]], ["S:off", "W:on", "G:off"], False),
    ("C2", [["G:off", "W:on", "S:off"], ["G:off"]], ["G:off"], False),
    ("C3", [["G:off", "W:on", "S:off"], ["S:off"]], ["S:off"], False),
    ("C4", [["G:off", "W:on", "S:off"], []], [], True),
    ("C5", [["G:off", "W:on", "S:off"], ["S:on"]], [], True),
    ("C6", [["S:on", "W:on", "G:on"]], [], True),
    ("C7", [["S:off", "W:off", "G:off"]], ["G:off"], False),
    ("C10", [["W:off"], ["W:off", "G:off"]], ["G:off"], False),
    ("C11", [["W:off"], ["W:off", "G:off"], ["G:on"]], [], True),
    ("M18", [["W:off"]], ["W:off"], False),
    ("M20", [["G:off", "S:on"]], ["S:on", "G:off"], True),
    ("M24", [["G:off", "W:on", "S:off"]], ["S:off", "W:on", "G:off"], False),
]


@pytest.mark.parametrize(("row", "sets", "published", "on"), ROWS, ids=[row[0] for row in ROWS])
def test_row_of_the_reference(row: str, sets: list[list[str]], published: list[str], on: bool) -> None:
    resolved = resolve(TARGET, HERE, after(*sets), ClientBase())
    assert (words(resolved), resolved.enabled) == (published, on)


def test_workspace_decision_holds_in_every_session_of_the_directory_and_nowhere_else() -> None:
    overlay = after(["W:off"])
    assert words(resolve(TARGET, Place("session:/s3", "/repo/"), overlay, ClientBase())) == ["W:off"]
    assert resolve(TARGET, OTHER, overlay, ClientBase()).enabled


def test_published_workspace_is_the_directory_as_the_session_states_it() -> None:
    """C3.3"""
    resolved = resolve(TARGET, Place("session:/s3", "file:///repo/"), after(["W:off"]), ClientBase())
    assert resolved.enablement == ({"kind": "workspace", "uri": "file:///repo/", "enabled": False},)


def test_storing_global_drops_equal_workspace_entries_of_every_directory_and_keeps_opposing_ones() -> None:
    """C2.3, row C12"""
    overlay = after(["W:off"])
    ops, _ = replace(decisions("G:off"), TARGET, OTHER, overlay, ClientBase(), NOW)
    assert DropDecision((TARGET.key, "workspace", "file:///repo")) in ops
    overlay = after(["G:off", "W:on"])
    ops, _ = replace(decisions("G:off"), TARGET, OTHER, overlay, ClientBase(), NOW)
    assert ops == ()


def test_decisions_of_other_sessions_are_left_alone() -> None:
    """Row C14"""
    overlay = after(["S:off"])
    overlay = after(["G:off"], start=overlay, place=OTHER)
    assert words(resolve(TARGET, HERE, overlay, ClientBase())) == ["S:off", "G:off"]


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (decisions("W:off", uri="file:///other"), "another directory"),
        (decisions("S:on", "S:off"), "two session"),
        (decisions("G:on", "G:off"), "two global"),
        ([*decisions("W:on"), *decisions("W:off")], "two workspace"),
        ([{"kind": "user", "enabled": True}], "kind"),
    ],
)
def test_set_that_cannot_be_stored_is_refused(wanted: list[CustomizationEnablement], reason: str) -> None:
    """C3.3, C1.1"""
    with pytest.raises(InvalidSet, match=reason):
        replace(wanted, TARGET, HERE, Overlay(), ClientBase(), NOW)


def test_workspace_entry_in_a_session_without_directory_is_refused() -> None:
    with pytest.raises(InvalidSet):
        replace(decisions("W:off"), TARGET, Place("session:/s1"), Overlay(), ClientBase(), NOW)
    assert put("workspace", None, TARGET, Place("session:/s1"), Overlay(), ClientBase(), NOW) == ()
    with pytest.raises(InvalidSet):
        put("workspace", False, TARGET, Place("session:/s1"), Overlay(), ClientBase(), NOW)


@pytest.mark.parametrize("spelling", ["file:///repo", "file:///repo/", "/repo", "file://localhost/%72epo"])
def test_any_spelling_of_the_primary_directory_is_accepted(spelling: str) -> None:
    _, overlay = replace(decisions("W:off", uri=spelling), TARGET, HERE, Overlay(), ClientBase(), NOW)
    assert [found.slot for found in overlay.decisions.decisions] == [(TARGET.key, "workspace", "file:///repo")]


def test_above_the_limit_a_new_decision_is_refused_and_clearing_works() -> None:
    """C8.1"""
    full = tuple(Decision(f"k{n}", "global", "", False, NOW) for n in range(DECISIONS))
    overlay = Overlay(Decisions(full))
    with pytest.raises(InvalidSet, match="10000"):
        replace(decisions("S:off"), TARGET, HERE, overlay, ClientBase(), NOW)
    ops, _ = replace([], Target("k1"), HERE, overlay, ClientBase(), NOW)
    assert ops == (DropDecision(("k1", "global", "")),)


BUNDLED = Target("plugin/p/mcp/git", bundled=True)


def test_global_that_equals_the_base_makes_no_host_decision() -> None:
    """C2.3: base off, session *on* set, the base's Global sent back."""
    base = ClientBase({BUNDLED.key: False})
    ops, overlay = replace(decisions("S:on", "G:off"), BUNDLED, HERE, Overlay(), base, NOW)
    assert [type(op) for op in ops] == [PutDecision]
    assert words(resolve(BUNDLED, HERE, overlay, base)) == ["S:on", "G:off"]
    assert resolve(BUNDLED, OTHER, overlay, ClientBase()).enabled


def test_global_that_differs_from_the_base_is_stored_although_it_equals_the_default() -> None:
    """Row B4, B5"""
    base = ClientBase({BUNDLED.key: False})
    overlay = after(["G:on"], base=base, target=BUNDLED)
    assert words(resolve(BUNDLED, HERE, overlay, base)) == ["G:on"]
    overlay = after(["G:off"], start=overlay, base=base, target=BUNDLED)
    assert overlay.decisions.decisions == ()


def test_base_counts_only_for_what_the_client_bundled() -> None:
    """C2.1, row B11"""
    assert set_client_base(ClientBase(), TARGET, False) == ClientBase()
    assert resolve(TARGET, HERE, Overlay(), ClientBase({TARGET.key: False})).enabled
    base = set_client_base(ClientBase(), BUNDLED, False)
    assert base == ClientBase({BUNDLED.key: False})
    assert set_client_base(base, BUNDLED, False) is base
    assert set_client_base(base, BUNDLED, None) == ClientBase()


def test_discovery_default_off_surfaces_as_global_and_is_restored_by_writing_it() -> None:
    """Rows B17-B20"""
    target = Target("k", default=False)
    assert words(resolve(target, HERE, Overlay(), ClientBase())) == ["G:off"]
    overlay = after(["G:on"], target=target)
    assert words(resolve(target, HERE, overlay, ClientBase())) == ["G:on"]
    assert after(["G:off"], start=overlay, target=target) == Overlay()
    assert words(resolve(target, HERE, after(["S:on", "G:off"], target=target), ClientBase())) == ["S:on", "G:off"]


@pytest.mark.parametrize(
    ("item", "on"),
    [
        ({"type": "mcpServer"}, True),
        ({"type": "mcpServer", "enablement": []}, True),
        ({"type": "mcpServer", "enablement": decisions("S:off", "G:on")}, False),
        ({"type": "plugin", "enablement": decisions("W:on", "G:off")}, True),
        ({"type": "directory", "enabled": False}, False),
        ({"type": "skill"}, True),
        ({"type": "skill", "enabled": False, "enablement": decisions("S:off")}, False),
    ],
)
def test_is_on_answers_for_every_type(item: dict[str, object], on: bool) -> None:
    """C1.4b"""
    assert is_on(item) is on


VALUE = st.sampled_from([None, True, False])
SETS = st.fixed_dictionaries({"S": VALUE, "W": VALUE, "G": VALUE}).map(
    lambda chosen: [f"{scope}:{'on' if chosen[scope] else 'off'}" for scope in "SWG" if chosen[scope] is not None]
)
PLACES = st.sampled_from([HERE, OTHER, Place("session:/s3", "file:///repo/")])
TARGETS = st.builds(Target, st.sampled_from(["a", "b"]), st.just(True), st.just(True))
HISTORY = st.lists(st.tuples(PLACES, SETS, TARGETS), max_size=8)
BASES = st.dictionaries(st.sampled_from(["a", "b"]), st.booleans()).map(ClientBase)


def play(history: list[tuple[Place, list[str], Target]], base: ClientBase) -> Overlay:
    overlay = Overlay()
    for place, wanted, target in history:
        assert place.directory is not None
        _, overlay = replace(decisions(*wanted, uri=place.directory), target, place, overlay, base, NOW)
    return overlay


@given(HISTORY, BASES, PLACES, TARGETS, SETS)
def test_after_any_history_a_set_holds_where_it_was_made(
    history: list[tuple[Place, list[str], Target]], base: ClientBase, place: Place, target: Target, wanted: list[str]
) -> None:
    """C1.2, C1.3: the first wanted entry decides; what is left out is cleared; the list is sorted."""
    overlay = play(history, base)
    assert place.directory is not None
    chosen = decisions(*wanted, uri=place.directory)
    _, overlay = replace(chosen, target, place, overlay, base, NOW)
    resolved = resolve(target, place, overlay, base)
    default = base.values.get(target.key, True)
    assert resolved.enabled == (chosen[0]["enabled"] if chosen else default)
    kinds = [entry["kind"] for entry in resolved.enablement]
    assert kinds == [scope for scope in SCOPES if scope in kinds]
    assert not resolved.enablement or resolved.enablement[0]["enabled"] == resolved.enabled


@given(HISTORY, BASES, PLACES, TARGETS)
def test_sending_back_what_is_published_changes_no_effect_and_settles(
    history: list[tuple[Place, list[str], Target]], base: ClientBase, place: Place, target: Target
) -> None:
    overlay = play(history, base)
    before = resolve(target, place, overlay, base)
    _, again = replace(before.enablement, target, place, overlay, base, NOW)
    assert resolve(target, place, again, base).enabled == before.enabled
    ops, _ = replace(resolve(target, place, again, base).enablement, target, place, again, base, NOW)
    assert ops == ()


@given(HISTORY, BASES, PLACES, TARGETS)
def test_clearing_restores_inheritance(
    history: list[tuple[Place, list[str], Target]], base: ClientBase, place: Place, target: Target
) -> None:
    overlay = play(history, base)
    _, overlay = replace([], target, place, overlay, base, NOW)
    assert resolve(target, place, overlay, base) == resolve(target, place, Overlay(), base)
    assert inherit("session", target, place, overlay, base) == base.values.get(target.key, True)


@given(HISTORY, BASES)
def test_no_two_decisions_share_a_slot_and_no_key_touches_another(
    history: list[tuple[Place, list[str], Target]], base: ClientBase
) -> None:
    overlay = play(history, base)
    slots = [found.slot for found in overlay.decisions.decisions]
    assert len(slots) == len(set(slots))
    alone = play([step for step in history if step[2].key == "a"], base)
    mine = {found for found in overlay.decisions.decisions if found.key == "a"}
    assert mine == set(alone.decisions.decisions)


@given(HISTORY, BASES, BASES, PLACES, TARGETS)
def test_base_never_changes_what_is_stored(
    history: list[tuple[Place, list[str], Target]], base: ClientBase, later: ClientBase, place: Place, target: Target
) -> None:
    """C2.2"""
    overlay = play(history, base)
    stored = overlay.decisions
    resolve(target, place, overlay, later)
    set_client_base(later, target, False)
    assert overlay.decisions is stored
