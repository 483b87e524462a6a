"""The pages about declarations name every code, status and setting of their topic, and their example runs."""

import json
import re
import tomllib
from dataclasses import fields as fields_of
from pathlib import Path
from typing import get_args

import pytest

from innkeeper.cli.main import main
from innkeeper.errors import ERRORS
from innkeeper.mcp.check.explain import StepName
from innkeeper.mcp.check.report import report
from innkeeper.mcp.declarations.custom import KEYS, available_presets
from innkeeper.mcp.declarations.model import (
    ConflictPolicy,
    Dialect,
    Format,
    Interpolation,
    Preset,
    Status,
    Transport,
)
from innkeeper.mcp.declarations.presets import BUILT_IN, FIELDS, OFF_BY_DEFAULT
from innkeeper.mcp.declarations.resolve import Resolved
from innkeeper.mcp.declarations.traits import CLIENTS
from innkeeper.settings.config import FIELDS as FIELDS_OF_FILE
from innkeeper.settings.config import HOT
from innkeeper.settings.tables import DEFAULT_LIMITS

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "reference"
EXAMPLE = ROOT / "examples" / "custom-presets"


def page(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def code_of(text: str) -> set[str]:
    """What stands in the text as code, without its blocks."""
    return set(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)))


def unnamed(text: str, *names: str) -> list[str]:
    """Names that do not stand in the text as code."""
    code = code_of(text)
    return [name for name in names if name not in code]


def test_diagnostics_page_names_every_code_that_reading_gives() -> None:
    codes = [error.code for error in ERRORS.values() if error.area in ("declaration", "declarationNote")]
    assert len(codes) > 45
    assert unnamed(page("diagnostics.md"), *codes) == []


def test_diagnostics_page_names_every_field_and_word_of_the_report() -> None:
    text = page("diagnostics.md")
    document = report("/ws", Resolved())
    assert unnamed(text, "version", *document) == []
    assert unnamed(text, *get_args(Status)) == []
    assert unnamed(text, *(word for word in get_args(Transport) if word != "unknown")) == []
    names = {"name", "safe_name", "preset", "file", "line", "transport", "status", "reason", "severity", "message"}
    assert unnamed(text, *names, "diagnostics", "code") == []
    assert [client for client in CLIENTS.values() if client not in text] == []
    assert [step for step in get_args(StepName) if step not in text] == []


def test_loading_page_names_every_preset_status_and_choice() -> None:
    text = page("loading.md")
    for preset in BUILT_IN:
        assert unnamed(text, preset.id, *preset.files, *(".".join(path) for path in preset.tables)) == []
    assert unnamed(text, *get_args(Status)) == []
    assert unnamed(text, *get_args(ConflictPolicy), "conflict_policy") == []
    codes = [error.code for error in ERRORS.values() if error.area in ("declaration", "declarationNote")]
    assert unnamed(text, *codes, "SERVER_DISABLED", "NOT_ALLOWED", "DECLARATION_CHANGED", "WRITTEN_BY_AGENT") == []
    settings = {"input_values", "host_servers"} | HOT
    limits = ("limits.declaration_bytes", "limits.declaration_entries", "limits.server_start_seconds")
    assert set(FIELDS_OF_FILE) >= settings and {limit.partition(".")[2] for limit in limits} <= set(DEFAULT_LIMITS)
    assert unnamed(text, *settings, *limits) == []
    for step in ("file", "preset", "entry", "decision", "connection", "gateway", "request"):
        assert f"| {step} |" in text
    for preset in BUILT_IN:
        assert re.search(rf"`{preset.id}` .*\]\(https://[^)]+\), 20\d\d-\d\d-\d\d", text), preset.id
    assert "loader compatible" in text and "not those clients" in text
    assert "never enters host-wide configuration" in text


def test_presets_page_names_every_key_field_and_choice() -> None:
    text = page("presets.md")
    assert unnamed(text, *KEYS, "enabled_builtins", "presets") == []
    assert unnamed(text, *FIELDS) == []
    assert unnamed(text, *get_args(Format), *get_args(Dialect), *get_args(Interpolation), "http", "sse") == []
    for preset in (*BUILT_IN, *OFF_BY_DEFAULT):
        assert unnamed(text, preset.id, *(() if preset in BUILT_IN else preset.files)) == []
    settable = {"tables": "servers_paths", "built_in": None, "client": None, "table_required": None}
    internal = {"unsupported", "ignored", "foreign", "filters", "refused_marks"}
    for field in fields_of(Preset):
        key = settable.get(field.name, field.name)
        assert field.name in internal or key is None or key in KEYS


def test_example_is_the_one_of_the_page_and_is_read_as_it_says() -> None:
    text = page("presets.md")
    configuration = (EXAMPLE.parent / "custom-presets.toml").read_text(encoding="utf-8")
    assert configuration in text
    assert (EXAMPLE / "tools" / "agents.yaml").read_text(encoding="utf-8") in text
    table = tomllib.loads(configuration)
    enabled = available_presets(table["enabled_builtins"], table["presets"]).enabled
    assert {preset.id for preset in enabled} == {"root", "vscode", "team", "other-team", "opencode"}


def test_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands of the page, on a copy of the configuration."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_bytes((EXAMPLE.parent / "custom-presets.toml").read_bytes())
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path))
    assert main(["mcp", "check", str(EXAMPLE), "--json"]) == 0
    servers = json.loads(capsys.readouterr().out)["servers"]
    assert [(row["name"], row["preset"], row["transport"], row["status"]) for row in servers] == [
        ("search", "team", "stdio", "accepted"),
        ("tickets", "team", "http", "accepted"),
    ]
    assert main(["mcp", "explain", "search", "--dir", str(EXAMPLE), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["declarations"]
    assert one["fields"]["callSeconds"] == 30.0
    assert one["fields"]["env"] == {"LEVEL": "•••", "DEPTH": "•••"}
