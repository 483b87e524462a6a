"""A chat: turns, response parts, tool calls, pending messages (AHP §9)."""
