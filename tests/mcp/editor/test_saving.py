"""Making and changing one server: which keys are written, which go, what is refused before (M8.2, M8.3, M8.9)."""

import json
import time
from typing import Any

import pytest

from innkeeper.editing.refusals import EditUnsafe
from innkeeper.errors import HostError
from innkeeper.mcp.editor.refusals import EditRefused, EditRolledBack
from innkeeper.ports.mcp_editing import DeclarationDraft, Keep

STDIO = {"command": "npx", "args": ["-y", "pkg"], "env": {"A": "b"}}
HTTP = {"url": "https://x.example/mcp", "headers": {"H": "v"}}
FILES = {
    "root": ".mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
}


def refused(caught: Any) -> tuple[str, str, str]:
    error = caught.value
    return error.code, error.file, getattr(error, "detail", "")


@pytest.mark.parametrize("preset", FILES)
def test_a_file_is_made_from_nothing_with_the_least_valid_text(workspace: Any, preset: str) -> None:
    """M8.3, M8.10: three presets write the transport, Gemini and Codex never do."""
    made = workspace.add(preset, "a", **STDIO)
    workspace.add(preset, "b", **HTTP)
    assert (made.place.file, made.written) == (FILES[preset], True)
    text = workspace.read(FILES[preset])
    entries = {entry.server.name: entry for entry in workspace.resolve().entries}
    assert {name: entry.status for name, entry in entries.items()} == {"a": "accepted", "b": "accepted"}
    assert ("type" in text) is (preset in ("root", "vscode", "cursor"))
    assert ("httpUrl" in text) is (preset == "gemini")
    assert workspace.files() == [FILES[preset]]


def test_an_existing_file_gets_the_manner_of_its_neighbours(workspace: Any) -> None:
    old = '{\r\n\t"servers": {\r\n\t\t// first\r\n\t\t"a": { "command": "x", "args": [] },\r\n\t}\r\n}'
    workspace.write(".vscode/mcp.json", old)
    workspace.add("vscode", "b", **HTTP)
    line = '\r\n\t\t"b": { "type": "http", "url": "https://x.example/mcp", "headers": { "H": "v" } },'
    assert workspace.read(".vscode/mcp.json") == old.replace("},\r\n\t}", "}," + line + "\r\n\t}")


def test_switching_the_transport_takes_the_other_fields_away_and_no_other_key(workspace: Any) -> None:
    """M8.2"""
    workspace.write(".mcp.json", {"mcpServers": {"a": {"command": "x", "cwd": ".", "args": ["1"], "timeout": 5}}})
    workspace.save("root", "a", "a", "http", url="https://x/", headers={"A": "b"})
    entry = json.loads(workspace.read(".mcp.json"))["mcpServers"]["a"]
    assert entry == {"timeout": 5, "type": "http", "url": "https://x/", "headers": {"A": "b"}}
    workspace.save("root", "a", "a", "stdio", command="y")
    assert json.loads(workspace.read(".mcp.json"))["mcpServers"]["a"] == {
        "timeout": 5, "type": "stdio", "command": "y",
    }  # fmt: skip


def test_gemini_has_no_type_and_an_address_key_that_is_not_read_as_sse(workspace: Any) -> None:
    """M8.3, M2.1"""
    workspace.write(".gemini/settings.json", {"mcpServers": {"a": {"type": "stdio", "command": "x"}}})
    workspace.save("gemini", "a", "a", "http", url="https://x/")
    assert json.loads(workspace.read(".gemini/settings.json"))["mcpServers"]["a"] == {"httpUrl": "https://x/"}
    workspace.write(".gemini/settings.json", {"mcpServers": {"a": {"url": "https://old/"}}})
    with pytest.raises(EditRefused) as caught:
        workspace.save("gemini", "a", "a", url="https://x/")
    assert refused(caught)[0] == "UNSUPPORTED_SSE"
    workspace.save("gemini", "a", "a", "http")
    assert json.loads(workspace.read(".gemini/settings.json"))["mcpServers"]["a"] == {"httpUrl": "https://old/"}
    workspace.write(".gemini/settings.json", {"mcpServers": {"a": {"type": "http", "url": "https://old/"}}})
    workspace.save("gemini", "a", "a", url="https://x/")
    assert json.loads(workspace.read(".gemini/settings.json"))["mcpServers"]["a"]["url"] == "https://x/"


@pytest.mark.parametrize(("transport", "code"), [("sse", "UNSUPPORTED_SSE"), ("ws", "UNSUPPORTED_WS")])
def test_a_transport_that_does_not_run_is_refused_before_anything_is_written(
    workspace: Any, transport: str, code: str
) -> None:
    """M8.3: refused, not rolled back."""
    for preset in FILES:
        with pytest.raises(EditRefused) as caught:
            workspace.add(preset, "a", transport, url="https://x/")
        assert (caught.value.code, isinstance(caught.value, EditRolledBack)) == (code, False)
    assert workspace.files() == []


def test_clearing_a_field_deletes_its_key_and_what_was_not_sent_stays(workspace: Any) -> None:
    """M8.9: an emptied field is null."""
    workspace.write(".mcp.json", {"mcpServers": {"a": {**STDIO, "cwd": "."}}})
    workspace.save("root", "a", "a", args=None, cwd="")
    assert json.loads(workspace.read(".mcp.json"))["mcpServers"]["a"] == {"command": "npx", "env": {"A": "b"}}
    workspace.save("root", "a", "a", env={})
    assert json.loads(workspace.read(".mcp.json"))["mcpServers"]["a"] == {"command": "npx"}


def test_rows_keep_their_masked_values_numbers_and_comments(workspace: Any) -> None:
    text = '{"servers": {"a": {"command": "x", "env": {\n  "N": 8080, // port\n  "T": "t"\n}}}}\n'
    workspace.write(".vscode/mcp.json", text)
    workspace.save("vscode", "a", "a", env={"N": "8080", "T": Keep("T")})
    assert workspace.read(".vscode/mcp.json") == text
    workspace.save("vscode", "a", "a", env={"N": Keep("N"), "U": Keep("T"), "T": "new"})
    assert workspace.read(".vscode/mcp.json") == text.replace('"t"\n', '"new",\n  "U": "t"\n')
    with pytest.raises(EditRefused) as caught:
        workspace.save("vscode", "a", "a", env={"X": Keep("missing")})
    assert refused(caught) == ("EDIT_FIELD", ".vscode/mcp.json", "env.missing")


def test_a_rename_changes_the_key_alone(workspace: Any) -> None:
    text = '[mcp_servers.a] # one\ncommand = "x"\n\n[mcp_servers.a.env]\nK = "v"\n\n[mcp_servers.c]\ncommand = "y"\n'
    workspace.write(".codex/config.toml", text)
    workspace.save("codex", "a", "b d")
    assert workspace.read(".codex/config.toml") == text.replace("servers.a", 'servers."b d"')
    with pytest.raises(EditRefused) as caught:
        workspace.save("codex", "c", "b d")
    assert refused(caught)[:2] == ("EDIT_NAME_TAKEN", ".codex/config.toml")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"command": "x", "url": "https://x/"}, "EDIT_FIELD"),
        ({"timeout": "5"}, "EDIT_FIELD"),
        ({"command": "x", "args": "one two"}, "EDIT_FIELD"),
        ({"command": "x\ny"}, "FIELD_VALUE"),
        ({"command": "x", "env": {"A=B": "c"}}, "EDIT_FIELD"),
        ({"command": "x", "env": {"": "c"}}, "EDIT_FIELD"),
        ({}, "TRANSPORT_MISSING"),
        ({"command": " x"}, "FIELD_WHITESPACE"),
        ({"url": "ftp://x"}, "URL_SCHEME"),
        ({"url": "https://x/", "headers": {"A": "b\nc"}}, "HEADER_INVALID"),
        ({"command": "x", "args": ["\0"]}, "NUL_BYTE"),
        ({"command": "x", "args": ["\ud800"]}, "EDIT_UNSAFE"),
        ({"command": "${MISSING}"}, "VARIABLE_MISSING"),
    ],
)
@pytest.mark.parametrize("preset", ["root", "codex"])
def test_what_would_not_load_is_refused_with_code_and_file_before_it_is_written(
    workspace: Any, preset: str, fields: dict[str, Any], code: str
) -> None:
    if preset == "codex" and code == "VARIABLE_MISSING":
        code = "none"  # literal text there
        workspace.add(preset, "a", **fields)
        assert workspace.files() == [".codex/config.toml"]
        return
    with pytest.raises(HostError) as caught:
        workspace.add(preset, "a", **fields)
    assert (caught.value.code, caught.value.file) == (code, FILES[preset])  # type: ignore[attr-defined]
    assert FILES[preset] in caught.value.message() and caught.value.remedy()
    assert workspace.files() == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"headers": {"Authorization": "Bearer ${MISSING}", "A": "b\nc"}}, "HEADER_INVALID"),
        ({"headers": {"Authorization": "Bearer ${MISSING}", "Host": "x"}}, "HEADER_INVALID"),
        ({"url": "ftp://${OTHER_MISSING}/"}, "URL_SCHEME"),
        ({"url": "http://${HOST_MISSING}:${PORT_MISSING}/"}, None),
        ({"url": "${WHOLE_MISSING}"}, None),
        ({"url": "${SCHEME_MISSING}://x.example/"}, None),
        ({"headers": {"B": "${input:missing}"}}, "INPUT_MISSING"),
    ],
)
@pytest.mark.parametrize("preset", ["root", "vscode"])
def test_a_variable_that_is_missing_here_hides_no_other_mistake(
    workspace: Any, preset: str, fields: dict[str, Any], code: str | None
) -> None:
    """M8.5: what lacked a variable before may lack one afterwards; anything else that is wrong is refused."""
    table = "mcpServers" if preset == "root" else "servers"
    entry = {"type": "http", "url": "https://x/", "headers": {"Authorization": "Bearer ${MISSING}"}}
    workspace.write(FILES[preset], {table: {"a": entry}})
    old = workspace.read(FILES[preset])
    if code is None:
        assert workspace.save(preset, "a", "a", **fields).written
        return
    with pytest.raises(EditRefused) as caught:
        workspace.save(preset, "a", "a", **fields)
    assert caught.value.code == code
    assert workspace.read(FILES[preset]) == old


def test_what_was_wrong_behind_a_missing_variable_may_stay(workspace: Any) -> None:
    """An edit of another field is not kept from it, nor is one that mends it."""
    entry = {"type": "http", "url": "https://${MISSING}/", "headers": {"A b": "c"}}
    workspace.write(".mcp.json", {"mcpServers": {"a": entry}})
    assert workspace.save("root", "a", "a", url="https://${MISSING}/mcp").written
    assert workspace.save("root", "a", "a", headers=None).written


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_a_name_that_is_none_is_refused(workspace: Any, name: str) -> None:
    with pytest.raises(EditRefused) as caught:
        workspace.add("root", name, **STDIO)
    assert refused(caught)[0] == "NAME_INVALID"


@pytest.mark.parametrize("name", ["a b", "ключ", "a.b", "a/b~c", '"q"', "__proto__", "a\u200bb", "#x", "a: b"])
@pytest.mark.parametrize("preset", ["root", "codex", "yaml"])
def test_any_other_name_works_in_every_format(workspace: Any, preset: str, name: str) -> None:
    workspace.presets = [{"id": "yaml", "files": ["m.yaml"], "format": "yaml", "servers_paths": ["deep.servers"]}]
    workspace.add(preset, name, **STDIO)
    workspace.add(preset, "other", **HTTP)
    workspace.editor.delete(workspace.path, workspace.target(preset), name, None)
    assert [entry.server.name for entry in workspace.resolve().entries] == ["other"]


def test_a_custom_preset_writes_its_own_keys(workspace: Any) -> None:
    """M8.3, M1.4, M1.5: nested fields, a value map, a command that is a list, no transport key where it has none."""
    workspace.presets = [
        {
            "id": "own",
            "files": ["own.json"],
            "format": "json",
            "servers_paths": ["/a.b/servers"],
            "fields": {"transport": "how", "url": "at.url", "env": "environment"},
            "transports": {"local": "stdio", "remote": "http"},
            "command_list": True,
        },
        {"id": "bare", "files": ["bare.json"], "format": "json", "servers_paths": [""], "fields": {"transport": ""}},
    ]
    workspace.add("own", "a", **STDIO)
    workspace.add("own", "b", url="https://x/")
    workspace.add("bare", "c", url="https://x/")
    assert json.loads(workspace.read("own.json")) == {
        "a.b": {
            "servers": {
                "a": {"how": "stdio", "command": ["npx", "-y", "pkg"], "environment": {"A": "b"}},
                "b": {"how": "http", "at": {"url": "https://x/"}},
            }
        }
    }
    assert json.loads(workspace.read("bare.json")) == {"c": {"url": "https://x/"}}
    workspace.save("own", "a", "a", args=["one"])
    assert json.loads(workspace.read("own.json"))["a.b"]["servers"]["a"]["command"] == ["npx", "one"]
    opened = workspace.editor.open(workspace.path, "a", "own", None)
    assert (opened.form.command, opened.form.args, opened.transport_key) == ("npx", ("one",), "how")


@pytest.mark.parametrize(
    ("preset", "text", "reason"),
    [
        ("yaml", "servers: &s\n  a: {command: x}\nmore: *s\n", "anchor"),
        ("yaml", "base: &b {command: x}\nservers:\n  a:\n    <<: *b\n    cwd: .\n", "anchor"),
        ("codex", "mcp_servers.a.command = 'x'\nmcp_servers = 1\n", "syntax"),
        ("codex", "mcp_servers = { a.command = 'x', a.args = [] }\n", "split"),
    ],
)
def test_what_cannot_be_kept_is_edited_by_hand(workspace: Any, preset: str, text: str, reason: str) -> None:
    """M8.1: there is no lossy mode; the refusal names the place."""
    workspace.presets = [{"id": "yaml", "files": ["m.yaml"], "format": "yaml", "servers_paths": ["servers"]}]
    file = workspace.write({"yaml": "m.yaml", "codex": ".codex/config.toml"}[preset], text)
    with pytest.raises(HostError) as caught:
        workspace.editor.delete(workspace.path, workspace.target(preset), "a", None)
        workspace.save(preset, "a", "a", command="y")
    if reason == "syntax":
        assert caught.value.code in ("FILE_SYNTAX", "DUPLICATE_KEY")
    else:
        assert isinstance(caught.value, EditUnsafe)
        assert (caught.value.reason, bool(caught.value.line)) == (reason, True)
    assert file.name in caught.value.message()
    assert file.read_text() == text


def test_duplicate_keys_on_the_way_are_refused_with_their_line(workspace: Any) -> None:
    """M8.1"""
    text = '{"mcpServers": {"a": {"command": "x"},\n"a": {"command": "y"}}}'
    workspace.write(".mcp.json", text)
    with pytest.raises(EditRefused) as caught:
        workspace.save("root", "a", "a", command="z")
    assert (caught.value.code, caught.value.line) == ("DUPLICATE_KEY", 2)
    workspace.write(".mcp.json", '{"mcpServers": {"a": {"command": "x",\n"command": "y"}}}')
    with pytest.raises(EditUnsafe) as unsafe:
        workspace.save("root", "a", "a", command="z")
    assert (unsafe.value.reason, unsafe.value.line) == ("duplicate", 2)


def test_a_dry_run_shows_the_diff_without_secrets_and_writes_nothing(workspace: Any) -> None:
    """M7.7, M8.9"""
    entry = '{\n  "command": "x",\n  "args": ["--token", "tok-secret-1"],\n  "env": {"A": "sec-2"}\n}'
    text = f'{{"mcpServers": {{"a": {entry}}}}}\n'
    workspace.write(".mcp.json", text)
    draft = {"env": {"A": "sec-3", "B": "sec-4"}, "args": ["--token", "tok-secret-5"]}
    outcome = workspace.editor.save(
        workspace.path, workspace.target("root"), "a", "a", DeclarationDraft(None, draft), None, dry_run=True
    )
    assert not outcome.written and workspace.read(".mcp.json") == text
    assert '"A": "••• *", "B": "•••"' in outcome.diff
    assert "sec-" not in outcome.diff and "secret" not in outcome.diff
    shown = workspace.editor.save(
        workspace.path,
        workspace.target("root"),
        "a",
        "a",
        DeclarationDraft(None, draft),
        None,
        dry_run=True,
        show_values=True,
    )
    assert '"sec-3"' in shown.diff


def test_a_mebibyte_is_edited_in_seconds(workspace: Any) -> None:
    servers = {f"s{i}": {"command": "x", "env": {"A": "b" * 300}} for i in range(2_600)}
    workspace.limit = 3_000
    file = workspace.write(".mcp.json", {"mcpServers": servers})
    assert 900_000 < file.stat().st_size < 1_048_576
    old = file.read_bytes()
    began = time.monotonic()
    workspace.add("root", "zz", **HTTP)
    assert time.monotonic() - began < 20
    workspace.editor.delete(workspace.path, workspace.target("root"), "zz", None)
    assert file.read_bytes() == old


def test_the_log_says_which_file_and_key_changed_and_never_a_value(
    workspace: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """M8.6"""
    caplog.set_level("DEBUG")
    workspace.add("root", "a", command="secret-program", env={"A": "secret-value"}, args=["secret-argument"])
    workspace.save("root", "a", "b", env={"A": "secret-other"})
    workspace.copy("root", "b", "codex", move=True)
    workspace.editor.delete(workspace.path, workspace.target("codex"), "b", None)
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("innkeeper.mcp.editor")]
    assert [line.split(" of ")[0] for line in lines] == [
        "added mcpServers.a in .mcp.json",
        "changed mcpServers.b in .mcp.json",
        "migrated mcp_servers.b in .codex/config.toml",
        "deleted mcp_servers.b in .codex/config.toml",
    ]
    assert "secret" not in caplog.text
