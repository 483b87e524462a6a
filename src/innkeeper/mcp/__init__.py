"""Project MCP servers: declarations, trust, connections, the gate and the gateway (spec/mcp.md)."""
