"""What the runtime is started with: program, environment, configuration directory, login (issue 6 §5, §6).

Rules
* Of the host's environment it gets what every child gets (`ports.environment`) and what names the service it talks to.
  A key or token reaches it over the connection only, never by its environment, so that no command which it runs has it.
* `COPILOT_HOME` is a folder of ours. Of a shared login only the token is read; nothing of theirs is used or written.
* It looks for logins by itself only where it has one of its own, or the operator shares theirs.
* No update, no telemetry of sessions, no start that needs a network.
"""

import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from innkeeper.ports.environment import inherited
from innkeeper.ports.processes import Command

TOKENS: Final = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
"""In the agent's own order."""
SERVICE: Final = ("COPILOT_GH_HOST", "COPILOT_API_URL", "COPILOT_DEBUG_GITHUB_API_URL", "COPILOT_CACHE_HOME")
"""What an operator may say of where the service and the unpacked agent are."""
_STORED: Final = re.compile(r'"(copilot_?tokens|logged_?in_?users|last_?logged_?in_?user)"\s*:\s*[\[{]\s*["{]', re.I)
_COMMENT: Final = re.compile(r"^\s*//.*$", re.M)


class Launch(NamedTuple):
    """`token` is what a connection needs; it is made for one process."""

    command: Command
    token: str


def own_home(host: Mapping[str, str]) -> Path | None:
    """The person's own directory of the agent, whether it is there or not."""
    given, home = host.get("COPILOT_HOME"), host.get("HOME")
    return Path(given) if given else Path(home) / ".copilot" if home else None


def prepare(directory: Path) -> Path:
    """The `COPILOT_HOME` of this host, readable by its owner alone. Raises OSError."""
    home = directory / "home"
    for folder in (directory, home, directory / "cache", directory / "gh"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def launch(program: Path, host: Mapping[str, str], directory: Path, *, share_login: bool) -> Launch:
    """Raises OSError. Blocks for a small file."""
    home, token = prepare(directory), secrets.token_hex(24)
    environment = {
        **inherited(host),
        "COPILOT_CACHE_HOME": os.fspath(directory / "cache"),
        **{name: host[name] for name in SERVICE if host.get(name)},
        "COPILOT_HOME": os.fspath(home),
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_CONNECTION_TOKEN": token,
    }
    if not share_login:
        environment["GH_CONFIG_DIR"] = os.fspath(directory / "gh")
    arguments = ["--headless", "--no-auto-update", "--log-level", "error", "--port", "0"]
    if not (share_login or stored_login(home)):
        arguments.append("--no-auto-login")
    return Launch(Command(os.fspath(program), arguments, environment, os.fspath(directory)), token)


def stored_login(home: Path | None) -> bool:
    """Whether the agent has noted a login there; what a keychain holds is noted too."""
    return home is not None and _STORED.search(_configuration(home)) is not None


def stored_token(home: Path | None) -> str | None:
    """A token that the agent keeps in its file, for want of a keychain."""
    if home is None:
        return None
    try:
        found: Any = json.loads(_COMMENT.sub("", _configuration(home)))
    except ValueError:
        return None
    kept = found.get("copilotTokens") or found.get("copilot_tokens") if isinstance(found, Mapping) else None
    tokens = [value for value in kept.values() if isinstance(value, str)] if isinstance(kept, Mapping) else []
    return tokens[0] if tokens else None


def _configuration(home: Path) -> str:
    try:
        return (home / "config.json").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
