"""Reads what Codex is handed: rules, roles written where Codex finds them, servers of plugins (C6.1).

Rules
* Only what is eligible is read, at the time of the request. A file that cannot be read is left out and logged: what is
  not there cannot reach the model.
"""

import hashlib
import logging
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.customizations import Eligible, EligibleLeaf, EligiblePlugin, EligibleServer
from innkeeper.protocol.uris import local_path
from innkeeper.providers.codex.enablement import Reading, role_file, roles_to_read, rules_to_read
from innkeeper.wire.json import JsonError, decode

log = logging.getLogger(__name__)

RULE_CHARACTERS: Final = 100_000


def read(
    eligible: Eligible, directory: str, theirs: Path | None, roles: Path, mounted: Collection[str] = ()
) -> Reading:
    """`theirs` is the person's own directory of Codex; `roles` is where files of ours are put; `mounted` are servers
    that the host has connected itself."""
    rules: dict[str, str] = {}
    for leaf in rules_to_read(eligible, directory, theirs):
        path, words = _words(leaf)
        if path is not None:
            rules[path] = words
    found: dict[str, tuple[str, str]] = {}
    for leaf in roles_to_read(eligible):
        role = _role(leaf, roles)
        if role is not None:
            found[leaf.name] = role
    return Reading(rules, found, brought(eligible, mounted))


def brought(eligible: Eligible, mounted: Collection[str]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The servers that plugins define and that the host has not mounted, as Codex takes them."""
    plugins = {plugin.uri: plugin for plugin in eligible.plugins}
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for server in eligible.servers:
        plugin = plugins.get(server.owner or "")
        if plugin is None or server.id in mounted or not server.pointer:
            continue
        config = _server(server, plugin)
        if config is not None:
            found.setdefault(re.sub(r"[^A-Za-z0-9_-]", "_", server.name), (server.id, config))
    return found


def _server(server: EligibleServer, plugin: EligiblePlugin) -> Mapping[str, Any] | None:
    path = local_path(server.uri)
    try:
        entry: Any = decode(Path(path or "").read_bytes())
        for step in server.pointer:
            entry = entry[step]
    except (OSError, JsonError, LookupError, TypeError):
        log.warning("codex: the server %s of the plugin %s cannot be read", server.name, plugin.name)
        return None
    if not isinstance(entry, Mapping):
        return None
    given = _rooted(entry, plugin.path)
    if given.get("url"):
        return {"url": str(given["url"]), "http_headers": dict(given.get("headers") or {})}
    if not given.get("command"):
        return None
    return {
        "command": str(given["command"]),
        "args": [str(word) for word in given.get("args") or ()],
        "env": {str(name): str(value) for name, value in (given.get("env") or {}).items()},
        "cwd": str(given.get("cwd") or plugin.path),
    }


def _rooted(value: Any, root: str) -> Any:
    """The plugin's own folder, in the two ways in which plugins write it."""
    if isinstance(value, str):
        return value.replace("${CLAUDE_PLUGIN_ROOT}", root).replace("${PLUGIN_ROOT}", root)
    if isinstance(value, Mapping):
        return {key: _rooted(entry, root) for key, entry in value.items()}
    return [_rooted(entry, root) for entry in value] if isinstance(value, list) else value


def _words(leaf: EligibleLeaf) -> tuple[str | None, str]:
    path = local_path(leaf.uri)
    try:
        return path, _body(Path(path or "").read_text(encoding="utf-8", errors="replace"))[:RULE_CHARACTERS]
    except OSError as error:
        log.warning("codex: %s is left out: %s", leaf.name, type(error).__name__)
        return None, ""


def _body(words: str) -> str:
    """Without the front matter."""
    if not words.startswith("---\n"):
        return words
    _, mark, body = words[4:].partition("\n---\n")
    return body if mark else words


def _role(leaf: EligibleLeaf, roles: Path) -> tuple[str, str] | None:
    """Description and configuration file: the agent's own where it is Codex's, else one of ours."""
    path, description = local_path(leaf.uri), str(leaf.definition.get("description") or leaf.name)
    if path is None:
        return None
    if path.endswith(".toml"):
        return description, path
    _, words = _words(leaf)
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
