"""What was made for the first server goes with the last one, and only that (M8.1, issue 7 A.1)."""

from typing import Any

import pytest

STDIO = {"command": "npx", "args": ["-y", "pkg"]}
YAML = {"id": "yaml", "files": ["m.yaml"], "format": "yaml", "servers_paths": ["deep.servers"]}
FILES = {
    "root": ".mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "yaml": "m.yaml",
}
CONTENTS = {
    "jsonc": [
        "", "\n", "  \r\n", "// mine", "/* mine */\r\n", "\ufeff", "{}", "{ }\n", "{\n}\n", '{"a": 1}', "{\n\t// c\n}",
        '{\r\n  "inputs": [], // why\r\n}\r\n', '\ufeff{\n  "x": {},\n}',
    ],
    "toml": ["", "\n", "# mine", "a = 1", "a = 1\r\n\r\n[t]\r\n# end\r\n", "\ufeff# mine\n", "[[t]]\n\n\n"],
    "yaml": ["", "\n", "# mine", "# mine\r\n", "a: 1", "a: 1\n# end\n", "---\na: 1\n", "{}", "{a: 1}\n", "deep: {}\n",
             "deep:\n  other: 1\n"],
}  # fmt: skip


def format_of(preset: str) -> str:
    return {"codex": "toml", "yaml": "yaml"}.get(preset, "jsonc")


def delete(workspace: Any, preset: str, name: str) -> None:
    workspace.editor.delete(workspace.path, workspace.target(preset), name, None)


@pytest.mark.parametrize(
    ("preset", "content"), [(preset, content) for preset in FILES for content in CONTENTS[format_of(preset)]]
)
def test_a_file_without_a_table_has_its_old_bytes_again(workspace: Any, preset: str, content: str) -> None:
    """Also when several servers came and went in any order, and one was renamed and changed."""
    workspace.presets = [YAML]
    path = workspace.write(FILES[preset], content)
    workspace.add(preset, "a", **STDIO)
    delete(workspace, preset, "a")
    assert path.read_bytes() == content.encode()
    workspace.add(preset, "a", **STDIO)
    workspace.add(preset, "b", url="https://x.example/")
    delete(workspace, preset, "a")
    workspace.save(preset, "b", "c", url="https://y.example/")
    delete(workspace, preset, "c")
    assert path.read_bytes() == content.encode()


@pytest.mark.parametrize("preset", FILES)
def test_a_file_that_was_made_from_nothing_goes(workspace: Any, preset: str) -> None:
    workspace.presets = [YAML]
    workspace.add(preset, "a", **STDIO)
    outcome = workspace.editor.delete(workspace.path, workspace.target(preset), "a", None)
    assert workspace.files() == []
    assert (outcome.written, outcome.place.exists, outcome.tokens) == (True, False, {FILES[preset]: "none"})
    assert f"+++ {'/dev/null'}" in outcome.diff
    workspace.add(preset, "a", **STDIO)
    assert workspace.files() == [FILES[preset]]


def test_a_migration_takes_away_what_was_made_for_its_source(workspace: Any) -> None:
    """M8.8"""
    old = '{\n  "inputs": []\n}\n'
    workspace.write(".vscode/mcp.json", old)
    workspace.add("vscode", "a", **STDIO)
    workspace.copy("vscode", "a", "root", move=True)
    assert workspace.read(".vscode/mcp.json") == old
    workspace.copy("root", "a", "vscode", move=True)
    assert workspace.files() == [".vscode/mcp.json"]


def test_a_table_that_a_person_made_or_touched_stays(workspace: Any) -> None:
    path = workspace.write(".mcp.json", '{"mcpServers": {"a": {"command": "x"}}}')
    delete(workspace, "root", "a")
    assert path.read_text() == '{"mcpServers": {}}'
    path.write_text("{}")
    workspace.add("root", "a", **STDIO)
    path.write_text(path.read_text().replace("{", "{ // mine", 1))
    delete(workspace, "root", "a")
    assert "mcpServers" in path.read_text() and "// mine" in path.read_text()


def test_a_file_that_somebody_else_wrote_since_is_not_taken_away(workspace: Any) -> None:
    """That there was no file once says nothing of a file that is theirs."""
    workspace.add("root", "a", **STDIO)
    path = workspace.root / ".mcp.json"
    path.write_text('{"mcpServers": {"a": {"command": "x"}}}')
    delete(workspace, "root", "a")
    assert path.read_text() == '{"mcpServers": {}}'
    workspace.add("cursor", "b", **STDIO)
    workspace.copy("cursor", "b", "root", "c")
    other = workspace.root / ".cursor/mcp.json"
    other.write_text(other.read_text().replace("npx", "uvx"))
    workspace.copy("cursor", "b", "root", "d")
    delete(workspace, "cursor", "b")
    assert other.exists()


def test_what_comes_back_is_remembered_between_processes(workspace: Any) -> None:
    """The note is a document; another editor with the same note knows as much."""
    from innkeeper.mcp.editor.editor import Editor
    from innkeeper.mcp.editor.readback import Ground

    workspace.add("root", "a", **STDIO)
    ground = Ground(workspace.reading, workspace.available)
    Editor(ground, lambda: workspace.settings).delete(workspace.path, workspace.target("root"), "a", None)
    assert workspace.files() == [".mcp.json"], "without the note the table stays"
    workspace.add("root", "b", **STDIO)
    workspace.editor.delete(workspace.path, workspace.target("root"), "b", None)
    workspace.add("cursor", "a", **STDIO)
    Editor(ground, lambda: workspace.settings, workspace.remembered).delete(
        workspace.path, workspace.target("cursor"), "a", None
    )
    assert ".cursor/mcp.json" not in workspace.files()
