"""`x-innkeeper/folders`: folders that a client may let a person choose (docs/reference/extensions.md)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from innkeeper.host.customizations.service import Ground
from innkeeper.host.settings import HostSettings
from innkeeper.workspace.files import LocalFiles
from scripted.world import Client, RpcFailure, World

pytestmark = pytest.mark.anyio
ROOT = "ahp-root://"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    for name in ("home/work/shop", "home/work/Äpfel", "home/.hidden", "home/\udcff", "srv/app/one", "secret/keys"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home/notes.txt").write_text("x")
    (tmp_path / "home/out").symlink_to(tmp_path / "secret")
    (tmp_path / "home/in").symlink_to(tmp_path / "home/work")
    (tmp_path / "home/gone").symlink_to(tmp_path / "nowhere")
    world = World(
        ground=Ground(LocalFiles(), home=str(tmp_path / "home")),
        settings=HostSettings(directory=str(tmp_path / "home/work"), summary_delay=0.001, close_timeout=0.2),
    )
    yield await (await world.start()).client()
    await world.close()


async def looked(client: Client, directory: Path | str | None = None) -> Any:
    given = {} if directory is None else {"directory": str(directory)}
    return await client.request("x-innkeeper/folders", ROOT, **given)


async def test_places_are_the_home_the_folder_of_the_start_and_those_beside_sessions(
    client: Client, tmp_path: Path
) -> None:
    """One that lies in another is no place of its own."""
    assert (await looked(client))["places"] == [(tmp_path / "home").as_uri()]
    await client.new_session(workingDirectories=[(tmp_path / "srv/app").as_uri()])
    assert (await looked(client))["places"] == [(tmp_path / "home").as_uri(), (tmp_path / "srv").as_uri()]
    assert [one["name"] for one in (await looked(client, tmp_path / "srv/app"))["items"]] == ["one"]


async def test_only_folders_that_can_be_named_are_told_and_no_file(client: Client, tmp_path: Path) -> None:
    found = await looked(client, tmp_path / "home")
    assert [one["name"] for one in found["items"]] == ["in", "work"]
    assert (found["directory"], found["parent"], found["more"]) == ((tmp_path / "home").as_uri(), None, False)
    below = await looked(client, (tmp_path / "home/work").as_uri())
    assert below["parent"] == (tmp_path / "home").as_uri()
    assert below["items"] == [
        {"name": name, "uri": (tmp_path / "home/work" / name).as_uri()} for name in ("shop", "Äpfel")
    ]


@pytest.mark.parametrize("path", ["secret", "home/../secret", "home/out", "home/out/keys", "home/work/../../secret"])
async def test_nothing_outside_of_the_places_is_shown_by_no_link_and_no_dots(
    client: Client, tmp_path: Path, path: str
) -> None:
    with pytest.raises(RpcFailure) as refused:
        await looked(client, f"{tmp_path}/{path}")
    assert refused.value.code == -32009


@pytest.mark.parametrize(
    ("directory", "code"),
    [("work", -32602), ("", -32602), ("/w\0", -32602), ("https://x/w", -32602), ("file://elsewhere/w", -32602)],
)
async def test_what_is_no_path_of_this_machine_is_refused(client: Client, directory: str, code: int) -> None:
    with pytest.raises(RpcFailure) as refused:
        await looked(client, directory)
    assert refused.value.code == code


async def test_what_is_no_folder_is_not_found(client: Client, tmp_path: Path) -> None:
    for path in ("home/gone", "home/missing", "home/notes.txt"):
        with pytest.raises(RpcFailure) as refused:
            await looked(client, tmp_path / path)
        assert refused.value.code == -32008
