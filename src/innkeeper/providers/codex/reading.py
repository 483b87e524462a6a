"""Reads what Codex is handed as text: rules, and roles written where Codex finds them (C6.1).

Rules
* Only what is eligible is read, at the time of the request. A file that cannot be read is left out and logged: what is
  not there cannot reach the model.
"""

import hashlib
import logging
import os
from pathlib import Path
from typing import Final

from innkeeper.ports.customizations import Eligible, EligibleLeaf
from innkeeper.providers.codex.enablement import Reading, local, role_file, roles_to_read, rules_to_read

log = logging.getLogger(__name__)

RULE_CHARACTERS: Final = 100_000


def read(eligible: Eligible, directory: str, theirs: Path | None, roles: Path) -> Reading:
    """`theirs` is the person's own directory of Codex; `roles` is where files of ours are put."""
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
    return Reading(rules, found)


def _words(leaf: EligibleLeaf) -> tuple[str | None, str]:
    path = local(leaf.uri)
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
    path, description = local(leaf.uri), str(leaf.definition.get("description") or leaf.name)
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
