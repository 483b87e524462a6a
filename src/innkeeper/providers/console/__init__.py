"""The agent that needs no model: it tries MCP servers by hand and echoes the rest, from any client."""

from innkeeper.providers.console.provider import ConsoleProvider

__all__ = ["ConsoleProvider"]
