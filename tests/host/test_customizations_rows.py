"""Rows of the reference behaviour that need a whole host (issue 4: every row is a test)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from innkeeper.customizations.discovery import PluginRoot
from innkeeper.host.customizations.service import Ground
from innkeeper.ports.decisions import Decision, PutDecision
from innkeeper.ports.notes import MemoryNotes
from innkeeper.store.memory import MemoryLog
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.plugin_copies import LocalPluginCopies
from innkeeper.workspace.watches import LocalWatches
from scripted.provider import ScriptedProvider
from scripted.world import Client, World

pytestmark = pytest.mark.anyio

TOGGLE = "session/customizationToggled"
GLOBAL_OFF = [{"kind": "global", "enabled": False}]


def skill(root: Path, name: str) -> Path:
    file = root / ".github" / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: d\n---\n")
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return skill(tmp_path / "project", "build")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(LocalFiles(), LocalWatches(), copies=LocalPluginCopies(tmp_path / "copies"))


@pytest.fixture
async def world(ground: Ground) -> AsyncIterator[World]:
    scripted = ScriptedProvider(directories=True)
    started = await World(ground=ground, scripted=scripted, more=(ScriptedProvider("late"),)).start()
    yield started
    await started.close()


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client("alice")


async def opened(client: Client, project: Path, uri: str = "ahp-session:/1", **more: Any) -> tuple[str, str]:
    session, chat = await client.new_session(uri, workingDirectories=[project.as_uri()], **more)
    await client.state(session, lambda s: named(s, "build"))
    return session, chat


def named(state: Any, name: str) -> Any:
    top = state.get("customizations") or []
    every = [*top, *(child for entry in top for child in entry.get("children") or ())]
    return next((item for item in every if item["name"] == name), None)


def off(client: Client, session: str, name: str = "build") -> int:
    return client.dispatch(session, TOGGLE, id=named(client.states[session], name)["id"], enablement=GLOBAL_OFF)


async def test_row_d19_the_directory_cannot_change_while_a_turn_runs(world, client, project, tmp_path):
    session, chat = await opened(client, project)
    client.start_turn(chat, "steered")
    await client.state(chat, lambda s: s.get("activeTurn"))
    before = len(client.actions(session, "session/customizationUpdated"))
    seq = client.dispatch(session, "session/workingDirectorySet", directory=tmp_path.as_uri())
    assert "turn is in progress" in await client.rejection(seq)
    assert len(client.actions(session, "session/customizationUpdated")) == before
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=0)
    await client.ended(chat)


async def test_row_j15_what_is_off_stays_off_in_a_turn_and_its_steering_message(world, client, project):
    session, chat = await opened(client, project)
    await client.echo(off(client, session))
    client.start_turn(chat, "steered")
    await world.until(lambda: world.scripted.requests)
    steering = {"id": "s1", "message": {"text": "finish", "origin": {"kind": "user"}}}
    client.dispatch(chat, "chat/pendingMessageSet", kind="steering", **steering)
    await client.ended(chat)
    handed = [request.customizations for request in world.scripted.requests] + world.scripted.reconciled
    assert handed and all(not eligible.leaves for eligible in handed)


async def test_row_k7_a_session_whose_directories_change_publishes_those_it_has_now(world, client, project, tmp_path):
    """What was looked for in the places from before is dropped."""
    session, _ = await opened(client, project)
    second = skill(tmp_path / "second", "other")
    client.dispatch(session, "session/workingDirectorySet", directory=second.as_uri())
    state = await client.state(session, lambda s: named(s, "other"))
    assert named(state, "build")
    client.dispatch(session, "session/workingDirectoryRemoved", directory=second.as_uri())
    state = await client.state(session, lambda s: named(s, "other") is None)
    assert named(state, "build")
    world.check_mirrors(client)


async def test_row_k8_a_session_is_published_before_its_provider_is_there(world, client, project):
    session, _ = await opened(client, project, provider="late")
    later = await world.crash()
    again = await later.client("bob")
    await again.subscribe(session)
    await again.echo(off(again, session))
    state = await again.state(session, lambda s: named(s, "build").get("enablement") == GLOBAL_OFF)
    assert named(state, "build")["enabled"] is False
    await later.close()


async def test_row_k9_nothing_is_sent_to_a_session_that_nobody_looked_at(world, client, project):
    first, _ = await opened(client, project)
    second, _ = await opened(client, project, "ahp-session:/2")
    later = await world.crash()
    again = await later.client("bob")
    before = later.hub.head(second)
    await again.subscribe(first)
    await again.echo(off(again, first))
    await again.state(first, lambda s: named(s, "build").get("enablement") == GLOBAL_OFF)
    assert later.hub.head(second) is before
    await again.subscribe(second)
    state = await again.state(second, lambda s: named(s, "build").get("enablement") == GLOBAL_OFF)
    assert named(state, "build")["enabled"] is False
    await later.close()


async def test_row_k12_what_arrives_for_a_client_that_left_is_ignored(world, client, project):
    session, _ = await opened(client, project)
    plugin = {"type": "plugin", "id": "x:/p", "uri": "x:/p", "name": "p", "nonce": "1"}
    entry = {"clientId": "alice", "tools": [], "customizations": [plugin]}
    client.dispatch(session, "session/activeClientSet", activeClient=entry)
    await client.state(session, lambda s: (named(s, "p") or {}).get("load", {}).get("kind") == "loading")
    asked = await client.until(lambda: [f for f in client.frames if f.get("method") == "resourceList"])
    client.dispatch(session, "session/activeClientRemoved", clientId="alice")
    await client.state(session, lambda s: named(s, "p") is None)
    client.say({"jsonrpc": "2.0", "id": asked[0]["id"], "result": {"entries": []}})
    async with asyncio.timeout(5):
        await world.service._customizations._copies.settled(session)
    assert named(client.states[session], "p") is None


async def test_row_k15_files_that_an_agent_rewrites_beside_wake_nobody(world, client, project):
    session, _ = await opened(client, project)
    (project / ".claude").mkdir()
    before = len(client.actions(session))
    for number in range(5):
        (project / ".claude" / "history.jsonl").write_text(str(number))
    skill(project, "marker")
    await client.state(session, lambda s: named(s, "marker"))
    sent = [e["action"]["type"] for e in client.actions(session)[before:]]
    assert sent.count("session/customizationUpdated") + sent.count("session/customizationsChanged") <= 2


async def test_plugins_that_the_host_was_given_are_in_every_session(tmp_path, project):
    plugin = tmp_path / "given"
    (plugin / "skills" / "deploy").mkdir(parents=True)
    (plugin / "plugin.json").write_text('{"name": "given"}')
    (plugin / "skills" / "deploy" / "SKILL.md").write_text("---\nname: deploy\n---\n")
    ground = Ground(LocalFiles(), None, plugins=(PluginRoot(str(plugin)),))
    world = await World(ground=ground).start()
    client = await world.client("alice")
    session, _ = await opened(client, project)
    state = client.states[session]
    assert named(state, "given")["type"] == "plugin" and named(state, "deploy")["enabled"] is True
    await client.echo(off(client, session, "deploy"))
    state = await client.state(session, lambda s: named(s, "deploy").get("enablement") == GLOBAL_OFF)
    assert named(state, "given").get("enablement") is None
    await world.close()


async def test_a_decision_whose_session_or_directory_is_gone_is_kept_180_days_and_then_removed(
    project, tmp_path, caplog
):
    """C8.1; the control: the decision of a directory that is there stays."""
    log = MemoryLog()
    before = await World(log=log).start()
    gone, there = (tmp_path / "gone").as_uri(), project.as_uri()
    decisions = [
        Decision("plugin/a", "session", "ahp-session:/gone", False, "2025-01-01T00:00:00.000Z"),
        Decision("plugin/a", "workspace", gone, False, "2025-01-01T00:00:00.000Z"),
        Decision("plugin/a", "workspace", there, False, "2025-01-01T00:00:00.000Z"),
        Decision("plugin/a", "global", "", False, "2025-01-01T00:00:00.000Z"),
    ]
    await before.driver.store([PutDecision(decision) for decision in decisions])
    notes = MemoryNotes()
    first = await World(log=log.crash(), ground=Ground(LocalFiles(), orphans=notes)).start()
    rows = await first.until(lambda: notes.document)
    assert {(row[1], row[2]) for row in rows} == {("session", "ahp-session:/gone"), ("workspace", gone)}
    assert len(first.driver.decisions.decisions) == 4
    notes.document = [[*row[:3], "2025-01-01T00:00:00.000+00:00"] for row in rows]
    later = await World(log=first.log.crash(), ground=Ground(LocalFiles(), orphans=notes)).start()
    await later.until(lambda: len(later.driver.decisions.decisions) == 2)
    assert {decision.target for decision in later.driver.decisions.decisions} == {there, ""}
    await later.until(lambda: caplog.text.count("removed a decision") == 2)
    for world in (before, first, later):
        await world.close()


class Movable(ScriptedProvider):
    """An agent whose primary directory may be taken away."""

    @property
    def info(self) -> Any:
        return {**super().info, "capabilities": {"multipleWorkingDirectories": {}}}


async def test_another_primary_directory_has_other_servers(ground, project, tmp_path):
    world = await World(ground=ground, scripted=Movable()).start()
    client = await world.client("alice")
    session, _ = await opened(client, project)
    second = skill(tmp_path / "second", "other")
    client.dispatch(session, "session/workingDirectorySet", directory=second.as_uri())
    await client.state(session, lambda s: named(s, "other"))
    client.dispatch(session, "session/workingDirectoryRemoved", directory=project.as_uri())
    await world.until(lambda: ("open", session, second.as_uri()) in world.mcp.log)
    state = await client.state(session, lambda s: named(s, "build") is None)
    assert named(state, "other")
    await world.close()
