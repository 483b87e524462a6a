"""What a scripted agent says of the project's MCP servers: `look` is answered with what reached it (M5.7)."""

import asyncio
import json
from pathlib import Path
from typing import Any

from browser.scenes import SCENES, StagedSession, done
from innkeeper.providers.spi import TextDelta, ToolCompleted, ToolRunning, ToolStarted, TurnOutput, TurnRequest

GATEWAY: list[Any] = []
"""The host's one gateway, once it is joined."""


async def look(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Tools, instructions, resources and what one of them says, as one line of JSON."""
    (gateway,) = GATEWAY
    found = {server.server: sorted(tool["name"] for tool in server.tools) for server in gateway.tools(session.uri)}
    resources = {server: await gateway.list_resources(session.uri, server) for server in found}
    told = {
        "tools": found,
        "instructions": dict(gateway.instructions(session.uri)),
        "resources": {server: sorted(one["uri"] for one in listed) for server, listed in resources.items()},
        "read": [await gateway.read_resource(session.uri, "note://one", server) for server in found],
    }
    output.emit(TextDelta(json.dumps(told), "t"))


async def declare(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """An agent's own tool writes a declaration: `declare FOLDER`."""
    output.emit(ToolStarted("w", "Write", "Write"))
    output.emit(ToolRunning("w", "Write", '{"file_path": ".gemini/settings.json"}'))
    await asyncio.sleep(0.05)
    file = Path(rest) / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": {"planted": {"command": "planted-by-an-agent"}}}))
    await asyncio.sleep(0.05)
    output.emit(ToolCompleted("w", done("written")))  # type: ignore[arg-type]


SCENES["look"] = look
SCENES["declare"] = declare
