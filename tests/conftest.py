"""Fixtures that every test may use, and the rule about skips; what they stand for is in docs/testing.md.

With `CI=true` a skip that no line of `tests/allowed_skips.txt` allows fails the run, which names the part not tested.
"""

import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ALLOWED_SKIPS = TESTS / "allowed_skips.txt"
SKIPPED: list[tuple[str, str]] = []


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the protocol's schemas and fixtures (`INNKEEPER_SHARED`, default ../shared)."""
    path = Path(os.environ.get("INNKEEPER_SHARED") or TESTS.parent.parent / "shared").resolve()
    if not (path / "ahp").is_dir():
        pytest.skip("shared reference data not found; set INNKEEPER_SHARED")
    return path


@pytest.fixture(scope="session")
def kill_rounds() -> int:
    """How often a test of sudden death repeats it: 20, and 200 under `just soak`."""
    return 200 if os.environ.get("INNKEEPER_SOAK") == "1" else 20


REAL_PARTS = frozenset(
    {
        *("app", "browser", "cli", "client", "contributions", "e2e", "edge", "editing", "host", "mcp", "providers"),
        *("repository", "settings", "store", "workspace"),
    }
)
"""Folders of tests that start processes and sockets, whose bounded waits a busy machine can outlast."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In CI a test with real parts that fails is run once more, and counted as rerun; pure ones never are. Tests of one
    page share a host, so those of a browser come last and in the order in which they are written."""
    pages = [item for item in items if folder_of(item) == "browser"]
    pages.sort(key=lambda item: (str(item.path), item.reportinfo()[1] or 0))
    items[:] = [*(item for item in items if folder_of(item) != "browser"), *pages]
    for item in items:
        if folder_of(item) == "browser":
            item.add_marker(pytest.mark.timeout(240))
        if os.environ.get("CI") == "true" and folder_of(item) in REAL_PARTS:
            item.add_marker(pytest.mark.flaky(reruns=2 if folder_of(item) == "browser" else 1))


def folder_of(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""


def pytest_configure(config: pytest.Config) -> None:
    SKIPPED.clear()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        SKIPPED.append((report.nodeid, _reason(report.longrepr)))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        SKIPPED.append((report.nodeid, _reason(report.longrepr)))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Runs in the controller of a distributed run too, which has seen the reports of every worker."""
    if os.environ.get("CI") != "true" or hasattr(session.config, "workerinput"):
        return
    if offenders() and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = offenders()
    if os.environ.get("CI") == "true" and found:
        terminalreporter.section("skips that tests/allowed_skips.txt does not allow", red=True)
        for nodeid, reason in found:
            terminalreporter.line(f"{nodeid} | {reason}")


def offenders() -> list[tuple[str, str]]:
    """Skipped tests, with their reasons, that no line of the list allows."""
    rules = list(allowed_skips(ALLOWED_SKIPS.read_text(encoding="utf-8")))
    return [
        (nodeid, reason)
        for nodeid, reason in SKIPPED
        if not any(fnmatch.fnmatch(nodeid, pattern) and part in reason for pattern, part in rules)
    ]


def allowed_skips(lines: str) -> Iterator[tuple[str, str]]:
    """The rules of the list: `node id pattern | part of the reason`, `#` begins a comment line."""
    for line in lines.splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, _, part = line.partition("|")
            yield pattern.strip().replace("[", "[[]"), part.strip()


def _reason(longrepr: object) -> str:
    text = str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
    return text.removeprefix("Skipped: ")
