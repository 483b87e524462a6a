"""The wire form (C1.2, C1.4b, C6.6), checked by the protocol's own boundary checks."""

from dataclasses import replace
from typing import Any

import pytest

from customizations.world import AZ, P, declared, directory, one_of_each, plugin, says, server, skill, world
from innkeeper.customizations.discovery.items import DiscoveredHook, DiscoveredSkill, HookCommand
from innkeeper.customizations.items import LiveServer, ServerItem
from innkeeper.customizations.publishing import Published, is_on
from innkeeper.reduce.customizations import toggled
from innkeeper.wire.json import decode, encode

HOST = {"x-innkeeper/globalOwner": "host"}
OFF = [{"kind": "session", "enabled": False}]


@pytest.mark.parametrize("child", [f"{one.type}={one.name}" for one in one_of_each()])
def test_child_of_every_type(child: str) -> None:
    id = f"{P}#{child}"
    played = world(id, [plugin(P, one_of_each())])
    scoped = child.startswith("mcpServer")
    fresh = played.published()
    assert "enablement" not in fresh and ("enabled" in fresh) is not scoped and is_on(fresh)
    played.step("set S off")
    off = played.published()
    assert off["enablement"] == OFF and off.get("enabled") is (None if scoped else False) and not is_on(off)
    assert played.published(P) | {"children": ()} == {
        "type": "plugin",
        "id": P,
        "uri": P,
        "name": "example",
        "load": {"kind": "loaded"},
        "_meta": HOST,
        "children": (),
    }


def test_fields_of_an_agent_and_a_rule() -> None:
    played = world(P, [plugin(P, one_of_each())])
    agent, rule = played.published(f"{P}#agent=a"), played.published(f"{P}#rule=r")
    assert (agent["model"], agent["tools"]) == ("large", ["x", "y"]) and "description" not in agent
    assert (rule["alwaysApply"], rule["globs"]) == (True, ["*.py"])


def test_directory() -> None:
    found = directory("skill", [skill("one")])
    played = world(f"{found.uri}#contents=skill", [found])
    item = played.run(["set W off"]).published()
    assert (item["enabled"], item["contents"], item["writable"], item["type"]) == (False, "skill", True, "directory")
    assert item["enablement"] == [{"kind": "workspace", "uri": "file:///repo", "enabled": False}]
    assert item["children"][0]["enabled"] is True and "enablement" not in item["children"][0]


def test_server_has_its_running_side() -> None:
    played = world(P, [plugin(P, one_of_each()), declared("git", channel="mcp:/1", meta={"x": 1})])
    live = {f"{P}#mcpServer=m": LiveServer({"kind": "ready"}, "mcp:/2")}
    items = Published(played.resolution(), live).items
    nested = items[0]["children"][-1]  # type: ignore[typeddict-item]
    assert (nested["state"], nested["channel"]) == ({"kind": "ready"}, "mcp:/2")  # type: ignore[typeddict-item]
    assert items[1]["channel"] == "mcp:/1" and items[1]["_meta"] == {"x": 1, **HOST}  # type: ignore[typeddict-item]


def test_list_survives_json_unchanged() -> None:
    """An equal list must compare equal to the state that a client's bytes gave."""
    found = directory("skill", [skill("one")])
    played = world(P, [plugin(P, one_of_each()), found, declared("git", range={"start": 1})]).run(["set W off"])
    items = list(Published(played.resolution()).items)
    assert decode(encode(items)) == items


def test_order_is_host_plugins_clients_directories_servers() -> None:
    played = world(P, [declared("git"), directory("skill"), plugin(AZ), directory("agent", path=".claude/agents")])
    played.publishes(says("c1", "file:///client"))
    names = [item["name"] for item in Published(played.resolution()).items]
    assert names == ["azure", "client", ".claude/agents", ".claude/skills", "git"]


def test_id_that_is_taken_is_left_out_and_reported() -> None:
    first = plugin(P, [skill("s", P)])
    played = world(P, [first, replace(plugin(P, [server("x", P)]), name="second")])
    assert played.resolution().duplicates == (P,)
    (only,) = Published(played.resolution()).items
    assert only["name"] == "example"
    assert [child["name"] for child in only["children"]] == ["s"]  # type: ignore[typeddict-item]


def test_faulty_child_is_listed_with_its_fault() -> None:
    broken = DiscoveredSkill(uri=f"{P}/x", name="x", load={"kind": "error", "message": "no front matter"})
    played = world(f"{P}#skill=x", [plugin(P, [broken])])
    assert played.published()["_meta"] == {**HOST, "x-innkeeper/load": {"kind": "error", "message": "no front matter"}}
    assert played.reaches()


def test_plugin_that_cannot_be_read_is_listed_and_withheld() -> None:
    broken = plugin(P, [skill("s", P)], load={"kind": "error", "message": "no manifest"})
    played = world(P, [broken, plugin(AZ, [skill("s", AZ)])])
    assert played.published()["load"]["kind"] == "error" and is_on(played.published())
    assert {one.id: one.reason for one in played.eligible().withheld} == {P: "unreadable", f"{P}#skill=s": "unreadable"}
    assert [one.container for one in played.eligible().leaves] == [AZ]


def test_skills_of_a_plugin_stay_on_and_listed_when_its_server_is_off() -> None:
    """The false alarm of item 3, with its control: the plugin's other server is there."""
    played = world(f"{AZ}#mcpServer=azure", [plugin(AZ, [server("azure"), server("other"), skill("s", AZ)])])
    played.step("set G off")
    found = played.eligible()
    assert [one.name for one in found.servers] == ["other"] and [one.name for one in found.leaves] == ["s"]
    assert played.published(f"{AZ}#skill=s")["enabled"] is True and found.names_off() == ("azure",)


def test_reducers_answer_to_a_toggle_and_the_published_item_agree_on_effect() -> None:
    """C1.4b: the reducer follows AHP, then the host publishes the resolved item."""
    played = world(f"{P}#skill=s", [plugin(P, one_of_each())])
    state: dict[str, Any] = {"customizations": list(Published(played.resolution()).items)}
    reduced = toggled(state, f"{P}#skill=s", OFF)
    played.step("set S off")
    children = {child["id"]: child for child in reduced["customizations"][0]["children"]}
    assert is_on(children[f"{P}#skill=s"]) is is_on(played.published()) is False


def test_server_that_belongs_to_a_plugin_is_withheld_with_it() -> None:
    """C1.5, also where an agent shows it at the top level."""
    seen = ServerItem(id="seen", uri="agent:/azure", name="azure", source=None)
    played = world("seen", [plugin(AZ, [server("azure")]), seen])
    assert played.reaches()
    played.target = AZ
    played.step("set S off")
    assert not played.reaches("seen") and played.words("seen") == "-"


def test_hook_is_handed_over_with_what_it_runs() -> None:
    run = HookCommand(commands={"default": "check"}, timeout=5.0, cwd="src", env={"A": "secret"})
    hook = DiscoveredHook(uri=f"{P}/h.json", name="Stop: x", event="Stop", matcher="x", runs=(run,))
    (leaf,) = world(P, [plugin(P, [hook])]).eligible().leaves_of("hook")
    (made,) = leaf.runs
    assert (made.event, made.matcher, made.commands, made.timeout) == ("Stop", "x", {"default": "check"}, 5.0)
    assert (made.cwd, made.env, leaf.plugin, leaf.ecosystem) == ("src", {"A": "secret"}, P, None)
    assert "secret" not in repr(leaf) and "secret" not in str(leaf.definition)


def test_session_without_a_directory_or_a_known_one_lists_directories() -> None:
    found = directory("skill", [skill("one")])
    played = world(f"{found.uri}#contents=skill", [found]).run(["directory-unknown"])
    assert played.words() == "pending:workingDirectory" and played.published()["enabled"] is False
    assert played.run(["workspaceless"]).words() == "-"
    (leaf,) = played.eligible().leaves
    assert (leaf.ecosystem, leaf.plugin) == ("claude", None)


def test_sighting_that_is_not_clear_has_itself_only() -> None:
    seen = ServerItem(id="seen", uri="agent:/x", name="x", source=None)
    played = world("seen", [seen])
    played.sessions["s1"].discovered = False
    assert played.resolution().sharing("seen") == ("seen",)
    assert played.eligible().withheld[0].key is None
