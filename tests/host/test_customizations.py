"""Customizations of a session on a running host: found, published, toggled, handed over (C1-C8, issue 4)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from innkeeper.customizations.publishing import is_on
from innkeeper.host.customizations.service import Ground
from innkeeper.host.requests import Requests
from innkeeper.ports.decisions import Decision
from innkeeper.providers.spi import ProviderError
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.plugin_copies import LocalPluginCopies
from innkeeper.workspace.watches import LocalWatches
from scripted.fakes import FakeMcp, FakeServer
from scripted.world import Client, World, text_of

pytestmark = pytest.mark.anyio

TOGGLE = "session/customizationToggled"
GLOBAL_OFF = [{"kind": "global", "enabled": False}]
SESSION_OFF = [{"kind": "session", "enabled": False}]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """One item of each type that a directory can hold."""
    root = tmp_path / "project"
    written = {
        ".github/agents/reviewer.agent.md": "---\nname: reviewer\n---\nReview.",
        ".github/skills/build/SKILL.md": "---\nname: build\ndescription: How to build\n---\nRun make.",
        ".github/skills/test/SKILL.md": "---\nname: test\ndescription: How to test\n---\nRun tests.",
        ".github/instructions/style.instructions.md": "---\napplyTo: '**'\n---\nBe brief.",
        ".github/prompts/ask.prompt.md": "Ask.",
        ".github/hooks/log.json": '{"hooks": {"SessionStart": [{"type": "command", "command": "true"}]}}',
    }
    for name, content in written.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    ground = Ground(LocalFiles(), LocalWatches(), copies=LocalPluginCopies(tmp_path / "copies"))
    servers = {"memo": FakeServer("memo"), "other": FakeServer("other", tools=("count",))}
    started = await World(mcp=FakeMcp(declared=servers), ground=ground).start()
    yield started
    await started.close()


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client("alice")


async def opened(client: Client, project: Path, uri: str = "ahp-session:/1", **more: Any) -> tuple[str, str]:
    more.setdefault("provider", "console")
    session, chat = await client.new_session(uri, workingDirectories=[project.as_uri()], **more)
    await client.state(session, lambda s: named(s, "memo") and named(s, "build"))
    return session, chat


def items(state: Any) -> list[Any]:
    top = state.get("customizations") or []
    return [*top, *(child for entry in top for child in entry.get("children") or ())]


def named(state: Any, name: str) -> Any:
    return next((item for item in items(state) if item["name"] == name), None)


async def set_to(client: Client, session: str, name: str, enablement: list[dict[str, Any]]) -> dict[str, Any]:
    id = named(client.states[session], name)["id"]
    echo = await client.echo(client.dispatch(session, TOGGLE, id=id, enablement=enablement))
    assert "rejectionReason" not in echo, echo
    return echo


async def stored(world: World) -> list[Decision]:
    image = await world.log.crash().open()
    return list(image.decisions.decisions)


NAMES = {
    "directory": ".github/skills",
    "agent": "reviewer",
    "skill": "build",
    "rule": "style",
    "prompt": "ask",
    "mcpServer": "memo",
}


async def test_what_is_in_the_directory_is_published_with_the_servers(world, client, project):
    """C7.2, C1.4b."""
    session, _ = await opened(client, project)
    found = {item["type"] for item in items(client.states[session])}
    assert found == {"directory", "agent", "skill", "rule", "prompt", "hook", "mcpServer"}
    assert named(client.states[session], "build")["enabled"] is True
    assert "enabled" not in named(client.states[session], "memo")
    world.check_mirrors(client)


@pytest.mark.parametrize("scope", ["session", "workspace", "global"])
@pytest.mark.parametrize("type", [*NAMES, "hook"])
async def test_every_type_is_switched_off_and_stays_off_over_a_restart(world, client, project, type, scope):
    """C1.4, issue 4 item 3; the control: another item of the same session stays on."""
    session, _ = await opened(client, project)
    item = next(
        i for i in items(client.states[session]) if i["type"] == type and NAMES.get(type, i["name"]) in i["name"]
    )
    decision = {"kind": scope, "enabled": False, **({"uri": project.as_uri()} if scope == "workspace" else {})}
    await set_to(client, session, item["name"], [decision])
    published = await client.state(session, lambda s: named(s, item["name"]).get("enablement") == [decision])
    assert not is_on(named(published, item["name"])) and is_on(named(published, "test"))
    world.check_mirrors(client)
    later = await world.crash()
    again = await later.client("bob")
    await again.subscribe(session)
    await again.state(session, lambda s: named(s, item["name"]) and named(s, item["name"]).get("enablement"))
    assert named(again.states[session], item["name"])["enablement"] == [decision]
    await later.close()


async def test_a_toggle_is_durable_before_its_echo(world, client, project):
    """C8.1."""
    session, _ = await opened(client, project)
    await set_to(client, session, "build", GLOBAL_OFF)
    assert [(d.scope, d.enabled) for d in await stored(world)] == [("global", False)]


async def test_a_global_toggle_is_published_in_every_session_and_a_session_toggle_in_one(world, client, project):
    """Rows E6, E8."""
    first, _ = await opened(client, project)
    second, _ = await opened(client, project, "ahp-session:/2")
    await set_to(client, first, "build", GLOBAL_OFF)
    await client.state(second, lambda s: named(s, "build").get("enablement") == GLOBAL_OFF)
    await set_to(client, first, "test", SESSION_OFF)
    assert is_on(named(client.states[second], "test"))


async def test_an_equal_republish_sends_nothing(world, client, project):
    """C7.3."""
    session, _ = await opened(client, project)
    before = len(client.actions(session))
    world.service._customizations.all_changed()
    world.service.listener.customizations_changed(session, world.service._customizations._followed[session].servers)
    assert len(client.actions(session)) == before


async def test_a_changed_file_is_published_with_its_container_alone(world, client, project):
    """C7.3."""
    session, _ = await opened(client, project)
    before = len(client.actions(session))
    skill = project / ".github/skills/build/SKILL.md"
    skill.write_text(skill.read_text().replace("How to build", "Another way"))
    await client.state(session, lambda s: named(s, "build")["description"] == "Another way")
    sent = [envelope["action"] for envelope in client.actions(session)[before:]]
    assert [action["type"] for action in sent] == ["session/customizationUpdated"]
    assert sent[0]["customization"]["name"] == ".github/skills"


async def test_a_directory_that_is_off_withholds_its_children_and_rewrites_none(world, client, project):
    """C1.5."""
    session, chat = await opened(client, project)
    await set_to(client, session, ".github/skills", SESSION_OFF)
    await client.state(session, lambda s: not is_on(named(s, ".github/skills")))
    assert is_on(named(client.states[session], "build"))
    said = text_of(await client.turn(chat, "/customizations"))
    assert "skill: " not in said and "withheld: skill build (container)" in said
    assert "agent: reviewer" in said
    await set_to(client, session, ".github/skills", [])
    assert "skill: build, test" in text_of(await client.turn(chat, "/customizations", "t2"))


async def test_a_server_that_is_off_is_not_offered_and_the_other_one_is(world, client, project):
    """C6.5, with its positive control."""
    session, chat = await opened(client, project)
    for name in ("memo", "other"):
        client.dispatch(session, "session/mcpServerStartRequested", id=name)
    await client.state(session, lambda s: named(s, "other")["state"]["kind"] == "ready")
    assert "memo:" in text_of(await client.turn(chat, "/tools"))
    await set_to(client, session, "memo", SESSION_OFF)
    said = text_of(await client.turn(chat, "/tools", "t2"))
    assert "other:" in said and "memo:" not in said
    exposures = [record for record in await world.records.read() if record["kind"] == "exposure"]
    assert exposures[-1]["offered"] == ["mcp__other__count"] and exposures[-1]["withheld"] == ["mcp__memo__echo"]


async def test_each_request_logs_its_exposure_in_one_line(world, client, project, caplog):
    """C5.4."""
    caplog.set_level("INFO")
    session, chat = await opened(client, project)
    await client.turn(chat, "hello")
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("tool exposure")]
    assert lines == [f"tool exposure session={session} request=t1 offered=[] withheld=[]"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"enablement": [*SESSION_OFF, *SESSION_OFF]}, "two session"),
        ({"enablement": [{"kind": "planet", "enabled": False}]}, ""),
        ({"enablement": [{"kind": "workspace", "uri": "file:///elsewhere", "enabled": False}]}, "another directory"),
        ({}, "enablement"),
    ],
)
async def test_a_toggle_that_cannot_be_applied_is_refused_to_its_sender(world, client, project, fields, reason):
    """issue 4 item 6."""
    session, _ = await opened(client, project)
    other = await world.client("bob")
    await other.subscribe(session)
    id = named(client.states[session], "build")["id"]
    assert reason in await client.rejection(client.dispatch(session, TOGGLE, id=id, **fields))
    assert not other.actions(session, TOGGLE) and not await stored(world)


async def test_an_unknown_item_is_refused(world, client, project):
    session, _ = await opened(client, project)
    assert "no customization" in await client.rejection(client.dispatch(session, TOGGLE, id="nope", enablement=[]))


async def test_the_older_shape_is_a_decision_for_the_session_and_leaves_the_others(world, client, project):
    """issue 4 item 6."""
    session, _ = await opened(client, project)
    await set_to(client, session, "memo", GLOBAL_OFF)
    echo = await client.echo(client.dispatch(session, TOGGLE, id="memo", enabled=True))
    assert echo["action"]["enablement"] == [{"kind": "session", "enabled": True}, *GLOBAL_OFF]


async def test_a_toggle_before_discovery_is_held_and_answered_whole(world, client, project):
    """C4.3: a restarted host has not read the session when the first toggle comes."""
    session, _ = await opened(client, project)
    await client.state(session, lambda s: named(s, "build"))
    id = named(client.states[session], "build")["id"]
    later = await world.crash()
    again = await later.client("bob")
    seq = again.dispatch(session, TOGGLE, id=id, enablement=GLOBAL_OFF)
    assert seq == 1 and not later.driver.decisions.decisions
    await again.subscribe(session)
    await again.state(session, lambda s: named(s, "build").get("enablement") == GLOBAL_OFF)
    assert [(d.scope, d.enabled) for d in await stored(later)] == [("global", False)]
    await later.close()


async def test_a_newer_toggle_replaces_one_that_waits_and_its_sender_is_told(world, client, project):
    """C4.3."""
    session, _ = await opened(client, project)
    id = named(client.states[session], "build")["id"]
    later = await world.crash()
    again = await later.client("alice")
    first = again.dispatch(session, TOGGLE, id=id, enablement=GLOBAL_OFF)
    again.dispatch(session, TOGGLE, id=id, enablement=SESSION_OFF)
    assert "newer change" in await again.rejection(first)
    await again.subscribe(session)
    await again.state(session, lambda s: named(s, "build").get("enablement") == SESSION_OFF)
    assert [(d.scope, d.enabled) for d in await stored(later)] == [("session", False)]
    await later.close()


async def test_a_sessions_decisions_go_with_the_session(world, client, project):
    """C2.4."""
    session, _ = await opened(client, project)
    await set_to(client, session, "build", SESSION_OFF)
    await client.request("disposeSession", session)
    assert not await stored(world)


async def test_a_linked_directory_is_the_same_workspace(world, client, project, tmp_path):
    """C3.3: stored under the real path, published as each session states it."""
    link = tmp_path / "link"
    link.symlink_to(project)
    first, _ = await opened(client, project)
    second, _ = await opened(client, link, "ahp-session:/2")
    decision = {"kind": "workspace", "uri": project.as_uri(), "enabled": False}
    await set_to(client, first, "build", [decision])
    there = [{**decision, "uri": link.as_uri()}]
    state = await client.state(second, lambda s: named(s, "build").get("enablement"))
    assert named(state, "build")["enablement"] == there


# -- handing over ------------------------------------------------------------------------------------------------------


async def test_an_agent_has_what_is_eligible_at_launch_and_is_reconciled_at_once(world, client, project):
    """C6.1, C6.4."""
    session, chat = await opened(client, project, provider="scripted")
    launch = world.scripted.opened[0].customizations
    assert {leaf.name for leaf in launch.leaves_of("skill")} == {"build", "test"} and launch.complete
    await set_to(client, session, "build", SESSION_OFF)
    changed = await world.until(lambda: world.scripted.reconciled)
    assert [leaf.name for leaf in changed[-1].leaves_of("skill")] == ["test"]
    await client.turn(chat, "hello")
    assert [item.name for item in world.scripted.requests[-1].customizations.withheld] == ["build"]


async def test_what_is_decided_while_a_request_is_made_goes_with_it(world, client, project, monkeypatch):
    """C5.1, C6.1: nothing that was looked up before a hook or a checkpoint had its time reaches the agent."""
    session, chat = await opened(client, project, provider="scripted")
    build, made, go = named(client.states[session], "build")["id"], asyncio.Event(), asyncio.Event()
    outgoing = Requests._outgoing

    async def slow(self, *given):
        made.set()
        await go.wait()
        return await outgoing(self, *given)

    monkeypatch.setattr(Requests, "_outgoing", slow)
    client.start_turn(chat, "hello")
    await made.wait()
    await set_to(client, session, "build", SESSION_OFF)
    go.set()
    await client.ended(chat)
    [request] = world.scripted.requests
    assert build in {item.id for item in request.customizations.withheld}
    assert build not in {leaf.id for leaf in request.customizations.leaves}


async def test_a_failed_reconciliation_fails_the_request_and_is_not_recorded_as_applied(world, client, project):
    """C6.4, row J21."""
    session, chat = await opened(client, project, provider="scripted")
    world.scripted.stubborn = ProviderError("agentStubborn", "the agent does not follow")
    await set_to(client, session, "build", SESSION_OFF)
    turn = await client.turn(chat, "hello")
    assert turn["state"] == "error"
    records = [r for r in await world.records.read() if r["kind"] == "audit"]
    assert [record["occasion"] for record in records] == ["launch"]
    world.scripted.stubborn = None
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"
    records = [r for r in await world.records.read() if r["kind"] == "audit"]
    assert [record["occasion"] for record in records] == ["launch", "change"]


# -- own commands ------------------------------------------------------------------------------------------------------


async def test_list_why_pin_and_unpin(world, client, project):
    """C5.3, C2.3b."""
    session, _ = await opened(client, project)
    listed = (await client.request("x-innkeeper/customizations/list", session))["items"]
    assert {item["type"] for item in listed} == {"directory", "mcpServer"}
    id = named(client.states[session], "memo")["id"]
    pinned = await client.request("x-innkeeper/customizations/pin", session, id=id, scope="global")
    assert next(s for s in pinned["item"]["scopes"] if s["scope"] == "global")["pinned"] is True
    assert [d.pinned for d in world.driver.decisions.decisions] == [True]
    await client.state(session, lambda s: named(s, "memo").get("enablement") == [{"kind": "global", "enabled": True}])
    again = await client.request("x-innkeeper/customizations/list", session, history=True)
    assert next(item for item in again["items"] if item["id"] == id)["pinned"] == ["global"]
    assert all("pinned" not in item for item in again["items"] if item["id"] != id)
    assert again["history"][0]["occasion"] == "launch" and len(again["history"][0]["items"]) > 1
    await client.request("x-innkeeper/customizations/unpin", session, id=id, scope="global")
    assert not world.driver.decisions.decisions
    answer = await client.request("x-innkeeper/customizations/why", session, name="memo", history=True)
    assert answer["items"][0]["provider"]["told"] == "offered" and answer["history"][0]["occasion"] == "launch"


async def test_requests_in_the_list_are_not_lost_when_many_toggles_come_at_once(world, client, project):
    """C1.3: each replaces the whole set, the last one stands, and all clients see it."""
    session, _ = await opened(client, project)
    id = named(client.states[session], "build")["id"]
    seqs = [
        client.dispatch(session, TOGGLE, id=id, enablement=[{"kind": "global", "enabled": False}] if n % 2 else [])
        for n in range(20)
    ]
    await asyncio.gather(*(client.echo(seq) for seq in seqs))
    await client.state(session, lambda s: named(s, "build").get("enablement") == GLOBAL_OFF)
    assert [(d.scope, d.enabled) for d in await stored(world)] == [("global", False)]
    world.check_mirrors(client)
