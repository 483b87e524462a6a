"""docs/reference/reconnect.md names every state, code, layer and figure."""

import re
from pathlib import Path
from typing import get_args

import pytest

from innkeeper.limits import SERVER_END_OF_INPUT_SECONDS, SERVER_START_SECONDS, SERVER_TERMINATE_SECONDS
from innkeeper.mcp import publishing, trust
from innkeeper.mcp.mounts import STARTS_AT_ONCE
from innkeeper.mcp.supervision import admission, course, endings, probing
from innkeeper.settings.config import FIELDS, HOT
from innkeeper.settings.tables import DEFAULT_LIMITS

ROOT = Path(__file__).resolve().parents[3]
RUN_TIME = [
    "SPAWN_FAILED",
    "START_TIMEOUT",
    "AUTH_REQUIRED",
    "CLOSE_UNCONFIRMED",
    "DECLARATION_CHANGED",
    "WRITTEN_BY_AGENT",
    "REQUIRED_UNAVAILABLE",
    "ENDPOINT_UNREACHABLE",
    "MONITORING_UNSUPPORTED",
    "CONNECTION_LOST",
    "HANDSHAKE_FAILED",
    "NOT_ALLOWED",
]


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs/reference/reconnect.md").read_text(encoding="utf-8")


def test_every_state_code_and_layer_is_named(page: str) -> None:
    named = set(re.findall(r"`([^`]+)`", page))
    assert set(publishing.STATUSES) <= named
    assert {*RUN_TIME, *endings.PAUSING, trust.DISCONNECTED, trust.NOT_SELECTED} <= named
    assert set(get_args(trust.AllowedBy)) <= named
    assert set(admission.NEEDED) <= named
    assert {"policy", "custom", "requiredServerUnavailable"} <= named
    decisive = {*HOT - {"conflict_policy"}, "host_servers"}
    assert decisive | {"limits.server_start_seconds"} <= named
    assert decisive <= set(FIELDS) and "server_start_seconds" in DEFAULT_LIMITS


def test_every_key_of_the_published_meta_is_named(page: str) -> None:
    source = Path(publishing.__file__).read_text(encoding="utf-8")
    body = source[source.index("def _meta") : source.index("def report_of")]
    keys = set(re.findall(r'^\s+"(\w+)":', body, re.MULTILINE)) | set(re.findall(r'optional\["(\w+)"\]', body))
    assert len(keys) > 12
    assert sorted(key for key in keys if f"`{key}`" not in page and f"{key}:" not in page and key not in page) == []


def test_schedules_and_figures_are_those_of_the_code(page: str) -> None:
    assert "1, 2, 4, 8, 16, 30 and 60 seconds" in page
    assert list(course.DELAYS) == [1, 2, 4, 8, 16, 30, 60]
    assert (course.STABLE, course.JITTER) == (30, 0.2)
    for figure in (
        f"held\nfor {course.STABLE:g} seconds",
        f"At most {STARTS_AT_ONCE} servers",
        f"({SERVER_START_SECONDS:g} s, or the declared one)",
        f"{probing.TIMEOUT:g} s, without credentials",
        f"{probing.AGAIN:g} s apart",
        f"every {probing.BUSY_INTERVAL:g} s",
        f"every {probing.QUIET_INTERVAL:g} s",
        f"older than {probing.FRESH:g} s",
        f"end of input, {SERVER_END_OF_INPUT_SECONDS:g} s, TERM, {SERVER_TERMINATE_SECONDS:g} s, KILL",
    ):
        assert figure in page, figure
    assert (probing.QUIET_AFTER, probing.NEVER_AFTER) == (120, 300)


def test_tested_versions_are_named(page: str) -> None:
    for name, versions in admission.TESTED.items():
        assert f"`{name}` {', '.join(sorted(versions))}" in page
