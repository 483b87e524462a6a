"""`mcp check`, `explain` and `presets` (issue 3, items 1 and 12; M11.1, M11.2): shapes, exit codes, nothing started."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.cli.main import main
from innkeeper.errors import ERRORS
from innkeeper.mcp.check.explain import Explanation, explain
from innkeeper.mcp.check.report import report
from innkeeper.mcp.declarations.resolve import Reading, Resolver
from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance

CANARY = "C4n4ryV4lue7f3a9"
GOOD = {"command": "node", "args": ["s.js"]}


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("INNKEEPER_HOME", str(home))
    monkeypatch.setenv("CANARY_TOKEN", CANARY)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def call(*words: str) -> Done:
        code = main(["mcp", *words])
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call


def declare(project: Path, file: str = ".mcp.json", table: str = "mcpServers", **servers: object) -> None:
    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text(json.dumps({table: servers}, indent=1))


def configure(project: Path, text: str) -> None:
    folder = project.parent / "home" / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


Run = Callable[..., Done]


def test_report_has_the_documented_shape(project: Path, run: Run) -> None:
    declare(project, good=GOOD, bad={"command": ""}, off={**GOOD, "disabled": True})
    done = run("check", "--json")
    document = done.json()
    assert done.code == 1
    assert list(document) == ["version", "workspace", "servers", "diagnostics"]
    assert (document["version"], document["workspace"]) == (1, str(project))
    good, bad, off = document["servers"]
    assert good == {
        "name": "good",
        "safe_name": "good",
        "preset": "root",
        "file": ".mcp.json",
        "line": 3,
        "transport": "stdio",
        "status": "accepted",
        "reason": None,
        "diagnostics": [],
    }
    assert (bad["status"], bad["reason"]) == ("rejected", "FIELD_VALUE")
    assert (off["status"], off["reason"]) == ("disabled", "SERVER_DISABLED")
    (found,) = bad["diagnostics"]
    assert list(found) == ["severity", "code", "message", "file", "line"]
    assert (found["severity"], found["code"], found["file"], found["line"]) == ("error", "FIELD_VALUE", ".mcp.json", 9)
    assert document["diagnostics"] == []


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ('{"mcpServers": {}}', 0),
        ('{"mcpServers": {"a": {"command": "n", "description": "x"}}}', 0),
        ('{"mcpServers": {"a": {"command": "n", "disabled": true}}}', 0),
        ('{"mcpServers": {"a": {}}}', 1),
        ("{", 1),
        ("{}", 1),
        (None, 0),
    ],
)
def test_exit_code_is_one_exactly_when_something_is_an_error(
    project: Path, run: Run, content: str | None, code: int
) -> None:
    if content is not None:
        (project / ".mcp.json").write_text(content)
    for words in (("check",), ("check", "--json"), ("check", "--sarif"), ("check", str(project))):
        assert run(*words).code == code


def test_nothing_is_started_and_nothing_is_written(project: Path, run: Run) -> None:
    """Report T3: unknown workspace, nothing spawned by any look at it."""
    script = project / "server.sh"
    script.write_text(f"#!/bin/sh\ntouch {project}/started\n")
    script.chmod(0o755)
    declare(project, a={"command": "./server.sh"}, b={"url": "http://127.0.0.1:9/mcp"})
    before = sorted(os.listdir(project))
    for words in (("check",), ("check", "--json"), ("explain", "a"), ("presets",)):
        assert run(*words).code == 0
    assert sorted(os.listdir(project)) == before
    assert not (project.parent / "home").exists()


def test_no_value_of_env_headers_or_inputs_is_ever_printed(project: Path, run: Run) -> None:
    declare(
        project,
        a={
            "command": "n",
            "args": ["--token", CANARY, "${CANARY_TOKEN}"],
            "env": {"A": CANARY, "B": "${CANARY_TOKEN}"},
        },
        b={"url": f"https://u:{CANARY}@x.example/?key={CANARY}", "headers": {"X": CANARY}},
        c={"command": "n", "env": {"A": [CANARY]}},
    )
    for words in (("check",), ("check", "--json"), ("check", "--sarif"), *(("explain", name) for name in "abc")):
        for more in ((), ("--json",)):
            done = run(*words, *more)
            assert CANARY not in done.out + done.err


def test_names_never_steer_the_terminal(project: Path, run: Run) -> None:
    declare(project, **{"esc\x1b[31m": GOOD, "new\nline": GOOD, "bidi\u202e": GOOD, "": GOOD})
    done = run("check")
    assert done.code == 1
    assert all(line.isprintable() for line in (done.out + done.err).replace("\t", " ").splitlines())
    assert "esc\\u001b[31m" in done.out


def test_sarif_names_rules_places_and_levels(project: Path, run: Run) -> None:
    declare(project, bad={"command": "", "description": "x"})
    document = run("check", "--sarif").json()
    assert document["version"] == "2.1.0" and document["$schema"].endswith("sarif-2.1.0.json")
    (one,) = document["runs"]
    rules = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
    assert rules == ["FIELD_VALUE", "UNKNOWN_FIELD"]
    assert [(result["ruleId"], result["level"]) for result in one["results"]] == [
        ("FIELD_VALUE", "error"),
        ("UNKNOWN_FIELD", "note"),
    ]
    for result in one["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"].startswith("bad: ")
        (location,) = result["locations"]
        assert location["physicalLocation"] == {
            "artifactLocation": {"uri": ".mcp.json", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 3},
        }


def test_settings_of_the_operator_count(project: Path, run: Run) -> None:
    declare(project, a=GOOD)
    declare(project, ".vscode/mcp.json", "servers", a={"command": "other"}, b=GOOD)
    assert [row["reason"] for row in run("check", "--json").json()["servers"]] == [
        "NAME_CONFLICT",
        "NAME_CONFLICT",
        None,
    ]
    configure(project, 'conflict_policy = "first-wins"\n')
    rows = run("check", "--json").json()["servers"]
    assert [(row["status"], row["reason"]) for row in rows] == [
        ("accepted", None),
        ("shadowed", "NAME_CONFLICT"),
        ("accepted", None),
    ]
    configure(project, 'enabled_builtins = ["vscode"]\n')
    assert [row["file"] for row in run("check", "--json").json()["servers"]] == [".vscode/mcp.json"] * 2
    configure(project, "[limits]\ndeclaration_entries = 1\n")
    assert "LIMIT_ENTRIES" in {found["code"] for found in run("check", "--json").json()["diagnostics"]}


def test_broken_configuration_is_told_and_nothing_is_read(project: Path, run: Run) -> None:
    configure(project, 'conflict_policy = "both"\n')
    done = run("check", "--json")
    assert done.code != 0
    assert done.json()["error"]["code"] == "CONFIG_INVALID"


def test_explain_tells_the_chain_and_what_others_do(project: Path, run: Run) -> None:
    """M11.1"""
    declare(project, far={"url": "https://x.example/mcp"})
    (one,) = run("explain", "far", "--json").json()["declarations"]
    assert (one["file"], one["line"], one["preset"], one["starts"]) == (".mcp.json", 3, "root", False)
    assert [(step["step"], step["passed"], step["code"]) for step in one["decisions"]] == [
        ("file", True, None),
        ("entry", True, None),
        ("switch", True, None),
        ("conflict", True, None),
        ("trust", False, "NOT_ALLOWED"),
    ]
    differs = {row["client"]: row["differs"] for row in one["clients"]}
    assert differs["Claude Code"] == ["It skips this: a url without a type."]
    assert differs["Cursor"] == []
    plain = run("explain", "far")
    assert plain.code == 0
    assert "skips this: a url without a type" in plain.out and ".mcp.json:3" in plain.out


def test_explain_of_an_unknown_server_names_what_is_wrong_with_the_files(project: Path, run: Run) -> None:
    (project / ".mcp.json").write_text("{ broken")
    done = run("explain", "far")
    assert done.code == 1
    assert "FILE_SYNTAX" in done.err and "SERVER_UNKNOWN" in done.err


def explained(project: Path, name: str, settings: McpSettings | None = None, **reading: Any) -> Explanation:
    resolved = Resolver().resolve(str(project), Reading({"HOME": "/h"}, **reading))
    found = explain(name, str(project), resolved, settings or McpSettings(), "/usr/bin:/bin")
    return found[0]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (McpSettings(trust_mode="all"), "trustMode"),
        (McpSettings(trusted_workspaces=frozenset({"{project}"})), "trustedWorkspace"),
        (McpSettings(workspace_allowances=(WorkspaceAllowance("{project}", frozenset({"a"})),)), "allowance"),
    ],
)
def test_each_layer_of_trust_is_named(project: Path, settings: McpSettings, code: str) -> None:
    declare(project, a=GOOD)
    placed = McpSettings(
        trust_mode=settings.trust_mode,
        trusted_workspaces=frozenset(str(project) for _ in settings.trusted_workspaces),
        workspace_allowances=tuple(
            WorkspaceAllowance(str(project), one.allow_mcp) for one in settings.workspace_allowances
        ),
    )
    one = explained(project, "a", placed)
    assert one.loads
    assert (one.steps[-1].name, one.steps[-1].passed, one.steps[-1].code) == ("trust", True, code)


def test_the_step_that_says_no_is_named(project: Path) -> None:
    declare(project, bad={"command": ""}, off={**GOOD, "disabled": True}, twice=GOOD)
    declare(project, ".cursor/mcp.json", "mcpServers", twice={"command": "other"})
    everything = McpSettings(trust_mode="all")
    refused = {
        name: [(step.name, step.code) for step in explained(project, name, everything).steps if not step.passed]
        for name in ("bad", "off", "twice")
    }
    assert refused == {
        "bad": [("entry", "FIELD_VALUE")],
        "off": [("switch", "SERVER_DISABLED")],
        "twice": [("conflict", "NAME_CONFLICT")],
    }


def test_fields_are_shown_as_written_and_masked(project: Path) -> None:
    declare(
        project,
        a={
            "command": "sh",
            "args": ["-c", "x", "--key", "k", "${CANARY_TOKEN:-d}"],
            "env": {"A": "1"},
            "cwd": "sub",
            "timeout": 5000,
        },
        b={"type": "http", "url": "https://u:p@x.example/?k=1", "headers": {"X": "y"}},
    )
    local, far = dict(explained(project, "a").fields), dict(explained(project, "b").fields)
    runs = local.pop("runs")
    assert isinstance(runs, str) and runs.endswith("/sh")
    assert local == {
        "command": "sh",
        "args": ["-c", "x", "--key", "•••", "${CANARY_TOKEN:-d}"],
        "cwd": "sub",
        "env": {"A": "•••"},
        "callSeconds": 5.0,
    }
    assert far == {"url": "https://•••@x.example/?•••", "headers": {"X": "•••"}}


def test_presets_are_listed_with_what_is_there(project: Path, run: Run) -> None:
    declare(project, a=GOOD)
    configure(project, 'enabled_builtins = ["root"]\n')
    rows = {row["id"]: row for row in run("presets", "--json").json()["presets"]}
    assert [id for id, row in rows.items() if row["enabled"]] == ["root"]
    assert rows["root"]["present"] == [".mcp.json"]
    assert (rows["codex"]["format"], rows["codex"]["interpolation"]) == ("toml", "none")
    assert rows["opencode"]["files"] == ["opencode.json", "opencode.jsonc"]
    assert "mcpServers, servers" in run("presets").out


@given(st.dictionaries(st.text(max_size=6), st.sampled_from([GOOD, {}, 1, {"url": "x"}]), max_size=5))
def test_every_report_can_be_encoded(tmp_path_factory: pytest.TempPathFactory, servers: dict[str, Any]) -> None:
    root = tmp_path_factory.getbasetemp() / "encoded"
    root.mkdir(exist_ok=True)
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    document = report(str(root), Resolver().resolve(str(root), Reading({})))
    json.dumps(document, ensure_ascii=False).encode()
    assert len(document["servers"]) == len(servers)
    assert all(row["reason"] is None or row["reason"] in ERRORS for row in document["servers"])
