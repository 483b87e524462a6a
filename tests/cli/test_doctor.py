"""The checks of `innkeeper doctor`."""

import json
import resource
import socket
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import exit_codes
from innkeeper.cli.doctor import checks, parts
from innkeeper.cli.doctor.checks import Machine
from innkeeper.mcp.supervision import admission
from innkeeper.mcp.supervision.admission import Admission
from innkeeper.providers.spi import Inspection, Unavailable
from scripted.provider import ScriptedProvider


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "config" / "config.toml", tmp_path / "data", tmp_path / "state")


def test_doctor_finds_everything_at_once_and_says_so_in_json(inside: Any) -> None:
    done = inside("doctor", "--json")
    found = done.json()
    assert found["version"] == 1
    ids = [check["id"] for check in found["checks"]]
    for id in (
        "platform", "python", "installation", "libraries", "mcp", "extra.speed", "git", "grammar", "web",
        "configuration", "data", "lock", "port", "disk", "openFiles", "watches", "agent.console",
    ):  # fmt: skip
        assert id in ids
    assert {check["state"] for check in found["checks"]} <= {"ok", "warn", "fail"}
    unexplained = [check["id"] for check in found["checks"] if check["state"] != "ok" and not check["remedy"]]
    assert unexplained in ([], ["installation"])
    assert done.code == (exit_codes.OK if found["ok"] else exit_codes.FAILED)


def test_doctor_shows_one_line_a_finding(inside: Any) -> None:
    done = inside("doctor")
    assert len([line for line in done.out.splitlines() if not line.startswith(" ")]) >= 14


def test_a_broken_configuration_fails_with_its_place(inside: Any, tmp_path: Path) -> None:
    config = tmp_path / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("trust_mode = 'everything'\n", encoding="utf-8")
    done = inside("doctor", "--json")
    (check,) = [check for check in done.json()["checks"] if check["id"] == "configuration"]
    assert (done.code, check["state"]) == (exit_codes.FAILED, "fail")
    assert "trust_mode" in check["detail"]
    assert "everything" not in json.dumps(check["remedy"])


def test_a_web_ui_that_is_not_whole_is_named_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 7 B: templates, static files and locales"""
    assert checks.check_web().state == "ok"
    monkeypatch.setattr("innkeeper.web.files.TEMPLATES", ("chat.html", "gone.html"))
    check = checks.check_web()
    assert check.state == "warn" and "web/templates/gone.html" in check.detail and check.remedy


def test_platforms_are_told_apart() -> None:
    assert [checks.check_platform(name).state for name in ("linux", "darwin", "win32")] == ["ok", "warn", "fail"]


def test_a_missing_grammar_is_a_warning_because_every_command_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """K16."""
    assert checks.check_grammar().state == "ok"
    monkeypatch.setitem(sys.modules, "tree_sitter_bash", None)
    found = checks.check_grammar()
    assert (found.state, bool(found.remedy)) == ("warn", True)


def test_a_data_directory_that_cannot_be_made_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    found = checks.check_data(Machine(tmp_path / "c", tmp_path / "file" / "data", tmp_path / "s"))
    assert (found.state, bool(found.remedy)) == ("fail", True)


def test_a_data_directory_that_others_can_read_is_a_warning(machine: Machine) -> None:
    assert checks.check_data(machine).state == "ok"
    machine.data.mkdir(mode=0o755)
    machine.data.chmod(0o755)
    found = checks.check_data(machine)
    assert (found.state, found.remedy) == ("warn", f"chmod 700 {machine.data}")
    machine.data.chmod(0o700)
    assert checks.check_data(machine).state == "ok"


def test_little_space_is_a_warning_and_none_a_failure(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    states = []
    for free in (2 * checks.DISK_WARN, checks.DISK_WARN - 1, checks.DISK_FAIL - 1):
        usage = type("usage", (), {"free": free})()
        monkeypatch.setattr(checks.shutil, "disk_usage", lambda _path, usage=usage: usage)
        states.append(checks.check_disk(machine).state)
    assert states == ["ok", "warn", "fail"]


def test_a_low_limit_on_open_files_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (256, resource.RLIM_INFINITY))
    found = checks.check_open_files()
    assert found.state == "warn"
    assert "256" in found.detail
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert checks.check_open_files().state == "ok"


def test_low_limits_on_watches_are_a_warning_and_no_inotify_is_none(tmp_path: Path) -> None:
    assert checks.check_watches(tmp_path).state == "ok"
    (tmp_path / "max_user_watches").write_text("100\n", encoding="utf-8")
    (tmp_path / "max_user_instances").write_text("128\n", encoding="utf-8")
    assert checks.check_watches(tmp_path).state == "warn"
    (tmp_path / "max_user_watches").write_text("100000\n", encoding="utf-8")
    assert checks.check_watches(tmp_path).state == "ok"


def test_a_port_that_is_taken_is_a_warning(machine: Machine) -> None:
    machine.config_file.parent.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        machine.config_file.write_text(f"[serve]\nport = {port}\n", encoding="utf-8")
        taken = checks.check_port(machine)
    assert (taken.state, bool(taken.remedy)) == ("warn", True)
    assert checks.check_port(machine).state == "ok"
    machine.config_file.write_text("[serve]\nport = 0\n", encoding="utf-8")
    assert checks.check_port(machine).state == "ok"


def test_git_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.shutil, "which", lambda _name: None)
    assert checks.check_git().state == "warn"


def test_a_check_that_breaks_is_a_warning_of_its_own(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> checks.Check:
        raise OSError("gone")

    monkeypatch.setattr(checks, "check_git", broken)
    (found,) = [check for check in checks.all_checks(machine) if check.id == "git"]
    assert (found.state, "gone" in found.detail) == ("warn", True)


class Distribution:
    version = "0.0.0"

    def __init__(self, direct_url: str | None) -> None:
        self._direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        return self._direct_url if name == "direct_url.json" else None


def test_the_source_of_the_installation_is_a_commit_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    origin = {"url": "https://example.test/innkeeper", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}
    monkeypatch.setattr(metadata, "distribution", lambda _name: Distribution(json.dumps(origin)))
    assert "https://example.test/innkeeper@abc123" in parts.check_installation().detail
    monkeypatch.setattr(metadata, "distribution", lambda _name: Distribution(None))
    assert "site-packages" in parts.check_installation().detail or "src" in parts.check_installation().detail


def test_another_installed_version_than_the_running_one_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "installed_version", lambda: "99.0.0")
    found = parts.check_installation()
    assert (found.state, "99.0.0" in found.remedy) == ("warn", True)
    monkeypatch.setattr(parts, "installed_version", lambda: None)
    assert parts.check_installation().state == "warn"


@pytest.mark.parametrize(
    ("found", "state", "says"),
    [
        (Admission({}, {}), "ok", "mcp "),
        (Admission({"mcp": "9.9"}, {}), "ok", "version unverified, capabilities confirmed"),
        (Admission({"mcp": "9.9"}, {"probe": ("httpx2:x",)}), "warn", "MONITORING_UNSUPPORTED: probe"),
        (Admission({"mcp": "9.9"}, {"connect": ("mcp:x",)}), "fail", "MONITORING_UNSUPPORTED: connect"),
    ],
)
def test_an_untested_version_of_the_mcp_libraries_is_said(
    monkeypatch: pytest.MonkeyPatch, found: Admission, state: str, says: str
) -> None:
    """M7.8"""
    monkeypatch.setattr(admission, "admission", lambda: found)
    check = parts.check_mcp()
    assert (check.id, check.state, says in check.detail) == ("mcp", state, True)
    assert bool(check.remedy) is (state != "ok")


def test_a_missing_library_fails_and_a_missing_extra_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _name: ["click>=8", "no-such-library>=1", 'other-x; extra == "x"'])
    assert parts.check_libraries().state == "fail"
    (extra,) = parts.check_extras()
    assert (extra.id, extra.state, extra.remedy) == ("extra.x", "ok", "pip install 'innkeeper[x]'")


class Agent(ScriptedProvider):
    """`found` is what looking at it gives, or raises."""

    def __init__(self, name: str, found: Inspection | Exception) -> None:
        super().__init__(name)
        self.found = found

    def inspect(self) -> Inspection:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def test_every_agent_is_shown_with_what_is_known_of_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 6 §5, M7.8: also one whose SDK breaks when it is imported, which hides no other."""
    missing = Agent("gone", RuntimeError())
    missing.missing = Unavailable("AGENT_BINARY_MISSING", "It is not there.", "npm install -g it")
    agents = [
        missing,
        Agent("broken", AttributeError("a secret of the environment")),
        Agent("tested", Inspection({"sdk": "1", "agent": "2"}, True)),
        Agent("newer", Inspection({"sdk": "9", "agent": "2"}, False)),
        Agent("unknown", Inspection({"sdk": "1", "agent": ""}, False)),
        Agent("poor", Inspection({"sdk": "1", "agent": "2"}, False, ("Client.ask",))),
    ]
    monkeypatch.setattr("innkeeper.app.agents.looked_at", lambda *_: ((agent.name, agent) for agent in agents))
    found = {check.id.removeprefix("agent."): check for check in parts.check_agents(machine)}
    assert {name: check.state for name, check in found.items() if check.state != "ok"} == {
        "gone": "warn",
        "broken": "warn",
        "poor": "warn",
    }
    assert all(check.remedy for check in found.values() if check.state != "ok")
    assert (found["gone"].detail, found["gone"].remedy) == ("It is not there.", "npm install -g it")
    assert "AttributeError" in found["broken"].detail and "secret" not in found["broken"].detail
    assert found["tested"].detail == "sdk 1, agent 2" and "Client.ask" in found["poor"].detail
    assert "unverified" in found["newer"].detail and "agent ?: the version is not known" in found["unknown"].detail


def test_every_agent_that_can_be_driven_is_shown_on_a_machine_that_has_none(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 6 §5: each with a reason and a remedy, and nothing of the kind is made by looking."""
    for name in ("PATH", "HOME", "INNKEEPER_NPM_BIN"):
        monkeypatch.setenv(name, "/nowhere")
    found = {check.id.removeprefix("agent."): check for check in parts.check_agents(machine)}
    assert set(found) == {"console", "claude", "codex", "copilot", "acp"}
    assert all(check.remedy for check in found.values() if check.state != "ok")
    assert (found["acp"].state, found["copilot"].state) == ("warn", "warn") and not machine.data.exists()
