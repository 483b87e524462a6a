"""Edits made while an item is pending (C4.3, C4.4)."""

from customizations.world import AZ, A, P, World, declared, plugin, server, world
from innkeeper.customizations.edits import Pin, Refused, Replace, SetScope, Stored
from innkeeper.customizations.items import ServerItem
from innkeeper.customizations.waiting import FULL, REPLACED, WAITING_EDITS, Waiting, WaitingEdit


def pending() -> World:
    return world().run(["directory-unknown"])


def test_each_edit_is_answered_once_in_the_end() -> None:
    played = pending().run(["set W off", "set W on", "set S off", "replace G:off"])
    assert [answer.outcome for answer in played.answers] == [REPLACED] * 3
    played.step("directory /repo")
    assert [type(answer.outcome) for answer in played.answers] == [Refused, Refused, Refused, Stored]
    assert len({id(answer.to) for answer in played.answers}) == 4 and played.waiting.edits == ()


def test_nothing_of_an_edit_happens_early() -> None:
    played = world().run(["set G off", "directory-unknown", "replace S:on G:on"])
    assert played.stored() == "G=off"
    assert played.run(["directory /repo"]).stored() == "-"


def test_edit_that_cannot_be_applied_whole_is_refused_whole_and_raises_nothing() -> None:
    played = pending().run(["set S off", "replace W:off@/elsewhere G:off", "directory /repo"])
    assert isinstance(played.answers[-1].outcome, Refused)
    assert "another directory" in played.answers[-1].outcome.reason
    assert (played.stored(), played.waiting.edits) == ("-", ())


def test_live_write_replaces_what_waits() -> None:
    """Row D21: here under another id of the same server."""
    seen = ServerItem(id="seen", uri="agent:/git", name="git", source=None)
    played = world("mcp:git", [declared("git"), seen])
    edit = WaitingEdit("t", "s1", "seen", SetScope("session", False))
    played.waiting = Waiting((edit, WaitingEdit("u", "s2", "seen", SetScope("session", False))))
    played.step("set S off")
    assert [(answer.to, answer.outcome) for answer in played.answers] == [(edit, REPLACED)]
    assert [one.session for one in played.waiting.edits] == ["s2"]


def test_only_what_is_no_longer_pending_is_applied() -> None:
    seen = ServerItem(id="seen", uri="agent:/x", name="x", source=None)
    played = world(P, [plugin(P), seen])
    played.sessions["s1"].discovered = False
    played.edit(SetScope("session", False), "seen")
    played.settle()
    assert [one.id for one in played.waiting.edits] == ["seen"]
    played.sessions["s1"].discovered = True
    played.settle()
    assert played.stored("mcp/agent%3Aconsole/x") == "S[s1]=off" and played.waiting.edits == ()


def test_item_that_discovery_does_not_find_is_refused_when_it_has_ended() -> None:
    played = world()
    played.sessions["s1"].discovered = False
    played.edit(SetScope("session", False), "not-yet")
    assert len(played.waiting.edits) == 1
    played.sessions["s1"].discovered = True
    played.settle()
    assert isinstance(played.answers[-1].outcome, Refused)


def test_what_cannot_be_read_refuses_what_waits() -> None:
    """C4.4: it is not kept for ever."""
    played = world().run(["row unread", "set S off", "row broken"])
    assert isinstance(played.answers[-1].outcome, Refused)
    assert "it is not JSON" in played.answers[-1].outcome.reason and played.stored() == "-"


def test_pins_wait_too() -> None:
    played = pending()
    played.edit(SetScope("global", False))
    played.edit(Pin("session"))
    assert played.run(["directory /repo"]).stored() == "G=off S[s1]=off!"


def test_edits_of_other_items_and_sessions_are_left_alone() -> None:
    played = world(P, [plugin(P), plugin(AZ, [server("azure")])]).run(["directory-unknown"])
    played.open("s2", "/repo")
    played.step("s2 directory-unknown")
    played.run(["set S off", "s2 set S off"])
    played.edit(Replace(()), A)
    assert len(played.waiting.edits) == 3
    assert played.run(["directory /repo"]).stored() == "S[s1]=off"
    assert [one.session for one in played.waiting.edits] == ["s2"]


def test_too_many_edits_are_refused() -> None:
    waiting = Waiting()
    for n in range(WAITING_EDITS):
        waiting, answers = waiting.add(WaitingEdit("t", "s", f"id{n}", SetScope("session", False)))
        assert answers == ()
    new = WaitingEdit("t", "s", "one-more", SetScope("session", False))
    same, answers = waiting.add(new)
    assert same is waiting and [(answer.to, answer.outcome) for answer in answers] == [(new, FULL)]
    assert waiting.add(WaitingEdit("t", "other", "x", SetScope("session", False)))[1] == ()
    assert waiting.closed("s").edits == ()
