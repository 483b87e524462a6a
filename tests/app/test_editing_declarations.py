"""A whole host whose clients edit declaration files: forms, tokens, refusals, connecting (M8, M9.3, M9.5)."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from innkeeper.app.compose import DATABASE, Circumstances, Host, open_host, standard_parts
from innkeeper.app.preferences import check_presets
from innkeeper.client import Client, RpcFailure, connect
from innkeeper.client.memory import MemoryTransport
from innkeeper.edge.memory import MemoryDoor
from innkeeper.host.editing_commands import EDITING_METHODS
from innkeeper.settings.service import FileSettings
from innkeeper.workspace.watches import LocalWatches

pytestmark = pytest.mark.anyio
CANARY = "s3cret-canary-value"
SESSION = "ahp-session:/edited"
SERVER = {"command": sys.executable, "args": ["-m", "innkeeper.mcp.example_server"]}
MARKED = (
    '// mine\n{\n  "servers": {\n    "notes": {"command": "x", "env": {"K": "s3cret-canary-value"}}, // why\n  },\n}\n'
)


@dataclass
class World:
    host: Host
    client: Client
    folder: Path
    project: Path

    async def ask(self, what: str, channel: str = SESSION, **params: Any) -> Any:
        return await self.client.request(f"x-innkeeper/mcp/{what}", {"channel": channel, **params})

    async def refused(self, what: str, channel: str = SESSION, **params: Any) -> Any:
        with pytest.raises(RpcFailure) as caught:
            await self.ask(what, channel, **params)
        data: Any = caught.value.data
        return {"rpc": caught.value.code, "message": caught.value.message, **(data or {})}

    async def session(self, uri: str = SESSION, directory: str | None = None, **more: Any) -> None:
        given = [directory or self.project.as_uri()]
        await self.client.request(
            "createSession", {"channel": uri, "provider": "console", "workingDirectories": given, **more}
        )
        await self.client.subscribe(uri)

    async def rows(self) -> dict[str, Any]:
        return {row["name"]: row for row in (await self.ask("list"))["items"]}


@asynccontextmanager
async def running(folder: Path, settings: str = "") -> AsyncIterator[World]:
    file = folder / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(settings, encoding="utf-8")
    project = folder / "project"
    project.mkdir()
    live = FileSettings(file, LocalWatches(), check=check_presets)
    async with live.watching():
        parts = standard_parts(folder / DATABASE, live.started, quiet=True)
        host = await open_host(parts, Circumstances(live.started, dict(os.environ), folder, live=live))
        try:
            async with connect(MemoryTransport(MemoryDoor(host.attach).accept), locale="en") as client:
                yield World(host, client, folder, project)
        finally:
            await host.close(2)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path) as made:
        yield made


async def test_a_new_server_is_made_from_nothing_and_connected(world: World) -> None:
    """M8.7, M8.10: save and connect are two acts, asked for together here."""
    await world.session()
    place = (await world.ask("editPlaces"))["items"][0]
    assert (place["preset"], place["file"], place["exists"]) == ("root", ".mcp.json", False)
    opened = await world.ask("editOpen")
    assert (opened["token"], opened["server"], opened["loads_by"], opened["level"]) == (
        "none",
        None,
        None,
        "workspace-write",
    )
    saved = await world.ask(
        "editSave", name="notes", preset="root", token="none", transport="stdio", fields=SERVER, connect=True
    )
    assert (saved["written"], saved["status"], saved["line"]) == (True, "connected", 3)
    assert json.loads((world.project / ".mcp.json").read_text())["mcpServers"]["notes"] == {"type": "stdio", **SERVER}
    assert (await world.rows())["notes"]["allowed_by"] == "sessionGrant"


async def test_an_ordinary_save_grants_nothing_and_voids_the_grant_of_the_old_declaration(world: World) -> None:
    """M8.7, M4.2b"""
    await world.session()
    await world.ask("editSave", name="notes", preset="root", token="none", fields=SERVER)
    assert (await world.rows())["notes"]["allowed"] is False
    await world.ask("allow", server="notes")
    assert (await world.rows())["notes"]["allowed"] is True
    opened = await world.ask("editOpen", server="notes")
    await world.ask("editSave", server="notes", preset="root", token=opened["token"], fields={"cwd": "."})
    row = (await world.rows())["notes"]
    assert (row["allowed"], row["reason"]) == (False, "DECLARATION_CHANGED")


async def test_a_form_has_no_value_unless_it_is_asked_for_and_masked_rows_are_kept(world: World) -> None:
    """M8.9, M7.7"""
    (world.project / ".vscode").mkdir()
    file = world.project / ".vscode/mcp.json"
    file.write_text(MARKED)
    await world.session()
    opened = await world.ask("editOpen", server="notes")
    assert opened["place"]["preset"] == "vscode"
    assert opened["form"]["env"] == [{"key": "K", "value": None}]
    assert CANARY not in json.dumps(opened)
    assert (await world.ask("editOpen", server="notes", reveal=True))["form"]["env"][0]["value"] == CANARY
    place = {"preset": "vscode", "file": ".vscode/mcp.json"}
    rows = [{"key": "K", "keep": True}, {"key": "N", "value": "new-secret-value"}]
    params = {"server": "notes", **place, "token": opened["token"], "fields": {"env": rows}}
    dry = await world.ask("editSave", **params, dryRun=True)
    assert (dry["written"], file.read_text()) == (False, MARKED)
    assert "+" in dry["diff"] and CANARY not in dry["diff"] and "new-secret-value" not in dry["diff"]
    saved = await world.ask("editSave", **params)
    assert file.read_text() == MARKED.replace(f'"{CANARY}"', f'"{CANARY}", "N": "new-secret-value"')
    assert saved["tokens"][".vscode/mcp.json"] == (await world.ask("editOpen", server="notes"))["token"]
    cleared = await world.ask(
        "editSave", server="notes", **place, token=saved["tokens"][".vscode/mcp.json"], fields={"env": None}
    )
    assert cleared["written"] and '"env"' not in file.read_text()


async def test_another_version_is_refused_with_the_current_token(world: World) -> None:
    """M8.4, M9.5"""
    await world.session()
    await world.ask("editSave", name="a", preset="root", token="none", fields=SERVER)
    opened = await world.ask("editOpen", server="a")
    file = world.project / ".mcp.json"
    file.write_text(file.read_text().replace("innkeeper.mcp", "innkeeper.mcp") + "\n")
    before = file.read_bytes()
    found = await world.refused(
        "editSave", server="a", preset="root", token=opened["token"], fields={"command": "other"}
    )
    assert (found["code"], found["rpc"], found["file"]) == ("EDIT_CONFLICT", -32011, ".mcp.json")
    assert found["token"] == (await world.ask("editOpen", server="a"))["token"] != opened["token"]
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("config", "reason"), [({"mode": "plan"}, "mode"), (None, "archived")], ids=["plan mode", "archived"]
)
async def test_a_session_that_may_only_look_changes_nothing(world: World, config: Any, reason: str) -> None:
    """M8.6b"""
    (world.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"a": SERVER}}))
    await world.session(**({"config": config} if config else {}))
    if config is None:
        world.client.dispatch(SESSION, {"type": "session/isArchivedChanged", "isArchived": True})
    await world.client.request("ping", {"channel": "ahp-root://"})
    opened = await world.ask("editOpen", server="a")
    assert opened["level"] == "read-only"
    assert opened["readOnly"] == reason
    for what, params in {
        "editSave": {"server": "a", "preset": "root", "token": opened["token"], "fields": {"cwd": "x"}},
        "editDelete": {"server": "a", "preset": "root", "token": opened["token"]},
        "editMigrate": {
            "server": "a",
            "fromPreset": "root",
            "toPreset": "cursor",
            "tokens": {".mcp.json": opened["token"]},
        },
    }.items():
        found = await world.refused(what, **params)
        assert (found["code"], found["reason"], found["rpc"]) == ("EDIT_READ_ONLY", reason, -32009), what
        assert (await world.ask(what, **params, dryRun=True))["diff"] if what != "editMigrate" else True
    saved = await world.ask(
        "editDelete",
        "ahp-root://",
        directory=str(world.project),
        server="a",
        preset="root",
        token=opened["token"],
    )
    assert saved["written"], "outside a session an edit is the user's own"


async def test_a_directory_that_is_not_local_is_not_edited(world: World) -> None:
    """M1.6: never a guess at a local path of the same name. A session has only local ones; a page names one."""
    params = {"name": "a", "preset": "root", "token": "none", "fields": SERVER}
    for directory in ("vscode-remote://host" + str(world.project), f"file://other{world.project}", "relative"):
        for what, more in (("editOpen", {}), ("editSave", params), ("editScan", {})):
            found = await world.refused(what, "ahp-root://", directory=directory, **more)
            assert (found["code"], found["rpc"]) == ("REMOTE_WORKSPACE", -32011), (directory, what)
    assert list(world.project.iterdir()) == []
    assert (await world.ask("editOpen", "ahp-root://", directory=world.project.as_uri()))["level"] == "full"


async def test_copy_migrate_and_scan_go_over_the_wire(world: World) -> None:
    """M8.8, M11.3"""
    await world.session()
    await world.ask("editSave", name="a", preset="root", token="none", fields=SERVER)
    token = (await world.ask("editOpen", server="a"))["token"]
    tokens = {".mcp.json": token, ".codex/config.toml": "none"}
    between = {"server": "a", "fromPreset": "root", "toPreset": "codex", "tokens": tokens}
    assert (await world.refused("editCopy", **between))["code"] == "EDIT_NAME_TAKEN"
    copied = await world.ask("editCopy", **between, name="b")
    assert (copied["place"]["file"], copied["source"]["file"]) == (".codex/config.toml", ".mcp.json")
    scanned = await world.ask("editScan")
    assert {(group["name"], group["kind"]) for group in scanned["groups"]} == {
        ("a", "name"),
        ("b", "name"),
        ("a", "alike"),
    }
    moved = await world.ask("editMigrate", **{**between, "tokens": copied["tokens"]})
    assert moved["written"] and set(await world.rows()) == {"a", "b"}
    found = await world.refused("editMigrate", **{**between, "tokens": copied["tokens"]})
    assert found["code"] == "EDIT_CONFLICT"


async def test_the_operator_can_close_it(tmp_path: Path) -> None:
    """M9.3: no value and no file leaves the host then; the answer names the command line."""
    async with running(tmp_path, "web_control = false\n") as world:
        await world.session()
        for method in sorted(EDITING_METHODS):
            found = await world.refused(method.removeprefix("x-innkeeper/mcp/"))
            assert found["code"] == "WEB_CONTROL_OFF" and "innkeeper" in found["message"], method


async def test_params_of_the_wrong_shape_are_told(world: World) -> None:
    """M8.9: a missing or repeated key blocks saving."""
    await world.session()
    base = {"name": "a", "preset": "root", "token": "none"}
    for fields in (
        {"env": [{"key": "A", "value": "1"}, {"key": "A", "value": "2"}]},
        {"env": [{"value": "1"}]},
        {"env": [{"key": "A", "value": 1}]},
        {"args": "x y", "env": "A=1"},
        {"command": 5},
        [],
    ):
        assert (await world.refused("editSave", **base, fields=fields))["rpc"] == -32602, fields
    assert (await world.refused("editSave", **base, fields={"cmd": "x"}))["code"] == "EDIT_FIELD"
    assert (await world.refused("editSave", name="a", preset="root"))["rpc"] == -32602
    assert not (world.project / ".mcp.json").exists()
