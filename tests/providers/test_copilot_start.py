"""Programs that are not Copilot: how a runtime does not start (issue 6 §5, §7, M7.8). They need the SDK alone."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from innkeeper.providers.copilot import runtime
from providers.copilot_rig import FakeService, copilot_host

pytestmark = pytest.mark.anyio

NOISE = "import sys; sys.stderr.write('SECRET' * 2_000_000); print('SECRET ' * 1000, flush=True)\n"
ANSWERS = """
import json, socket
heard = socket.create_server(("127.0.0.1", 0))
print("listening on port", heard.getsockname()[1], flush=True)
stream = heard.accept()[0].makefile("rwb")
size = 0
while (line := stream.readline().strip()):
    size = int(line.split(b":")[1]) if line.lower().startswith(b"content-length") else size
answer = {"jsonrpc": "2.0", "id": json.loads(stream.read(size))["id"], "result": RESULT}
body = json.dumps(answer).encode()
stream.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
stream.flush()
stream.read()
"""
FOREIGN = "{'ok': True, 'protocolVersion': 1, 'version': '0.0.1'}"


@pytest.fixture(autouse=True)
def extra() -> None:
    pytest.importorskip("copilot", reason="the extra copilot is not installed")


def program(folder: Path, lines: str) -> str:
    file = folder / "copilot"
    file.write_text(f"#!{sys.executable}\n{lines}")
    file.chmod(0o755)
    return os.fspath(file)


@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        (NOISE + "sys.exit(3)", "AGENT_START_FAILED", "exit code 3"),
        (NOISE + "import os; os.kill(os.getpid(), 9)", "AGENT_START_FAILED", "lack of memory"),
        (NOISE + "sys.stdin.read()", "AGENT_START_FAILED", "not ready in time"),
        (NOISE + "print('listening on port 1', flush=True); sys.stdin.read()", "AGENT_START_FAILED", "Error"),
        (ANSWERS.replace("RESULT", FOREIGN), "AGENT_UNSUPPORTED", "version of its protocol"),
    ],
    ids=["ends", "is killed", "never listens", "listens nowhere", "speaks another version"],
)
async def test_a_program_that_is_no_runtime_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, lines: str, code: str, says: str
) -> None:
    """Whatever it writes is read, so that it can go on, and shown nowhere; the rig asserts that nothing is left."""
    monkeypatch.setattr(runtime, "START_SECONDS", 3.0)
    root = tmp_path / "root"
    async with FakeService() as llm, copilot_host(root, llm, program=program(tmp_path, lines)) as host:
        client = await host.client()
        uri, directories = "ahp-session:/1", [host.work.as_uri()]
        await client.request("createSession", uri, provider="copilot", workingDirectories=directories)
        await client.subscribe(uri)
        error: dict[str, Any] = (await client.state(uri, lambda s: s.get("creationError")))["creationError"]
        assert error["errorType"] == code and says in error["message"], error
        assert "SECRET" not in caplog.text and "SECRET" not in str(client.frames)
