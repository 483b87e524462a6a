"""The built-in presets as data (M1.1). Preset `root` is the portable `.mcp.json`; the others join it in this table."""

from typing import Final

from innkeeper.mcp.declarations.model import Preset

ROOT: Final = Preset(
    id="root",
    files=(".mcp.json",),
    tables=("mcpServers", "servers"),
    fields={
        "transport": "type",
        "command": "command",
        "args": "args",
        "env": "env",
        "cwd": "cwd",
        "url": "url",
        "headers": "headers",
        "enabled": "enabled",
        "disabled": "disabled",
    },
    transports={
        "stdio": "stdio",
        "http": "http",
        "streamable-http": "http",
        "sse": "UNSUPPORTED_SSE",
        "ws": "UNSUPPORTED_WS",
    },
    unsupported={
        "headersHelper": "UNSUPPORTED_AUTH_HELPER",
        "oauth": "UNSUPPORTED_OAUTH",
        "sandbox": "UNSUPPORTED_SANDBOX",
        "sandboxEnabled": "UNSUPPORTED_SANDBOX",
    },
    trust_claims=frozenset({"trust", "autoApprove", "tools"}),
)

BUILT_IN: Final = (ROOT,)

WRONG_TABLES: Final = ("mcp", "mcp_servers", "context_servers", "mcpservers", "MCPServers", "server")
"""Keys that people write where a servers table belongs."""
