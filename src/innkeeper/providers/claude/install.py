"""Which Claude Code there is on this machine, and whether it has what we need (M7.8).

Rules
* Looking starts no process and imports nothing of the SDK.
* Versions in `TESTED` are used as they are. Any other is used if the SDK has what is called here and the agent answers
  what is asked of it at its start; it is never refused for its number.
* The agent comes with the extra. The operator may name another binary, which is then used and nothing else.
"""

import importlib.util
import os
from pathlib import Path
from typing import Final

from innkeeper.providers.spi import Unavailable
from innkeeper.texts import text

AGENT: Final = "Claude"
PACKAGE: Final = "claude-agent-sdk"
MODULE: Final = "claude_agent_sdk"
INSTALL: Final = "pip install 'innkeeper[claude]'"
TESTED: Final = frozenset({("0.2.189", "2.1.332")})
"""Pairs of SDK and agent."""

KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLOUDS: Final = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_",),
    "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_", "CLOUD_ML_", "ANTHROPIC_VERTEX_"),
}
"""A switch for another service, and the prefixes of what belongs to it."""


def sdk_version() -> str | None:
    """The installed SDK's; None where the extra is missing."""
    from importlib import metadata

    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def installed() -> bool:
    """Whether the extra is there, without looking at its version."""
    return importlib.util.find_spec(MODULE) is not None


def binary(program: str | None) -> Path | None:
    """The agent: the operator's choice, else the one in the SDK's wheel. None where it is no program."""
    if program is not None:
        chosen = Path(program).expanduser()
        return chosen if os.access(chosen, os.X_OK) and chosen.is_file() else None
    spec = importlib.util.find_spec(MODULE)
    if spec is None or spec.origin is None:
        return None
    bundled = Path(spec.origin).with_name("_bundled") / "claude"
    return bundled if os.access(bundled, os.X_OK) else None


def agent_version(program: str | None) -> str | None:
    """Of the agent in the wheel, which is written beside it; None where it is not known without starting it."""
    found = binary(program)
    if found is None or program is not None:
        return None
    try:
        return found.with_name("claude.version").read_text().split()[0]
    except (OSError, IndexError):
        return None


def missing(program: str | None) -> Unavailable | None:
    """What has to be installed before the agent can start."""
    if not installed():
        reason = text("error.AGENT_EXTRA_MISSING.meaning", agent=AGENT, package=PACKAGE)
        return Unavailable("AGENT_EXTRA_MISSING", reason, INSTALL)
    if binary(program) is None:
        remedy = INSTALL if program is None else text("claude.programRemedy", program=program)
        return Unavailable("AGENT_BINARY_MISSING", text("error.AGENT_BINARY_MISSING.meaning", agent=AGENT), remedy)
    return None
