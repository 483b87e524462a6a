"""The built-in presets as data (M1.1, M1.2, M11.6): `.mcp.json` and the files of the clients that a team may use.

Rules
* The first five are on by default, in this order; the others are off until the operator defines a preset that extends
  one of them. No transform, no glob, no expression: only names of files, tables and fields.
* A key that asks for authentication or isolation that is not implemented refuses its entry (M2.2). `tools` and other
  keys by which a file trusts itself are told apart from mere settings in `notes`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from innkeeper.mcp.declarations.model import KeyPath, Preset

FIELDS: Final = (
    "transport",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "enabled",
    "disabled",
    "envFile",
    "envVars",
    "envHeaders",
    "bearerTokenEnv",
    "timeoutMs",
    "timeoutSeconds",
)
"""What a preset may map (M1.5)."""

SWITCHES: Final = frozenset({"enabled", "disabled"})


def _paths(**named: str) -> Mapping[str, KeyPath]:
    return MappingProxyType({name: (key,) for name, key in named.items()})


STANDARD_FIELDS: Final = _paths(
    transport="type",
    command="command",
    args="args",
    env="env",
    cwd="cwd",
    url="url",
    headers="headers",
    enabled="enabled",
    disabled="disabled",
    envFile="envFile",
    timeoutMs="timeout",
)
CODEX_FIELDS: Final = _paths(
    command="command",
    args="args",
    env="env",
    cwd="cwd",
    url="url",
    headers="http_headers",
    enabled="enabled",
    disabled="disabled",
    envVars="env_vars",
    envHeaders="env_http_headers",
    bearerTokenEnv="bearer_token_env_var",
    timeoutSeconds="tool_timeout_sec",
)
GEMINI_FIELDS: Final = _paths(
    transport="type",
    command="command",
    args="args",
    env="env",
    cwd="cwd",
    url="url",
    headers="headers",
    enabled="enabled",
    disabled="disabled",
    timeoutMs="timeout",
)
TRANSPORTS: Final = MappingProxyType(
    {
        "stdio": "stdio",
        "http": "http",
        "streamable-http": "http",
        "sse": "UNSUPPORTED_SSE",
        "ws": "UNSUPPORTED_WS",
        "websocket": "UNSUPPORTED_WS",
    }
)
STANDARD_UNSUPPORTED: Final = MappingProxyType(
    {
        "headersHelper": "UNSUPPORTED_AUTH_HELPER",
        "oauth": "UNSUPPORTED_OAUTH",
        "auth": "UNSUPPORTED_OAUTH",
        "sandbox": "UNSUPPORTED_SANDBOX",
        "sandboxEnabled": "UNSUPPORTED_SANDBOX",
    }
)
CODEX_UNSUPPORTED: Final = MappingProxyType(
    {
        "bearer_token": "LITERAL_SECRET_FIELD",
        "http_headers_helper": "UNSUPPORTED_AUTH_HELPER",
        "auth": "UNSUPPORTED_OAUTH",
        "oauth": "UNSUPPORTED_OAUTH",
        "oauth_resource": "UNSUPPORTED_OAUTH",
        "scopes": "UNSUPPORTED_OAUTH",
        "environment_id": "UNSUPPORTED_REMOTE_STDIO",
        "experimental_environment": "UNSUPPORTED_REMOTE_STDIO",
    }
)
CODEX_FILTERS: Final = ("enabled_tools", "disabled_tools")
GEMINI_FILTERS: Final = ("includeTools", "excludeTools")
GEMINI_UNSUPPORTED: Final = MappingProxyType(
    {
        "oauth": "UNSUPPORTED_OAUTH",
        "authProviderType": "UNSUPPORTED_OAUTH",
        "targetAudience": "UNSUPPORTED_OAUTH",
        "targetServiceAccount": "UNSUPPORTED_OAUTH",
        "tcp": "TRANSPORT_UNKNOWN",
    }
)

ROOT: Final = Preset(
    id="root",
    files=(".mcp.json",),
    tables=(("mcpServers",), ("servers",)),
    fields=STANDARD_FIELDS,
    transports=TRANSPORTS,
    unsupported=STANDARD_UNSUPPORTED,
    ignored=frozenset(
        [
            "alwaysLoad",
            "displayName",
            "discoveryCache",
            "role",
            "bareElicitationCapability",
            "request_timeout_ms",
            "tools",
        ]
    ),
    foreign=SWITCHES,
    table_required=True,
    client="claude",
)
VSCODE: Final = Preset(
    id="vscode",
    files=(".vscode/mcp.json",),
    tables=(("servers",),),
    fields=MappingProxyType({name: path for name, path in STANDARD_FIELDS.items() if name != "timeoutMs"}),
    transports=TRANSPORTS,
    unsupported=STANDARD_UNSUPPORTED,
    ignored=frozenset({"dev", "gallery", "version"}),
    foreign=SWITCHES,
    table_required=True,
    client="vscode",
)
CODEX: Final = Preset(
    id="codex",
    files=(".codex/config.toml",),
    tables=(("mcp_servers",),),
    fields=CODEX_FIELDS,
    format="toml",
    dialect="codex",
    interpolation="none",
    unsupported=CODEX_UNSUPPORTED,
    ignored=frozenset(["omit_tools_from", "startup_readiness", "supports_parallel_tool_calls", "name"]),
    foreign=frozenset({"disabled"}),
    filters=CODEX_FILTERS,
    client="codex",
)
CURSOR: Final = Preset(
    id="cursor",
    files=(".cursor/mcp.json",),
    tables=(("mcpServers",),),
    fields=STANDARD_FIELDS,
    transports=TRANSPORTS,
    unsupported=STANDARD_UNSUPPORTED,
    foreign=SWITCHES,
    table_required=True,
    client="cursor",
)
GEMINI: Final = Preset(
    id="gemini",
    files=(".gemini/settings.json",),
    tables=(("mcpServers",),),
    fields=GEMINI_FIELDS,
    dialect="gemini",
    interpolation="shell",
    bare_url="sse",
    transports=TRANSPORTS,
    unsupported=GEMINI_UNSUPPORTED,
    ignored=frozenset({"description", "extension"}),
    foreign=SWITCHES,
    filters=GEMINI_FILTERS,
    client="gemini",
)

BUILT_IN: Final = (ROOT, VSCODE, CODEX, CURSOR, GEMINI)
"""On by default; their order decides who comes first (M9.6)."""


def _plain(id: str, file: str, client: str = "", **changes: object) -> Preset:
    """A file of the `mcpServers` family."""
    fields: dict[str, object] = {
        "id": id,
        "files": (file,),
        "tables": (("mcpServers",),),
        "fields": STANDARD_FIELDS,
        "transports": TRANSPORTS,
        "unsupported": STANDARD_UNSUPPORTED,
        "client": client,
        **changes,
    }
    return Preset(**fields)  # type: ignore[arg-type]


_SECONDS: Final = MappingProxyType(
    {**{name: path for name, path in STANDARD_FIELDS.items() if name != "timeoutMs"}, "timeoutSeconds": ("timeout",)}
)
_OUT: Final = ("", "disabledTools")
_OPENCODE: Final = _paths(
    transport="type", command="command", env="environment", cwd="cwd", url="url", headers="headers", enabled="enabled"
)

OFF_BY_DEFAULT: Final = (
    _plain(
        "roo",
        ".roo/mcp.json",
        fields=_SECONDS,
        bare_url="sse",
        filters=_OUT,
        ignored=frozenset({"watchPaths"}),
        transports=MappingProxyType({"stdio": "stdio", "streamable-http": "http", **TRANSPORTS}),
    ),
    _plain("kiro", ".kiro/settings/mcp.json", filters=_OUT),
    _plain(
        "qwen",
        ".qwen/settings.json",
        client="qwen",
        fields=GEMINI_FIELDS,
        dialect="gemini",
        interpolation="shell",
        bare_url="sse",
        unsupported=GEMINI_UNSUPPORTED,
        filters=GEMINI_FILTERS,
        ignored=frozenset({"description", "extension", "discoveryTimeoutMs", "alwaysLoadTools", "versionNegotiation"}),
    ),
    _plain("github", ".github/mcp.json", filters=("tools", "")),
    _plain("zed", ".zed/settings.json", tables=(("context_servers",),), ignored=frozenset({"source"})),
    _plain(
        "opencode",
        "opencode.json",
        files=("opencode.json", "opencode.jsonc"),
        tables=(("mcp",),),
        fields=_OPENCODE,
        interpolation="none",
        command_list=True,
        refused_marks=("{env:", "{file:"),
        transports=MappingProxyType({"local": "stdio", "remote": "http"}),
        unsupported=MappingProxyType({"oauth": "UNSUPPORTED_OAUTH"}),
        ignored=frozenset({"timeout"}),
    ),
    _plain("amp", ".amp/settings.json", tables=(("amp.mcpServers",),), filters=GEMINI_FILTERS),
    _plain("junie", ".junie/mcp/mcp.json"),
)
"""Formats of more clients, to be extended (M11.6)."""

TABLE_KEYS: Final = ("mcpServers", "servers", "mcp_servers", "mcp", "context_servers", "mcpservers", "server")
"""Keys under which people put servers, to tell a wrong key from a file without servers."""
