"""Editing a project's MCP declarations without touching another byte (M8, M11.3)."""
