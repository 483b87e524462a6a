"""The actions that announce a list, through the real reducer (C7.3, AHP §10.1)."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from customizations.world import AZ, GIT, P, World, declared, directory, plugin, server, skill, world
from innkeeper.customizations.announcing import announce
from innkeeper.customizations.items import RawItem
from innkeeper.customizations.publishing import Published
from innkeeper.reduce.session import reduce_session

ITEMS: dict[str, RawItem] = {
    "plugin": plugin(P, [skill("s", P)]),
    "other": plugin(AZ, [server("azure")]),
    "changed": plugin(AZ, [server("azure"), skill("t", AZ)]),
    "directory": directory("skill", [skill("one")]),
    "git": declared("git"),
    "ready": declared("git", state={"kind": "ready"}, channel="mcp:/1"),
    "db": declared("db"),
}


def listed(played: World, names: list[str]) -> Published:
    played.sessions["s1"].items = [ITEMS[name] for name in names]
    return Published(played.resolution())


def kinds(before: Published, after: Published) -> list[str]:
    return [action["type"].removeprefix("session/") for action in announce(before.items, after)]


def test_equal_list_announces_nothing() -> None:
    """Row K6"""
    names = ["plugin", "directory", "git"]
    assert announce(listed(world(), names).items, listed(world(), names)) == ()


def test_one_changed_container_is_announced_alone() -> None:
    """Item 4: of many entries, only the one with the changed child."""
    before = listed(world(), ["plugin", "other", "directory", "git"])
    (action,) = announce(before.items, listed(world(), ["plugin", "changed", "directory", "git"]))
    assert (action["type"], action["customization"]["id"]) == ("session/customizationUpdated", AZ)


def test_running_side_is_announced_narrowly() -> None:
    before, after = listed(world(), ["plugin", "git"]), listed(world(), ["plugin", "ready"])
    assert announce(before.items, after) == (
        {"type": "session/mcpServerStateChanged", "id": GIT, "state": {"kind": "ready"}, "channel": "mcp:/1"},
    )
    assert announce(after.items, before)[0] == {
        "type": "session/mcpServerStateChanged",
        "id": GIT,
        "state": {"kind": "stopped"},
    }


def test_removed_added_and_reordered() -> None:
    played = world()
    assert kinds(listed(played, ["plugin", "git"]), listed(played, ["plugin"])) == ["customizationRemoved"]
    assert kinds(listed(played, ["plugin"]), listed(played, ["plugin", "git"])) == ["customizationUpdated"]
    assert kinds(listed(played, ["git", "db"]), listed(played, ["db", "git"])) == ["customizationsChanged"]
    assert kinds(listed(played, ["git"]), listed(played, ["plugin", "git"])) == ["customizationsChanged"]


def test_decision_is_announced_with_the_item_that_it_is_about() -> None:
    played = world(P, [ITEMS["plugin"], ITEMS["other"], replace(declared("git"), name="git")])
    before = Published(played.resolution())
    played.step("set W off")
    (action,) = announce(before.items, Published(played.resolution()))
    assert action["customization"]["enablement"][0]["kind"] == "workspace"


NAMES = st.lists(st.sampled_from(["plugin", "other", "directory", "git", "db"]), unique=True)


@given(NAMES, NAMES, st.booleans(), st.booleans(), st.sampled_from(["", "set W off", "row unread"]))
def test_actions_lead_from_any_list_to_any_other(
    first: list[str], second: list[str], changed: bool, ready: bool, step: str
) -> None:
    played = world()
    before: dict[str, Any] = {"customizations": list(listed(played, first).items)}
    if step:
        played.run([step])
    swaps = {"other": "changed" if changed else "other", "git": "ready" if ready else "git"}
    after = listed(played, [swaps.get(name, name) for name in second])
    state: Any = before
    for action in announce(before["customizations"], after):
        state = reduce_session(state, action)  # type: ignore[arg-type]
    assert list(state.get("customizations", ())) == list(after.items)
