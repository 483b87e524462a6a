"""`innkeeper mcp add|set|unset|rm|copy|migrate|scan`: no host, exact edits, clear refusals (issue 7 A.4)."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import exit_codes
from innkeeper.errors import ERRORS
from innkeeper.texts import text

CANARY = "c4nary-value-of-a-secret"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project beside the home of the command line."""
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def run(inside: Any, folder: Path) -> Any:
    """The command in this process, on that project."""

    def call(*words: str) -> Any:
        place = words.index("--") if "--" in words else len(words)
        return inside("mcp", *words[:place], "--dir", str(folder), *words[place:])

    return call


def entry(folder: Path, file: str, table: str, name: str) -> Any:
    return json.loads((folder / file).read_text())[table][name]


def test_add_set_unset_rm_change_exactly_what_they_name(run: Any, folder: Path) -> None:
    file = folder / ".vscode/mcp.json"
    file.parent.mkdir()
    old = '{\n  // mine\n  "servers": {\n    "kept": { "command": "k" }, // why\n  }\n}\n'
    file.write_text(old)
    added = run("add", "gh", "--command", "npx", "--arg", "-y", "--arg", "p", "--env", "A=b=c", "--cwd", "sub")
    assert (added.code, ".vscode/mcp.json:5" in added.err) == (exit_codes.OK, True)
    assert '"gh": { "type": "stdio", "command": "npx", "args": ["-y", "p"], "env": { "A": "b=c" }' in file.read_text()
    assert run("set", "gh", "env.B", "x", "--preset", "vscode").code == exit_codes.OK
    assert run("set", "gh", "args", "--", "-v", "two words").code == exit_codes.OK
    assert run("unset", "gh", "cwd").code == exit_codes.OK
    assert '"args": ["-v", "two words"], "env": { "A": "b=c", "B": "x" } },' in file.read_text()
    assert run("set", "gh", "url", "https://x/", "--transport", "http").code == exit_codes.OK
    assert '"gh": { "type": "http", "url": "https://x/" },' in file.read_text()
    assert run("rm", "gh").code == exit_codes.OK
    assert file.read_text() == old


def test_a_dry_run_prints_the_diff_without_values_and_writes_nothing(run: Any, folder: Path) -> None:
    words = ["add", "a", "--url", "https://x/", "--header", f"Authorization=Bearer {CANARY}", "--dry-run"]
    done = run(*words)
    assert (done.code, list(folder.iterdir())) == (exit_codes.OK, [])
    assert '+        "Authorization": "•••"' in done.out and "+++ b/.mcp.json" in done.out
    assert CANARY not in done.out + done.err
    assert CANARY in run(*words, "--show-values").out
    document = run(*words, "--json").json()
    assert (document["version"], document["written"], document["dry_run"]) == (1, False, True)
    assert document["diff"] == done.out and document["tokens"] == {".mcp.json": "none"}


def test_json_names_the_place_the_token_and_what_the_loader_says(run: Any, folder: Path) -> None:
    document = run("add", "a", "--preset", "codex", "--command", "C:\\x.exe", "--json").json()
    assert (document["server"], document["preset"], document["file"], document["line"], document["written"]) == (
        "a",
        "codex",
        ".codex/config.toml",
        1,
        True,
    )
    assert [found["code"] for found in document["findings"]] == ["PLATFORM_COMMAND"]
    assert len(document["tokens"][".codex/config.toml"]) == 16


def test_copy_and_migrate_go_between_presets(run: Any, folder: Path) -> None:
    """M8.8"""
    run("add", "a", "--preset", "root", "--command", "x")
    refused = run("copy", "a", "--from", "root", "--to", "codex")
    assert (refused.code, "EDIT_NAME_TAKEN" in refused.err) == (exit_codes.FAILED, True)
    assert text(ERRORS["EDIT_NAME_TAKEN"].remedy) in refused.err
    assert run("copy", "a", "--from", "root", "--to", "codex", "--as", "b").code == exit_codes.OK
    assert (folder / ".codex/config.toml").read_text() == '[mcp_servers.b]\ncommand = "x"\n'
    dry = run("migrate", "a", "--from", "root", "--to", "gemini", "--dry-run")
    assert "+++ b/.gemini/settings.json" in dry.out and "--- a/.mcp.json" in dry.out
    assert run("migrate", "a", "--from", "root", "--to", "gemini").code == exit_codes.OK
    assert entry(folder, ".gemini/settings.json", "mcpServers", "a") == {"command": "x"}
    assert not (folder / ".mcp.json").exists(), "it was made for that server"


def test_a_refusal_has_code_file_line_and_remedy(run: Any, folder: Path) -> None:
    (folder / ".mcp.json").write_text('{\n  "mcpServers": {\n    "a": {"command": }\n  }\n}')
    done = run("add", "b", "--preset", "root", "--command", "x", "--json")
    error = done.json()["error"]
    assert (done.code, error["code"], error["file"], error["line"]) == (
        exit_codes.FAILED,
        "FILE_SYNTAX",
        ".mcp.json",
        3,
    )
    assert error["remedy"] == text(ERRORS["FILE_SYNTAX"].remedy)
    (folder / ".mcp.json").write_text('{"mcpServers": null}')
    assert (
        run("add", "b", "--preset", "root", "--command", "x", "--json").json()["error"]["code"] == "SERVERS_NOT_TABLE"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["add", "a"],
        ["add", "a", "--command", "x", "--env", "novalue"],
        ["add", "a", "--command", "x", "--preset", "nope"],
        ["set", "a", "command", "x", "y", "--preset", "root"],
        ["set", "a", "timeout", "5", "--preset", "root"],
    ],
)
def test_wrong_use_is_told_as_such(run: Any, folder: Path, words: list[str]) -> None:
    (folder / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    done = run(*words)
    assert done.code == exit_codes.USAGE and done.err


def test_a_name_in_several_files_wants_a_preset(run: Any, folder: Path) -> None:
    for file, table in ((".mcp.json", "mcpServers"), (".cursor/mcp.json", "mcpServers")):
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({table: {"a": {"command": "x"}}}))
    done = run("rm", "a")
    assert done.code == exit_codes.USAGE and "root, cursor" in done.err
    assert run("rm", "a", "--preset", "cursor").code == exit_codes.OK
    assert json.loads((folder / ".cursor/mcp.json").read_text()) == {"mcpServers": {}}


def test_scan_shows_who_declares_the_same_server(run: Any, folder: Path) -> None:
    """M11.3"""
    assert run("scan").code == exit_codes.OK
    for file, args in ((".mcp.json", ["1"]), (".cursor/mcp.json", ["2"]), (".roo/mcp.json", ["1"])):
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "args": args, "env": {"K": CANARY}}}}))
    done = run("scan")
    assert "a: declared in 3 files" in done.out and "differs in args" in done.out and "roo (off)" in done.out
    document = run("scan", "--json").json()
    (group,) = document["groups"]
    assert [place["differs"] for place in group["places"]] == [[], ["args"], []]
    assert CANARY not in done.out + json.dumps(document)


def test_the_last_written_file_is_where_the_next_server_goes(run: Any, folder: Path) -> None:
    """M8.10: remembered between commands."""
    (folder / ".mcp.json").write_text('{"mcpServers": {}}')
    assert ".mcp.json" in run("add", "a", "--command", "x", "--dry-run").err
    run("add", "a", "--preset", "gemini", "--command", "x")
    assert ".gemini/settings.json" in run("add", "b", "--command", "y").err
