"""The example of the guide, as a reader would run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "two_clients.py"


@pytest.mark.timeout(60)
def test_the_example_with_two_clients_runs_against_a_host(tmp_path: Path) -> None:
    environment = {**os.environ, "INNKEEPER_HOME": str(tmp_path / "home")}
    token = tmp_path / "token.txt"
    serve = [sys.executable, "-m", "innkeeper", "serve", "--port", "0", "--quiet", "--token-file", str(token)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, env=environment, text=True) as host:
        try:
            assert host.stdout is not None
            port = host.stdout.readline().strip().removeprefix("READY:")
            words = [sys.executable, str(EXAMPLE), f"ws://127.0.0.1:{port}", token.read_text().strip()]
            done = subprocess.run(words, capture_output=True, text=True, timeout=30, cwd=tmp_path, check=False)
        finally:
            host.terminate()
    assert (done.returncode, done.stderr) == (0, "")
    assert "the agent said 'hello, both of you'" in done.stdout
    assert "watcher: " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("both: ")


def test_the_example_without_an_address_explains_itself() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "innkeeper serve" in done.stderr
