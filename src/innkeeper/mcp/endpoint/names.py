"""Tool names as an agent sees them: with its prefix they are the host's qualified names (M2.10).

An agent calls a tool of the server `s` `mcp__s__<what the server listed>`. What an endpoint lists is therefore the rest
of the host's own name: the tool's name where that is safe and short, else the cleaned one with its hash.
"""

from collections.abc import Iterable

from innkeeper.mcp.names import qualified_tool_name, safe_server_name


class ListedNames:
    """The table of one server's tools, both ways; `server` is the declared name."""

    def __init__(self, server: str, tools: Iterable[str]) -> None:
        prefix = len(f"mcp__{safe_server_name(server)}__")
        self._shown = {tool: qualified_tool_name(server, tool)[prefix:] for tool in tools}
        self._tools = {shown: tool for tool, shown in self._shown.items()}

    def shown(self, tool: str) -> str:
        return self._shown[tool]

    def tool(self, shown: str) -> str:
        """The server's own name; one that was never listed stays as it is, for the gateway to refuse."""
        return self._tools.get(shown, shown)
