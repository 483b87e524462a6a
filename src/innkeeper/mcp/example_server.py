"""A small MCP server to try this host with: `python -m innkeeper.mcp.example_server` (`innkeeper tour` declares it).

It keeps nothing, reads nothing and reaches nothing. Tools `echo`, `add`, `roll`; resource `example://about`; prompt
`greet`; instructions. stdio only.
"""

import random

from mcp.server.mcpserver import MCPServer

server = MCPServer(
    "innkeeper-example",
    instructions="Use `echo` to see that calls arrive and `add` for sums. Nothing here has side effects.",
)


@server.tool()
def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool()
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@server.tool()
def roll(sides: int = 6) -> int:
    """Roll a die with that many sides."""
    return random.randint(1, max(1, sides))


@server.resource("example://about", name="about", mime_type="text/plain")
def about() -> str:
    """What this server is."""
    return "An example MCP server that comes with Innkeeper."


@server.prompt()
def greet(name: str) -> str:
    """Ask for a greeting."""
    return f"Greet {name} in one friendly sentence."


if __name__ == "__main__":
    server.run()
