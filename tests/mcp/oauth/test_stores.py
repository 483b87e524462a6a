"""What every place for tokens must do, and what the file on disk must do besides (issue 3.8)."""

import asyncio
import json
import os
import stat
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.oauth.files import FileTokens
from innkeeper.mcp.oauth.keyrings import KeyringTokens, standard_store
from innkeeper.mcp.oauth.store import MemoryTokens, TokenStore, decode, encode
from innkeeper.mcp.oauth.values import Credentials

pytestmark = pytest.mark.anyio

ONE = Credentials(
    resource="https://one.example/mcp",
    client_id="c1",
    access_token="access-1",
    refresh_token="refresh-1",
    expires_at=1_800_000_000.5,
    scopes=("read", "write"),
    client={"client_id": "c1", "redirect_uris": ["http://127.0.0.1:1/callback"]},
    server={"issuer": "https://as.example"},
    metadata={"resource": "https://one.example/mcp"},
)
TWO = Credentials("https://two.example/mcp", "c2", "access-2")


class FakeKeyring:
    """A keyring in memory, with the interface of the package."""

    priority = 5

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service_name: str, username: str) -> str | None:
        self._check()
        return self.kept.get((service_name, username))

    def set_password(self, service_name: str, username: str, password: str) -> None:
        self._check()
        self.kept[service_name, username] = password

    def delete_password(self, service_name: str, username: str) -> None:
        self._check()
        del self.kept[service_name, username]

    def _check(self) -> None:
        if self.locked:
            raise RuntimeError("locked; the secret was s3cret")


@pytest.fixture(params=["memory", "file", "keyring"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], TokenStore]:
    """Opens the store; a second time it is the same place, for memory the same object."""
    memory, keyring = MemoryTokens(), FakeKeyring()
    ways: dict[str, Callable[[], TokenStore]] = {
        "memory": lambda: memory,
        "file": lambda: FileTokens(tmp_path / "tokens.json"),
        "keyring": lambda: KeyringTokens(keyring),
    }
    return ways[request.param]


async def test_empty_place_has_nothing(opened: Callable[[], TokenStore]) -> None:
    assert await opened().all() == ()
    await opened().remove(ONE.key)


async def test_what_was_put_is_there_for_the_next_one_who_opens(opened: Callable[[], TokenStore]) -> None:
    store = opened()
    await store.put(ONE)
    await store.put(TWO)
    assert sorted(await opened().all(), key=lambda c: c.client_id) == [ONE, TWO]


async def test_same_key_is_replaced_and_other_clients_of_the_resource_stay(opened: Callable[[], TokenStore]) -> None:
    """Keyed by resource and client."""
    store = opened()
    other = replace(ONE, client_id="c9", access_token="access-9")
    for entry in (ONE, other, replace(ONE, access_token="access-new", refresh_token=None)):
        await store.put(entry)
    found = {entry.client_id: entry.access_token for entry in await opened().all()}
    assert found == {"c1": "access-new", "c9": "access-9"}


async def test_removed_entry_leaves_no_trace(opened: Callable[[], TokenStore], tmp_path: Path) -> None:
    store = opened()
    await store.put(ONE)
    await store.put(TWO)
    await store.remove(ONE.key)
    await store.remove(ONE.key)
    assert await opened().all() == (TWO,)
    assert "access-1" not in "".join((tmp_path / name).read_text() for name in os.listdir(tmp_path))


async def test_file_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    before = os.umask(0)
    try:
        await FileTokens(path).put(ONE)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["tokens.json"], "nothing is left beside it"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
async def test_file_that_others_can_read_or_write_is_not_believed(
    tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens.json"
    await FileTokens(path).put(ONE)
    path.chmod(mode)
    assert await FileTokens(path).all() == ()
    assert "passed over" in caplog.text and "access-1" not in caplog.text
    await FileTokens(path).put(TWO)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert await FileTokens(path).all() == (TWO,)


async def test_link_in_place_of_the_file_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    target, path = tmp_path / "elsewhere.json", tmp_path / "tokens.json"
    await FileTokens(target).put(ONE)
    path.symlink_to(target)
    assert await FileTokens(path).all() == ()
    await FileTokens(path).put(TWO)
    assert not path.is_symlink()
    assert await FileTokens(target).all() == (ONE,)


async def test_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokens.json"
    await FileTokens(path).put(ONE)

    def full(_descriptor: int) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        await FileTokens(path).put(TWO)
    monkeypatch.undo()
    assert await FileTokens(path).all() == (ONE,)
    assert os.listdir(tmp_path) == ["tokens.json"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"version": 2, "tokens": []}', b'{"version": 1, "tokens": {}}', b"\xff\x00", b"null"],
)
async def test_unreadable_content_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content)
    path.chmod(0o600)
    assert await FileTokens(path).all() == ()
    await FileTokens(path).put(ONE)
    assert await FileTokens(path).all() == (ONE,)


async def test_entry_of_a_wrong_shape_harms_no_other(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    wrong = [{}, None, {"resource": 1}, {**encode(TWO), "expires_at": True}, {**encode(TWO), "scopes": [1]}]
    path.write_text(json.dumps({"version": 1, "tokens": [*wrong, encode(ONE)]}))
    path.chmod(0o600)
    assert await FileTokens(path).all() == (ONE,)


texts = st.text(min_size=1, max_size=20)


@given(
    st.builds(
        Credentials,
        resource=texts,
        client_id=texts,
        access_token=texts,
        refresh_token=st.none() | st.text(max_size=20),
        expires_at=st.none() | st.floats(0, 4e9),
        scopes=st.lists(texts, max_size=3).map(tuple),
        client=st.dictionaries(texts, texts, max_size=2),
    )
)
def test_entry_survives_its_json_form(credentials: Credentials) -> None:
    assert decode(json.loads(json.dumps(encode(credentials)))) == credentials


async def test_locked_keyring_is_empty_for_readers_and_an_error_for_writers() -> None:
    """Its own words may hold a secret and go no further."""
    keyring = FakeKeyring()
    store = KeyringTokens(keyring)
    await store.put(ONE)
    keyring.locked = True
    assert await store.all() == ()
    for work in (store.put(TWO), store.remove(ONE.key)):
        with pytest.raises(OSError, match="RuntimeError") as failed:
            await work
        assert "s3cret" not in str(failed.value)


async def test_names_in_a_keyring_tell_nothing() -> None:
    keyring = FakeKeyring()
    await KeyringTokens(keyring).put(ONE)
    assert {service for service, _ in keyring.kept} == {"innkeeper"}
    assert not any("one.example" in name or "c1" in name.split("-") for _, name in keyring.kept)


@pytest.mark.parametrize("priority", [5, 0])
async def test_keyring_is_used_where_it_keeps_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, priority: int
) -> None:
    """The extra is optional, and so is a keyring on the machine: without either the file is used."""
    backend = FakeKeyring()
    backend.priority = priority
    package: Any = types.ModuleType("keyring")
    package.get_keyring = lambda: backend
    monkeypatch.setitem(sys.modules, "keyring", package)
    store = standard_store(tmp_path / "tokens.json")
    await store.put(ONE)
    assert await store.all() == (ONE,)
    assert bool(backend.kept) is bool(priority)
    assert (tmp_path / "tokens.json").exists() is not bool(priority)
    await store.remove(ONE.key)
    assert await store.all() == ()


async def test_a_keyring_is_looked_for_once_and_not_before_a_token_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking loads packages and starts programs, for which no start of a host has to wait (issue 2 §9)."""
    looked: list[str] = []
    backend = FakeKeyring()
    backend.priority = 5

    def get_keyring() -> FakeKeyring:
        looked.append(threading.current_thread().name)
        return backend

    package: Any = types.ModuleType("keyring")
    package.get_keyring = get_keyring
    monkeypatch.setitem(sys.modules, "keyring", package)
    store = standard_store(tmp_path / "tokens.json")
    assert looked == []
    await asyncio.gather(store.put(ONE), store.put(TWO))
    assert sorted(one.resource for one in await store.all()) == sorted([ONE.resource, TWO.resource])
    assert len(looked) == 1
    assert looked != [threading.main_thread().name]


async def test_without_the_package_the_file_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    await standard_store(tmp_path / "tokens.json").put(ONE)
    assert await FileTokens(tmp_path / "tokens.json").all() == (ONE,)
