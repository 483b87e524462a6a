"""A whole host that follows its settings, driven by a client and by an editor (M5.8, M9.2, M9.3, M9.6)."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.app.compose import DATABASE, Circumstances, Host, open_host, standard_parts
from innkeeper.app.preferences import check_presets
from innkeeper.client import Client, RpcFailure, connect
from innkeeper.client.memory import MemoryTransport
from innkeeper.edge.memory import MemoryDoor
from innkeeper.settings.problems import SettingsInvalid
from innkeeper.settings.service import FileSettings
from innkeeper.workspace.watches import LocalWatches

pytestmark = pytest.mark.anyio
SECONDS = 20
ROOT = "ahp-root://"
TEXT = "# mine\ntrust_mode = 'manual' # careful\naccess = 'full'\n\n[limits]\nconnections = 12\n"


@dataclass
class World:
    host: Host
    client: Client
    file: Path
    project: Path

    async def ask(self, method: str, **params: Any) -> Any:
        return await self.client.request(f"x-innkeeper/{method}", {"channel": ROOT, **params})

    async def change(self, *edits: Mapping[str, Any], **params: Any) -> Any:
        known = await self.ask("settings/get")
        return await self.ask("settings/change", **{"revision": known["revision"], "edits": list(edits), **params})

    async def until(self, method: str, holds: Any, **params: Any) -> Any:
        """The answer once it is as wanted."""
        async with asyncio.timeout(SECONDS):
            while True:
                answer = await self.ask(method, **params)
                if holds(answer):
                    return answer


@asynccontextmanager
async def running(folder: Path, text: str = TEXT, locale: str = "en") -> AsyncIterator[World]:
    file = folder / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    project = folder / "project"
    project.mkdir()
    live = FileSettings(file, LocalWatches(), check=check_presets, secrets=file.with_name("secrets.toml"))
    async with live.watching():
        parts = standard_parts(folder / DATABASE, live.started, quiet=True)
        host = await open_host(parts, Circumstances(live.started, dict(os.environ), folder, live=live))
        try:
            async with connect(MemoryTransport(MemoryDoor(host.attach).accept), locale=locale) as client:
                yield World(host, client, file, project)
        finally:
            await host.close(2)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path) as made:
        yield made


def refusal(caught: pytest.ExceptionInfo[RpcFailure]) -> Any:
    data: Any = caught.value.data
    return data


SET_ALL = {"op": "set", "path": ["trust_mode"], "value": "all"}


async def test_only_hot_settings_travel(world: World) -> None:
    """M9.3"""
    answer = await world.ask("settings/get")
    assert set(answer["settings"]) == {
        "enabled_builtins", "presets", "trust_mode", "trusted_workspaces", "workspace_allowances", "conflict_policy",
    }  # fmt: skip
    assert (answer["fault"], answer["afterRestart"], answer["file"]) == (None, [], str(world.file))
    assert "connections" not in json.dumps(answer)
    assert "access" not in json.dumps(answer["settings"])


async def test_a_client_changes_settings_byte_exactly_under_compare_and_swap(world: World) -> None:
    """M9.2"""
    old = await world.ask("settings/get")
    allowance = {"workspace": "/w", "allow_mcp": ["files"]}
    new = await world.change(
        {"op": "insert", "path": ["workspace_allowances", 0], "value": allowance},
        {"op": "set", "path": ["conflict_policy"], "value": "last-wins"},
    )
    assert new["settings"]["workspace_allowances"] == [{**allowance, "allow_tools": []}]
    assert world.file.read_text(encoding="utf-8") == (
        TEXT.replace("'full'\n", "'full'\nconflict_policy = 'last-wins'\n")
        + '\n[[workspace_allowances]]\nworkspace = "/w"\nallow_mcp = ["files"]\n'
    )
    with pytest.raises(RpcFailure) as refused:
        await world.ask(
            "settings/change", revision=old["revision"], edits=[{"op": "delete", "path": ["workspace_allowances"]}]
        )
    assert refusal(refused) == {"code": "SETTINGS_CONFLICT", "revision": new["revision"]}


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        ({"op": "set", "path": ["access"], "value": "full"}, "SETTING_OPERATOR_ONLY"),
        ({"op": "delete", "path": ["limits", "connections"]}, "SETTING_OPERATOR_ONLY"),
        ({"op": "set", "path": ["trust_mode"], "value": "some"}, "SETTING_VALUE"),
        ({"op": "set", "path": ["nothing"], "value": 1}, "SETTING_UNKNOWN"),
        ({"op": "set", "path": ["presets"], "value": [{"id": "x", "extends": "nothing"}]}, "SETTING_VALUE"),
        ({"op": "set", "path": ["trust_mode"], "value": None}, "EDIT_UNSAFE"),
        (SET_ALL, "CONFIRMATION_NEEDED"),
    ],
)
async def test_what_a_client_may_not_write_is_refused_with_its_code(world: World, edit: Any, code: str) -> None:
    with pytest.raises(RpcFailure) as refused:
        await world.change(edit)
    assert refusal(refused)["code"] == code
    assert world.file.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize(
    "params",
    [
        {"edits": []},
        {"edits": "x"},
        {"edits": [1]},
        {"edits": [{"op": "set", "path": ["a"]}]},
        {"edits": [{"op": "set", "path": [], "value": 1}]},
        {"edits": [{"op": "set", "path": [True], "value": 1}]},
        {"edits": [{"op": "rename", "path": ["a"], "value": 1}]},
        {"edits": [SET_ALL], "revision": 3},
    ],
)
async def test_params_that_cannot_be_meant_are_refused_as_such(world: World, params: Any) -> None:
    with pytest.raises(RpcFailure) as refused:
        await world.ask("settings/change", **{"revision": "x", **params})
    assert refused.value.code == -32602


async def test_to_let_everything_start_must_be_confirmed(world: World) -> None:
    """M4.5"""
    assert (await world.change(SET_ALL, confirmed=True))["settings"]["trust_mode"] == "all"


async def test_refusals_are_in_the_client_s_language(tmp_path: Path) -> None:
    """M9.4"""
    async with running(tmp_path, locale="zh-Hans") as world:
        with pytest.raises(RpcFailure) as refused:
            await world.change({"op": "set", "path": ["access"], "value": "full"})
        assert "只能手动修改" in refused.value.message


async def test_the_operator_can_close_the_settings_to_clients(tmp_path: Path) -> None:
    """M9.3: web_control = false serves no management, and names the command line."""
    async with running(tmp_path, "web_control = false\n") as world:
        for method, params in (("settings/get", {}), ("settings/change", {"revision": "none", "edits": [SET_ALL]})):
            with pytest.raises(RpcFailure) as refused:
                await world.ask(method, **params)
            assert (refused.value.code, refusal(refused)) == (-32009, {"code": "WEB_CONTROL_OFF"})
            assert "innkeeper config" in refused.value.message
        assert (await world.ask("status"))["settings"]["fault"] is None


async def test_a_broken_save_is_in_the_status_until_it_is_mended(world: World) -> None:
    """M9.6"""
    world.file.write_text(TEXT.replace("'manual'", "'hunter2'"), encoding="utf-8")
    told = await world.until("status", lambda answer: answer["settings"]["fault"])
    fault = told["settings"]["fault"]
    assert (fault["code"], fault["line"], fault["field"]) == ("SETTINGS_INVALID", 2, "trust_mode")
    assert fault["file"] == str(world.file)
    assert fault["message"] and fault["remedy"]
    assert "hunter2" not in json.dumps(told)
    assert (await world.ask("settings/get"))["settings"]["trust_mode"] == "manual"
    world.file.write_text(TEXT.replace("12", "13"), encoding="utf-8")
    told = await world.until("status", lambda answer: not answer["settings"]["fault"])
    assert told["settings"]["afterRestart"] == ["limits.connections"]


async def test_a_preset_that_the_loader_cannot_use_is_a_broken_save_with_its_line(world: World) -> None:
    """M9.2: the same resolver."""
    world.file.write_text(TEXT + "\n[[presets]]\nid = 'x'\nextends = 'nothing'\n", encoding="utf-8")
    fault = (await world.until("status", lambda answer: answer["settings"]["fault"]))["settings"]["fault"]
    assert (fault["line"], fault["field"]) == (10, "presets[0].extends")
    with pytest.raises(SettingsInvalid):
        FileSettings(world.file, LocalWatches(), check=check_presets)


async def test_servers_of_an_open_session_follow_the_settings_at_once(world: World) -> None:
    """M5.8: what policy no longer allows is disconnected, with no request in between."""
    server = {"command": sys.executable, "args": ["-m", "innkeeper.mcp.example_server"]}
    (world.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"example": server}}), encoding="utf-8")
    uri = await world.client.create_session(provider="console", working_directories=[world.project.as_uri()])

    def one(answer: Any) -> Any:
        return answer["items"][0]

    assert one(await world.ask("mcp/list", channel=uri))["allowed"] is False
    await world.change({"op": "set", "path": ["trusted_workspaces"], "value": [str(world.project)]})
    await world.until("mcp/list", lambda answer: one(answer)["allowed"], channel=uri)
    await world.ask("mcp/reload", channel=uri)
    found = await world.until("mcp/list", lambda answer: one(answer)["status"] == "connected", channel=uri)
    pid = one(found)["pid"]
    world.file.write_text(TEXT, encoding="utf-8")
    gone = await world.until(
        "mcp/list", lambda answer: one(answer)["status"] != "connected" and not psutil.pid_exists(pid), channel=uri
    )
    assert one(gone)["allowed"] is False


async def test_a_preset_that_is_switched_off_closes_its_servers(world: World) -> None:
    """M5.8"""
    server = {"command": sys.executable, "args": ["-m", "innkeeper.mcp.example_server"]}
    (world.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"example": server}}), encoding="utf-8")
    await world.change(SET_ALL, confirmed=True)
    uri = await world.client.create_session(provider="console", working_directories=[world.project.as_uri()])
    await world.ask("mcp/list", channel=uri)
    await world.ask("mcp/reload", channel=uri)
    found = await world.until("mcp/list", lambda answer: answer["items"][0]["status"] == "connected", channel=uri)
    pid = found["items"][0]["pid"]
    await world.change({"op": "set", "path": ["enabled_builtins"], "value": ["cursor"]})
    gone = await world.until("mcp/list", lambda answer: not (answer["items"] or psutil.pid_exists(pid)), channel=uri)
    assert gone["items"] == []
