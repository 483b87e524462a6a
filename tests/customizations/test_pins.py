"""Holding a choice against a later base (C2.3b)."""

import pytest

from customizations.world import AZ, A, World, plugin, server, world
from innkeeper.customizations.edits import Pin, Refused, Stored, Unpin
from innkeeper.customizations.enablement import Overlay
from innkeeper.customizations.explain import explain
from innkeeper.limits import DECISIONS
from innkeeper.ports.decisions import Decision, Decisions


def pinned(steps: list[str], scope: str = "global") -> World:
    played = world(A, [plugin(AZ, [server("azure")])]).run(steps)
    assert isinstance(played.edit(Pin(scope)), Stored)  # type: ignore[arg-type]
    return played


def test_pin_holds_the_clients_value_against_a_later_base() -> None:
    """The remedy for row B10."""
    played = pinned(["child on", "set G on"])
    assert played.stored() == "G=on!"
    played.step("child off")
    assert (played.words(), played.reaches()) == ("G:on", True)


def test_without_a_pin_it_follows_the_client() -> None:
    played = world(A, [plugin(AZ, [server("azure")])]).run(["child on", "set G on", "child off"])
    assert (played.stored(), played.words()) == ("-", "G:off")


@pytest.mark.parametrize("steps", [["replace"], ["replace G:off"], ["set G none"], ["set G off"]])
def test_clearing_or_another_value_ends_it(steps: list[str]) -> None:
    played = pinned(["child on"]).run(steps)
    assert "!" not in played.stored()


def test_unpin_lets_it_follow_again() -> None:
    played = pinned(["child on"]).run(["child off"])
    assert isinstance(played.edit(Unpin("global")), Stored)
    assert (played.stored(), played.words()) == ("G=on", "G:on")
    played = pinned(["child on"])
    played.edit(Unpin("global"))
    assert (played.stored(), played.words()) == ("-", "G:on")
    outcome = played.edit(Unpin("global"))
    assert isinstance(outcome, Stored) and outcome.unchanged


def test_sending_it_back_with_another_scope_keeps_it() -> None:
    played = pinned(["child on"]).run(["replace S:off G:on"])
    assert played.stored() == "G=on! S[s1]=off"


def test_pin_of_what_overrides_keeps_the_value() -> None:
    played = pinned(["child on", "set G off"])
    assert played.stored() == "G=off!"
    assert isinstance(played.edit(Pin("global")), Stored) and played.stored() == "G=off!"


def test_global_that_equals_a_pinned_workspace_entry_leaves_it() -> None:
    played = pinned(["child on"], "workspace")
    assert played.stored() == "W[/repo]=on!"
    played.run(["child off", "set G on"])
    assert played.stored() == "G=on W[/repo]=on!"


def test_pin_in_a_scope_that_the_session_does_not_have_is_refused() -> None:
    played = world().run(["workspaceless"])
    outcome = played.edit(Pin("workspace"))
    assert isinstance(outcome, Refused) and "no working directory" in outcome.reason


def test_pin_without_room_is_refused() -> None:
    """C8.1"""
    played = world()
    played.overlay = Overlay(Decisions(tuple(Decision(f"k{n}", "global", "", False, "") for n in range(DECISIONS))))
    outcome = played.edit(Pin("session"))
    assert isinstance(outcome, Refused) and "10000" in outcome.reason


def test_explain_says_follows_or_pinned() -> None:
    played = world(A, [plugin(AZ, [server("azure")])]).run(["child on"])
    chain = explain(A, played.resolution(), played.overlay)
    assert chain is not None and chain.decided_by == "client"
    assert (chain.scopes[2].follows_client, chain.scopes[2].pinned) == (True, False)
    played.edit(Pin("global"))
    chain = explain(A, played.resolution(), played.overlay)
    assert chain is not None and (chain.scopes[2].follows_client, chain.scopes[2].pinned) == (False, True)


def test_pin_survives_a_restart() -> None:
    played = pinned(["child on"])
    played.restart()
    assert played.stored() == "G=on!"
