"""Changing one thing in a file that a person wrote, and nothing else (M8.1, M8.4, M8.5).

`engine` holds the rules for every format, `toml` is the first of them, `files` writes. A leaf above `errors`: settings
and the editor of MCP declarations both stand on it.
"""
