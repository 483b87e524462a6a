"""Each of the 175 scenarios of the reference behaviour, by its number, with our expectation.

`OURS` marks the rows in which we differ on purpose, with the clause that says so. `INTEGRATION` names the rows, or the
parts of rows, that need a host, a provider's SDK or a store around the core, and where those are tested. The last test
checks that no row is missing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from customizations.world import (
    AZ,
    GIT,
    A,
    P,
    World,
    declared,
    directory,
    one_of_each,
    plugin,
    says,
    server,
    skill,
    world,
)
from innkeeper.customizations.clients import ClientPlugins, Contribution, Copies, read_contribution
from innkeeper.customizations.edits import Refused, Replace, SetScope, Stored, affected, apply
from innkeeper.customizations.enablement import InvalidSet, Overlay, Target, put
from innkeeper.customizations.explain import explain
from innkeeper.customizations.items import STOPPED, ServerItem
from innkeeper.customizations.places import Pending, Place, Workspaces
from innkeeper.customizations.publishing import is_on, publish
from innkeeper.customizations.reconciliation import Switch, observe, reconcile, settled
from innkeeper.customizations.resolution import Resolution, ScopedEnablement
from innkeeper.limits import DECISIONS
from innkeeper.ports.decisions import Decision, Decisions

COUNTS = {"M": 27, "B": 20, "C": 15, "D": 21, "E": 10, "F": 7, "G": 18, "H": 8, "J": 25, "K": 15, "L": 9}

OURS = {
    "C8": "C3.3: an entry for another directory is refused, not filed here",
    "C9": "item 6: two entries of one scope are refused",
    "D5": "C4.3: an edit waits whole, its global part too",
    "D10": "C4.3: a replacement does not clear Global early",
    "D17": "item 6: refused with a reason instead of raising",
    "D18": "item 6: refused with a reason instead of half applied",
    "D20": "C4.3: what waits is applied when the worktree is there",
    "D21": "C4.3: a live write replaces what waits",
    "E3": "C3.3: spellings of one directory are one workspace",
    "E4": "C3.3: a worktree that the host made has its repository's decisions",
    "F2": "C3.2: session decisions have the durable key",
    "F4": "C3.1b, C3.2: a sighting has the key of its definition, in the session too",
    "F6": "C3.1b: without an owner it is pending, then the agent's own; the owner map may not be left out",
    "G1": "C5.1: raw items have no decisions to keep; pending is marked, never made up",
    "G4": "C5.1: as G1",
    "G12": "C1.4: a directory and its children are resolved",
    "G13": "C1.4: leaves are resolved",
    "G15": "C3.1b: as F6",
    "G18": "C2.4: the base of a client goes with it",
    "H6": "C1.4: a directory is off by decision",
    "K1": "item 6: refused with a reason",
    "K2": "C1.4: durable like any other",
    "K13": "C7.4: content and decisions of the first client",
    "K14": "C7.4: a failed plugin does not drop a healthy one",
    "L1": "C8.1: nothing is evicted; above 10,000 a new decision is refused",
    "L2": "C8.1: as L1",
    "L3": "C8.1: as L1",
    "L4": "C8.1: there is no recency",
    "L5": "C8.1: there is no recency",
    "L7": "C8.1: pending with the error, toggles refused",
    "L8": "C4.4: stays pending with the error, and is not overwritten",
}

INTEGRATION = {
    "D19": "no event during a turn: tests/host/test_customizations_rows.py",
    "J4": "awaiting the session's decisions at create and resume: providers.copilot",
    "J7": "ephemeral sessions: providers.copilot",
    "J8": "order of cancelling authentication and disabling: providers.copilot",
    "J9": "the SDK's enable, and the inventory after it: providers.copilot",
    "J10": "relaunch at the next turn: providers.copilot",
    "J15": "reconciling before a turn and steering: tests/host/test_customizations_rows.py, each provider",
    "J18": "toggle and reconnect: providers.claude (we set the wanted servers instead, C6.2)",
    "J20": "rebuild before the next send: providers.claude",
    "J21": "the SDK's error, surfaced: providers.claude",
    "J23": "a running thread: providers.codex",
    "J24": "merging definitions of one name: mcp and providers.codex",
    "K7": "state replaced while a list is made: tests/host/test_customizations_rows.py",
    "K8": "provider that comes later: tests/host/test_customizations_rows.py",
    "K9": "session that was never published: tests/host/test_customizations_rows.py",
    "K15": "files that churn: customizations.discovery",
    "L6": "leaves of the store: tests/store",
}
"""What of a row is beyond the core. Rows that are here only have no test in this module."""

ELSEWHERE = {"J7", "J8", "J9", "J10", "J18", "J24", "K7", "K8", "K9", "K15", "L6"}


@dataclass(frozen=True)
class Row:
    id: str
    steps: Sequence[str]
    store: str
    published: str
    on: bool
    look: str = "s1"


def combined(g: str, w: str, s: str) -> list[str]:
    return [f"set {scope} {value}" for scope, value in (("G", g), ("W", w), ("S", s)) if value != "."]


M = [
    ("M01", ". . .", "-", "-", True),
    ("M02", ". . on", "-", "-", True),
    ("M03", ". . off", "S[s1]=off", "S:off", False),
    ("M04", ". on .", "-", "-", True),
    ("M05", ". on on", "-", "-", True),
    ("M06", ". on off", "S[s1]=off", "S:off", False),
    ("M07", ". off .", "W[/repo]=off", "W:off", False),
    ("M08", ". off on", "W[/repo]=off S[s1]=on", "S:on W:off", True),
    ("M09", ". off off", "W[/repo]=off", "W:off", False),
    ("M10", "on . .", "-", "-", True),
    ("M11", "on . on", "-", "-", True),
    ("M12", "on . off", "S[s1]=off", "S:off", False),
    ("M13", "on on .", "-", "-", True),
    ("M14", "on on on", "-", "-", True),
    ("M15", "on on off", "S[s1]=off", "S:off", False),
    ("M16", "on off .", "W[/repo]=off", "W:off", False),
    ("M17", "on off on", "W[/repo]=off S[s1]=on", "S:on W:off", True),
    ("M18", "on off off", "W[/repo]=off", "W:off", False),
    ("M19", "off . .", "G=off", "G:off", False),
    ("M20", "off . on", "G=off S[s1]=on", "S:on G:off", True),
    ("M21", "off . off", "G=off", "G:off", False),
    ("M22", "off on .", "G=off W[/repo]=on", "W:on G:off", True),
    ("M23", "off on on", "G=off W[/repo]=on", "W:on G:off", True),
    ("M24", "off on off", "G=off W[/repo]=on S[s1]=off", "S:off W:on G:off", False),
    ("M25", "off off .", "G=off", "G:off", False),
    ("M26", "off off on", "G=off S[s1]=on", "S:on G:off", True),
    ("M27", "off off off", "G=off", "G:off", False),
]

ALL_THREE = ["set G off", "set W on", "set S off"]
ROWS = [
    *(Row(id, combined(*values.split()), store, published, on) for id, values, store, published, on in M),
    Row("B1", ["client on"], "-", "G:on", True),
    Row("B2", ["client off"], "-", "G:off", False),
    Row("B3", ["client off", "client on"], "-", "G:on", True),
    Row("B4", ["client off", "set G on"], "G=on", "G:on", True),
    Row("B5", ["client off", "set G on", "set G off"], "-", "G:off", False),
    Row("B6", ["set G off", "client on"], "G=off", "G:off", False),
    Row("B7", [*ALL_THREE, "client on"], "G=off W[/repo]=on S[s1]=off", "S:off W:on G:off", False),
    Row("B8", ["client on", "set G off", "client off"], "G=off", "G:off", False),
    Row("B9", ["client on", "set G off", "client off", "client on"], "G=off", "G:off", False),
    Row("B10", ["client on", "set G on", "client off"], "-", "G:off", False),
    Row("B14", ["client off", "set W off"], "-", "G:off", False),
    Row("B15", ["open s2", "client off"], "-", "-", True, "s2"),
    Row("B16", ["open s2", "client off", "set G on"], "G=on", "G:on", True, "s2"),
    Row("C1", ALL_THREE, "G=off W[/repo]=on S[s1]=off", "S:off W:on G:off", False),
    Row("C2", [*ALL_THREE, "replace G:off"], "G=off", "G:off", False),
    Row("C3", [*ALL_THREE, "replace S:off"], "S[s1]=off", "S:off", False),
    Row("C4", [*ALL_THREE, "replace"], "-", "-", True),
    Row("C5", [*ALL_THREE, "replace S:on"], "-", "-", True),
    Row("C6", ["replace S:on W:on G:on"], "-", "-", True),
    Row("C7", ["replace S:off W:off G:off"], "G=off", "G:off", False),
    Row("C8", ["replace S:on W:off@/other G:on"], "-", "-", True),
    Row("C9", ["replace W:off W:on@/other"], "-", "-", True),
    Row("C10", ["set W off", "set G off"], "G=off", "G:off", False),
    Row("C11", ["set W off", "set G off", "set G on"], "-", "-", True),
    Row("C12", ["open s2 /other", "set W off", "s2 set G off"], "G=off", "G:off", False),
    Row("C13", ["open s2 /other", "set G off", "set W on", "s2 set G on"], "W[/repo]=on", "W:on", True),
    Row("C14", ["open s2", "set S off", "s2 set G off"], "G=off S[s1]=off", "S:off G:off", False),
    Row("C15", ["set S off", "set G off"], "G=off", "G:off", False),
    Row("D1", ["row unread"], "-", "pending:session", False),
    Row("D2", ["directory-unknown"], "-", "pending:workingDirectory", False),
    Row("D3", ["worktree pending"], "-", "pending:workingDirectory", False),
    Row("D4", ["worktree pending", "workspaceless"], "-", "-", True),
    Row("D5", ["directory-unknown", "set G off"], "-", "pending:workingDirectory", False),
    Row("D6", ["directory-unknown", "set W off"], "-", "pending:workingDirectory", False),
    Row("D7", ["directory-unknown", "set W off", "directory /repo"], "W[/repo]=off", "W:off", False),
    Row("D8", ["directory-unknown", "set S off", "directory /repo"], "S[s1]=off", "S:off", False),
    Row("D9", ["directory-unknown", "replace W:off@/repo", "directory /repo"], "W[/repo]=off", "W:off", False),
    Row("D10", ["set G off", "directory-unknown", "replace W:on@/repo"], "G=off", "pending:workingDirectory", False),
    Row("D11", ["set G off", "directory-unknown", "replace W:on@/repo", "directory /repo"], "-", "-", True),
    Row("D12", ["directory-unknown", "replace S:off", "set G off", "directory /repo"], "G=off", "G:off", False),
    Row(
        "D13",
        ["directory-unknown", "set W off", "set W on", "set S off", "directory /repo"],
        "S[s1]=off",
        "S:off",
        False,
    ),
    Row("D14", ["directory-unknown", "set W off", "replace S:off", "directory /repo"], "S[s1]=off", "S:off", False),
    Row("D15", ["row unread", "replace W:off@/repo", "row read"], "W[/repo]=off", "W:off", False),
    Row("D16", ["set S off", "restart"], "S[s1]=off", "S:off", False),
    Row("D17", ["workspaceless", "set W off"], "-", "-", True),
    Row("D18", ["workspaceless", "replace S:off W:off@/repo"], "-", "-", True),
    Row("D19", ["set W off", "directory /other"], "W[/repo]=off", "-", True),
    Row("D20", ["worktree pending", "set S off", "worktree done"], "S[s1]=off", "S:off", False),
    Row(
        "D21",
        ["worktree pending", "set S off", "worktree done", "set S on", "directory /repo"],
        "-",
        "-",
        True,
    ),
    Row("E1", ["set W off", "open s2"], "W[/repo]=off", "W:off", False, "s2"),
    Row("E2", ["set W off", "open s2 /other"], "W[/repo]=off", "-", True, "s2"),
    Row("E3", ["set W off", "open s2 /repo/"], "W[/repo]=off", "W:off", False, "s2"),
    Row("E5", ["set S off", "open s2"], "S[s1]=off", "-", True, "s2"),
]


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_row(row: Row) -> None:
    played = world().run(row.steps)
    found = (played.stored(), played.words(session=row.look), played.reaches(session=row.look))
    assert found == (row.store, row.published, row.on)


REFUSED = {
    "C8": "another directory",
    "C9": "two workspace",
    "D17": "no working directory",
    "D18": "no working directory",
}


@pytest.mark.parametrize("row", [row for row in ROWS if row.id in REFUSED], ids=list(REFUSED))
def test_row_that_cannot_be_applied_is_refused_to_its_sender(row: Row) -> None:
    outcome = world().run(row.steps).outcome
    assert isinstance(outcome, Refused) and REFUSED[row.id] in outcome.reason


def azure(children: Sequence[str] = ("azure",)) -> World:
    return world(A, [plugin(AZ, [server(name) for name in children])])


def test_row_b11_client_has_no_say_about_a_child_that_it_did_not_bundle() -> None:
    played = azure()
    played.step("set G off")
    played.publishes(says("c1", AZ, other=True))
    assert (played.stored(), played.words(), played.reaches()) == ("G=off", "G:off", False)
    assert played.published()["_meta"] == {"x-innkeeper/globalOwner": "host"}


def test_row_b12_bundled_child_has_its_clients_value() -> None:
    played = azure().run(["child off"])
    assert (played.stored(), played.words(), played.reaches()) == ("-", "G:off", False)
    assert played.published()["_meta"] == {"x-innkeeper/globalOwner": "client:c1"}


def test_row_b13_workspace_overrides_the_base() -> None:
    played = azure().run(["child off", "set W on"])
    assert (played.stored(), played.words(), played.reaches()) == ("W[/repo]=on", "W:on G:off", True)


@pytest.mark.parametrize(
    ("steps", "store", "published", "on"),
    [
        pytest.param(["set G on"], "G=on", "G:on", True, id="B17"),
        pytest.param([], "-", "G:off", False, id="B18"),
        pytest.param(["set G on", "set G off"], "-", "G:off", False, id="B19"),
        pytest.param(["set S on"], "S[s1]=on", "S:on G:off", True, id="B20"),
    ],
)
def test_row_b17_b18_b19_b20_discovery_default_that_is_off(
    steps: list[str], store: str, published: str, on: bool
) -> None:
    played = world(GIT, [declared(default=False)]).run(steps)
    assert (played.stored(), played.words(), played.reaches()) == (store, published, on)


def test_row_d6_nothing_is_announced_for_an_edit_that_waits() -> None:
    played = world().run(["directory-unknown"])
    before = len(played.events)
    played.step("set W off")
    assert (len(played.events), played.outcome, len(played.waiting.edits)) == (before, None, 1)


def test_row_e4_worktree_of_the_host_shares_its_repositorys_decisions() -> None:
    played = world()
    played.workspaces = Workspaces(worktrees={"file:///trees/one": "file:///repo"})
    played.run(["set W off", "open s2 /trees/one", "open s3 /trees/by-hand"])
    assert played.published(session="s2")["enablement"] == [
        {"kind": "workspace", "uri": "file:///trees/one", "enabled": False}
    ]
    assert played.words(session="s3") == "-"


@pytest.mark.parametrize(
    ("steps", "events"),
    [
        pytest.param(["open s2", "set G off"], [("s1", "s2")], id="E6"),
        pytest.param(["open s2", "open s3 /other", "set W off"], [("s1", "s2")], id="E7"),
        pytest.param(["open s2", "set S off"], [("s1",)], id="E8"),
        pytest.param(["set G off", "set G off"], [("s1",), ()], id="E9"),
        pytest.param(["client off"], [], id="E10"),
    ],
)
def test_row_e6_e7_e8_e9_e10_who_has_to_resolve_again(steps: list[str], events: list[tuple[str, ...]]) -> None:
    assert world().run(steps).events == events


def test_row_f1_key_is_the_published_uri_and_not_the_copy() -> None:
    played = azure().run(["set G off"])
    played.open("s2", "/repo", [replace(plugin(AZ, [server("azure")]), path="/copies/other-revision")])
    assert played.words(session="s2") == "G:off"


def test_row_f2_session_decision_survives_a_changed_plugin() -> None:
    played = azure().run(["set S off"])
    moved = replace(server("azure"), uri=f"{AZ}/servers/mcp.json", pointer=("azure",))
    played.sessions["s1"].items = [replace(plugin(AZ, [moved]), path="/copies/azure-2")]
    assert (played.words(), played.reaches()) == ("S:off", False)


SIGHTED = ServerItem(id="mcp-top-level:1", uri="agent:/git", name="git", source=None)


@pytest.mark.parametrize(
    ("step", "published"), [pytest.param("set G off", "G:off", id="F3"), pytest.param("set S off", "S:off", id="F4")]
)
def test_row_f3_f4_server_that_an_agent_reports_by_name_is_the_declared_one(step: str, published: str) -> None:
    played = world(GIT, [declared("git")]).run([step])
    played.sessions["s1"].items.append(SIGHTED)
    assert (played.words(SIGHTED.id), played.reaches(SIGHTED.id)) == (published, False)
    assert played.resolution().sharing(SIGHTED.id) == (GIT, SIGHTED.id)


def test_row_f5_nested_and_top_level_sighting_are_one() -> None:
    seen = replace(SIGHTED, name="azure")
    played = azure().run(["set G off"])
    played.sessions["s1"].items.append(seen)
    assert played.words(seen.id) == "G:off"
    assert len({item.target.key for item in played.resolution().items.values() if item.target}) == 2


def test_row_f6_sighting_without_owner_is_pending_and_then_the_agents_own() -> None:
    seen = replace(SIGHTED, name="azure")
    played = azure().run(["set G off"])
    known = played.open("s2", "/repo", [seen])
    known.discovered = False
    assert (played.words(seen.id, "s2"), played.reaches(seen.id, "s2")) == ("pending:discovery", False)
    known.discovered = True
    assert played.resolution("s2").items[seen.id].target == Target(
        "mcp/agent%3Aconsole/azure", older=("mcpServers#azure", seen.id)
    )


def test_row_f7_container_and_child_have_their_own_keys() -> None:
    played = azure()
    played.edit(SetScope("global", False), AZ)
    assert (played.words(AZ), played.words(A), played.reaches(A)) == ("G:off", "-", False)


def test_row_g1_pending_session_withholds_plugin_and_child() -> None:
    played = azure().run(["directory-unknown"])
    assert (played.words(AZ), played.words(A)) == ("pending:workingDirectory", "pending:workingDirectory")
    assert {one.id: one.reason for one in played.eligible().withheld} == {
        AZ: "workingDirectory",
        A: "workingDirectory",
    }
    assert not played.eligible().complete
    assert not is_on(played.published(AZ)) and not is_on(played.published(A))
    assert played.published(AZ)["load"] == {"kind": "loading"}


def test_row_g2_pending_child_withholds_its_container() -> None:
    class ChildPending(ScopedEnablement):
        def decide(self, target: Target, base: Any) -> Any:
            return Pending("discovery") if target.key.endswith("/mcp/azure") else super().decide(target, base)

    played = azure(("azure", "other"))
    from innkeeper.customizations.eligibility import eligible

    found = eligible(played.sessions["s1"].items, ChildPending(played.context(), Overlay()))
    assert {one.id for one in found.withheld} == {AZ, A, f"{AZ}#mcpServer=other"}
    assert {one.reason for one in found.withheld} == {"discovery"}
    wire = publish(played.sessions["s1"].items, ChildPending(played.context(), Overlay())).items
    assert "x-innkeeper/pending" not in wire[0].get("_meta", {})


def test_row_g3_field_is_left_out_without_a_decision() -> None:
    played = world(GIT, [declared()])
    assert "enablement" not in played.published() and "enabled" not in played.published()
    assert is_on(played.published()) and played.reaches()


def test_row_g4_pending_item_carries_no_decision() -> None:
    played = world(GIT, [declared()]).run(["set S off", "row unread"])
    assert "enablement" not in played.published()
    assert not is_on(played.published()) and not played.reaches()


def test_row_g5_base_of_plugin_and_child_below_the_hosts_decisions() -> None:
    played = azure(("server",))
    child = f"{AZ}#mcpServer=server"
    played.publishes(says("c1", AZ, True, server=False))
    played.edit(SetScope("workspace", True), child)
    played.edit(SetScope("session", False), child)
    assert (played.words(AZ), played.words(child)) == ("G:on", "S:off W:on G:off")
    assert played.reaches(AZ) and not played.reaches(child)


def test_row_g6_bundled_without_an_opinion() -> None:
    played = azure(("server",))
    child = f"{AZ}#mcpServer=server"
    played.edit(SetScope("global", False), child)
    played.publishes(says("c1", AZ, server=None))
    assert played.words(child) == "G:off" and played.resolution().base.values == {}
    assert played.published(child)["_meta"]["x-innkeeper/globalOwner"] == "client:c1"
    assert "bundled" not in str(played.published(child))


def test_row_g7_g8_what_is_no_key_is_the_hosts() -> None:
    played = azure(("server",))
    child = f"{AZ}#mcpServer=server"
    played.edit(SetScope("global", False), child)
    for entry in (says("c1", AZ, other=True), says("c1", AZ)):
        played.publishes(entry)
        assert played.words(child) == "G:off"
        assert played.published(child)["_meta"]["x-innkeeper/globalOwner"] == "host"


def test_row_g9_plugin_of_the_host_is_resolved_plainly() -> None:
    played = world().run(["set G off"])
    assert played.words() == "G:off" and "clientId" not in played.published()


def test_row_g10_g11_client_entry_without_a_global_decision() -> None:
    entry: Any = {
        "type": "plugin",
        "id": P,
        "uri": P,
        "name": "example",
        "enablement": [{"kind": "session", "enabled": False}],
    }
    read = read_contribution("c1", [entry])
    assert read.plugins[0].says is None and "session scope" in read.notes[0]
    played = world()
    played.publishes(read.plugins[0])
    assert played.words() == "-" and played.reaches()


def test_row_g12_directory_and_its_children_are_resolved() -> None:
    folder = directory("mcpServer", [server("x", "file:///repo/.claude")], path=".claude")
    played = world(f"{folder.uri}#contents=mcpServer", [folder])
    child = f"{played.target}&mcpServer=x"
    played.edit(SetScope("workspace", False), child)
    assert played.words(child) == "W:off" and played.reaches() is False
    assert {one.id: one.reason for one in played.eligible().withheld} == {child: "own"}


def test_row_g13_leaves_are_resolved_and_follow_their_plugin() -> None:
    played = world(P, [plugin(P, one_of_each())])
    played.edit(SetScope("session", False), f"{P}#skill=s")
    assert played.published(f"{P}#skill=s")["enabled"] is False
    assert [one.name for one in played.eligible().withheld] == ["s"]
    played.step("set G off")
    assert len(played.eligible().withheld) == 7


def test_row_g14_top_level_with_an_owner_is_the_nested_one() -> None:
    played = azure().run(["set G off"])
    seen = replace(SIGHTED, name="azure", source="elsewhere", owner=AZ)
    played.sessions["s1"].items.append(seen)
    assert played.words(seen.id) == "G:off" and not played.reaches(seen.id)


def test_row_g15_without_the_owner_map_nothing_is_resolved() -> None:
    played = azure().run(["set G off"])
    seen = replace(SIGHTED, name="azure")
    played.sessions["s1"].items.append(seen)
    played.sessions["s1"].discovered = False
    without = replace(played.context(), owners={})
    found = Resolution(played.sessions["s1"].items, ScopedEnablement(without, played.overlay))
    assert found.items[seen.id].verdict == Pending("discovery")


@pytest.mark.parametrize("default", [True, False])
def test_row_g16_resolving_again_changes_nothing(default: bool) -> None:
    played = world(GIT, [declared(default=default)]).run(["set S on"])
    first = publish(played.sessions["s1"].items, played.enablement()).items
    assert publish(played.sessions["s1"].items, played.enablement()).items == first
    sent = played.published().get("enablement", ())
    assert isinstance(played.edit(Replace(sent)), Stored)
    assert publish(played.sessions["s1"].items, played.enablement()).items == first


def test_row_g17_verdict_is_never_kept() -> None:
    played = world().run(["set W off", "directory-unknown"])
    assert played.words() == "pending:workingDirectory"
    played.step("directory /repo")
    assert played.words() == "W:off"


def test_row_g18_nothing_of_a_client_stays_behind() -> None:
    played = azure().run(["child off"])
    assert played.words() == "G:off"
    played.leaves("c1")
    played.publishes(says("c2", AZ))
    assert played.words() == "-" and played.resolution().base.values == {}
    assert played.published()["_meta"] == {"x-innkeeper/globalOwner": "host"}


@pytest.mark.parametrize(
    ("on_plugin", "on_child", "published", "reaches"),
    [
        pytest.param(["global off"], ["session on"], "-", False, id="H1-redundant"),
        pytest.param(["global off"], ["global off", "session on"], "S:on G:off", False, id="H1"),
        pytest.param(["global off", "global none"], ["global off", "session on"], "S:on G:off", True, id="H2"),
        pytest.param([], ["workspace off"], "W:off", False, id="H3"),
        pytest.param(["workspace off"], [], "-", False, id="H4"),
        pytest.param(["global off", "session on"], ["global off"], "G:off", False, id="H5"),
    ],
)
def test_row_h1_h2_h3_h4_h5_container_counts_at_consumption_only(
    on_plugin: list[str], on_child: list[str], published: str, reaches: bool
) -> None:
    played = world(A, [plugin(AZ, [server("azure"), server("other"), skill("s", AZ)])])
    values = {"on": True, "off": False, "none": None}
    for id, edits in ((A, on_child), (AZ, on_plugin)):
        for edit in edits:
            scope, value = edit.split()
            played.edit(SetScope(scope, values[value]), id)  # type: ignore[arg-type]
    assert (played.words(A), played.reaches(A)) == (published, reaches)
    plugin_on = played.reaches(AZ)
    assert plugin_on == is_on(played.published(AZ))
    others = (f"{AZ}#mcpServer=other", f"{AZ}#skill=s")
    assert [played.reaches(other) for other in others] == [plugin_on, plugin_on]


def test_row_h6_directory_that_is_off_withholds_what_it_holds() -> None:
    folder = directory("skill", [skill("one")])
    played = world(f"{folder.uri}#contents=skill", [folder])
    child = f"{played.target}&skill=one"
    assert played.reaches(child)
    played.step("set W off")
    assert played.published()["enabled"] is False and played.published(child)["enabled"] is True
    assert not played.reaches(child)


def test_row_h7_reason_is_the_plugin_when_both_are_off() -> None:
    played = azure()
    played.edit(SetScope("workspace", False), A)
    played.edit(SetScope("global", False), AZ)
    found = explain(A, played.resolution(), played.overlay)
    assert found is not None and found.withheld == "container" and found.decided_by == "workspace"
    assert found.container is not None and (found.container.id, found.container.on) == (AZ, False)


def test_row_h8_default_off_then_on_then_pending() -> None:
    played = world(GIT, [declared(default=False)])
    seen = [played.reaches(), played.reaches()]
    played.step("set S on")
    seen.append(played.reaches())
    played.step("directory-unknown")
    assert [*seen, played.reaches()] == [False, False, True, False]


def test_row_j1_plugin_is_handed_over_and_the_server_that_is_off_is_named() -> None:
    played = azure(("azure", "other")).run(["set S off"])
    found = played.eligible()
    assert [one.path for one in found.plugins] == ["/copies/azure"]
    assert found.names_off() == ("azure",) and [one.name for one in found.servers] == ["other"]


@pytest.mark.parametrize("step", ["set G off", "directory-unknown"], ids=["off", "pending"])
def test_row_j2_plugin_that_is_off_or_pending_gives_nothing(step: str) -> None:
    played = world(P, [plugin(P, one_of_each())])
    assert len(played.eligible().leaves) == 5
    found = played.run([step]).eligible()
    assert (found.plugins, found.servers, found.leaves) == ((), (), ())


def test_row_j3_declared_server_that_is_off_is_withheld_and_named() -> None:
    played = world(GIT, [declared("git"), declared("other")]).run(["set W off"])
    assert [one.name for one in played.eligible().servers] == ["other"]
    assert played.eligible().names_off() == ("git",)


def test_row_j4_built_in_server_that_is_off_is_named_and_a_launch_waits_for_the_decisions() -> None:
    built_in = ServerItem(id="mcp:github", uri="agent:/github", name="github", source="agent:console")
    played = world(built_in.id, [built_in]).run(["set S off", "row unread"])
    assert not played.eligible().complete
    played.step("row read")
    assert played.eligible().complete and played.eligible().names_off() == ("github",)


def test_row_j5_names_are_sorted_and_come_once() -> None:
    other = plugin("file:///plugins/more", [server("azure", "file:///plugins/more")])
    played = azure()
    played.sessions["s1"].items += [other, declared("github"), declared("azure", id="mcp:root-azure")]
    for id in (A, f"{other.uri}#mcpServer=azure", "mcp:github", "mcp:root-azure"):
        played.edit(SetScope("global", False), id)
    assert played.eligible().names_off() == ("azure", "github")


def test_row_j6_nothing_is_named_when_nothing_is_off() -> None:
    assert azure().eligible().names_off() == ()


def two_azures() -> World:
    played = azure()
    played.sessions["s1"].items.append(plugin("file:///plugins/more", [server("azure", "file:///plugins/more")]))
    return played


def test_row_j11_plugin_that_is_not_handed_over_does_not_put_a_name_off() -> None:
    played = two_azures()
    played.edit(SetScope("global", False), "file:///plugins/more")
    assert played.eligible().names_off() == ()
    assert [one.owner for one in played.eligible().servers] == [AZ]


def test_row_j12_one_of_two_that_is_off_puts_the_name_off() -> None:
    assert two_azures().run(["set S off"]).eligible().names_off() == ("azure",)


def test_row_j13_server_without_a_decision_is_left_alone() -> None:
    assert reconcile({"git": True}, {"git": "connected", "own": "disabled"}).switches == ()


def test_row_j14_not_configured_is_unknown() -> None:
    assert observe("not_configured") == "unknown"
    assert reconcile({"git": False}, {"git": "not_configured"}).switches == ()
    wanted = reconcile({"git": True}, {"git": "not_configured"})
    assert (wanted.switches, wanted.unclear) == ((), ("git",)) and not settled({"git": True}, {"git": "not_configured"})
    played = world(GIT, [declared()]).run(["set S off"])
    assert played.published()["state"] == STOPPED and not is_on(played.published())


def test_row_j15_off_stays_off_however_often_it_is_resolved() -> None:
    played = world(GIT, [declared()]).run(["set W off"])
    assert [played.reaches() for _ in range(3)] == [False, False, False]
    assert reconcile({"git": False}, {"git": "connected"}).switches == (Switch("git", False),)


def test_row_j16_global_off_holds_in_a_new_session_from_its_first_resolution() -> None:
    played = world(GIT, [declared()]).run(["set G off", "open s2 /other"])
    assert played.eligible("s2").servers == () and played.eligible("s2").names_off() == ("git",)


def test_row_j17_server_that_the_agent_does_not_know_is_passed_over() -> None:
    found = reconcile({"gone": False, "missing": True}, {})
    assert (found.switches, found.absent) == ((), ("missing",))


def test_row_j19_nothing_to_switch_when_nothing_differs() -> None:
    assert reconcile({"git": True, "db": False}, {"git": "connected", "db": "disabled"}).switches == ()


def test_row_j20_plugin_that_is_switched_off_is_not_handed_over_again() -> None:
    played = azure()
    before = played.eligible()
    played.edit(SetScope("session", False), AZ)
    assert before.plugins and played.eligible().plugins == ()


def test_row_j21_change_is_not_settled_before_the_agent_says_so() -> None:
    assert not settled({"git": False}, {"git": "connected"})
    assert settled({"git": False}, {"git": "disabled"})


@pytest.mark.parametrize("step", ["set G off", "directory-unknown"], ids=["off", "pending"])
def test_row_j22_server_that_is_off_or_pending_is_not_offered_at_the_start(step: str) -> None:
    assert world(GIT, [declared()]).run([step]).eligible().servers == ()


def test_row_j23_next_thread_is_without_it() -> None:
    played = world(GIT, [declared()])
    assert [one.name for one in played.eligible().servers] == ["git"]
    assert played.run(["set S off"]).eligible().servers == ()


def test_row_j25_plugin_that_is_off_takes_all_its_leaves_with_it() -> None:
    played = world(P, [plugin(P, one_of_each())]).run(["set W off"])
    assert {one.type for one in played.eligible().withheld} == {
        "plugin",
        "agent",
        "skill",
        "prompt",
        "rule",
        "hook",
        "mcpServer",
    }


def test_row_k1_toggle_of_what_is_not_there_is_refused() -> None:
    played = world()
    outcome = played.edit(Replace(played.entries(["G:off"])), "nothing")
    assert isinstance(outcome, Refused) and "no customization nothing" in outcome.reason
    assert played.stored() == "-"


def test_row_k2_skill_is_durable() -> None:
    played = world(f"{P}#skill=s", [plugin(P, one_of_each())]).run(["set S off", "restart"])
    assert played.words() == "S:off" and played.published()["enabled"] is False


def test_row_k3_empty_set_clears_every_scope() -> None:
    played = world().run([*ALL_THREE, "replace"])
    assert played.stored() == "-" and "enablement" not in played.published()


def test_row_k4_overlay_on_a_bundled_server_survives_later_bases() -> None:
    played = azure().run(["child on", "replace G:off"])
    assert (played.stored(), played.words()) == ("G=off", "G:off")
    played.run(["child off", "child on"])
    assert (played.stored(), played.words()) == ("G=off", "G:off")
    chain = explain(A, played.resolution(), played.overlay)
    assert chain is not None and chain.scopes[2].overrides_client and chain.scopes[2].owner == "client:c1"


def test_row_k5_writing_the_bases_value_removes_the_overlay() -> None:
    played = azure().run(["child on", "replace G:off", "replace G:on"])
    assert (played.stored(), played.words()) == ("-", "G:on")


def test_row_k6_equal_list_is_equal() -> None:
    played = world(P, [plugin(P, one_of_each())])
    items = played.sessions["s1"].items
    assert publish(items, played.enablement()).items == publish(list(items), played.enablement()).items


def test_row_k10_write_does_not_erase_itself() -> None:
    played = azure().run(["child on", "set G off", "child on"])
    assert (played.stored(), played.words()) == ("G=off", "G:off")


def test_row_k11_identical_plugins_are_no_news() -> None:
    clients = ClientPlugins((Contribution("c1", (says("c1", P, True),)),))
    assert clients.joined(Contribution("c1", (says("c1", P, True),))) is clients
    copies = Copies().arrived(says("c1", P, True), {"kind": "loaded"}, clients)
    assert copies.wanted(clients) == ()


def test_row_k12_late_copy_of_a_client_that_left_is_ignored() -> None:
    clients = ClientPlugins((Contribution("c1", (says("c1", P, True),)),))
    copies = Copies()
    assert copies.wanted(clients) == (says("c1", P, True),)
    assert copies.arrived(says("c1", P, True), {"kind": "loaded"}, clients.left("c1")) is copies
    played = world()
    played.publishes(says("c1", P, True))
    played.leaves("c1")
    assert played.resolution().items == {}


def test_row_k13_first_client_gives_content_and_decisions() -> None:
    first, second = says("c1", P, True, nonce="1", m=True), says("c2", P, False, nonce="2", m=False)
    clients = ClientPlugins((Contribution("c1", (first,)), Contribution("c2", (second,))))
    assert clients.effective[P] is first and Copies().wanted(clients) == (first,)
    assert clients.left("c1").effective[P] is second


def test_row_k14_failed_plugin_does_not_drop_a_healthy_one() -> None:
    good, bad = says("c1", P), says("c1", AZ)
    clients = ClientPlugins((Contribution("c1", (good, bad)),))
    copies = Copies().arrived(good, {"kind": "loaded"}, clients)
    copies = copies.arrived(bad, {"kind": "error", "message": "no"}, clients)
    assert [(one.uri, one.load["kind"]) for one in copies.unread(clients)] == [(AZ, "error")]
    assert copies.wanted(clients) == (bad,)


def test_row_l1_l2_l3_nothing_is_evicted() -> None:
    full = tuple(Decision(f"k{n}", "global", "", False, "2026-01-01T00:00:00.000Z") for n in range(DECISIONS))
    played = world(GIT, [declared()])
    played.overlay = Overlay(Decisions(full))
    outcome = played.edit(SetScope("global", False))
    assert isinstance(outcome, Refused) and "10000" in outcome.reason
    assert played.overlay.decisions.decisions == full


def test_row_l4_l5_decisions_need_nothing_beside_them() -> None:
    played = world().run(ALL_THREE)
    again = world()
    again.overlay = Overlay(Decisions(played.overlay.decisions.decisions[::-1]))
    assert again.words() == played.words()


@pytest.mark.parametrize("row", ["L7", "L8"])
def test_row_l7_l8_decisions_that_cannot_be_read_stay_pending_and_untouched(row: str) -> None:
    played = world().run(["set S off", "row broken"])
    meta = played.published()["_meta"]
    assert (played.words(), played.reaches()) == ("pending:session", False)
    fault = {"kind": "error", "message": "it is not JSON"}
    assert meta["x-innkeeper/load"] == played.published()["load"] == fault
    outcome = played.edit(SetScope("session", True))
    assert isinstance(outcome, Refused) and "it is not JSON" in outcome.reason
    assert (played.stored(), played.waiting.edits) == ("S[s1]=off", ())


def test_row_l9_last_decision_leaves_nothing_behind() -> None:
    played = world().run(["set G off", "set G none"])
    assert played.overlay.decisions == Decisions()


def test_single_writes_to_a_place_without_the_scope_raise() -> None:
    """Row D17, below the edits."""
    with pytest.raises(InvalidSet):
        put("workspace", False, Target("k"), Place("s1"), Overlay(), Resolution([], world().enablement()).base, "")
    assert affected((), {"s1": Place("s1")}) == ()
    assert isinstance(apply("x", Replace(()), world().resolution(), Overlay(), ""), Refused)


def test_every_row_of_the_reference_is_here_or_named(request: pytest.FixtureRequest) -> None:
    every = {f"{letter}{n:02d}" if letter == "M" else f"{letter}{n}" for letter, n in numbered()}
    tested = {row.id for row in ROWS}
    for name in dir(request.module):
        found = re.match(r"test_row_((?:[a-z]\d+_)+)", name)
        if found:
            tested |= {word.upper() for word in found[1].strip("_").split("_")}
    assert len(every) == sum(COUNTS.values()) == 175
    assert every - tested == ELSEWHERE <= INTEGRATION.keys()
    assert tested <= every and OURS.keys() <= tested and INTEGRATION.keys() <= every


def numbered() -> list[tuple[str, int]]:
    return [(letter, n) for letter, count in COUNTS.items() for n in range(1, count + 1)]
