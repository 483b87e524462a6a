"""The file is always the old one or the new one: tokens, rollback, links, rights, two writers, a full disk, SIGKILL
(M8.4-M8.6, M8.8)."""

import ctypes
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from innkeeper.editing import replacing
from innkeeper.editing.refusals import EditConflict, EditUnwritable
from innkeeper.mcp.declarations import holding
from innkeeper.mcp.declarations.resolve import Resolver
from innkeeper.mcp.editor.refusals import EditRefused, EditRolledBack
from innkeeper.mcp.editor.sheets import Target
from innkeeper.ports.mcp_editing import DeclarationDraft

ENTRY = {"command": "x"}
NOBODY = 65534
AT_FDCWD, RENAME_EXCHANGE = -100, 2
WORKER = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from innkeeper.errors import HostError
from innkeeper.mcp.declarations.custom import available_presets
from innkeeper.mcp.declarations.resolve import Reading
from innkeeper.mcp.editor.editor import Editor
from innkeeper.mcp.editor.locations import target_of
from innkeeper.mcp.editor.readback import Ground
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.mcp_editing import DeclarationDraft

available = available_presets()
reading = Reading({"PATH": "/bin", "HOME": "/"}, presets=available.enabled, entry_limit=1000)
editor = Editor(Ground(lambda: reading, lambda: available), McpSettings)
workspace = sys.argv[2]
target = lambda preset: target_of(available, preset, None, workspace)

def add(name, **fields):
    return editor.save(workspace, target("root"), None, name, DeclarationDraft(None, {"command": "x", **fields}), None)
"""


def worker(workspace: Any, code: str) -> "subprocess.Popen[str]":
    source = str(Path(replacing.__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", WORKER + code, source, workspace.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def servers(workspace: Any, file: str = ".mcp.json") -> dict[str, Any]:
    return dict(json.loads(workspace.read(file)).get("mcpServers", {}))


# -- versions and rollback -------------------------------------------------------------------------------------------


def test_another_version_is_refused_with_the_current_token_and_nothing_is_written(workspace: Any) -> None:
    """M8.4"""
    workspace.write(".mcp.json", {"mcpServers": {"a": ENTRY}})
    opened = workspace.editor.open(workspace.path, "a", "root", None)
    workspace.write(".mcp.json", {"mcpServers": {"a": ENTRY, "b": ENTRY}})
    before = workspace.read(".mcp.json")
    draft = DeclarationDraft(None, {"command": "y"})
    for act in (
        lambda: workspace.editor.save(workspace.path, workspace.target("root"), "a", "a", draft, opened.token),
        lambda: workspace.editor.save(
            workspace.path, workspace.target("root"), "a", "a", draft, opened.token, dry_run=True
        ),
        lambda: workspace.editor.delete(workspace.path, workspace.target("root"), "a", opened.token),
        lambda: workspace.editor.save(workspace.path, workspace.target("root"), None, "c", draft, "none"),
    ):
        with pytest.raises(EditConflict) as caught:
            act()
        assert caught.value.current == workspace.token("root") != opened.token
    assert workspace.read(".mcp.json") == before


def test_an_entry_that_does_not_load_from_the_disk_is_put_back_exactly(workspace: Any) -> None:
    """M8.5: bytes, mode, owner, times and the file itself."""
    workspace.write(".vscode/mcp.json", {"servers": {"a": {"command": "other"}}})
    file = workspace.write(".mcp.json", '// not strict\n{"mcpServers": {}}\r\n')
    file.chmod(0o640)
    before, data = file.stat(), file.read_bytes()
    with pytest.raises(EditRolledBack) as caught:
        workspace.add("root", "a", command="x")
    after = file.stat()
    assert (caught.value.reason, caught.value.file) == ("NAME_CONFLICT", ".mcp.json")
    assert "NAME_CONFLICT" in caught.value.message() and ".vscode/mcp.json" in caught.value.message()
    assert file.read_bytes() == data
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)
    assert workspace.files() == [".mcp.json", ".vscode/mcp.json"]


def test_what_was_made_for_an_edit_that_is_taken_back_goes_again(workspace: Any) -> None:
    workspace.write(".mcp.json", {"mcpServers": {"a": {"command": "other"}}})
    with pytest.raises(EditRolledBack):
        workspace.add("cursor", "a", command="x")
    assert sorted(path.name for path in workspace.root.iterdir()) == [".mcp.json"]


def test_one_over_the_limit_is_put_back(workspace: Any) -> None:
    workspace.limit = 2
    workspace.write(".mcp.json", {"mcpServers": {"a": ENTRY, "b": ENTRY}})
    before = workspace.read(".mcp.json")
    with pytest.raises(EditRolledBack) as caught:
        workspace.add("root", "c", **ENTRY)
    assert caught.value.reason == "LIMIT_ENTRIES"
    assert workspace.read(".mcp.json") == before


def test_what_is_only_missing_on_this_machine_does_not_undo_another_change(workspace: Any) -> None:
    workspace.write(".mcp.json", {"mcpServers": {"a": {"command": "x", "env": {"T": "${NOT_HERE}"}}}})
    outcome = workspace.save("root", "a", "a", command="y")
    assert outcome.written and [one.code for one in outcome.findings] == ["VARIABLE_MISSING"]
    with pytest.raises(EditRefused) as caught:
        workspace.add("root", "b", command="x", env={"T": "${NOT_HERE}"})
    assert caught.value.code == "VARIABLE_MISSING"


# -- mode, owner, links ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_mode_and_owner_stay_and_a_new_file_is_as_the_process_makes_them(workspace: Any, mode: int) -> None:
    file = workspace.write(".mcp.json", {"mcpServers": {}})
    file.chmod(mode)
    if os.getuid() == 0:
        os.chown(file, NOBODY, NOBODY)
    before = file.stat()
    workspace.add("root", "a", **ENTRY)
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    known = os.umask(0o027)
    try:
        workspace.add("vscode", "b", command="y")
    finally:
        os.umask(known)
    assert stat.S_IMODE((workspace.root / ".vscode/mcp.json").stat().st_mode) == 0o640
    assert stat.S_IMODE((workspace.root / ".vscode").stat().st_mode) == 0o750


@pytest.mark.parametrize("how", ["file", "folder", "dangling", "absolute", "dots"])
def test_nothing_is_read_or_written_outside_the_workspace(workspace: Any, tmp_path: Path, how: str) -> None:
    """M8.6, F8: escapes by link, absolute path and `..`."""
    outside = tmp_path / "outside"
    outside.mkdir()
    victim = outside / "mcp.json"
    if how != "dangling":
        victim.write_text('{"mcpServers": {}}')
    target: Target = workspace.target("cursor")
    if how in ("file", "dangling"):
        (workspace.root / ".cursor").mkdir()
        (workspace.root / ".cursor/mcp.json").symlink_to(victim)
    elif how == "folder":
        (workspace.root / ".cursor").symlink_to(outside)
    else:
        target = Target(target.preset, str(victim) if how == "absolute" else "../outside/mcp.json")
    before = sorted((path, path.read_bytes()) for path in outside.iterdir())
    with pytest.raises(EditRefused) as caught:
        workspace.editor.save(workspace.path, target, None, "a", DeclarationDraft(None, ENTRY), None)
    assert caught.value.code == "PATH_ESCAPE"
    assert sorted((path, path.read_bytes()) for path in outside.iterdir()) == before


@pytest.mark.parametrize("how", ["file", "folder", "dangling"])
def test_a_link_inside_the_workspace_stays_one_and_its_target_is_written(workspace: Any, how: str) -> None:
    (workspace.root / "config").mkdir()
    real = workspace.root / "config/mcp.json"
    if how != "dangling":
        real.write_text('{"mcpServers": {}}\n')
    if how == "folder":
        (workspace.root / ".cursor").symlink_to("config")
    else:
        (workspace.root / ".cursor").mkdir()
        (workspace.root / ".cursor/mcp.json").symlink_to("../config/mcp.json")
    workspace.add("cursor", "a", **ENTRY)
    link = workspace.root / (".cursor" if how == "folder" else ".cursor/mcp.json")
    assert link.is_symlink()
    assert "a" in json.loads(real.read_text())["mcpServers"]


def test_a_folder_that_is_swapped_for_a_link_is_never_written_through(workspace: Any, tmp_path: Path) -> None:
    """The race of F8: another process swaps `.cursor` all the time; nothing outside is ever touched."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mcp.json").write_text('{"mcpServers": {}}')
    folder, link = workspace.root / ".cursor", workspace.root / "link"
    folder.mkdir()
    link.symlink_to(outside)
    done = threading.Event()
    exchange = ctypes.CDLL(None, use_errno=True).renameat2

    def swap() -> None:
        while not done.is_set():
            assert exchange(AT_FDCWD, bytes(folder), AT_FDCWD, bytes(link), RENAME_EXCHANGE) == 0

    thread = threading.Thread(target=swap)
    thread.start()
    outcomes = []
    try:
        for number in range(60):
            try:
                workspace.add("cursor", f"s{number}", **ENTRY)
            except (EditRefused, EditUnwritable, EditConflict) as error:
                outcomes.append(error.code)
            else:
                outcomes.append("written")
    finally:
        done.set()
        thread.join(10)
    assert (outside / "mcp.json").read_text() == '{"mcpServers": {}}'
    assert [path.name for path in outside.iterdir()] == ["mcp.json"]
    assert set(outcomes) <= {"written", "PATH_ESCAPE", "EDIT_UNWRITABLE", "EDIT_CONFLICT", "FILE_UNREADABLE",
                             "EDIT_ROLLED_BACK"}, outcomes  # fmt: skip


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_what_is_no_ordinary_file_is_left_alone(workspace: Any, kind: str) -> None:
    path = workspace.root / ".mcp.json"
    if kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises((EditRefused, EditUnwritable)):
        workspace.add("root", "a", **ENTRY)
    assert [one.name for one in workspace.root.iterdir()] == [".mcp.json"]


# -- several writers, no space, sudden ends --------------------------------------------------------------------------


def test_two_writers_at_once_lose_nothing_of_each_other(workspace: Any) -> None:
    """Processes that add servers to one file: all are there at the end, and none was written over."""
    code = "\nfor number in range(15): add(f'{sys.argv[3]}{number}')"
    source = str(Path(replacing.__file__).parents[2])
    running = [
        subprocess.Popen([sys.executable, "-c", WORKER + code, source, workspace.path, name]) for name in ("a", "b")
    ]
    assert [process.wait(60) for process in running] == [0, 0]
    assert len(servers(workspace)) == 30
    assert workspace.files() == [".mcp.json"]


def test_of_two_writers_with_one_token_one_wins(workspace: Any) -> None:
    workspace.write(".mcp.json", {"mcpServers": {"a": ENTRY}})
    token = workspace.token("root")
    outcomes: list[str] = []

    def save(number: int) -> None:
        draft = DeclarationDraft(None, {"command": f"c{number}"})
        try:
            workspace.editor.save(workspace.path, workspace.target("root"), "a", "a", draft, token)
            outcomes.append("written")
        except EditConflict as refused:
            outcomes.append(refused.current)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert outcomes.count("written") == 1
    assert set(outcomes) - {"written"} == {workspace.token("root")}


def test_a_foreign_program_that_writes_in_between_is_not_written_over(
    workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = workspace.write(".mcp.json", {"mcpServers": {"a": ENTRY}})
    prepare = replacing.Replacement.prepare

    def slow(self: replacing.Replacement) -> None:
        prepare(self)
        file.write_text('{"mcpServers": {"theirs": {"command": "t"}}}')

    monkeypatch.setattr(replacing.Replacement, "prepare", slow)
    with pytest.raises(EditConflict):
        workspace.add("root", "b", **ENTRY)
    assert list(servers(workspace)) == ["theirs"]
    assert workspace.files() == [".mcp.json"]


@pytest.mark.parametrize("act", ["add", "migrate"])
def test_a_full_disk_leaves_the_old_files_and_nothing_else(workspace: Any, act: str) -> None:
    """A limit of the process on the size of files stands for it: the write itself fails in the middle."""
    workspace.write(".mcp.json", {"mcpServers": {"a": {**ENTRY, "args": ["z" * 100]}, "k": {"command": "k" * 6000}}})
    workspace.write(".vscode/mcp.json", {"servers": {"b": {"command": "y" * 6000}}})
    before = {file: workspace.read(file) for file in workspace.files()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    known = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(EditUnwritable) as caught:
            if act == "add":
                workspace.add("root", "b2", **ENTRY)
            else:
                workspace.copy("root", "a", "vscode", move=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, known)
    assert caught.value.detail and caught.value.remedy()
    assert {file: workspace.read(file) for file in workspace.files()} == before


def test_a_file_system_without_space_takes_an_edit_back_exactly(workspace: Any) -> None:
    """Taking back needs no space: the old file itself returns."""
    place = workspace.root / ".cursor"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this machine mounts nothing")
    try:
        file = workspace.write(".cursor/mcp.json", {"mcpServers": {"b": {"command": "z" * 9000}}})
        workspace.write(".mcp.json", {"mcpServers": {"a": {"command": "other"}}})
        before, inode = file.read_bytes(), file.stat().st_ino
        with pytest.raises(EditRolledBack):
            workspace.add("cursor", "a", command="x")
        assert (file.read_bytes(), file.stat().st_ino) == (before, inode)
        filler = os.open(place / "filler", os.O_WRONLY | os.O_CREAT)
        with pytest.raises(OSError, match="space"):
            while True:
                os.write(filler, b"f" * 512)
        os.close(filler)
        with pytest.raises(EditUnwritable) as caught:
            workspace.add("cursor", "c", command="x")
        assert "space" in caught.value.detail
        assert file.read_bytes() == before
        assert sorted(path.name for path in place.iterdir()) == ["filler", "mcp.json"]
    finally:
        subprocess.run(["umount", str(place)], check=True)


KILLED = """
import random
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    name = f"s{turn}"
    add(name, args=["z" * 200_000])
    editor.copy(workspace, target("root"), name, target("cursor"), name, {}, move=True)
    editor.delete(workspace, target("cursor"), name, None)
"""


@pytest.mark.parametrize("seed", range(6))
def test_after_sigkill_every_file_is_whole_and_the_next_writer_cleans_up(workspace: Any, seed: int) -> None:
    """Killed anywhere in add, migrate, delete: each file parses, what stood beside is there, nothing was lost."""
    workspace.write(".mcp.json", {"mcpServers": {"kept": {"command": "k"}}})
    workspace.write(".cursor/mcp.json", {"mcpServers": {"also": {"command": "l"}}})
    process = worker(workspace, KILLED)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.15 + seed * 0.037)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    process.communicate()
    assert "kept" in servers(workspace)
    assert "also" in servers(workspace, ".cursor/mcp.json")
    assert not [one for one in workspace.resolve().diagnostics if one.severity == "error"]
    workspace.add("root", "after", command="x")
    workspace.add("cursor", "after2", command="y")
    assert workspace.files() == [".cursor/mcp.json", ".mcp.json"]


def test_a_file_that_cannot_be_put_back_does_not_keep_the_other_from_it(
    workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong is told, and as much as possible is as it was."""
    workspace.write(".mcp.json", {"mcpServers": {"a": {"command": "x"}}})
    workspace.write(".cursor/mcp.json", {"mcpServers": {"b": {"command": "other"}}})
    before = workspace.read(".mcp.json")
    undo = replacing.Replacement.undo

    def broken(self: replacing.Replacement) -> None:
        if self._name == "config.toml":
            raise OSError(5, "Input/output error")
        undo(self)

    monkeypatch.setattr(replacing.Replacement, "undo", broken)
    with pytest.raises(EditUnwritable) as caught:
        workspace.copy("root", "a", "codex", "b", move=True)
    assert (caught.value.path, caught.value.detail) == (".codex/config.toml", "Input/output error")
    assert workspace.read(".mcp.json") == before


# -- the loader waits ------------------------------------------------------------------------------------------------


def test_no_reader_sees_a_migration_half_done(workspace: Any) -> None:
    """M8.8: while two files change, a reader in another process's place gets both or none."""
    workspace.write(".mcp.json", {"mcpServers": {"a": {"command": "x"}}})
    done = threading.Event()
    seen: list[tuple[tuple[str, str], ...]] = []

    def read() -> None:
        while not done.is_set():
            found = Resolver().resolve(workspace.path, workspace.reading())
            seen.append(tuple((entry.server.name, entry.status) for entry in found.entries))

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for _ in range(15):
            workspace.copy("root", "a", "vscode", move=True)
            workspace.copy("vscode", "a", "root", move=True)
    finally:
        done.set()
        thread.join(20)
    assert len(seen) > 15
    assert set(seen) == {(("a", "accepted"),)}


def test_nobody_waits_for_ever(workspace: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that somebody keeps costs a reader some time, and an editor its edit."""
    monkeypatch.setattr(holding, "READER_SECONDS", 0.05)
    monkeypatch.setattr(holding, "WRITER_SECONDS", 0.05)
    workspace.write(".mcp.json", {"mcpServers": {"a": ENTRY}})
    with holding.writing(workspace.path):
        assert [entry.server.name for entry in workspace.resolve().entries] == ["a"]
        with pytest.raises(EditUnwritable):
            workspace.add("root", "b", **ENTRY)
    assert list(servers(workspace)) == ["a"]
