"""Loopback MCP endpoints: how an agent reaches the servers that this host connected (architecture §5, M5.7, M6.9)."""
