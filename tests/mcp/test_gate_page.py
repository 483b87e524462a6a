"""docs/reference/gate.md names every outcome, reason, answer, setting and code of the gate."""

import re
from pathlib import Path
from typing import get_args

from innkeeper.errors import ERRORS
from innkeeper.host.access import UNRESTRICTED_MODES, FullAccess
from innkeeper.mcp.gate import ANSWERS, Call
from innkeeper.mcp.gateway import RETURNING
from innkeeper.mcp.servers import REFUSALS
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.mcp import GateOutcome, GateWhy
from innkeeper.settings.config import FIELDS
from innkeeper.texts import text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "gate.md"
WRITTEN = PAGE.read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([^`\n]+)`", WRITTEN))
SETTINGS = {"trust_mode", "trusted_workspaces", "workspace_allowances", "access", "gate_child_agents", "gate_timeout"}
ROWS = re.findall(r"^\| (pass|allow|ask|deny) \| `(\w+)` \|", WRITTEN, flags=re.MULTILINE)


def test_the_table_of_decisions_is_complete() -> None:
    assert {outcome for outcome, _ in ROWS} == set(get_args(GateOutcome))
    assert {why for _, why in ROWS} == set(get_args(GateWhy))


def test_every_reason_has_its_words_in_both_languages() -> None:
    for why in get_args(GateWhy):
        words = [text(f"gate.why.{why}", lang=lang, tool="t", server="s", file="f") for lang in ("en", "zh_Hans")]
        assert words[0] != words[1]


def test_every_answer_setting_and_source_is_named() -> None:
    assert set(ANSWERS) <= NAMED
    assert SETTINGS | {"allow_tools", "questions = false", "language"} <= NAMED
    assert set(FIELDS) >= SETTINGS
    read = {field for field in McpSettings.__dataclass_fields__ if field in SETTINGS or field == "full_access"}
    assert read == SETTINGS - {"access", "gate_timeout"} | {"full_access"}
    modes = {value for listed in UNRESTRICTED_MODES.values() for values in listed.values() for value in values}
    assert modes | {name for listed in UNRESTRICTED_MODES.values() for name in listed} <= NAMED
    assert get_args(FullAccess) == ("operator", "autoApprove", "agentMode")


def test_every_code_is_named_and_real() -> None:
    codes = {name for name in NAMED if re.fullmatch(r"[A-Z]+(_[A-Z]+)+", name)}
    assert codes <= set(ERRORS)
    assert {code for code in REFUSALS if code in ERRORS} <= codes
    made = {"TOOL_DENIED", "STORAGE_FAILED", "CONNECTION_LOST", "AUTH_REQUIRED", "CALL_FAILED", "ENDPOINT_UNREACHABLE"}
    ended = {"TOOL_UNKNOWN", "SERVER_UNKNOWN", "SERVER_DISABLED", "SERVER_NOT_CONNECTED", "DECLARATION_CHANGED"}
    assert made | ended | {"QUESTION_TIMEOUT", "CALL_TIMEOUT", "RESOURCE_UNKNOWN"} <= codes
    assert RETURNING


def test_every_input_of_the_decision_is_described() -> None:
    described = {
        "workspace": "the directory whose permissions apply",
        "tool": "the tool's name",
        "fingerprint": "the fingerprint of the server's declaration",
        "project_server": "mounted the server for the project",
        "by_person": "a person calls by hand",
        "subagent": "a delegated agent calls",
        "full_access": "the session has full access",
        "questions": "there is anybody to ask",
        "rules": "approval rules say",
        "excluded_by_project": "the project excludes the tool",
    }
    assert set(Call.__dataclass_fields__) == set(described)
    flowing = " ".join(WRITTEN.split())
    assert [name for name, words in described.items() if words not in flowing] == []
