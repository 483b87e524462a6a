"""What may reach the model, in Codex's words: the configuration of one thread (C6.1, C6.2, M6.8).

Rules
* The project's own `.codex` folder is not trusted: its servers, hooks and roles do not come in by themselves, because
  the host decides about them and hands over what is on. Saying so also keeps Codex from writing its trust to a file.
* Servers are the host's endpoints. Each is `required`, so that no request leaves without its tools; one with full
  access, where Codex may not ask, is `approve`, every other one is `prompt`: the host answers, and asks once.
* Codex asks nobody about what stays in its sandbox, so a tool that the session's rules deny is taken from the thread.
* A skill that is withheld is switched off by its path. In a folder that is not trusted Codex reads no `AGENTS.md`, so
  those that are on are given as instructions, and nothing has to be taken out.
* Pure: files are read by who calls.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.customizations import Eligible, EligibleLeaf
from innkeeper.protocol.session.state import ToolDefinition
from innkeeper.protocol.uris import local_path
from innkeeper.providers.files import Rule, located
from innkeeper.providers.mounted import Mounted
from innkeeper.wire.json import encode

OWN: Final = frozenset({"codex", "shared"})
"""Ecosystems that are Codex's. What of them is in the person's own `.codex` it does not find: its home is ours."""
STARTUP_SECONDS: Final = 20
DENIABLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "shell": {"features.shell_tool": False, "features.unified_exec": False},
    "spawnAgent": {"features.multi_agent": False},
    "spawn_agent": {"features.multi_agent": False},
    "web_search": {"web_search": "disabled"},
}
"""How a thread has not the tool of that name."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What of the eligible items had to be read: rules as text, roles as files of ours."""

    rules: Sequence[str] = ()
    roles: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Name to description and path of its configuration."""
    servers: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict, repr=False)
    """Servers that plugins bring: name to customization and what Codex starts."""


def thread_config(
    directory: str,
    eligible: Eligible,
    mounted: Sequence[Mounted],
    reading: Reading,
    *,
    asks: bool,
    denied: Set[str],
    own_servers: Sequence[str],
    patience: float,
) -> dict[str, Any]:
    """`config` of `thread/start` and `thread/resume`. `denied`: tools that the session's rules deny. `own_servers`:
    names in Codex's own `config.toml`."""
    mode = {"enabled": True, "default_tools_approval_mode": "prompt" if asks else "approve"}
    servers: dict[str, Any] = {one.offer.name: _endpoint(one, patience) | mode for one in mounted}
    for name, (_, server) in reading.servers.items():
        servers.setdefault(name, {**server, **mode})
    off = set(eligible.names_off())
    servers.update({name: {"enabled": False} for name in own_servers if name in off and name not in servers})
    config: dict[str, Any] = {
        "projects": {directory: {"trust_level": "untrusted"}},
        "project_doc_max_bytes": 0,
        "mcp_servers": servers,
        "skills": {"config": [{"path": path, "enabled": False} for path in _withheld_skills(eligible)]},
    }
    for tool in sorted(denied & DENIABLE.keys()):
        config |= DENIABLE[tool]
    if reading.roles:
        config["agents"] = {
            name: {"description": description, "config_file": path}
            for name, (description, path) in sorted(reading.roles.items())
        }
    return config


def _endpoint(mounted: Mounted, patience: float) -> dict[str, Any]:
    server, offer = mounted
    return {
        "url": f"{offer.url}?tools={_revision(server.tools)}",
        "http_headers": dict(offer.headers),
        "required": True,
        "startup_timeout_sec": STARTUP_SECONDS,
        "tool_timeout_sec": patience,
    }


def _revision(tools: Sequence[ToolDefinition]) -> str:
    """Another one when the tools are others: Codex reads a list once, and again only from another address."""
    return hashlib.sha256(encode(tools)).hexdigest()[:16]


def _withheld_skills(eligible: Eligible) -> list[str]:
    paths = (local_path(item.uri) for item in eligible.withheld if item.type == "skill")
    return sorted({path for path in paths if path is not None})


def _is_project_doc(path: str, directory: str) -> bool:
    file = Path(path)
    near = file.parent == Path(directory) or file.parent in Path(directory).parents
    return file.name in ("AGENTS.md", "AGENTS.override.md") and (near or Path(directory) in file.parents)


def rules_to_read(eligible: Eligible, directory: str, theirs: Path | None) -> list[Rule]:
    """Rules that are for Codex: the project's, those of plugins, and the person's own. `theirs` is the person's own
    directory of Codex."""
    found = {
        path: Rule.of(leaf, path)
        for leaf, path in located(eligible, "rule")
        if leaf.plugin is not None or _is_project_doc(path, directory) or _below(path, theirs)
    }
    return list(found.values())


def _below(path: str, folder: Path | None) -> bool:
    return folder is not None and folder in Path(path).parents


def roles_to_read(eligible: Eligible) -> list[tuple[EligibleLeaf, str]]:
    """Agents that Codex can run as children: its own ecosystem's, and those of plugins; with their paths."""
    return [
        (leaf, path)
        for leaf, path in located(eligible, "agent")
        if leaf.plugin is not None or leaf.ecosystem == "codex"
    ]


def skills_to_name(eligible: Eligible, theirs: Path | None) -> list[tuple[EligibleLeaf, str]]:
    """Skills for Codex that it does not find by itself: those of plugins, and those in the person's own directory."""
    return [
        (leaf, path)
        for leaf, path in located(eligible, "skill")
        if leaf.plugin is not None or (leaf.ecosystem in OWN and _below(path, theirs))
    ]


def instructions(eligible: Eligible, reading: Reading, theirs: Path | None) -> list[str]:
    """What is said to the model of skills and rules that Codex does not read by itself."""
    said = list(reading.rules)
    skills = skills_to_name(eligible, theirs)
    if skills:
        lines = [
            f"- {leaf.name}: {leaf.definition.get('description') or leaf.name} (file: {path})" for leaf, path in skills
        ]
        said.append(
            "These skills are available too. When one fits the task, read its file first and follow it.\n"
            + "\n".join(lines)
        )
    return said


def role_file(description: str, body: str) -> str:
    """A role of Codex as TOML: a JSON string is a TOML string."""
    return f"description = {json.dumps(description)}\ndeveloper_instructions = {json.dumps(body)}\n"
