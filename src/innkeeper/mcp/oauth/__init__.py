"""Tokens for remote MCP servers: challenges, tokens of clients, sign-in by the host (AHP §8, §10.2; M7.3, M7.7)."""
