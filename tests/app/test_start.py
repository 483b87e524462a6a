"""What a start does not import, since imports are most of the time until the first `initialize` (issue 2 §9;
the figures: benchmarks/bench_start.py)."""

import json
import os
import subprocess
import sys

import pytest

START = """
import json, os, signal, sys

from innkeeper.cli.main import main

def told(listening):
    print(json.dumps(sorted(sys.modules)))
    os.kill(os.getpid(), signal.SIGTERM)

import innkeeper.app.run as run
run.Announcer.__call__ = lambda self, listening: told(listening)
sys.exit(main(["serve", "--quiet", "--no-token", "--port", "0"]))
"""

LATE = (
    *("jinja2", "markdown_it", "pygments", "nh3", "starlette", "python_multipart", "innkeeper.web", "innkeeper.client"),
    *(
        "mcp",
        "mcp_types",
        "anyio._core",
        "httpx2",
        "pydantic",
        "ruamel",
        "tree_sitter",
        "rich",
        "tomlkit",
        "jsonschema",
        "keyring",
        "psutil",
    ),
    *("innkeeper.mcp.declarations.resolve", "innkeeper.mcp.declarations.entries", "innkeeper.editing.jsonc"),
    *("innkeeper.mcp.editor.editor", "innkeeper.editing.toml.front", "innkeeper.editing.toml.writing"),
    *("innkeeper.host.approval.shell.judge", "innkeeper.host.approval.shell.programs"),
    *("innkeeper.providers.console.commands"),
)
"""Packages and modules, with what is below them: each comes with its first use."""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """What a host has imported when it says that it listens."""
    home = tmp_path_factory.mktemp("home")
    environment = {**os.environ, "HOME": str(home), "INNKEEPER_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, timeout=60, check=True, env=environment
    )
    return frozenset(json.loads(done.stdout))


@pytest.mark.parametrize("module", LATE)
def test_a_start_imports_nothing_that_comes_with_its_first_use(imported: frozenset[str], module: str) -> None:
    """A host whose pages nobody opens and whose sessions declare nothing pays nothing for them (issue 7 B)."""
    assert [name for name in sorted(imported) if name == module or name.startswith(f"{module}.")] == []


def test_what_a_start_does_import_is_seen(imported: frozenset[str]) -> None:
    """Otherwise the test above would hold for a host that never came up."""
    assert {"uvicorn", "sqlite3", "innkeeper.host.service", "innkeeper.edge.asgi"} <= imported
