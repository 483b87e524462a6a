"""Editing what people really wrote: the corpus, file by file (M8.1, reference §3.3)."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.editing.replacing import Content
from innkeeper.editing.tree import Node
from innkeeper.errors import HostError
from innkeeper.mcp.declarations.custom import available_presets
from innkeeper.mcp.editor.editor import Editor
from innkeeper.mcp.editor.locations import target_of
from innkeeper.mcp.editor.sheets import Sheet, sheet_of
from innkeeper.ports.mcp_editing import DeclarationDraft

CUSTOM = (
    {"id": "custom-yaml", "files": ["mcp.yaml"], "format": "yaml", "servers_paths": ["servers"]},
    {"id": "desktop", "files": ["desktop.json"], "format": "json", "servers_paths": ["mcpServers"]},
)
PRESETS = {preset.id: preset for preset in available_presets((), CUSTOM).presets}
WHOLE_FILE = {"SERVERS_MISSING", "SERVERS_WRONG_KEY"}
"""Codes of a file whose servers table is missing: it is made there."""


def is_subsequence(old: bytes, new: bytes) -> bool:
    rest = iter(new)
    return all(byte in rest for byte in old)


class File:
    """A corpus file in a workspace where its preset looks for it."""

    def __init__(self, workspace: Any, row: dict[str, Any], data: bytes) -> None:
        self.name, self.data = row["file"], data
        self.preset = PRESETS[row["preset"]]
        suffix = ".jsonc" if row["file"].endswith(".jsonc") else ""
        self.file = next((one for one in self.preset.files if suffix and one.endswith(suffix)), self.preset.files[0])
        custom = [one for one in CUSTOM if one["id"] == self.preset.id]
        workspace.builtins, workspace.presets = [] if custom else [self.preset.id], custom
        workspace.limit = 100
        self.path = workspace.write(self.file, data)
        self.editor: Editor = workspace.editor
        self.workspace: str = workspace.path
        self.target = target_of(workspace.available(), self.preset.id, self.file, self.workspace)
        self.accepted = not [
            one
            for one in workspace.resolve().diagnostics
            if one.severity == "error" and one.server is None and one.code not in WHOLE_FILE
        ]

    def add(self, name: str = "zz") -> bytes:
        workspace, target = self.workspace, self.target
        fields: Any = {"url": "https://mcp.example.test/mcp", "headers": {"X-Team": "a"}}
        self.editor.save(workspace, target, None, name, DeclarationDraft("http", fields), None)
        return self.path.read_bytes()

    def delete(self, name: str = "zz") -> bytes:
        self.editor.delete(self.workspace, self.target, name, None)
        return self.path.read_bytes()


def rows(shared: Path) -> list[dict[str, Any]]:
    index = json.loads((shared / "corpus/declarations/index.json").read_text(encoding="utf-8"))
    found = [row for kind in ("real", "synthetic") for row in index[kind]]
    return [row for row in found if row.get("preset") in PRESETS]


@pytest.fixture
def files(workspace: Any, shared: Path) -> Any:
    def each() -> Any:
        for row in rows(shared):
            for known in list(workspace.root.iterdir()):
                _remove(known)
            yield File(workspace, row, (shared / "corpus/declarations" / row["file"]).read_bytes())

    return each


def _remove(path: Path) -> None:
    if path.is_dir():
        for inner in path.iterdir():
            _remove(inner)
        path.rmdir()
    else:
        path.unlink()


def test_adding_is_a_pure_insertion_and_deleting_gives_the_old_file(files: Any) -> None:
    """Every file that the loader accepts; a table that is missing is made, and goes again."""
    added = 0
    for file in files():
        if not file.accepted:
            continue
        new = file.add()
        assert is_subsequence(file.data, new), file.name
        assert file.delete() == file.data, file.name
        added += 1
    assert added == 96


def test_what_the_loader_refuses_whole_is_refused_and_untouched(files: Any) -> None:
    """M8.1: edited by hand; the refusal has a code and, where there is one, the line."""
    refused: dict[str, str] = {}
    for file in files():
        if file.accepted:
            continue
        try:
            file.add()
        except HostError as error:
            refused[file.name] = error.code
            assert file.preset.files[0].rpartition("/")[2][:4] in error.message() or error.message(), file.name
            assert file.path.read_bytes() == file.data, file.name
        else:
            assert file.name.endswith(("j34-empty.json", "j35-blank.json", "j38-only-comment.jsonc")), file.name
            assert file.delete() == file.data, file.name
    assert {
        "FILE_SYNTAX", "FILE_ENCODING", "BOTH_TABLES", "SERVERS_NOT_TABLE", "FILE_NOT_OBJECT", "FILE_TOO_DEEP",
    } <= set(refused.values())  # fmt: skip


def test_every_server_is_changed_renamed_and_deleted_without_touching_another(files: Any, workspace: Any) -> None:
    """(b) and (c) of issue 7 A.1: the others' text is the same, character for character."""
    touched = 0
    for file in files():
        if not file.accepted:
            continue
        before = sheet_of(file.target, Content(file.data))
        for name in _single(before):
            for act in (_change, _rename, _delete):
                file.path.write_bytes(file.data)
                if not act(file, name):
                    continue
                touched += 1
                after = sheet_of(file.target, Content(file.path.read_bytes()))
                for other in _single(before):
                    if other != name:
                        assert _text(after, other, file) == _text(before, other, file), (file.name, name, other)
    assert touched > 400


def _single(sheet: Sheet) -> list[str]:
    names = [member.key for member in (sheet.servers.members if sheet.servers else ())]
    return [name for name in names if names.count(name) == 1 and name]


def _text(sheet: Sheet, name: str, file: File) -> object:
    member = sheet.require(name)
    assert sheet.document is not None
    if file.preset.format == "toml":
        return member.value.plain()
    return sheet.document.text[member.start : member.end]


def _attempt(act: Any) -> bool:
    try:
        act()
    except HostError:
        return False
    return True


def _change(file: File, name: str) -> bool:
    entry = sheet_of(file.target, Content(file.data)).require(name).value
    transport = file.editor.open(file.workspace, name, file.preset.id, file.file).form.transport
    if entry.kind != "object" or transport not in ("stdio", "http"):
        return False
    fields = {"command": "changed"} if transport == "stdio" else {"url": "https://changed.example.test/"}
    draft = DeclarationDraft(None, fields)
    if not _attempt(lambda: file.editor.save(file.workspace, file.target, name, name, draft, None)):
        return False
    now = _entry(file, name)
    assert now is not None
    assert "changed" in json.dumps(now.plain(), default=str)
    return True


def _rename(file: File, name: str) -> bool:
    draft = DeclarationDraft()
    if not _attempt(lambda: file.editor.save(file.workspace, file.target, name, "renamed zz", draft, None)):
        return False
    now = _entry(file, "renamed zz")
    old = sheet_of(file.target, Content(file.data)).require(name).value
    assert now is not None and now.plain() == old.plain() and _entry(file, name) is None
    return True


def _delete(file: File, name: str) -> bool:
    if not _attempt(lambda: file.editor.delete(file.workspace, file.target, name, None)):
        return False
    assert _entry(file, name) is None
    return True


def _entry(file: File, name: str) -> Node | None:
    member = sheet_of(file.target, Content(file.path.read_bytes())).member(name)
    return None if member is None else member.value
