"""An MCP server that starts in a moment, for tests that start many of them: over stdio, without the SDK.

It has what a well-behaved client needs of MCP 2025-06-18, and of the tools of `fixture_server` those that agents are
tried with. Each start and each call is one JSON line in the file after `--log`, written before anything else happens.
"""

import json
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

OPTIONS = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=False))
NAME = OPTIONS.get("--name", "light")
TEXT = {"type": "string"}
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "echo": ("Give the text back.", {"text": TEXT}),
    "wait": ("Wait so many seconds.", {"seconds": {"type": "number"}}),
    "grow": ("Add a tool and say so.", {}),
    "shrink": ("Take a tool away and say so.", {"name": TEXT}),
}
running: dict[object, threading.Event] = {}
writing = threading.Lock()


def log(event: str, **values: object) -> None:
    with open(OPTIONS["--log"], "a") as file:
        file.write(json.dumps({"event": event, "name": NAME, "pid": os.getpid(), **values}) + "\n")


def say(message: Mapping[str, object]) -> None:
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def offered() -> dict[str, Any]:
    tools = []
    for name, (description, properties) in TOOLS.items():
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        tools.append({"name": name, "description": description, "inputSchema": schema})
    return {"tools": tools}


def called(id: object, name: str, given: Mapping[str, Any]) -> None:
    """In a thread of its own, so that a cancellation can be read meanwhile."""
    log("call", tool=name, **given)
    if name == "wait" and running[id].wait(float(given["seconds"])):
        log("cancelled", tool=name)
        return
    if name == "grow":
        TOOLS["grown"] = ("A new tool", {})
    if name == "shrink":
        TOOLS.pop(given["name"], None)
    if name in ("grow", "shrink"):
        say({"method": "notifications/tools/list_changed"})
    words = given["text"] if name == "echo" else f"{name} done"
    say({"id": id, "result": {"content": [{"type": "text", "text": words}]}})
    running.pop(id, None)


def initialized(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": NAME, "version": "1"},
        "instructions": "fixture instructions",
    }


def heard(message: Mapping[str, Any]) -> None:
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    match method:
        case "initialize":
            say({"id": id, "result": initialized(params)})
        case "ping":
            say({"id": id, "result": {}})
        case "tools/list":
            say({"id": id, "result": offered()})
        case "tools/call" if params.get("name") in TOOLS:
            running[id] = threading.Event()
            threading.Thread(
                target=called, args=(id, params["name"], params.get("arguments") or {}), daemon=True
            ).start()
        case "notifications/cancelled" if params.get("requestId") in running:
            running[params["requestId"]].set()
        case _ if id is not None and method is not None:
            say({"id": id, "error": {"code": -32601, "message": f"{method} is not known"}})


log("start")
for line in sys.stdin:
    heard(json.loads(line))
