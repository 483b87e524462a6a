"""Connections to MCP servers: one owner task a server, over stdio or Streamable HTTP (architecture §5, §3 rule 10)."""
