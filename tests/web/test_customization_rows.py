"""The rows and the chain of the Customizations page, as values (spec C1, C2, C4, C5.3, C6.6)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.web.customization_chain import chain, when_it_acts
from innkeeper.web.customization_rows import counted, filtered, rows

ON = {"kind": "session", "enabled": True}
OFF = {"kind": "workspace", "uri": "file:///w", "enabled": False}
SESSION: dict[str, Any] = {"workingDirectories": ["file:///w"]}


def item(id: str, type: str = "skill", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": type, "name": id, "uri": f"file:///w/{id}", "on": True, "owner": "host", **more}


def test_a_switch_shows_what_was_published_and_that_it_is_being_sent_where_the_host_has_not_answered() -> None:
    """C1.3: the session's state has this client's unanswered toggle, the list what the host stored."""
    published = {**SESSION, "customizations": [{"id": "a", "enablement": [ON]}, {"id": "b", "enablement": [OFF]}]}
    first, second = rows([item("a"), item("b", enablement=[OFF], scope="workspace")], published, me="web")
    assert [(s.value, s.sent) for s in first.switches] == [("on", True), ("inherit", False), ("inherit", False)]
    assert [(s.value, s.sent) for s in second.switches] == [("inherit", False), ("off", False), ("inherit", False)]


def test_a_container_that_is_off_shows_its_children_off_and_their_switches_as_they_were_set() -> None:
    """C1.5."""
    child = item("warehouse", "mcpServer", enablement=[ON], scope="session", withheld="container")
    plugin = item("data-tools", "plugin", enablement=[OFF], scope="workspace", withheld="own", children=[child])
    head, below = rows([plugin], SESSION, me="web")
    assert (head.standing, head.by) == ("off", "workspace")
    assert (below.standing, below.by, below.switches[0].value, below.level) == ("off", "plugin", "on", 2)


def test_a_global_that_a_client_owns_carries_its_name_and_ones_own_does_not() -> None:
    """C6.6: the switch names the client that owns it."""
    everywhere = [{"kind": "global", "enabled": True}]
    state = {**SESSION, "activeClients": [{"clientId": "c1", "displayName": "VS Code"}]}
    theirs = item("kit", "plugin", owner="client:c1", enablement=everywhere, scope="global")
    ours = item("own", "plugin", owner="client:web", enablement=everywhere, scope="global")
    first, second = rows([theirs, ours], state, me="web")
    assert (first.by, first.owner, first.switches[2].owner, first.switches[1].owner) == (
        "client",
        "VS Code",
        "VS Code",
        "",
    )
    assert (second.by, second.owner, second.switches[2].owner) == ("global", "", "")


def test_what_is_pending_waits_and_says_for_what() -> None:
    """C4.1: pending is a third answer, never on."""
    (row,) = rows([item("browser", "mcpServer", withheld="discovery")], SESSION, me="web")
    assert (row.standing, row.by) == ("waiting", "discovery")


def test_a_session_without_a_folder_has_no_workspace_switch() -> None:
    """C1.1."""
    (row,) = rows([item("a")], {}, me="web")
    assert [switch.possible for switch in row.switches] == [True, False, True]


def test_servers_stand_below_the_file_that_declares_them_and_the_file_is_not_counted() -> None:
    servers = [item(f"mcp:{n}", "mcpServer", uri=f"file:///w/.mcp.json#mcp={n}") for n in ("ledger", "browser")]
    found = rows(servers, SESSION, me="web", tools={"mcp:ledger": 4})
    assert [(row.type, row.name, row.tools) for row in found] == [
        ("file", ".mcp.json", 0),
        ("mcpServer", "mcp:ledger", 4),
        ("mcpServer", "mcp:browser", 0),
    ]
    assert counted(found) == (2, 0, 0) and counted(found).all == 2


names = st.text("ab c", min_size=1, max_size=4)


@given(st.lists(st.tuples(names, st.lists(names, max_size=3)), max_size=6), st.text("abc", max_size=2))
def test_a_filter_keeps_exactly_the_hits_and_their_containers(tree: list[tuple[str, list[str]]], words: str) -> None:
    items = [
        item(f"{n}", "plugin", name=name, children=[item(f"{n}.{m}", name=child) for m, child in enumerate(children)])
        for n, (name, children) in enumerate(tree)
    ]
    found = rows(items, SESSION, me="web")
    kept = filtered(found, words=words)
    hits = {row.dom for row in found if words in f"{row.name} {row.type} {row.origin}".casefold()}
    assert {row.dom for row in kept} == hits | {row.parent for row in found if row.dom in hits and row.parent}
    assert [row for row in found if row in kept] == kept, "the order stays"


def scopes(**stored: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"scope": scope, "owner": "host", **stored.get(scope, {})} for scope in ("session", "workspace", "global")]


def test_the_first_decision_decides_and_the_act_that_undoes_it_clears_that_one() -> None:
    """C5.3: exactly one link decides; what is behind it is not reached."""
    steps = scopes(workspace={"stored": False, "target": "file:///w", "decidedAt": "2026-11-28T17:02:00Z"})
    steps[2] |= {"owner": "client:c1", "stored": None}
    told = chain(
        {"id": "t", "name": "tracker", "owner": "client:c1", "client": True, "on": False, "withheld": "own",
         "decidedBy": "workspace", "scopes": steps, "key": "mcp/x", "provider": {"told": "withheld"}},
        agent="Copilot",
        clients={"c1": "VS Code"},
    )  # fmt: skip
    assert [link.kind for link in told.links if link.decides] == ["workspace"]
    everywhere = told.links[2]
    assert (everywhere.value, everywhere.reached, everywhere.owner) == (True, False, "VS Code")
    assert told.undo == ("t", "workspace", False) and told.standing == "off"


def test_a_container_that_is_off_decides_and_is_what_is_cleared() -> None:
    """C1.5."""
    container = {"id": "p", "name": "data-tools", "on": False, "withheld": "own"}
    told = chain(
        {"id": "w", "name": "warehouse", "on": False, "withheld": "container", "decidedBy": "session",
         "container": container, "scopes": scopes(session={"stored": True})},
        agent="Claude",
        clients={},
    )  # fmt: skip
    assert [link.kind for link in told.links if link.decides] == ["container"]
    assert told.undo == ("p", "", True)


def test_what_nobody_decided_has_nothing_to_undo() -> None:
    told = chain({"id": "a", "name": "a", "on": True, "decidedBy": "nobody", "scopes": scopes()}, agent="", clients={})
    assert told.undo is None and not any(link.decides for link in told.links)


def test_when_a_change_acts_is_said_by_kind_of_item_and_agent() -> None:
    """C6.2: a Codex process in mid-turn takes it with the next thread; a server that runs ends at once."""
    assert when_it_acts("mcpServer", acts="now", provider="claude", running=True) == "now"
    assert when_it_acts("mcpServer", acts="nextRequest", provider="claude", running=False) == "nextRequest"
    assert when_it_acts("skill", acts="now", provider="claude", running=False) == "nextRequest"
    assert when_it_acts("mcpServer", acts="now", provider="codex", running=True) == "nextThread"
