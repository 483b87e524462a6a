"""Plugins that the operator gives to the host (C7.1): from the configuration to the session."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from innkeeper.app.compose import DATABASE, Circumstances, open_host, standard_parts
from innkeeper.client import connect
from innkeeper.client.memory import MemoryTransport
from innkeeper.edge.memory import MemoryDoor
from innkeeper.settings.config import parse_settings

pytestmark = pytest.mark.anyio


def plugin(folder: Path) -> Path:
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "house", "version": "1.0.0"}))
    (folder / "skills" / "tidy").mkdir(parents=True)
    (folder / "skills" / "tidy" / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidies up\n---\nTidy.\n")
    return folder


async def test_a_plugin_of_the_configuration_is_published_in_every_session_with_its_children(tmp_path: Path) -> None:
    """C7.1, M9.6: a cold setting."""
    house = plugin(tmp_path / "house")
    settings = parse_settings(f'plugins = ["{house}"]\n', tmp_path / "config.toml")
    given = Circumstances(settings, {"HOME": str(tmp_path / "home")}, tmp_path)
    host = await open_host(standard_parts(tmp_path / "data" / DATABASE, settings, quiet=True), given)
    try:
        async with connect(MemoryTransport(MemoryDoor(host.attach).accept)) as client:
            await client.create_session("ahp-session:/1", provider="console", working_directories=[tmp_path.as_uri()])
            session = await client.subscribe_session("ahp-session:/1")
            state = await session.wait_for(lambda s: any(c["name"] == "house" for c in s.get("customizations") or ()))
            found = next(c for c in state["customizations"] if c["name"] == "house")
            assert found["type"] == "plugin"
            assert [(child["type"], child["name"]) for child in found["children"]] == [("skill", "tidy")]
    finally:
        await host.close(1)
    assert replace(settings, plugins=()).hot == settings.hot
