"""Plugins that clients publish, on a running host: fetched, resolved, left behind (C2, C6.6, C7.4)."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from innkeeper.host.customizations.service import Ground
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.plugin_copies import LocalPluginCopies
from innkeeper.workspace.watches import LocalWatches
from scripted.world import Client, World, text_of

pytestmark = pytest.mark.anyio

TOGGLE = "session/customizationToggled"
AZURE = "vscode-plugin:/azure"
OTHER = "vscode-plugin:/other"
FILES = {
    "plugin.json": '{"name": "azure", "version": "1.0.0"}',
    "skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Deploys\n---\n",
    ".mcp.json": '{"mcpServers": {"cloud": {"command": "true"}}}',
}
GLOBAL_OFF = [{"kind": "global", "enabled": False}]


class Served:
    """A client's answers to `resourceList` and `resourceRead`, and what it was asked."""

    def __init__(self, plugins: Mapping[str, Mapping[str, str]]) -> None:
        self.plugins = dict(plugins)
        self.asked: list[tuple[str, str]] = []

    def answer(self, method: str, uri: str) -> dict[str, Any] | None:
        self.asked.append((method, uri))
        plugin = next((one for one in self.plugins if uri == one or uri.startswith(f"{one}/")), None)
        if plugin is None:
            return None
        path, files = uri.removeprefix(plugin).lstrip("/"), self.plugins[plugin]
        if method == "resourceRead":
            return {"data": base64.b64encode(files[path].encode()).decode(), "encoding": "base64"}
        below = [
            name.removeprefix(f"{path}/" if path else "") for name in files if not path or name.startswith(f"{path}/")
        ]
        names = {name.split("/")[0]: "directory" if "/" in name else "file" for name in below}
        return {"entries": [{"name": name, "type": type} for name, type in names.items()]}


@asynccontextmanager
async def serving(client: Client, served: Served) -> AsyncIterator[None]:
    """Answers the host's requests until left."""

    async def work() -> None:
        seen = 0
        while True:
            while seen < len(client.frames):
                frame = client.frames[seen]
                seen += 1
                if "method" in frame and "id" in frame:
                    result = served.answer(frame["method"], frame["params"]["uri"])
                    body = {"error": {"code": -32008, "message": "not here"}} if result is None else {"result": result}
                    client.say({"jsonrpc": "2.0", "id": frame["id"], **body})
            client._news.clear()
            if seen == len(client.frames):
                await client._news.wait()

    task = asyncio.create_task(work())
    try:
        yield
    finally:
        task.cancel()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    ground = Ground(LocalFiles(), LocalWatches(), copies=LocalPluginCopies(tmp_path / "copies"))
    started = await World(ground=ground).start()
    yield started
    await started.close()


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client("alice")


def plugin(uri: str = AZURE, nonce: str = "1", **more: Any) -> dict[str, Any]:
    return {"type": "plugin", "id": uri, "uri": uri, "name": uri.rpartition("/")[2], "nonce": nonce, **more}


def publish(client: Client, session: str, *plugins: dict[str, Any]) -> None:
    entry = {"clientId": client.client_id, "tools": [], "customizations": list(plugins)}
    client.dispatch(session, "session/activeClientSet", activeClient=entry)


def items(state: Any) -> list[Any]:
    top = state.get("customizations") or []
    return [*top, *(child for entry in top for child in entry.get("children") or ())]


def named(state: Any, name: str) -> Any:
    return next((item for item in items(state) if item["name"] == name), None)


def loaded(name: str) -> Any:
    return lambda state: (named(state, name) or {}).get("load", {}).get("kind") in ("loaded", "degraded")


async def opened(client: Client, tmp_path: Path, uri: str = "ahp-session:/1", **more: Any) -> tuple[str, str]:
    more.setdefault("provider", "console")
    return await client.new_session(uri, workingDirectories=[tmp_path.as_uri()], **more)


async def test_its_files_are_fetched_and_its_children_listed(world, client, tmp_path):
    """C7.4, C5.1."""
    session, chat = await opened(client, tmp_path)
    async with serving(client, Served({AZURE: FILES})):
        publish(client, session, plugin())
        state = await client.state(session, loaded("azure"))
        assert {child["name"] for child in named(state, "azure")["children"]} == {"deploy", "cloud"}
        assert named(state, "azure")["clientId"] == "alice" and named(state, "azure")["uri"] == AZURE
        said = text_of(await client.turn(chat, "/customizations"))
        assert "plugin: azure" in said and "skill: deploy" in said
    world.check_mirrors(client)


async def test_an_equal_plugin_is_not_fetched_again_and_another_nonce_is(world, client, tmp_path):
    """C7.4, row K11."""
    session, _ = await opened(client, tmp_path)
    served = Served({AZURE: FILES})
    async with serving(client, served):
        publish(client, session, plugin())
        await client.state(session, loaded("azure"))
        asked = len(served.asked)
        publish(client, session, plugin())
        second, _ = await opened(client, tmp_path, "ahp-session:/2")
        publish(client, second, plugin())
        await client.state(second, loaded("azure"))
        assert len(served.asked) == asked
        served.plugins[AZURE] = {**FILES, "skills/remove/SKILL.md": "---\nname: remove\n---\n"}
        publish(client, session, plugin(nonce="2"))
        await client.state(session, lambda s: named(s, "remove"))
        assert named(client.states[second], "remove") is None


async def test_a_plugin_that_fails_harms_no_other_one_and_is_tried_again(world, client, tmp_path):
    """C7.4, row K14."""
    session, chat = await opened(client, tmp_path)
    served = Served({AZURE: FILES})
    async with serving(client, served):
        publish(client, session, plugin(), plugin(OTHER))
        await client.state(session, loaded("azure"))
        await client.state(session, lambda s: named(s, "other")["load"]["kind"] == "error")
        served.plugins[OTHER] = {"plugin.json": '{"name": "other"}'}
        await client.turn(chat, "hello")
        state = await client.state(session, loaded("other"))
        assert loaded("azure")(state)


async def test_a_name_that_leads_out_is_refused_with_the_whole_plugin(world, client, tmp_path):
    session, _ = await opened(client, tmp_path)
    served = Served({AZURE: FILES})
    served.plugins[AZURE] = {"..\\escape": "words"}
    async with serving(client, served):
        publish(client, session, plugin())
        await client.state(session, lambda s: (named(s, "azure") or {}).get("load", {}).get("kind") == "error")
    assert not list(tmp_path.rglob("escape"))


async def test_what_the_client_bundled_follows_the_client_and_its_global_is_the_clients(world, client, tmp_path):
    """C2.1, C2.2, C6.6."""
    session, _ = await opened(client, tmp_path)
    async with serving(client, Served({AZURE: FILES})):
        publish(client, session, plugin(childEnablement={"cloud": GLOBAL_OFF}))
        state = await client.state(session, loaded("azure"))
        assert named(state, "cloud")["enablement"] == GLOBAL_OFF
        assert named(state, "cloud")["_meta"]["x-innkeeper/globalOwner"] == "client:alice"
        assert named(state, "deploy")["_meta"]["x-innkeeper/globalOwner"] == "host"
        publish(client, session, plugin(childEnablement={"cloud": []}))
        await client.state(session, lambda s: "enablement" not in named(s, "cloud"))
    assert not world.driver.decisions.decisions


async def test_another_clients_global_is_an_overlay_that_the_clients_value_removes(world, client, tmp_path):
    """C6.6: marked, and removable by writing the base's value."""
    session, _ = await opened(client, tmp_path)
    other = await world.client("bob")
    await other.subscribe(session)
    async with serving(client, Served({AZURE: FILES})):
        publish(client, session, plugin(childEnablement={"cloud": []}))
        id = named(await other.state(session, loaded("azure")), "cloud")["id"]
        publish(client, session, plugin(childEnablement={"cloud": GLOBAL_OFF}))
        await other.state(session, lambda s: named(s, "cloud").get("enablement") == GLOBAL_OFF)
        on = [{"kind": "global", "enabled": True}]
        await other.echo(other.dispatch(session, TOGGLE, id=id, enablement=on))
        assert len(world.driver.decisions.decisions) == 1
        why = await other.request("x-innkeeper/customizations/why", session, name="cloud")
        assert next(step for step in why["items"][0]["scopes"] if step["scope"] == "global")["overridesClient"] is True
        await other.echo(other.dispatch(session, TOGGLE, id=id, enablement=GLOBAL_OFF))
        assert not world.driver.decisions.decisions


async def test_a_pinned_choice_outlives_what_the_client_says_later(world, client, tmp_path):
    """C2.3b."""
    session, _ = await opened(client, tmp_path)
    async with serving(client, Served({AZURE: FILES})):
        publish(client, session, plugin(childEnablement={"cloud": []}))
        id = named(await client.state(session, loaded("azure")), "cloud")["id"]
        await client.request("x-innkeeper/customizations/pin", session, id=id, scope="global")
        publish(client, session, plugin(childEnablement={"cloud": GLOBAL_OFF}))
        await client.request("x-innkeeper/customizations/list", session)
        assert named(client.states[session], "cloud")["enablement"] == [{"kind": "global", "enabled": True}]


async def test_its_plugins_go_with_the_client(world, client, tmp_path):
    """C2.4, row K12."""
    session, _ = await opened(client, tmp_path)
    async with serving(client, Served({AZURE: FILES})):
        publish(client, session, plugin())
        await client.state(session, loaded("azure"))
        client.dispatch(session, "session/activeClientRemoved", clientId="alice")
        state = await client.state(session, lambda s: named(s, "azure") is None)
    assert not state.get("activeClients")
    world.check_mirrors(client)


async def test_of_two_clients_the_first_one_counts_for_content_and_decisions(world, client, tmp_path):
    """C7.4, row K13."""
    session, _ = await opened(client, tmp_path)
    other = await world.client("bob")
    await other.subscribe(session)
    served = Served({AZURE: FILES})
    async with serving(client, served), serving(other, Served({AZURE: {}})):
        publish(client, session, plugin(enablement=GLOBAL_OFF))
        await client.state(session, loaded("azure"))
        publish(other, session, plugin(nonce="9"))
        await client.state(session, lambda s: len(s["activeClients"]) == 2)
        state = client.states[session]
        assert named(state, "azure")["enablement"] == GLOBAL_OFF and named(state, "deploy")


async def test_a_plugins_skills_stay_on_when_its_server_is_off(world, client, tmp_path):
    """Issue 4 item 3, a false alarm."""
    session, chat = await opened(client, tmp_path)
    async with serving(client, Served({AZURE: FILES})):
        publish(client, session, plugin())
        id = named(await client.state(session, loaded("azure")), "cloud")["id"]
        await client.echo(client.dispatch(session, TOGGLE, id=id, enablement=GLOBAL_OFF))
        said = text_of(await client.turn(chat, "/customizations"))
        assert "skill: deploy" in said and "withheld: mcpServer cloud (own)" in said
