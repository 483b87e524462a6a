"""The environment of the agent's process, and its login (issue 6 §5, §6).

Rules
* Of the host's environment it gets what any child may see, its own keys, and nothing else; secrets of the host for
  other purposes stay with the host.
* No telemetry, no updates, no traffic beside the model's: starting needs no network.
* Its configuration directory is the host's, unless the operator shares their own with its login.
* Tool search is off, so that the tools of a request are all that the model can call (C5.4).
* Its commands are run by bash where there is one, whatever shell the person uses: the approval rules read bash.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from innkeeper.ports.environment import inherited
from innkeeper.providers.claude.install import CLOUDS, KEYS

PATIENCE_SECONDS: Final = 24 * 3600.0
"""How long the agent waits for a tool call of an MCP server: longer than any question stays open (M6.4b)."""

OWN: Final = (*KEYS, "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", *CLOUDS)
TUNED: Final = ("CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS", "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS")
"""What an operator may set otherwise."""

FIXED: Final[Mapping[str, str]] = {
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "ENABLE_TOOL_SEARCH": "false",
    "CLAUDE_CODE_MAX_RETRIES": "4",
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
    "MCP_TIMEOUT": "10000",
    "MCP_TOOL_TIMEOUT": str(int(PATIENCE_SECONDS * 1000)),
}


def agent_environment(
    host: Mapping[str, str],
    config: Path | None,
    token: str | None = None,
    *,
    sdk: str = "",
) -> dict[str, str]:
    """Exactly what the agent gets. `config` None: the person's own directory. `token` was given by a client."""
    own = {name: host[name] for name in (*OWN, *TUNED) if host.get(name)}
    found = {**inherited(host), **FIXED, **own}
    for switch, prefixes in CLOUDS.items():
        if host.get(switch):
            found |= {name: value for name, value in host.items() if name.startswith(prefixes)}
    if (shell := bash(host)) is not None:
        found["CLAUDE_CODE_SHELL"] = shell
    if config is not None:
        found["CLAUDE_CONFIG_DIR"] = str(config)
    elif host.get("CLAUDE_CONFIG_DIR"):
        found["CLAUDE_CONFIG_DIR"] = host["CLAUDE_CONFIG_DIR"]
    if token is not None:
        for name in KEYS:
            found.pop(name, None)
        found["CLAUDE_CODE_OAUTH_TOKEN" if token.startswith("sk-ant-oat") else "ANTHROPIC_API_KEY"] = token
    if sdk:
        found["CLAUDE_AGENT_SDK_VERSION"] = sdk
    return found


def bash(host: Mapping[str, str]) -> str | None:
    """The bash on the host's path."""
    return shutil.which("bash", path=host.get("PATH", ""))


def own_directory(host: Mapping[str, str]) -> Path:
    """The person's own configuration directory of the agent."""
    given = host.get("CLAUDE_CONFIG_DIR")
    return Path(given) if given else Path(host.get("HOME", "~")).expanduser() / ".claude"


def logged_in(host: Mapping[str, str], config: Path) -> bool:
    """Whether a key or a stored login is there. What a keychain holds cannot be seen, and counts as there."""
    if any(host.get(name) for name in (*KEYS, *CLOUDS)) or (config / ".credentials.json").is_file():
        return True
    return sys.platform == "darwin" and (config / ".claude.json").is_file()
