"""The chain of a decision, and the records of what reached the agent (C5.3, C5.4, C8.1)."""

from customizations.world import AZ, GIT, NOW, A, P, declared, one_of_each, plugin, server, skill, world
from innkeeper.customizations.enablement import Overlay
from innkeeper.customizations.explain import ProviderVerdict, explain, find
from innkeeper.customizations.exposure import audit, expose
from innkeeper.customizations.reconciliation import Reconciliation, Switch, reconcile
from innkeeper.customizations.retention import of_session, report_orphans
from innkeeper.ports.decisions import Decision, Decisions, DropDecision
from innkeeper.wire.json import decode, encode


def test_whole_chain_as_json() -> None:
    played = world(A, [plugin(AZ, [server("azure")])]).run(["child on", "set G off", "set W on"])
    found = explain(A, played.resolution(), played.overlay, ProviderVerdict("console", "offered", True))
    assert found is not None
    key = "plugin/file%3A%2F%2F%2Fplugins%2Fazure/mcp/azure"
    common = {"key": key, "pinned": False, "followsClient": False}
    assert decode(encode(dict(found.to_json()))) == {
        "session": "s1",
        "id": A,
        "type": "mcpServer",
        "name": "azure",
        "uri": f"{AZ}/.mcp.json",
        "owner": "client:c1",
        "key": key,
        "on": True,
        "own": True,
        "decidedBy": "workspace",
        "directory": "file:///repo",
        "default": True,
        "client": True,
        "scopes": [
            {"scope": "session", "owner": "host", "target": "s1", "inherited": True, "overridesClient": False} | common,
            {
                "scope": "workspace",
                "owner": "host",
                "target": "file:///repo",
                "stored": True,
                "inherited": False,
                "decidedAt": NOW,
                "overridesClient": False,
            }
            | common,
            {
                "scope": "global",
                "owner": "client:c1",
                "target": "",
                "stored": False,
                "inherited": True,
                "decidedAt": NOW,
                "overridesClient": True,
            }
            | common,
        ],
        "container": {"id": AZ, "name": "azure", "on": True},
        "provider": {"provider": "console", "told": "offered", "listed": True},
    }


def test_pending_says_why() -> None:
    played = world().run(["row broken"])
    found = explain(P, played.resolution(), played.overlay)
    assert found is not None and (found.on, found.own, found.decided_by) == (False, None, None)
    assert (found.pending, found.error, found.withheld) == ("session", "it is not JSON", "session")
    assert found.to_json()["error"] == "it is not JSON" and "own" not in found.to_json()


def test_nobody_and_default_decide() -> None:
    played = world(GIT, [declared("git"), declared("rt", default=False)])
    first, second = (explain(id, played.resolution(), played.overlay) for id in (GIT, "mcp:rt"))
    assert first is not None and second is not None
    assert (first.decided_by, first.on, second.decided_by, second.on) == ("nobody", True, "default", False)
    assert explain("nothing", played.resolution(), played.overlay) is None


def test_names_find_what_a_person_may_mean() -> None:
    played = world(A, [plugin(AZ, [server("azure"), skill("s", AZ)]), plugin(P, [skill("s", P)])])
    resolution = played.resolution()
    assert find("azure", resolution) == (AZ, A)
    assert find(A, resolution) == (A,)
    assert find("s", resolution) == (f"{AZ}#skill=s", f"{P}#skill=s")
    assert find("example/s", resolution) == (f"{P}#skill=s",)
    assert find("nothing", resolution) == ()


def test_audit_has_the_decisive_scope_the_container_and_what_came_back() -> None:
    """C5.4, and 11.18: a difference between told and reported is seen."""
    played = world(A, [plugin(AZ, [server("azure"), server("other")])]).run(["set W off"])
    other = f"{AZ}#mcpServer=other"
    record = audit(
        played.resolution(), "launch", NOW, {A: ["t1"], other: ["t2"]}, reported=["azure", "other", AZ.split("/")[-1]]
    )
    by_id = {item.id: item for item in record.items}
    assert (by_id[A].told, by_id[A].decisive, by_id[A].reason) == ("withheld", "workspace", "own")
    assert (by_id[A].container, by_id[A].tools) == (AZ, ("t1",))
    assert (by_id[other].told, by_id[other].decisive, record.mismatches) == ("offered", None, (A,))
    assert record.verdict_on(A).detail is not None and record.verdict_on("x").told == "unknown"
    assert record.verdict_on(other).listed is True
    shown = decode(encode(dict(record.to_json())))
    assert isinstance(shown, dict) and shown["reported"] == ["azure", "other", "azure"]
    assert shown["items"][1] == {
        "id": A,
        "type": "mcpServer",
        "name": "azure",
        "told": "withheld",
        "key": by_id[A].key,
        "decisive": "workspace",
        "container": AZ,
        "reason": "own",
        "tools": ["t1"],
    }


def test_audit_without_a_report_claims_nothing() -> None:
    played = world(P, [plugin(P, one_of_each())])
    record = audit(played.resolution(), "change", NOW, {})
    assert record.mismatches == () and record.verdict_on(P).listed is None and "reported" not in record.to_json()


def test_exposure_is_one_line_of_names() -> None:
    made = expose("s1", "t1", ["b", "a", "b"], ["a", "b", "c"])
    assert made.log_line() == "tool exposure session=s1 request=t1 offered=[a,b] withheld=[c]"
    assert made.to_json() == {"session": "s1", "request": "t1", "offered": ["a", "b"], "withheld": ["c"]}


def test_reconciliation_switches_what_plainly_differs() -> None:
    desired = {"a": False, "b": True, "c": True, "d": False, "e": True}
    live = {"a": "needs-auth", "b": "disabled", "c": "not_configured", "d": "disabled", "x": "connected"}
    assert reconcile(desired, live) == Reconciliation((Switch("a", False), Switch("b", True)), ("c",), ("e",))


def test_orphans_are_counted_from_when_they_were_missed_and_then_removed() -> None:
    """C8.1"""
    kept = Decision("here", "global", "", False, "2020-01-01T00:00:00.000Z")
    gone = Decision("gone", "global", "", False, "2020-01-01T00:00:00.000Z")
    overlay = Overlay(Decisions((kept, gone)))

    def exists(decision: Decision) -> bool:
        return decision.key == "here"

    first = report_orphans(overlay, exists, {}, "2026-01-01T00:00:00.000Z")
    assert (first.missed, first.expired) == ({gone.slot: "2026-01-01T00:00:00.000Z"}, ())
    later = report_orphans(overlay, exists, first.missed, "2026-06-29T00:00:00.000Z")
    assert (later.missed, later.expired) == (first.missed, ())
    last = report_orphans(overlay, exists, later.missed, "2026-06-30T00:00:00.000Z")
    assert (last.missed, last.expired, last.ops) == ({}, (gone,), (DropDecision(gone.slot),))
    back = report_orphans(overlay, lambda decision: True, later.missed, "2026-06-30T00:00:00.000Z")
    assert (back.missed, back.expired) == ({}, ())


def test_decisions_of_a_session_go_with_it() -> None:
    """C2.4"""
    played = world().run(["open s2", "set S off", "s2 set S off"])
    assert [op.slot[2] for op in of_session(played.overlay, "s2")] == ["s2"]
    played.delete("s2")
    played.step("open s2")
    assert (played.words(session="s2"), played.words()) == ("-", "S:off")
