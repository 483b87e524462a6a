"""Edits of real files of a real client, comments and all (M8.1)."""

from pathlib import Path
from typing import Any

import pytest

from innkeeper.editing.edits import Delete, Put, lookup
from innkeeper.editing.engine import decoded, edit_bytes
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.front import TOML

SERVER = {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}}


@pytest.fixture(scope="session")
def files(shared: Path) -> list[tuple[str, bytes, Any]]:
    """The corpus's TOML files that are valid: name, bytes, data."""
    found = []
    for path in sorted((shared / "corpus").rglob("*.toml")):
        data = path.read_bytes()
        try:
            found.append((path.parent.name + "/" + path.name, data, TOML.parse(decoded(data))))
        except EditUnsafe:
            continue
    assert found
    return found


def scalars(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    members = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if members is None:
        return [path]
    return [found for key, value in members for found in scalars(value, (*path, key))]


def test_every_text_is_changed_and_changed_back_to_the_same_bytes(files: list[tuple[str, bytes, Any]]) -> None:
    changed = 0
    for name, data, parsed in files:
        for path in scalars(parsed):
            old = lookup(parsed, path)
            if isinstance(old, str):
                new = edit_bytes(TOML, data, [Put(path, "changed")])
                assert lookup(TOML.parse(decoded(new)), path) == "changed", name
                assert new.count(b"#") >= data.count(b"#") - old.count("#"), name
                changed += 1
    assert changed > 10


def test_a_server_is_added_and_deleted_to_the_same_bytes(files: list[tuple[str, bytes, Any]]) -> None:
    for name, data, parsed in files:
        if isinstance(parsed.get("mcp_servers"), dict):
            added = edit_bytes(TOML, data, [Put(("mcp_servers", "added"), SERVER)])
            assert TOML.parse(decoded(added))["mcp_servers"]["added"] == SERVER
            assert edit_bytes(TOML, added, [Delete(("mcp_servers", "added"))]) == data, name


def test_each_server_is_deleted_and_no_comment_outside_of_it_is_lost(files: list[tuple[str, bytes, Any]]) -> None:
    refused = 0
    for name, data, parsed in files:
        servers = parsed.get("mcp_servers")
        for server in servers if isinstance(servers, dict) else ():
            try:
                new = edit_bytes(TOML, data, [Delete(("mcp_servers", server))])
            except EditUnsafe as error:
                assert error.reason == "split", name
                refused += 1
                continue
            kept = TOML.parse(decoded(new)).get("mcp_servers", {})
            assert kept == {other: value for other, value in servers.items() if other != server}, name
    assert refused <= 1
