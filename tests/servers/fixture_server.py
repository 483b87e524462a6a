"""The MCP server that tests connect to: behaves, or misbehaves, as its switches say.

Each start and each call is one JSON line in `--log`, written before anything else happens.
"""

import argparse
import asyncio
import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

parser = argparse.ArgumentParser()
parser.add_argument("--log")
parser.add_argument("--name", default="fixture")
parser.add_argument("--crash", type=int, help="exit with this code at once")
parser.add_argument("--secret-stderr", help="write this to standard error first")
parser.add_argument("--env-stderr", help="write the value of this variable to standard error first")
parser.add_argument("--tool", action="append", default=[], help="offer a tool of this name too")
parser.add_argument("--hang", action="store_true", help="never answer")
parser.add_argument("--slow", type=float, default=0, help="seconds before anything is answered")
parser.add_argument("--ignore-term", action="store_true", help="ignore TERM and the end of input")
parser.add_argument("--grandchild", action="store_true", help="start a process in a session of its own")
parser.add_argument("--garbage", action="store_true", help="write lines that are no messages")
parser.add_argument("--http", action="store_true", help="serve Streamable HTTP; the port is the first line of output")
parser.add_argument("--port", type=int, default=0, help="the port of --http; 0 is a free one")
parser.add_argument("--refuse", help="once this file exists, answer HTTP requests with the status in it")
parser.add_argument("--bare", action="store_true", help="offer the tools of --tool alone")
options = parser.parse_args()


def log(event: str, **values: object) -> None:
    if options.log:
        with open(options.log, "a") as file:
            file.write(json.dumps({"event": event, "name": options.name, "pid": os.getpid(), **values}) + "\n")


log("start", environment=dict(os.environ), directory=os.getcwd(), arguments=sys.argv[1:])
if options.secret_stderr:
    print(options.secret_stderr, file=sys.stderr, flush=True)
if options.env_stderr:
    print("started with", os.environ[options.env_stderr], file=sys.stderr, flush=True)
if options.ignore_term:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if options.grandchild:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    log("grandchild", child=subprocess.Popen([sys.executable, "-c", code], start_new_session=True).pid)
if options.crash is not None:
    sys.exit(options.crash)
if options.hang:
    time.sleep(600)
time.sleep(options.slow)
if options.garbage:
    print("this is a banner, not a message\n{not json}", flush=True)

from mcp.server.mcpserver import Context, Image, MCPServer  # noqa: E402

server = MCPServer(options.name, instructions="fixture instructions")


@server.tool()
def echo(text: str) -> str:
    """Give the text back."""
    log("call", tool="echo", text=text)
    return text


@server.tool()
def add(a: int, b: int) -> int:
    log("call", tool="add")
    return a + b


@server.tool()
def fail(text: str) -> str:
    log("call", tool="fail")
    raise ValueError(text)


@server.tool()
def leave(code: int) -> str:
    """End the process in the middle of the call."""
    log("call", tool="leave")
    os._exit(code)


@server.tool()
async def wait(seconds: float) -> str:
    log("call", tool="wait")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        log("cancelled", tool="wait")
        raise
    return "waited"


@server.tool()
def picture() -> Image:
    log("call", tool="picture")
    return Image(data=base64.b64decode("iVBORw0KGgo="), format="png")


@server.tool()
async def grow(context: Context) -> str:
    """Add a tool and say so."""
    log("call", tool="grow")
    server.add_tool(lambda: "grown", name="grown", description="A new tool")
    await context.notify_tools_changed()
    return "grew"


@server.tool()
async def shrink(name: str, context: Context) -> str:
    """Take a tool away and say so."""
    log("call", tool="shrink")
    server.remove_tool(name)
    await context.notify_tools_changed()
    return "shrank"


if options.bare:
    for usual in (echo, add, fail, leave, wait, picture, grow, shrink):
        server.remove_tool(usual.__name__)
for odd in options.tool:
    server.add_tool(lambda: "odd", name=odd)


@server.resource("note://one", name="one", mime_type="text/plain")
def note() -> str:
    return "the note"


@server.resource("note://blob", name="blob", mime_type="application/octet-stream")
def blob() -> bytes:
    return b"\x00\x01"


@server.prompt()
def greet(name: str) -> str:
    return f"Greet {name}."


def refusal() -> int | None:
    """The status that the file of `--refuse` asks for, once it exists."""
    if not options.refuse or not os.path.exists(options.refuse):
        return None
    with open(options.refuse) as file:
        return int(file.read())


class Refusing:
    """Answers with that status as long as there is one."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        status = refusal() if scope["type"] == "http" else None
        if status is None:
            await self.app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"refused"})


def serve_http() -> None:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", options.port))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(Refusing(server.streamable_http_app()), log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if options.http:
    serve_http()
else:
    server.run()
    if options.ignore_term:
        time.sleep(600)
