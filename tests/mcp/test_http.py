"""Streamable HTTP: the same rules over another transport; refusals are states (M2.1, M7.3, AHP §10.2)."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

S = "session:/s"
SERVER = Path(__file__).resolve().parent.parent / "servers" / "fixture_server.py"


@pytest.fixture
def http_server(tmp_path: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The fixture server's address and process."""
    arguments = [sys.executable, str(SERVER), "--http", "--name", "web", "--log", str(tmp_path / "web.log")]
    arguments += ["--refuse", str(tmp_path / "refuse")]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    yield f"http://127.0.0.1:{port}/mcp", process
    process.kill()
    process.wait(5)
    process.stdout.close()


class Refusing(BaseHTTPRequestHandler):
    """Answers everything with one status; serves protected-resource metadata."""

    status = 401
    challenge: str | None = None
    requests: list[str]

    def answer(self) -> None:
        server: Any = self.server
        server.seen.append((self.command, self.path, self.headers.get("Authorization")))
        if self.path == "/metadata":
            content = json.dumps(
                {
                    "resource": f"http://127.0.0.1:{server.server_port}/mcp",
                    "authorization_servers": ["http://auth"],
                }
            ).encode()
            self.send_response(200)
        else:
            content = b"no"
            self.send_response(server.status)
            if server.challenge:
                self.send_header("WWW-Authenticate", server.challenge.format(port=server.server_port))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = do_HEAD = answer

    def log_message(self, *_: Any) -> None:
        """Silence."""


@pytest.fixture
def refusing() -> Iterator[Callable[..., Any]]:
    started: list[ThreadingHTTPServer] = []

    def start(status: int, challenge: str | None = None) -> Any:
        server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
        server.status, server.challenge, server.seen = status, challenge, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


async def test_http_server_is_connected_called_and_followed(host: Any, http_server: Any) -> None:
    url, _ = http_server
    host.full_access.add(S)
    uri = host.declare("ws", {"web": {"type": "http", "url": url}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:web")
    row = host.row("web")
    assert (row.status, row.transport, row.pid, row.command) == ("connected", "http", None, ())
    result = await host.gateway.call_tool(host.caller(), "web", "echo", {"text": "over http"})
    assert result["content"] == [{"type": "text", "text": "over http"}]
    await host.gateway.call_tool(host.caller(), "web", "grow", {})
    await host.until(lambda: "grown" in host.row("web").tools)
    await host.toggle(S, "web", {"kind": "session", "enabled": False})
    assert host.gateway.tools(S) == []
    assert host.row("web").status == "disabled"


async def test_cancelled_http_call_leaves_the_connection(host: Any, http_server: Any) -> None:
    url, _ = http_server
    host.full_access.add(S)
    uri = host.declare("ws", {"web": {"type": "http", "url": url}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:web")
    calling = asyncio.create_task(host.gateway.call_tool(host.caller(), "web", "wait", {"seconds": 60}))
    await host.until(lambda: bool(host.log("web", "call")))
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(calling, 5)
    assert (await host.gateway.call_tool(host.caller(), "web", "echo", {"text": "x"}))["success"]


async def test_http_server_that_dies_fails_the_call_and_nobody_else(host: Any, http_server: Any) -> None:
    url, process = http_server
    host.full_access.add(S)
    uri = host.declare("ws", {"web": {"type": "http", "url": url}, "one": host.entry("one")})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:web")
    await host.servers.start(S, "mcp:one")
    calling = asyncio.create_task(host.gateway.call_tool(host.caller(), "web", "wait", {"seconds": 60}))
    await host.until(lambda: bool(host.log("web", "call")))
    process.kill()
    result = await asyncio.wait_for(calling, 10)
    assert (result["success"], result["error"]["code"]) == (False, "CONNECTION_LOST")
    await host.until(lambda: host.row("web").status == "failed")
    assert host.row("web").reason == "CONNECTION_LOST"
    again = await asyncio.wait_for(host.gateway.call_tool_by_person(S, "one", "echo", {"text": "x"}), 5)
    assert again["success"]
    await asyncio.wait_for(host.servers.close_session(S), 10)
    assert len(host.log("web", "call")) == 1


@pytest.mark.parametrize(("status", "code"), [(401, "AUTH_REQUIRED"), (404, "CONNECTION_LOST")])
async def test_login_that_ends_and_session_that_is_gone_are_states(
    host: Any, http_server: Any, status: int, code: str
) -> None:
    """M7.5, AHP §10.2: ready -> error; the call is not repeated."""
    url, _ = http_server
    host.full_access.add(S)
    uri = host.declare("ws", {"web": {"url": url}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:web")
    (host.place / "refuse").write_text(str(status))
    result = await host.gateway.call_tool(host.caller(), "web", "echo", {"text": "x"})
    assert result["success"] is False
    await host.until(lambda: host.row("web").status == "failed")
    assert host.row("web").reason == code
    assert host.log("web", "call") == []


@pytest.mark.parametrize("status", [400, 403, 500])
async def test_other_refusals_fail_the_call_and_keep_the_connection(host: Any, http_server: Any, status: int) -> None:
    url, _ = http_server
    host.full_access.add(S)
    uri = host.declare("ws", {"web": {"url": url}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:web")
    (host.place / "refuse").write_text(str(status))
    result = await host.gateway.call_tool(host.caller(), "web", "echo", {"text": "x"})
    assert (result["success"], result["error"]["code"]) == (False, "CALL_FAILED")
    (host.place / "refuse").unlink()
    assert (await host.gateway.call_tool(host.caller(), "web", "echo", {"text": "x"}))["success"]


@pytest.mark.parametrize(
    ("status", "code", "detail"),
    [
        (401, "AUTH_REQUIRED", ""),
        (403, "ENDPOINT_UNREACHABLE", "[HTTP 403]"),
        (404, "ENDPOINT_UNREACHABLE", "[HTTP 404]"),
        (500, "ENDPOINT_UNREACHABLE", "[HTTP 500]"),
    ],
)
async def test_refusal_at_the_start_has_its_code(host: Any, refusing: Any, status: int, code: str, detail: str) -> None:
    server = refusing(status)
    uri = host.declare("ws", {"web": {"url": f"http://127.0.0.1:{server.server_port}/mcp?key=k3y"}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:web")
    state = host.published("web")["state"]
    assert (state["kind"], state["error"]["errorType"]) == ("error", code)
    assert state["error"]["message"].endswith(detail)
    assert "k3y" not in repr(state)


async def test_address_where_nobody_listens_is_unreachable(host: Any) -> None:
    uri = host.declare("ws", {"web": {"url": "http://127.0.0.1:9/mcp"}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:web")
    assert host.row("web").reason == "ENDPOINT_UNREACHABLE"


async def test_protected_resource_metadata_makes_it_auth_required(host: Any, refusing: Any) -> None:
    """AHP §10.2; the declared headers are not sent to fetch it."""
    server = refusing(401, 'Bearer resource_metadata="http://127.0.0.1:{port}/metadata"')
    url = f"http://127.0.0.1:{server.server_port}/mcp"
    uri = host.declare("ws", {"web": {"url": url, "headers": {"Authorization": "Bearer old"}}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:web")
    assert host.published("web")["state"] == {
        "kind": "authRequired",
        "reason": "required",
        "resource": {"resource": url, "authorization_servers": ["http://auth"]},
    }
    assert (host.row("web").status, host.row("web").reason) == ("failed", "AUTH_REQUIRED")
    assert [seen for seen in server.seen if seen[1] == "/metadata"] == [("GET", "/metadata", None)]
    assert server.seen[0][2] == "Bearer old"


async def test_metadata_of_another_origin_is_not_fetched(host: Any, refusing: Any) -> None:
    other = refusing(200)
    server = refusing(401, f'Bearer resource_metadata="http://127.0.0.1:{other.server_port}/metadata"')
    uri = host.declare("ws", {"web": {"url": f"http://127.0.0.1:{server.server_port}/mcp"}})
    await host.servers.open_session(S, uri)
    await host.servers.start(S, "mcp:web")
    assert host.published("web")["state"]["error"]["errorType"] == "AUTH_REQUIRED"
    assert other.seen == []
