"""The command line in this process and as a process of its own, and a host that runs for a whole module."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.main import main

SECONDS = 20


@dataclass(frozen=True)
class Done:
    """How a command line ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Home:
    """An INNKEEPER_HOME and a project beside it; `run` starts the command line as a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("INNKEEPER_")},
            "INNKEEPER_HOME": str(folder / "home"),
            "LC_ALL": "C.UTF-8",
        }

    def declare(self, **servers: object) -> None:
        """Writes the project's `.mcp.json`."""
        (self.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    def start(self, *words: str, **more: Any) -> "subprocess.Popen[str]":
        options: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.project,
            "env": self.environment,
            "text": True,
            **more,
        }
        return subprocess.Popen([sys.executable, "-m", "innkeeper", *words], **options)

    def run(self, *words: str, given: str | None = None, environment: dict[str, str] | None = None) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "innkeeper", *words],
            cwd=self.project,
            env={**self.environment, **(environment or {})},
            input="" if given is None else given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


def wait_for_ready(host: "subprocess.Popen[str]") -> int:
    """The port that a host says it listens on."""
    assert host.stdout is not None
    line = host.stdout.readline().strip()
    assert line.startswith("READY:"), (line, host.poll())
    return int(line.removeprefix("READY:"))


def end(process: "subprocess.Popen[str]") -> int:
    """Ends a process that a test started, and gives its exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode


EXAMPLE = {"command": sys.executable, "args": ["-m", "innkeeper.mcp.example_server"]}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home whose host runs, with a project that declares a server that works and one that cannot start."""
    home = Home(tmp_path_factory.mktemp("live"))
    home.declare(example=EXAMPLE, broken={"command": "/no/such/program"})
    host = home.start("serve", "--port", "0", "--quiet", stderr=subprocess.DEVNULL)
    try:
        wait_for_ready(host)
        yield home
    finally:
        end(host)


@pytest.fixture
def quiet(tmp_path: Path) -> Home:
    """A home where no host runs."""
    return Home(tmp_path)


class Inside:
    """The command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> Done:
        self._capsys.readouterr()
        code = main(words)
        out, err = self._capsys.readouterr()
        return Done(code, out, err)


@pytest.fixture
def inside(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inside:
    """Runs a command line in this process, with a home of its own."""
    for name in [name for name in os.environ if name.startswith("INNKEEPER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Inside(capsys)
