"""Which files are read, and when again (M1.6, M5.1, reports F8 and F9)."""

import os
from pathlib import Path
from typing import Any

import pytest

from innkeeper.mcp.declarations import files, resolve
from innkeeper.mcp.declarations.files import Refused, inside, read

NODE = {"command": "node"}


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        (".mcp.json", ".mcp.json"),
        ("./a//b/../c", "a/c"),
        (".vscode\\mcp.json", ".vscode/mcp.json"),
        ("/ws/x/.env", "x/.env"),
        ("/ws", "."),
    ],
)
def test_paths_inside_in_every_spelling(path: str, relative: str) -> None:
    assert inside("/ws", path) == relative


@pytest.mark.parametrize(
    "path",
    ["..", "../x", "a/../../x", "a\\..\\..\\x", "/etc/x", "/wsx", "/ws/../x", "C:\\x", "c:x", "\\\\h\\s", "a\0b"],
)
def test_paths_outside_in_every_spelling(path: str) -> None:
    with pytest.raises(Refused) as caught:
        inside("/ws", path)
    assert caught.value.code == "PATH_ESCAPE"


def test_links_out_of_the_workspace_are_refused_for_files_and_folders(workspace: Any) -> None:
    """Report F8"""
    outside = workspace.root.parent / "outside"
    outside.mkdir()
    (outside / "mcp.json").write_text('{"servers": {"a": {"command": "evil"}}}')
    (workspace.root / ".vscode").symlink_to(outside)
    (workspace.root / ".cursor").mkdir()
    (workspace.root / ".cursor/mcp.json").symlink_to(outside / "mcp.json")
    (workspace.root / ".mcp.json").symlink_to(".mcp.json")
    resolved = workspace.resolve()
    assert resolved.entries == ()
    assert [(found.file, found.code) for found in resolved.diagnostics] == [
        (".mcp.json", "FILE_UNREADABLE"),
        (".vscode/mcp.json", "PATH_ESCAPE"),
        (".cursor/mcp.json", "PATH_ESCAPE"),
    ]


def test_links_inside_the_workspace_are_followed_and_the_workspace_may_be_one(workspace: Any) -> None:
    workspace.write("config/mcp.json", {"servers": {"a": NODE}})
    (workspace.root / ".vscode").symlink_to("config")
    linked = workspace.root.parent / "linked"
    linked.symlink_to(workspace.root)
    workspace.root = linked
    assert list(workspace.entries()) == ["a"]
    workspace.write("config/mcp.json", {"servers": {"b": NODE}})
    assert list(workspace.entries()) == ["b"]


def test_link_that_appears_between_look_and_open_is_not_followed(
    workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report F8: the swap race."""
    workspace.declare("root", a=NODE)
    workspace.declare("vscode", b=NODE)
    outside = workspace.root.parent / "outside.json"
    outside.write_text('{"mcpServers": {"evil": {"command": "x"}}, "servers": {"evil": {"command": "x"}}}')
    look = files._look

    def look_then_swap(root: str, relative: str) -> Any:
        found = look(root, relative)
        if relative == ".mcp.json":
            (workspace.root / ".mcp.json").unlink()
            (workspace.root / ".mcp.json").symlink_to(outside)
        if relative == ".vscode/mcp.json":
            (workspace.root / ".vscode").rename(workspace.root / "moved")
            (workspace.root / ".vscode").symlink_to(outside.parent)
            (outside.parent / "mcp.json").write_text(outside.read_text())
        return found

    monkeypatch.setattr(files, "_look", look_then_swap)
    resolved = workspace.resolve()
    assert resolved.entries == ()
    assert [found.code for found in resolved.diagnostics] == ["PATH_ESCAPE", "PATH_ESCAPE"]


def test_only_the_directory_itself_is_read(workspace: Any) -> None:
    """M5.1, report F9"""
    workspace.declare("root", parent=NODE)
    child = workspace.root / "packages" / "x"
    child.mkdir(parents=True)
    (child / ".mcp.json").write_text('{"mcpServers": {"child": {"command": "n"}}}')
    workspace.root = child
    assert list(workspace.entries()) == ["child"]
    workspace.root = child.parent
    assert workspace.entries() == {}


def test_reading_writes_nothing(workspace: Any) -> None:
    """M5.1"""
    workspace.declare("root", a=NODE)
    workspace.write(".env", "A=1")
    workspace.declare("cursor", b={**NODE, "envFile": ".env"})

    def state() -> dict[str, tuple[int, bytes]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path in sorted(Path(workspace.root).rglob("*"))
        }

    before = state()
    workspace.resolve()
    assert state() == before


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were really opened."""
    opened: list[str] = []

    def counted(root: str, relative: str, limit: int) -> Any:
        opened.append(relative)
        return read(root, relative, limit)

    monkeypatch.setattr(resolve, "read", counted)
    return opened


def age(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (1_700_000_000, 1_700_000_000))


def test_unchanged_files_are_not_read_again(workspace: Any, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GRAIN_NANOSECONDS", 0)
    workspace.declare("root", a=NODE)
    age(workspace.root)
    first = workspace.resolve()
    count = len(reads)
    assert workspace.resolve() is first
    assert len(reads) == count
    workspace.declare("root", a=NODE, b=NODE)
    assert len(workspace.resolve().entries) == 2


def test_a_file_that_changed_just_now_is_compared_by_its_bytes(workspace: Any, reads: list[str]) -> None:
    """Two writes within the clock's grain have one signature."""
    path = workspace.write(".mcp.json", '{"mcpServers": {"a": {"command": "one"}}}')
    found = os.stat(path)
    workspace.resolve()
    path.write_text('{"mcpServers": {"a": {"command": "two"}}}')
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert workspace.entries()["a"].server.launch.program == "two"
    assert reads.count(".mcp.json") >= 2


@pytest.mark.parametrize("change", ["environment", "input", "environment file", "new file", "deleted file"])
def test_everything_that_an_answer_depends_on_is_looked_at(
    workspace: Any, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "GRAIN_NANOSECONDS", 0)
    workspace.write(".env", "A=1")
    workspace.declare("cursor", a={**NODE, "envFile": ".env", "args": ["${TOKEN}", "${input:i}"]})
    age(workspace.root)
    inputs = {"i": "1"}
    before = workspace.resolve(inputs=inputs)
    assert workspace.resolve(inputs=inputs) is before
    match change:
        case "environment":
            workspace.environment["TOKEN"] = "rotated"
        case "input":
            inputs["i"] = "2"
        case "environment file":
            workspace.write(".env", "A=2")
        case "new file":
            workspace.declare("root", b=NODE)
        case _:
            (workspace.root / ".cursor/mcp.json").unlink()
    after = workspace.resolve(inputs=inputs)
    assert after.entries != before.entries


def test_a_file_broken_at_the_moment_of_reading_loses_its_servers_until_the_next(workspace: Any) -> None:
    """M2.8b, report L3"""
    workspace.declare("root", a=NODE)
    assert list(workspace.entries()) == ["a"]
    workspace.write(".mcp.json", '{"mcpServers": {"a": {"comm')
    resolved = workspace.resolve()
    assert (resolved.entries, resolved.failed, resolved.diagnostics[0].code) == ((), True, "FILE_SYNTAX")
    workspace.declare("root", a=NODE)
    assert list(workspace.entries()) == ["a"]


def test_two_workspaces_never_mix(workspace: Any) -> None:
    """M5.2: one resolver, same name, different place."""
    workspace.declare("root", a={"command": "one"})
    other = workspace.root.parent / "other"
    other.mkdir()
    (other / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "two"}}}')
    first = workspace.root
    for root, program in ((first, "one"), (other, "two"), (first, "one")):
        workspace.root = root
        server = workspace.entries()["a"].server
        assert (server.launch.program, server.launch.directory) == (program, str(root))
