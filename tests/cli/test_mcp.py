"""`innkeeper mcp …` against a real host in a process of its own."""

import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import exit_codes
from innkeeper.errors import ERRORS
from innkeeper.texts import text

FIXTURE = Path(__file__).resolve().parent.parent / "servers" / "fixture_server.py"
CANARY = "c4nary-value-of-a-secret"


def fixture(name: str, *switches: str, **fields: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(FIXTURE), "--name", name, *switches], **fields}


def rows(done: Any) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in done.json()["servers"]}


@pytest.fixture
def project(live: Any, tmp_path: Path) -> Any:
    """A directory of its own beside the running host; `run` works there."""

    class Project:
        folder = tmp_path

        def declare(self, document: str | None = None, **servers: object) -> None:
            written = json.dumps({"mcpServers": servers}) if document is None else document
            (tmp_path / ".mcp.json").write_text(written, encoding="utf-8")

        def run(self, *words: str, lang: str | None = None) -> Any:
            environment = {"LC_ALL": lang} if lang else None
            return live.run("mcp", *words, "--dir", str(tmp_path), environment=environment)

    return Project()


def test_a_broken_file_is_told_with_code_place_and_remedy(project: Any) -> None:
    """M1.8, M7.6; issue 2: a broken `.mcp.json` is visible in `mcp list`."""
    project.declare('{\n  "mcpServers": {\n    "a": {"command": }\n  }\n}')
    done = project.run("list")
    assert done.code == exit_codes.OK
    assert ".mcp.json:3" in done.err
    assert "[FILE_SYNTAX]" in done.err
    assert text(ERRORS["FILE_SYNTAX"].remedy) in done.err
    assert "No MCP server" not in done.err
    chinese = project.run("list", lang="zh_CN.UTF-8")
    assert text(ERRORS["FILE_SYNTAX"].meaning, lang="zh_Hans") in chinese.err
    (finding,) = project.run("list", "--json").json()["findings"]
    assert (finding["code"], finding["severity"], finding["file"], finding["line"], finding["server"]) == (
        "FILE_SYNTAX",
        "error",
        ".mcp.json",
        3,
        None,
    )


def test_one_bad_entry_is_told_and_the_others_live(project: Any) -> None:
    """Reference F2."""
    project.declare(good=fixture("good"), bad={"command": 7})
    done = project.run("list")
    assert "good\t" in done.out
    assert "bad:" in done.err
    assert "[command] [FIELD_TYPE]" in done.err
    assert "[command] [FIELD_TYPE]" in project.run("list", lang="zh_CN.UTF-8").err
    document = project.run("list", "--json").json()
    assert document.keys() == {"version", "session", "servers", "findings"}
    assert rows(project.run("list", "--json"))["bad"]["status"] == "invalid"


def test_a_session_without_declarations_says_so(project: Any) -> None:
    done = project.run("list")
    assert (done.code, done.out) == (exit_codes.OK, "")
    assert done.err


def test_reload_reads_again_and_fails_when_a_file_is_broken(project: Any) -> None:
    """M5.3, L1."""
    project.declare(one=fixture("one"))
    assert list(rows(project.run("list", "--json"))) == ["one"]
    project.declare(one=fixture("one"), two=fixture("two"))
    done = project.run("reload", "--json")
    assert (done.code, list(rows(done))) == (exit_codes.OK, ["one", "two"])
    assert {row["status"] for row in rows(done).values()} == {"not allowed"}
    project.declare("{")
    assert project.run("reload").code == exit_codes.FAILED


def test_connect_says_what_runs_as_the_user(project: Any) -> None:
    """M4.5, M4.2."""
    project.declare(one=fixture("one"))
    done = project.run("connect", "one")
    assert done.code == exit_codes.OK
    assert "runs as you" in done.err
    assert str(FIXTURE) in done.err
    again = project.run("connect", "one")
    assert "runs as you" not in again.err
    row = rows(project.run("list", "--json"))["one"]
    assert (row["status"], row["allowed_by"], row["selection"]) == ("connected", "sessionGrant", "custom")
    stopped = project.run("stop", "one", "--json")
    assert rows(stopped)["one"]["status"] == "stopped"
    followed = project.run("follow-policy", "--json")
    assert rows(followed)["one"]["selection"] == "policy"


def test_connect_all_wants_a_confirmation_and_nothing_starts_without_one(project: Any) -> None:
    """M4.5, M4.2b; reference T5: without a terminal nothing is started and nothing stored; `--yes` is explicit."""
    project.declare(one=fixture("one"), two=fixture("two"), bad={"command": 7})
    refused = project.run("connect", "--all")
    assert refused.code == exit_codes.USAGE
    assert "--yes" in refused.err
    assert str(FIXTURE) in refused.err, "what would run is listed before it is asked about"
    assert {row["status"] for row in rows(project.run("list", "--json")).values()} == {"not allowed", "invalid"}
    asked_in_json = project.run("connect", "--all", "--json")
    assert (asked_in_json.code, asked_in_json.json()["error"]["code"]) == (exit_codes.USAGE, "USAGE")
    done = project.run("connect", "--all", "--yes", "--json")
    assert done.code == exit_codes.OK
    assert [rows(done)[name]["status"] for name in ("one", "two", "bad")] == ["connected", "connected", "invalid"]
    gone = project.run("disconnect", "--all", "--json")
    assert [rows(gone)[name]["status"] for name in ("one", "two")] == ["stopped", "stopped"]


@pytest.mark.parametrize(("answers", "connected"), [("n\n", False), ("y\nn\n", False), ("y\ny\n", True)])
def test_at_a_terminal_connect_all_asks_twice_for_what_policy_does_not_allow(
    project: Any, live: Any, answers: str, connected: bool
) -> None:
    """M4.5."""
    project.declare(one=fixture("one"))
    master, slave = pty.openpty()
    os.write(master, answers.encode())
    process = live.start("mcp", "connect", "--all", "--dir", str(project.folder), stdin=slave)
    os.close(slave)
    _, err = process.communicate(timeout=20)
    os.close(master)
    assert (process.returncode == exit_codes.OK) is connected
    assert ("Your configuration does not allow" in err) is answers.startswith("y")
    status = rows(project.run("list", "--json"))["one"]["status"]
    assert status == ("connected" if connected else "not allowed")


@pytest.mark.parametrize("words", [("connect",), ("connect", "one", "--all"), ("disconnect",)])
def test_one_server_or_all_must_be_named(project: Any, words: tuple[str, ...]) -> None:
    done = project.run(*words, "--json")
    assert (done.code, done.json()["error"]["code"]) == (exit_codes.USAGE, "USAGE")


def test_tools_show_weight_and_permission_and_follow_allow_deny_and_revoke(project: Any) -> None:
    """M11.4, M6.1, M6.8; reference A1, D5."""
    project.declare(one=fixture("one"))
    assert project.run("tools").err
    project.run("connect", "one")

    def answer(tool: str) -> tuple[str, str]:
        found = {row["tool"]: row for row in project.run("tools", "one", "--json").json()["tools"]}
        assert found[tool]["tokens"] > 0
        assert found[tool]["switch_acts"] == "now"
        return found[tool]["outcome"], found[tool]["why"]

    assert answer("echo") == ("ask", "unknown")
    assert project.run("allow", "one", "echo").code == exit_codes.OK
    assert answer("echo") == ("allow", "grant")
    assert project.run("deny", "one", "echo").code == exit_codes.OK
    assert answer("echo") == ("deny", "sessionRule")
    called = project.run("call", "one", "echo", '{"text": "x"}')
    assert called.code == exit_codes.FAILED
    assert "A rule of this session denies echo." in called.err
    assert project.run("revoke", "one", "echo").code == exit_codes.OK
    assert answer("echo") == ("ask", "unknown")
    table = project.run("tools")
    assert "echo\t" in table.out
    assert "asks" in table.out
    assert "tokens" in table.err
    assert "from the next call" in table.err
    assert "词元" in project.run("tools", lang="zh_CN.UTF-8").err


def test_a_server_is_allowed_denied_and_revoked_for_the_workspace(project: Any) -> None:
    """M4.2b, M4.3: a grant lets it start with the next request; deny switches it off; a change voids the grant."""
    project.declare(one=fixture("one"))
    allowed = rows(project.run("allow", "one", "--json"))["one"]
    assert (allowed["allowed_by"], allowed["bare"]) == ("grant", False)
    assert rows(project.run("reload", "--json"))["one"]["status"] in ("connecting", "connected")
    project.declare(one=fixture("one", "--slow", "0"))
    changed = project.run("reload")
    assert "needs a new grant" in changed.out
    assert "DECLARATION_CHANGED" in changed.out
    assert "--slow" in changed.err, "old beside new"
    denied = project.run("deny", "one", "--json")
    assert (rows(denied)["one"]["enabled"], rows(denied)["one"]["status"]) == (False, "disabled")
    assert rows(project.run("revoke", "one", "--json"))["one"]["enabled"] is True
    assert rows(project.run("list", "--json"))["one"]["status"] == "not allowed"


def test_the_log_of_calls_has_no_word_of_them(project: Any) -> None:
    """M11.5; reference V4."""
    project.declare(one=fixture("one"))
    project.run("connect", "one")
    assert project.run("logs", "one").err
    assert project.run("logs", "one", "--stderr").err
    project.run("call", "one", "echo", json.dumps({"text": CANARY}))
    done = project.run("logs", "one", "--json")
    (call,) = done.json()["calls"]
    assert (call["tool"], call["by"], call["outcome"], call["code"]) == ("echo", "person", "ok", None)
    assert CANARY not in done.out
    shown = project.run("logs", "one")
    assert "echo\tyou\tok" in shown.out


def test_standard_error_of_a_server_is_shown_on_demand_and_masked(project: Any) -> None:
    """M7.7: `mcp logs NAME --stderr`; every expanded value is masked."""
    project.declare(one=fixture("one", "--env-stderr", "KEY", env={"KEY": CANARY}))
    project.run("connect", "one")
    done = project.run("logs", "one", "--stderr")
    assert done.code == exit_codes.OK
    assert "started with" in done.out
    document = project.run("logs", "one", "--stderr", "--json")
    assert "started with" in document.json()["stderr"]
    for shown in (done, document, project.run("list"), project.run("list", "--json"), project.run("tools", "--json")):
        assert CANARY not in shown.out + shown.err


def test_a_file_is_confirmed_and_nothing_starts_by_that(project: Any) -> None:
    """M4.1b, M9.4"""
    project.declare(one=fixture("one"))
    done = project.run("confirm-file", ".mcp.json", "--json")
    assert (done.code, rows(done)["one"]["status"]) == (exit_codes.OK, "not allowed")


@pytest.mark.parametrize(
    "words",
    [
        ("connect", "nobody"),
        ("disconnect", "nobody"),
        ("stop", "nobody"),
        ("retry", "nobody"),
        ("tools", "nobody"),
        ("logs", "nobody"),
        ("allow", "nobody"),
        ("deny", "nobody"),
        ("revoke", "nobody", "tool"),
        ("call", "nobody", "tool"),
    ],
    ids=" ".join,
)
def test_a_server_that_is_not_there_is_told_in_both_languages(project: Any, words: tuple[str, ...]) -> None:
    project.declare(one=fixture("one"))
    done = project.run(*words, "--json")
    assert (done.code, done.json()["error"]["code"]) == (exit_codes.FAILED, "SERVER_UNKNOWN")
    assert "nobody" in project.run(*words, lang="zh_CN.UTF-8").err


def test_shell_completion_knows_the_commands(live: Any) -> None:
    words = {"COMP_WORDS": "innkeeper mcp ", "COMP_CWORD": "2", "_INNKEEPER_COMPLETE": "bash_complete"}
    done = live.run(environment=words)
    assert {"plain,follow-policy", "plain,logs", "plain,check"} <= set(done.out.split())


def config_of(home: Any) -> Path:
    return Path(home.folder) / "home" / "config" / "config.toml"


def test_trust_is_written_for_exactly_this_directory_and_the_comments_stay(quiet: Any) -> None:
    """M4.1, M4.5, M8.1: without a host; what will run is listed; in no other spelling twice."""
    quiet.declare(one=fixture("one"))
    config_of(quiet).parent.mkdir(parents=True)
    config_of(quiet).write_text("# mine\nconflict_policy = 'error' # keep\n", encoding="utf-8")
    refused = quiet.run("mcp", "trust")
    assert refused.code == exit_codes.USAGE
    assert str(FIXTURE) in refused.err
    assert "trusted_workspaces" not in config_of(quiet).read_text()
    done = quiet.run("mcp", "trust", "--yes", "--json").json()
    assert (done["trusted"], done["changed"], done["directory"]) == (True, True, str(quiet.project))
    assert str(FIXTURE) in done["commands"][0]
    written = config_of(quiet).read_text()
    assert written.startswith("# mine\nconflict_policy = 'error' # keep\n")
    assert str(quiet.project) in written
    again = quiet.run("mcp", "trust", "--dir", str(quiet.project / "."), "--json").json()
    assert (again["trusted"], again["changed"]) == (True, False)
    (quiet.project / "sub").mkdir()
    other = quiet.run("mcp", "untrust", "--dir", str(quiet.project / "sub"), "--json").json()
    assert (other["trusted"], other["changed"]) == (False, False)
    gone = quiet.run("mcp", "untrust")
    assert gone.code == exit_codes.OK
    assert str(quiet.project) not in config_of(quiet).read_text()
    assert config_of(quiet).read_text().startswith("# mine\n")


def test_trust_lists_what_would_run_by_the_operators_settings(quiet: Any) -> None:
    """M4.5: the same resolver with the same settings as the host's."""
    quiet.declare(one={"command": "first"})
    (quiet.project / ".cursor").mkdir()
    (quiet.project / ".cursor" / "mcp.json").write_text('{"mcpServers": {"one": {"command": "second"}}}')
    config_of(quiet).parent.mkdir(parents=True)
    config_of(quiet).write_text("conflict_policy = 'last-wins'\n", encoding="utf-8")
    assert quiet.run("mcp", "trust", "--yes", "--json").json()["commands"] == ["second"]
    config_of(quiet).write_text("[limits]\ndeclaration_bytes = 10\n", encoding="utf-8")
    assert quiet.run("mcp", "trust", "--yes", "--json").json()["commands"] == []


def test_a_running_host_follows_trust_and_the_end_of_it(project: Any, live: Any) -> None:
    """M4.1, M5.8, M9.6: hot; what loses its permission is disconnected."""
    project.declare(one=fixture("one"))
    assert rows(project.run("list", "--json"))["one"]["allowed"] is False
    assert project.run("trust", "--yes").code == exit_codes.OK
    try:
        for _ in range(20):
            row = rows(project.run("reload", "--json"))["one"]
            if row["allowed"] and row["status"] == "connected":
                break
        assert (row["allowed_by"], row["bare"], row["status"]) == ("trustedWorkspace", True, "connected")
        asked = {tool["tool"]: tool["why"] for tool in project.run("tools", "--json").json()["tools"]}
        assert asked["echo"] == "trustedWorkspace"
    finally:
        assert project.run("untrust").code == exit_codes.OK
    for _ in range(20):
        row = rows(project.run("list", "--json"))["one"]
        if not row["allowed"] and row["pid"] is None:
            break
    assert (row["allowed"], row["status"], row["pid"]) == (False, "not allowed", None)


def test_a_broken_configuration_is_told_and_not_written(quiet: Any) -> None:
    config_of(quiet).parent.mkdir(parents=True)
    config_of(quiet).write_text("trusted_workspaces = 7\n", encoding="utf-8")
    done = quiet.run("mcp", "trust", "--yes", "--json")
    assert done.code != exit_codes.OK
    assert done.json()["error"]["code"] == "CONFIG_INVALID"
    assert config_of(quiet).read_text() == "trusted_workspaces = 7\n"


def test_inputs_are_kept_for_their_owner_and_only_names_are_shown(quiet: Any) -> None:
    """M2.5, M9.6; reference V4."""
    assert quiet.run("mcp", "inputs", "list").err
    stored = quiet.run("mcp", "inputs", "set", "api-key", given=f"{CANARY}\n")
    assert stored.code == exit_codes.OK
    listed = quiet.run("mcp", "inputs", "list", "--json")
    assert listed.json()["inputs"] == [{"name": "api-key", "source": "file", "reference": None, "available": True}]
    shown = quiet.run("mcp", "inputs", "list")
    assert "api-key\t" in shown.out
    for done in (stored, listed, shown):
        assert CANARY not in done.out + done.err
    (secrets,) = [path for path in Path(quiet.folder).rglob("*") if path.is_file() and CANARY in path.read_text()]
    assert secrets.stat().st_mode & 0o777 == 0o600
    empty = quiet.run("mcp", "inputs", "set", "other", "--json", given="\n")
    assert (empty.code, empty.json()["error"]["code"]) == (exit_codes.USAGE, "USAGE")
    bad = quiet.run("mcp", "inputs", "set", "not a name", "--json", given="x\n")
    assert bad.json()["error"]["code"] == "INPUT_NAME"
    assert quiet.run("mcp", "inputs", "remove", "api-key", "--json").json()["result"] == "removed"
    assert quiet.run("mcp", "inputs", "remove", "api-key", "--json").json()["result"] == "absent"
    assert not [path for path in Path(quiet.folder).rglob("*") if path.is_file() and CANARY in path.read_text()]


def test_status_says_that_a_host_asks_no_questions(quiet: Any) -> None:
    """M6.3: said at start-up and in `status`."""
    process = quiet.start("serve", "--port", "0", "--no-questions")
    try:
        assert process.stdout.readline().startswith("READY:")
        done = quiet.run("status")
        assert text("cli.status.noQuestions") in done.err
        assert quiet.run("status", "--json").json()["questions"] is False
    finally:
        process.terminate()
        _, err = process.communicate(timeout=20)
    assert text("serve.no_questions") in err
