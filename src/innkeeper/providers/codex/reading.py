"""Reads what Codex is handed: rules, roles written where Codex finds them, servers of plugins (C6.1).

Rules
* Only what is eligible is read, at the time of the request. A file that cannot be read is left out and logged: what is
  not there cannot reach the model.
"""

import hashlib
import logging
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from innkeeper.ports.customizations import Eligible, EligibleLeaf
from innkeeper.providers.brought import brought
from innkeeper.providers.codex.enablement import Reading, role_file, roles_to_read, rules_to_read
from innkeeper.providers.files import words_of

log = logging.getLogger(__name__)


def read(eligible: Eligible, directory: str, theirs: Path | None, roles: Path, mounted: Collection[str]) -> Reading:
    """`theirs` is the person's own directory of Codex; `roles` is where files of ours are put; `mounted` are the ids of
    servers that the host has connected itself."""
    rules = [words for rule in rules_to_read(eligible, directory, theirs) if (words := rule.words()) is not None]
    found: dict[str, tuple[str, str]] = {}
    for leaf, path in roles_to_read(eligible):
        role = _role(leaf, path, roles)
        if role is not None:
            found[leaf.name] = role
    others = [server for server in eligible.servers if server.id not in mounted]
    servers = {
        name: (id, given)
        for name, (id, config) in brought(others, eligible.plugins).items()
        if (given := _server(config, directory)) is not None
    }
    return Reading(rules, found, servers)


def _server(config: Mapping[str, Any], directory: str) -> Mapping[str, Any] | None:
    """A plugin's definition in Codex's words; None for what is none."""
    if config.get("url"):
        return {"url": str(config["url"]), "http_headers": dict(config.get("headers") or {})}
    if not config.get("command"):
        return None
    return {
        "command": str(config["command"]),
        "args": [str(word) for word in config.get("args") or ()],
        "env": {str(name): str(value) for name, value in (config.get("env") or {}).items()},
        "cwd": str(config.get("cwd") or directory),
    }


def _role(leaf: EligibleLeaf, path: str, roles: Path) -> tuple[str, str] | None:
    """Description and configuration file: the agent's own where it is Codex's, else one of ours."""
    description = str(leaf.definition.get("description") or leaf.name)
    if path.endswith(".toml"):
        return description, path
    words = words_of(path)
    if words is None:
        return None
    content = role_file(description, words).encode()
    file = roles / f"{hashlib.sha256(content).hexdigest()[:32]}.toml"
    try:
        roles.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            file.write_bytes(content)
    except OSError as error:
        log.warning("codex: the agent %s is left out: %s", leaf.name, type(error).__name__)
        return None
    return description, os.fspath(file)
