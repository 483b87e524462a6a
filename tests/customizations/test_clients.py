"""Plugins that clients publish (C2.1, C2.2, C2.4, C6.6, C7.4; issue 4 item 5)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from customizations.world import AZ, A, P, plugin, says, server, skill, world
from innkeeper.customizations.clients import (
    CLIENT_PLUGINS,
    COPIES,
    COPIES_A_PLUGIN,
    ClientPlugins,
    Contribution,
    Copies,
    read_contribution,
    superseded_copies,
)
from innkeeper.customizations.items import UnreadPlugin
from innkeeper.protocol.session.state import CustomizationLoadState

LOADED: CustomizationLoadState = {"kind": "loaded"}
FAILED: CustomizationLoadState = {"kind": "error", "message": "it is gone"}


def entry(uri: str = P, **fields: Any) -> Any:
    return {"type": "plugin", "id": uri, "uri": uri, "name": "example", **fields}


def test_entry_is_read_with_its_own_and_its_childrens_global() -> None:
    on, off = {"kind": "global", "enabled": True}, {"kind": "global", "enabled": False}
    fields = {"nonce": "n1", "version": "2", "enablement": [on], "childEnablement": {"m": [off], "s": []}}
    read = read_contribution("c1", [entry(**fields)])
    (found,) = read.plugins
    assert (found.client, found.revision, found.version, found.says) == ("c1", (P, "n1"), "2", True)
    assert (found.children, read.notes) == ({"m": False, "s": None}, ())


@pytest.mark.parametrize(
    ("decisions", "said", "note"),
    [
        ([{"kind": "session", "enabled": False}], None, "session scope"),
        (
            [{"kind": "workspace", "uri": "file:///r", "enabled": False}, {"kind": "global", "enabled": True}],
            True,
            "workspace scope",
        ),
        ([{"kind": "global", "enabled": True}, {"kind": "global", "enabled": False}], True, "two global"),
        ([{"kind": "tenant", "enabled": False}], None, "tenant scope"),
    ],
)
def test_client_has_no_say_at_the_other_scopes(decisions: list[Any], said: bool | None, note: str) -> None:
    """C2.1: ignored with a note, for the plugin and for its children."""
    for fields in ({"enablement": decisions}, {"childEnablement": {"m": decisions}}):
        read = read_contribution("c1", [entry(**fields)])
        assert len(read.notes) == 1 and note in read.notes[0]
        plugin_said = read.plugins[0].says if "enablement" in fields else read.plugins[0].children["m"]
        assert plugin_said is said


def test_twice_the_same_and_too_many_are_left_out_with_a_note() -> None:
    read = read_contribution("c1", [entry(nonce="1"), entry(nonce="2")])
    assert [one.nonce for one in read.plugins] == ["1"] and "twice" in read.notes[0]
    read = read_contribution("c1", [entry(f"file:///p{n}") for n in range(CLIENT_PLUGINS + 2)])
    assert len(read.plugins) == CLIENT_PLUGINS and len(read.notes) == 2


def test_maps_are_made_anew_when_a_client_says_less() -> None:
    """C5.2, race 6: nothing of an earlier entry stays."""
    clients = ClientPlugins().joined(Contribution("c1", (says("c1", P, True, m=False), says("c1", AZ))))
    clients = clients.joined(Contribution("c1", (says("c1", P, None),)))
    assert list(clients.effective) == [P] and clients.effective[P].children == {}
    assert clients.left("c1") == ClientPlugins()
    assert clients.left("c9") is clients


def test_client_that_publishes_again_keeps_its_turn() -> None:
    clients = ClientPlugins().joined(Contribution("c1", (says("c1", P, True),)))
    clients = clients.joined(Contribution("c2", (says("c2", P, False),)))
    clients = clients.joined(Contribution("c1", (says("c1", P, None, nonce="2"),)))
    assert clients.effective[P].client == "c1" and clients.effective[P].nonce == "2"


def test_content_and_decisions_come_from_one_client_also_after_it_left() -> None:
    """C7.4"""
    played = world(A, [plugin(AZ, [server("azure")])])
    played.publishes(says("c1", AZ, None, nonce="1", azure=False))
    played.publishes(says("c2", AZ, None, nonce="2"))
    assert (played.words(), played.published(AZ)["clientId"]) == ("G:off", "c1")
    assert [one.nonce for one in Copies().wanted(played.sessions["s1"].clients)] == ["1"]
    played.leaves("c1")
    assert (played.words(), played.published(AZ)["clientId"]) == ("-", "c2")
    assert [one.nonce for one in Copies().wanted(played.sessions["s1"].clients)] == ["2"]


def test_copy_is_wanted_once_a_nonce_and_again_after_a_failure() -> None:
    first, second = says("c1", P, nonce="1"), says("c1", P, nonce="2")
    clients = ClientPlugins((Contribution("c1", (first,)),))
    copies = Copies().arrived(first, LOADED, clients)
    assert copies.wanted(clients) == ()
    changed = clients.joined(Contribution("c1", (second,)))
    assert copies.wanted(changed) == (second,)
    assert copies.arrived(first, LOADED, changed) is copies
    failed = copies.arrived(second, FAILED, changed)
    assert failed.wanted(changed) == (second,)
    assert failed.kept(ClientPlugins()).by_uri == {} and failed.kept(changed) is failed


def test_plugin_that_is_not_here_is_listed_and_not_handed_over() -> None:
    """Its files could hold anything, so nothing of it reaches the agent."""
    played = world(P, [plugin("file:///other")])
    plugins = says("c1", P, True)
    clients = ClientPlugins((Contribution("c1", (plugins,)),))
    played.sessions["s1"].clients = clients
    for copies, kind in ((Copies(), "loading"), (Copies().arrived(plugins, FAILED, clients), "error")):
        unread = copies.unread(clients)
        assert [one.load["kind"] for one in unread] == [kind]
        played.sessions["s1"].items = [*unread]
        published = played.published()
        assert "children" not in published and published["clientId"] == "c1" and played.words() == "G:on"
        assert not played.reaches()
        assert played.run(["set S off"]).words() == "S:off G:on"
        played.step("set S none")


def test_plugin_of_a_client_that_is_gone_is_neither_listed_nor_handed_over() -> None:
    """C2.4"""
    played = world(P, [UnreadPlugin(uri=P, name="p", source="client", load=LOADED), plugin(AZ, source="client")])
    assert played.resolution().items == {} and played.eligible().withheld == ()


def test_global_of_a_bundled_child_that_another_one_changes_is_an_overlay_that_can_be_removed() -> None:
    """C6.6"""
    played = world(A, [plugin(AZ, [server("azure"), skill("s", AZ)])]).run(["child off", "set G on"])
    assert (played.stored(), played.published()["_meta"]["x-innkeeper/globalOwner"]) == ("G=on", "client:c1")
    assert played.published(f"{AZ}#skill=s")["_meta"]["x-innkeeper/globalOwner"] == "host"
    assert played.run(["set G off"]).stored() == "-"


def test_base_of_one_session_is_not_that_of_another() -> None:
    """Rows B15, B16, for a child."""
    played = world(A, [plugin(AZ, [server("azure")])]).run(["open s2", "child off"])
    assert (played.words(), played.words(session="s2")) == ("G:off", "-")


COPY = st.tuples(st.sampled_from(["p", "q", "r"]), st.integers(0, 40).map(str))


@given(st.lists(COPY, unique=True, max_size=90), st.sets(COPY, max_size=4))
def test_copies_are_bounded_and_those_in_use_stay(stored: list[tuple[str, str]], used: set[tuple[str, str]]) -> None:
    """C7.4: 8 a plugin, 64 in all; the newest stay."""
    deleted = superseded_copies(stored, used)
    kept = [copy for copy in stored if copy not in deleted]
    assert not used & set(deleted)
    assert len(kept) <= max(COPIES, len(used))
    for uri in {copy[0] for copy in stored}:
        mine = [copy for copy in kept if copy[0] == uri]
        assert len(mine) <= max(COPIES_A_PLUGIN, len([copy for copy in mine if copy in used]))
        if len([copy for copy in stored if copy[0] == uri]) <= COPIES_A_PLUGIN:
            assert len(mine) == len([copy for copy in stored if copy[0] == uri])
    newest = [copy for copy in stored if copy[0] == "p" and copy not in used][-1:]
    assert not newest or newest[0] in kept or len(used) >= COPIES_A_PLUGIN


def test_more_than_all_copies_are_bounded_by_the_sum() -> None:
    stored = [(f"p{n}", "1") for n in range(COPIES + 3)]
    assert superseded_copies(stored, [("p0", "1")]) == (("p1", "1"), ("p2", "1"), ("p3", "1"))
