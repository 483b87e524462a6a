"""Stored grants of all workspaces, listed and taken back (M4.2b, M5.8, M9.2, M9.3)."""

from pathlib import Path

import pytest

from app.test_editing_declarations import SERVER, World, running
from app.test_editing_declarations import world as world
from innkeeper.client import RpcFailure
from innkeeper.host.grant_commands import GRANT_METHODS
from innkeeper.protocol.uris import ROOT

pytestmark = pytest.mark.anyio


async def test_what_a_person_allowed_is_listed_for_every_workspace_and_ends_when_it_is_forgotten(world: World) -> None:
    """M4.2b, M5.8"""
    await world.session()
    await world.ask("editSave", name="notes", preset="root", token="none", fields=SERVER)
    assert (await world.ask("grants", ROOT))["items"] == []
    await world.ask("allow", server="notes")
    await world.ask("connect", server="notes")
    (grant,) = (await world.ask("grants", ROOT))["items"]
    assert grant.keys() == {"workspace", "kind", "name", "grantedAt"}
    assert (grant["workspace"], grant["kind"], grant["name"]) == (world.project.as_uri(), "server", "notes")
    assert (await world.rows())["notes"]["status"] == "connected"
    slot = {name: grant[name] for name in ("workspace", "kind", "name")}
    assert await world.ask("forget", ROOT, **slot) == {"items": []}
    assert (await world.rows())["notes"]["status"] == "not allowed"
    assert await world.ask("forget", ROOT, **slot) == {"items": []}


async def test_forgetting_names_all_three_parts(world: World) -> None:
    refused = await world.refused("forget", ROOT, workspace="file:///w", kind="server")
    assert refused["rpc"] == -32602 and "name" in refused["message"]


async def test_nothing_of_it_is_served_where_the_operator_switched_management_off(tmp_path: Path) -> None:
    """M9.3"""
    async with running(tmp_path, "web_control = false\n") as world:
        for method in sorted(GRANT_METHODS):
            with pytest.raises(RpcFailure) as refused:
                await world.client.request(method, {"channel": ROOT, "workspace": "w", "kind": "tool", "name": "n"})
            assert refused.value.code == -32009
            assert refused.value.data == {"code": "WEB_CONTROL_OFF"}
