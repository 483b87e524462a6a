"""Tools that clients execute, in the SDK's shape (AHP §9.2).

Rules
* The client's person has agreed to its own tools, so the agent does not ask about them.
* A call goes to the turn that made it; without one it fails.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.providers.copilot import content
from innkeeper.providers.copilot.sdk import sdk
from innkeeper.providers.copilot.turn import Running
from innkeeper.providers.spi import ClientTool
from innkeeper.texts import text

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
NAME_CHARACTERS: Final = 64


class ClientTools:
    """Of one conversation. `turn` gives the running turn."""

    def __init__(self, turn: Callable[[], Running | None]) -> None:
        self._turn = turn
        self._tools: dict[str, ClientTool] = {}

    def set(self, tools: Sequence[ClientTool]) -> None:
        """The tools that there are now, by safe names; of two of one name the first counts."""
        found: dict[str, ClientTool] = {}
        for tool in tools:
            found.setdefault(_UNSAFE.sub("_", tool.definition["name"])[:NAME_CHARACTERS], tool)
        self._tools = found

    @property
    def mark(self) -> str:
        """Equal for equal tools."""
        listed = [(name, tool.client, tool.definition) for name, tool in sorted(self._tools.items())]
        return json.dumps(listed, default=str)

    def named(self, name: str) -> ClientTool | None:
        return self._tools.get(name)

    def offered(self) -> list[Any]:
        """As the SDK takes them."""
        return [
            sdk().Tool(
                name=name,
                description=str(tool.definition.get("description") or tool.definition.get("title") or name),
                parameters=tool.definition.get("inputSchema") or {"type": "object", "properties": {}},
                handler=self._run,
                skip_permission=True,
                defer="never",
            )
            for name, tool in self._tools.items()
        ]

    async def _run(self, invocation: Any) -> Any:
        turn, tool = self._turn(), self._tools.get(str(invocation.tool_name))
        call = str(invocation.tool_call_id)
        if turn is None or tool is None:
            return _given({"success": False, "pastTenseMessage": text("agent.turnOver")})
        turn.starts(call, str(invocation.tool_name), invocation.arguments)
        shown = content.shown(invocation.arguments or {})
        return _given(await turn.output.run_client_tool(call, shown, tool.definition["name"]))


def _given(result: ToolCallResult) -> Any:
    words = [str(block["text"]) for block in result.get("content") or () if block["type"] == "text"]
    if not words and result.get("structuredContent") is not None:
        words.append(json.dumps(result["structuredContent"]))
    error = result.get("error")
    if error is not None and not result["success"]:
        words.append(error["message"])
    said = "\n".join(words) or str(result["pastTenseMessage"])
    return sdk().ToolResult(text_result_for_llm=said, result_type="success" if result["success"] else "failure")
