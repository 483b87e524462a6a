"""`completions` (AHP §4): local commands after `/`, files after `@`."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from innkeeper.host.customizations.service import Ground
from innkeeper.workspace.files import LocalFiles
from scripted.world import Client, RpcFailure, World

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    for name in ("src", ".hidden", "ä dir"):
        (tmp_path / name).mkdir()
    for name in ("README.md", "src/main.py", "src/maps.py", ".env", "two words", "src/\udcff"):
        (tmp_path / name).write_text("x")
    (tmp_path / "out").symlink_to("/etc")
    world = await World(ground=Ground(LocalFiles())).start()
    client = await world.client()
    await client.new_session(workingDirectories=[tmp_path.as_uri()])
    yield client
    await world.close()


async def offered(client: Client, text: str, offset: int | None = None) -> list[Any]:
    chat = client.states["ahp-session:/1"]["defaultChat"]
    at = len(text.encode("utf-16-le")) // 2 if offset is None else offset
    return list((await client.request("completions", chat, kind="userMessage", text=text, offset=at))["items"])


def texts(items: list[Any]) -> list[str]:
    return [item["insertText"] for item in items]


async def test_a_command_is_offered_where_a_message_begins(client: Client) -> None:
    (item,) = await offered(client, "/re")
    assert (item["insertText"], item["rangeStart"], item["rangeEnd"]) == ("/rename ", 0, 3)
    assert item["attachment"] == {
        "type": "simple",
        "label": "/rename",
        "_meta": {"x-innkeeper/localCommand": "rename"},
    }
    assert texts(await offered(client, "/")) == ["/rename "]
    assert await offered(client, "say /re") == []
    assert await offered(client, "/rename x") == []
    assert await offered(client, "/other") == []


async def test_files_are_offered_one_folder_at_a_time(client: Client, tmp_path: Path) -> None:
    assert texts(await offered(client, "see @")) == ["@src/", "@README.md", "@out"]
    items = await offered(client, "see @src/MA")
    assert texts(items) == ["@src/main.py", "@src/maps.py"]
    assert (items[0]["rangeStart"], items[0]["rangeEnd"]) == (4, 11)
    assert items[0]["attachment"]["uri"] == (tmp_path / "src/main.py").as_uri()
    assert items[0]["attachment"]["type"] == "resource"


async def test_hidden_files_are_offered_to_who_types_the_dot(client: Client) -> None:
    assert texts(await offered(client, "@.")) == ["@.hidden/", "@.env"]


async def test_nothing_outside_of_the_working_directory_is_offered(client: Client) -> None:
    for typed in ("@../", "@out/", "@/etc/", "@src/../../", "@missing/"):
        assert await offered(client, typed) == []


async def test_offsets_count_utf_16_units(client: Client) -> None:
    items = await offered(client, "\U0001f600 @READ and more", 8)
    assert texts(items) == ["@README.md"]
    assert (items[0]["rangeStart"], items[0]["rangeEnd"]) == (3, 8)


async def test_an_address_is_no_file(client: Client) -> None:
    assert await offered(client, "mail me@src") == []


async def test_an_unknown_chat_is_told(client: Client) -> None:
    with pytest.raises(RpcFailure) as caught:
        await client.request("completions", "a:/b", kind="userMessage", text="@", offset=1)
    assert caught.value.code == -32008
