"""Editing a project's MCP declarations without touching another byte (M8, M11.3)."""

from typing import Final

LOCATIONS: Final = "declaration-locations.json"
"""The note of where declarations were written last; here, because the rest is imported with the first edit."""
