"""Which Codex there is on this machine, and whether it has what we need (M7.8).

Rules
* Looking costs no process and imports nothing of the SDK.
* A version in `TESTED` is used as it is. Any other is asked for the list of its methods, once, and used if all of
  `NEEDED` are there: never refused for its number.
"""

import importlib.util
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from innkeeper.providers.spi import Unavailable
from innkeeper.texts import text

log = logging.getLogger(__name__)

AGENT: Final = "Codex"
TESTED: Final = frozenset({"0.163.0"})
PACKAGE: Final = "codex_cli_bin"
DISTRIBUTION: Final = "openai-codex-cli-bin"
INSTALL: Final = "pip install 'innkeeper[codex]'"
LOGIN: Final = "codex login"

NEEDED: Final = frozenset(
    {
        "initialize",
        "thread/start",
        "thread/resume",
        "thread/unsubscribe",
        "thread/turns/list",
        "turn/start",
        "turn/interrupt",
        "model/list",
        "account/read",
        "config/read",
    }
)
"""Without one of these no turn can be run with enablement as C6 wants it."""
WANTED: Final[Mapping[str, str]] = {
    "thread/fork": "forks and side chats",
    "thread/revert": "going back in a conversation",
    "turn/steer": "steering messages",
    "mcpServerStatus/list": "reading back which servers an agent has",
    "account/login/start": "tokens that a client gives",
    "thread/backgroundTerminals/clean": "ending commands with their session",
}
"""Without one of these the part named is off."""


def find(program: str | None) -> str | Unavailable:
    """The path of the binary: the operator's, else that of the extra."""
    if program is not None:
        found = shutil.which(program)
        if found is None:
            reason = text("error.AGENT_BINARY_MISSING.meaning", agent=AGENT)
            return Unavailable("AGENT_BINARY_MISSING", reason, text("error.AGENT_BINARY_MISSING.remedy"))
        return found
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        reason = text("error.AGENT_EXTRA_MISSING.meaning", agent=AGENT, package="openai-codex")
        return Unavailable("AGENT_EXTRA_MISSING", reason, INSTALL)
    path = Path(spec.origin).parent / "bin" / "codex"
    if not os.access(path, os.X_OK):
        reason = text("error.AGENT_BINARY_MISSING.meaning", agent=AGENT)
        return Unavailable("AGENT_BINARY_MISSING", reason, INSTALL)
    return os.fspath(path)


def installed_version() -> str | None:
    """Of the binary in the extra, without starting it."""
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def version_of(user_agent: str) -> str:
    """The version in what `initialize` answers, such as `innkeeper/0.163.0 (Debian …)`."""
    return user_agent.partition("/")[2].partition(" ")[0] or "?"


def methods_of(schema: object) -> frozenset[str]:
    """The methods in the schema of client requests that the binary itself writes."""
    found: set[str] = set()
    if isinstance(schema, Mapping):
        for variant in schema.get("oneOf") or ():
            method = ((variant.get("properties") or {}).get("method") or {}) if isinstance(variant, Mapping) else {}
            found.update(name for name in method.get("enum") or () if isinstance(name, str))
    return frozenset(found)
