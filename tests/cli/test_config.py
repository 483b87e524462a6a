"""`innkeeper config`: with and without a running host (M9.4, M9.6)."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import exit_codes

TEXT = """\
# My settings
trust_mode = "manual"   # never all
trusted_workspaces = [
  "/work/a",  # the shop
]

[limits]
connections = 12

[serve]
port = 0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file that the command lines of a test use."""
    path = tmp_path / "home" / "config" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT, encoding="utf-8")
    return path


def told(done: Any) -> Any:
    return done.json()["error"]


def test_the_place_of_the_file_is_printed_whether_or_not_it_exists(inside: Any, tmp_path: Path) -> None:
    path = tmp_path / "home" / "config" / "config.toml"
    assert inside("config", "path").out == f"{path}\n"
    assert inside("config", "path", "--json").json() == {
        "version": 1, "file": str(path), "exists": False, "secrets": str(path.with_name("secrets.toml")),
    }  # fmt: skip


def test_show_tells_value_source_kind_and_what_differs(
    inside: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INNKEEPER_PORT", "4000")
    monkeypatch.setenv("INNKEEPER_TOKEN", "hunter2-hunter2")
    monkeypatch.setenv("INNKEEPER_LOG", "debug")
    done = inside("config", "show", "--json")
    rows = {row["setting"]: row for row in done.json()["settings"]}
    assert rows["trust_mode"] == {
        "setting": "trust_mode", "value": "manual", "source": "config.toml:2", "hot": True, "differs": False,
    }  # fmt: skip
    assert (rows["trusted_workspaces"]["value"], rows["trusted_workspaces"]["source"]) == (["/work/a"], "config.toml:3")
    assert (rows["limits.connections"]["value"], rows["limits.connections"]["differs"]) == (12, True)
    assert (rows["serve.port"]["value"], rows["serve.port"]["source"]) == (4000, "INNKEEPER_PORT"), "flag > env > file"
    assert rows["serve.log"]["source"] == "INNKEEPER_LOG"
    assert rows["conflict_policy"]["source"] == "default"
    assert rows["serve.token"]["value"] == "•••"
    assert "hunter2" not in done.out
    assert "limits.turn_page" not in rows
    assert "limits.turn_page" in inside("config", "show", "--all").out
    lines = [line.split("\t") for line in inside("config", "show").out.splitlines()]
    assert ["*", "limits.connections", "12", "config.toml:8", "operator"] in lines


def test_secrets_are_shown_by_name_alone(inside: Any, file: Path) -> None:
    """M2.5"""
    file.write_text("[input_values]\nfirst = 'env:FIRST'\n", encoding="utf-8")
    secrets = file.with_name("secrets.toml")
    secrets.write_text("[input_values]\nsecond = 'hunter2'\n", encoding="utf-8")
    secrets.chmod(0o600)
    for words in (["show"], ["show", "--json"], ["get", "input_values"], ["get", "input_values.second", "--json"]):
        done = inside("config", *words)
        assert done.code == exit_codes.OK
        assert "hunter2" not in done.out + done.err
    assert inside("config", "get", "input_values", "--json").json()["value"] == {"first": "env:FIRST", "second": "•••"}


@pytest.mark.parametrize(
    ("name", "out"),
    [
        ("trust_mode", "manual\n"),
        ("trusted_workspaces", "/work/a\n"),
        ("trusted_workspaces[0]", "/work/a\n"),
        ("limits.connections", "12\n"),
        ("questions", "true\n"),
        ("language", "\n"),
    ],
)
def test_get_prints_what_scripts_can_use(inside: Any, file: Path, name: str, out: str) -> None:
    done = inside("config", "get", name)
    assert (done.code, done.out) == (exit_codes.OK, out)


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        (["trust_mode", "all", "--yes"], '"manual"', '"all"'),
        (["conflict_policy", "first-wins"], "]\n\n", ']\nconflict_policy = "first-wins"\n\n'),
        (["--add", "trusted_workspaces", "/b"], "  # the shop\n", '  # the shop\n  "/b",\n'),
        (["--remove", "trusted_workspaces", "/work/a"], '  "/work/a",  # the shop\n', ""),
        (["trusted_workspaces", "/work/a", "/b"], "  # the shop\n", '  # the shop\n  "/b",\n'),
        (["trusted_workspaces", '["/c"]'], '"/work/a"', '"/c"'),
        (["enabled_builtins", "codex", "root"], "]\n\n", ']\nenabled_builtins = ["codex", "root"]\n\n'),
        (
            ["--remove", "enabled_builtins", "vscode", "gemini"],
            "]\n\n",
            ']\nenabled_builtins = ["root", "codex", "cursor"]\n\n',
        ),
        (
            ["workspace_allowances", '[{workspace = "/w", allow_mcp = ["m"]}]'],
            "port = 0\n",
            'port = 0\n\n[[workspace_allowances]]\nworkspace = "/w"\nallow_mcp = ["m"]\n',
        ),
    ],
)
def test_set_changes_the_one_thing_and_no_other_byte(
    inside: Any, file: Path, words: list[str], old: str, new: str
) -> None:
    """M9.6, M8.1"""
    done = inside("config", "set", *words, "--json")
    assert (done.code, done.json()["changed"], done.json()["host"]) == (exit_codes.OK, True, "none")
    assert TEXT.count(old) == 1
    assert file.read_text(encoding="utf-8") == TEXT.replace(old, new)
    again = inside("config", "set", *words, "--json").json()
    assert (again["changed"], again["revision"]) == (False, done.json()["revision"])


def test_a_directory_may_be_relative_to_the_present_one(inside: Any, file: Path, tmp_path: Path) -> None:
    inside("config", "set", "--add", "trusted_workspaces", ".")
    assert inside("config", "get", "trusted_workspaces").out == f"/work/a\n{tmp_path}\n"


def test_entries_of_tables_are_set_by_their_path(inside: Any, file: Path) -> None:
    inside("config", "set", "--add", "workspace_allowances[0].allow_mcp", "files", "git")
    assert inside("config", "set", "workspace_allowances[0].workspace", "/w").code != exit_codes.OK
    inside("config", "set", "workspace_allowances", '[{workspace = "/w"}]')
    assert inside("config", "set", "--add", "workspace_allowances[0].allow_mcp", "files", "git").code == exit_codes.OK
    inside("config", "set", "--remove", "workspace_allowances[0].allow_mcp", "files")
    assert inside("config", "get", "workspace_allowances[0].allow_mcp").out == "git\n"


def test_unset_lets_the_default_hold(inside: Any, file: Path) -> None:
    assert inside("config", "unset", "trusted_workspaces", "--json").json()["changedSettings"] == ["trusted_workspaces"]
    assert file.read_text(encoding="utf-8") == TEXT.replace('trusted_workspaces = [\n  "/work/a",  # the shop\n]\n', "")


def test_the_first_setting_makes_a_private_file(inside: Any, tmp_path: Path) -> None:
    assert inside("config", "set", "conflict_policy", "last-wins").code == exit_codes.OK
    path = tmp_path / "home" / "config" / "config.toml"
    assert path.read_text(encoding="utf-8") == 'conflict_policy = "last-wins"\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["set", "access", "full"], "SETTING_OPERATOR_ONLY", exit_codes.REFUSED),
        (["set", "limits.connections", "3"], "SETTING_OPERATOR_ONLY", exit_codes.REFUSED),
        (["unset", "serve"], "SETTING_OPERATOR_ONLY", exit_codes.REFUSED),
        (["set", "trust_mode", "all"], "CONFIRMATION_NEEDED", exit_codes.REFUSED),
        (["set", "trust_mod", "all"], "SETTING_UNKNOWN", exit_codes.USAGE),
        (["get", "trust_mod"], "SETTING_UNKNOWN", exit_codes.USAGE),
        (["get", "trust_mode.deeper"], "SETTING_UNKNOWN", exit_codes.USAGE),
        (["set", "trust_mode", "some"], "SETTING_VALUE", exit_codes.USAGE),
        (["set", "presets", '[{id = "x", extends = "nothing"}]'], "SETTING_VALUE", exit_codes.USAGE),
        (["set", "trust_mode", "a", "b"], "USAGE", exit_codes.USAGE),
        (["set", "--add", "trust_mode", "a"], "USAGE", exit_codes.USAGE),
        (["set", "--add", "--remove", "trusted_workspaces", "a"], "USAGE", exit_codes.USAGE),
        (["set", "trusted_workspaces", "[broken"], "USAGE", exit_codes.USAGE),
        (["set", "[0]", "x"], "USAGE", exit_codes.USAGE),
        (["set", "conflict_policy", "error", "--revision", "x"], "SETTINGS_CONFLICT", exit_codes.FAILED),
    ],
)
def test_what_is_refused_is_told_with_code_and_exit_code_and_changes_nothing(
    inside: Any, file: Path, words: list[str], code: str, exit_code: int
) -> None:
    done = inside("config", *words, "--json")
    assert (done.code, told(done)["code"]) == (exit_code, code)
    assert told(done)["message"]
    assert file.read_text(encoding="utf-8") == TEXT


def test_the_revision_that_was_told_is_the_one_to_write_with(inside: Any, file: Path) -> None:
    first = inside("config", "set", "conflict_policy", "last-wins", "--json").json()["revision"]
    assert inside("config", "unset", "conflict_policy", "--revision", first).code == exit_codes.OK
    assert inside("config", "unset", "trust_mode", "--revision", first).code == exit_codes.FAILED


def test_check_tells_file_line_field_and_remedy(inside: Any, file: Path, tmp_path: Path) -> None:
    assert inside("config", "check", "--json").json() == {
        "version": 1, "file": str(file), "valid": True, "problems": [],
    }  # fmt: skip
    other = tmp_path / "other.toml"
    other.write_text("\n[[presets]]\nid = 'x'\nfiles = ['../up']\nformat = 'json'\nservers_paths = ['a']\n")
    done = inside("config", "check", str(other), "--json")
    (problem,) = done.json()["problems"]
    assert done.code == exit_codes.FAILED
    assert (problem["code"], problem["line"], problem["field"]) == ("CONFIG_INVALID", 4, "presets[0].files")
    assert problem["message"] and problem["remedy"]
    file.write_text("trust_mode = 'hunter2'\n", encoding="utf-8")
    done = inside("config", "check")
    assert (done.code, done.out) == (exit_codes.FAILED, "")
    assert "line 1" in done.err and "hunter2" not in done.err
    secrets = file.with_name("secrets.toml")
    file.write_text(TEXT, encoding="utf-8")
    secrets.write_text("[input_values]\na = 'hunter2'\n", encoding="utf-8")
    secrets.chmod(0o644)
    assert inside("config", "check", "--json").json()["problems"][0]["code"] == "SECRETS_UNREADABLE"


def test_a_broken_file_is_not_edited_by_set(inside: Any, file: Path) -> None:
    file.write_text("= broken\n", encoding="utf-8")
    done = inside("config", "set", "trust_mode", "manual", "--json")
    assert (done.code, told(done)["code"]) == (exit_codes.FAILED, "SETTINGS_INVALID")
    assert file.read_text(encoding="utf-8") == "= broken\n"


# -- edit ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a program the user's editor: it gets the name of the file to edit."""

    def make(code: str) -> None:
        script = tmp_path / "editor.py"
        script.write_text(
            f"import sys\nfrom pathlib import Path\nfile = Path(sys.argv[1])\ntext = file.read_text()\n{code}\n"
        )
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", f"{sys.executable} '{script}'")

    return make


def test_edit_takes_a_valid_text_over_and_says_what_waits_for_a_restart(inside: Any, file: Path, editor: Any) -> None:
    editor("file.write_text(text.replace('12', '13').replace('/work/a', '/work/b'))")
    done = inside("config", "edit", "--json")
    assert done.code == exit_codes.OK
    assert done.json()["changedSettings"] == ["trusted_workspaces"]
    assert done.json()["afterRestart"] == ["limits.connections"]
    assert file.read_text(encoding="utf-8") == TEXT.replace("12", "13").replace("/work/a", "/work/b")


def test_edit_keeps_a_broken_text_out_and_beside_with_the_reason(inside: Any, file: Path, editor: Any) -> None:
    """M9.6"""
    editor("file.write_text(text.replace('12', 'many'))")
    done = inside("config", "edit", "--json")
    beside = file.with_name("config.toml.rejected")
    assert (done.code, told(done)["code"]) == (exit_codes.FAILED, "CONFIG_INVALID")
    assert str(beside) in told(done)["remedy"]
    assert file.read_text(encoding="utf-8") == TEXT
    kept = beside.read_text(encoding="utf-8")
    assert kept.startswith(TEXT.replace("12", "many"))
    assert "line 8" in kept.splitlines()[-1]
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600


def test_edit_does_not_overwrite_what_another_wrote_meanwhile(inside: Any, file: Path, editor: Any) -> None:
    editor(f"file.write_text(text + '# mine\\n'); Path({str(file)!r}).write_text('# theirs\\n')")
    done = inside("config", "edit", "--json")
    assert (done.code, told(done)["code"]) == (exit_codes.FAILED, "SETTINGS_CONFLICT")
    assert file.read_text(encoding="utf-8") == "# theirs\n"
    assert "# mine" in file.with_name("config.toml.rejected").read_text(encoding="utf-8")


def test_edit_mends_a_file_that_is_broken(inside: Any, file: Path, editor: Any) -> None:
    file.write_text("= broken\n", encoding="utf-8")
    editor("file.write_text('# mended\\n')")
    assert inside("config", "edit").code == exit_codes.OK
    assert file.read_text(encoding="utf-8") == "# mended\n"


def test_edit_without_a_terminal_and_without_a_chosen_editor_is_refused_at_once(
    inside: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M9.6: nothing waits for a screen that is not there."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    before = file.read_bytes() if file.exists() else None
    done = inside("config", "edit", "--json")
    assert done.code == exit_codes.FAILED
    assert done.json()["error"]["code"] == "EDITOR_FAILED"
    assert (file.read_bytes() if file.exists() else None) == before


def test_an_editor_that_fails_or_changes_nothing_changes_nothing(inside: Any, file: Path, editor: Any) -> None:
    editor("sys.exit(3)")
    done = inside("config", "edit", "--json")
    assert (done.code, told(done)["code"]) == (exit_codes.FAILED, "EDITOR_FAILED")
    editor("pass")
    assert inside("config", "edit", "--json").json()["changed"] is False
    os.environ["EDITOR"] = "/no/such/editor"
    assert told(inside("config", "edit", "--json"))["code"] == "EDITOR_FAILED"
    assert file.read_text(encoding="utf-8") == TEXT


def test_a_new_file_begins_with_where_to_read_about_it(inside: Any, tmp_path: Path, editor: Any) -> None:
    editor("assert text.startswith('#'); file.write_text(text + 'conflict_policy = \"error\"\\n')")
    assert inside("config", "edit").code == exit_codes.OK
    assert "settings.md" in (tmp_path / "home" / "config" / "config.toml").read_text(encoding="utf-8")


# -- with a host that runs -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A home whose host runs with settings of its own."""
    from cli.conftest import Home, end, wait_for_ready

    home = Home(tmp_path_factory.mktemp("hosted"))
    path = home.folder / "home" / "config" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT, encoding="utf-8")
    host = home.start("serve", "--quiet", stderr=subprocess.DEVNULL)
    try:
        wait_for_ready(host)
        yield home
    finally:
        end(host)


def test_a_host_that_runs_says_that_the_change_is_in_force(hosted: Any) -> None:
    """M9.2: takes effect at once."""
    done = hosted.run("config", "set", "--add", "trusted_workspaces", "/c", "--json")
    assert (done.code, done.json()["host"]) == (exit_codes.OK, "inForce")
    done = hosted.run("config", "set", "--remove", "trusted_workspaces", "/c")
    assert "The running host has taken it over." in done.err


def test_a_host_with_other_settings_is_told_apart(hosted: Any, tmp_path: Path) -> None:
    environment = {"INNKEEPER_HOME": str(tmp_path), "INNKEEPER_DATA_DIR": str(hosted.folder / "home" / "data")}
    done = hosted.run("config", "set", "conflict_policy", "error", "--json", environment=environment)
    assert done.json()["host"] in ("otherFile", "none")


def test_a_host_that_runs_tells_of_a_broken_save_in_its_status(hosted: Any) -> None:
    """M9.6"""
    path = hosted.folder / "home" / "config" / "config.toml"
    good = path.read_text(encoding="utf-8")
    try:
        path.write_text(good.replace('"manual"', '"some"'), encoding="utf-8")
        assert hosted.run("config", "check").code == exit_codes.FAILED
        for _ in range(50):
            status = json.loads(hosted.run("status", "--json").out)
            if status["settings"]["fault"]:
                break
        assert status["settings"]["fault"]["code"] == "SETTINGS_INVALID"
        assert "SETTINGS_INVALID" in hosted.run("status").err
    finally:
        path.write_text(good, encoding="utf-8")


def test_a_host_does_not_start_with_secrets_that_others_can_read(quiet: Any) -> None:
    """M9.6: a 0600 file."""
    secrets = quiet.folder / "home" / "config" / "secrets.toml"
    secrets.parent.mkdir(parents=True)
    secrets.write_text("[input_values]\na = 'hunter2'\n", encoding="utf-8")
    secrets.chmod(0o644)
    done = quiet.run("serve", "--port", "0", "--quiet")
    assert done.code == exit_codes.FAILED
    assert "[SECRETS_UNREADABLE]" in done.err
    assert "hunter2" not in done.out + done.err
