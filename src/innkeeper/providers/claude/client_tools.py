"""Tools that clients execute, as an MCP server inside the host's process (AHP §9.2).

The agent speaks MCP's JSON-RPC over its control channel; of MCP only what such a server needs is answered here.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.providers.spi import ClientTool

NAME: Final = "client_"
"""No server of a project has a name that ends so (M2.10)."""
PREFIX: Final = f"mcp__{NAME}__"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")

Run = Callable[[ClientTool, str, Mapping[str, Any]], Awaitable[ToolCallResult]]
"""The tool, the id of the agent's call, its arguments."""


class ClientTools:
    """What `Cli.serve_tools` takes. `run` executes a call through the turn that made it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tools: dict[str, ClientTool] = {}

    def set(self, tools: Sequence[ClientTool]) -> None:
        """The tools that there are now, by safe names; of two of one name the first counts."""
        found: dict[str, ClientTool] = {}
        for tool in tools:
            found.setdefault(_UNSAFE.sub("_", tool.definition["name"])[:64], tool)
        self._tools = found

    @property
    def mark(self) -> str:
        """Equal for equal tools. The agent keeps tools that a server inside the host has no more, so with others it is
        started anew."""
        return json.dumps([_listed(name, tool) for name, tool in sorted(self._tools.items())], default=str)

    @property
    def any(self) -> bool:
        return bool(self._tools)

    def named(self, qualified: str) -> ClientTool | None:
        """The tool of a call by the name that the model used."""
        return self._tools.get(qualified.removeprefix(PREFIX)) if qualified.startswith(PREFIX) else None

    async def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """One JSON-RPC message; None where nothing is answered."""
        if "id" not in message or "method" not in message:
            return None
        base = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            return {**base, "result": await self._answer(str(message["method"]), message.get("params") or {})}
        except asyncio.CancelledError:
            raise
        except LookupError as error:
            return {**base, "error": {"code": -32601, "message": str(error)}}

    async def aclose(self) -> None:
        """What the SDK calls at the end; nothing is held here."""

    async def _answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                version = params.get("protocolVersion") or "2025-06-18"
                info = {"name": NAME, "version": "1"}
                return {
                    "protocolVersion": version,
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": info,
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [_listed(name, tool) for name, tool in self._tools.items()]}
            case "tools/call":
                return await self._call(params)
        raise LookupError(method)

    async def _call(self, params: Mapping[str, Any]) -> dict[str, Any]:
        tool = self._tools.get(str(params.get("name")))
        if tool is None:
            raise LookupError("no client offers this tool any more")
        call = str((params.get("_meta") or {}).get("claudecode/toolUseId") or "")
        return _mcp(await self._run(tool, call, params.get("arguments") or {}))


def _listed(name: str, tool: ClientTool) -> dict[str, Any]:
    definition = tool.definition
    schema = definition.get("inputSchema") or {"type": "object"}
    described = definition.get("description")
    return {"name": name, "inputSchema": schema, **({"description": described} if described else {})}


def _mcp(result: ToolCallResult) -> dict[str, Any]:
    """A result of AHP's in MCP's shape."""
    content: list[dict[str, Any]] = []
    for block in result.get("content") or ():
        if block["type"] == "text":
            content.append({"type": "text", "text": block["text"]})
        elif block["type"] == "embeddedResource" and block["contentType"].startswith("image/"):
            content.append({"type": "image", "data": block["data"], "mimeType": block["contentType"]})
    if not content and result.get("structuredContent") is not None:
        content.append({"type": "text", "text": json.dumps(result["structuredContent"])})
    if not content:
        error = result.get("error")
        content.append({"type": "text", "text": error["message"] if error else str(result["pastTenseMessage"])})
    return {"content": content, "isError": not result["success"]}
