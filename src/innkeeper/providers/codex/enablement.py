"""What may reach the model, in Codex's words: the configuration of one thread (C6.1, C6.2, M6.8).

Rules
* The project's own `.codex` folder is not trusted: its servers, hooks and roles do not come in by themselves, because
  the host decides about them and hands over what is on. Saying so also keeps Codex from writing its trust to a file.
* Servers are the host's endpoints. Each is `required`, so that no request leaves without its tools; one with full
  access, where Codex may not ask, is `approve`, every other one is `prompt`: the host answers, and asks once.
* A skill that is withheld is switched off by its path. In a folder that is not trusted Codex reads no `AGENTS.md`, so
  those that are on are given as instructions, and nothing has to be taken out.
* Pure: files are read by who calls.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.customizations import Eligible, EligibleLeaf
from innkeeper.ports.endpoints import EndpointOffer
from innkeeper.protocol.uris import local_path

OWN: Final = frozenset({"codex", "shared"})
"""Ecosystems that are Codex's. What of them is in the person's own `.codex` it does not find: its home is ours."""
STARTUP_SECONDS: Final = 20


@dataclass(frozen=True, slots=True)
class Served:
    """A server that is on and connected. `revision` is another one when its tools are: Codex reads a list once, and
    again only from another address."""

    id: str
    name: str
    offer: EndpointOffer
    revision: str = ""

    @property
    def url(self) -> str:
        return f"{self.offer.url}?tools={self.revision}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What of the eligible items had to be read: rules as text, roles as files of ours."""

    rules: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Name to description and path of its configuration."""
    servers: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict, repr=False)
    """Servers that plugins bring: name to customization and what Codex starts."""


def thread_config(
    directory: str,
    eligible: Eligible,
    served: Sequence[Served],
    reading: Reading,
    *,
    asks: bool,
    own_servers: Sequence[str],
    patience: float,
) -> dict[str, Any]:
    """`config` of `thread/start` and `thread/resume`. `own_servers`: names in Codex's own `config.toml`."""
    servers: dict[str, Any] = {
        one.offer.name: {
            "url": one.url,
            "http_headers": dict(one.offer.headers),
            "enabled": True,
            "required": True,
            "startup_timeout_sec": STARTUP_SECONDS,
            "tool_timeout_sec": patience,
            "default_tools_approval_mode": "prompt" if asks else "approve",
        }
        for one in served
    }
    mode = "prompt" if asks else "approve"
    for name, (_, server) in reading.servers.items():
        servers.setdefault(name, {**server, "enabled": True, "default_tools_approval_mode": mode})
    off = set(eligible.names_off())
    servers.update({name: {"enabled": False} for name in own_servers if name in off and name not in servers})
    config: dict[str, Any] = {
        "projects": {directory: {"trust_level": "untrusted"}},
        "project_doc_max_bytes": 0,
        "mcp_servers": servers,
        "skills": {"config": [{"path": path, "enabled": False} for path in _withheld_skills(eligible)]},
    }
    if reading.roles:
        config["agents"] = {
            name: {"description": description, "config_file": path}
            for name, (description, path) in sorted(reading.roles.items())
        }
    return config


def _withheld_skills(eligible: Eligible) -> list[str]:
    paths = (local_path(item.uri) for item in eligible.withheld if item.type == "skill")
    return sorted({path for path in paths if path is not None})


def _is_project_doc(path: str, directory: str) -> bool:
    file = Path(path)
    near = file.parent == Path(directory) or file.parent in Path(directory).parents
    return file.name in ("AGENTS.md", "AGENTS.override.md") and (near or Path(directory) in file.parents)


def rules_to_read(eligible: Eligible, directory: str, theirs: Path | None) -> list[EligibleLeaf]:
    """Rules that are for Codex: the project's, those of plugins that always hold, and the person's own. `theirs` is the
    person's own directory of Codex."""
    return [
        leaf
        for leaf in eligible.leaves_of("rule")
        if (path := local_path(leaf.uri)) is not None
        and ((leaf.plugin is not None and _always(leaf)) or _is_project_doc(path, directory) or _below(path, theirs))
    ]


def _below(path: str, folder: Path | None) -> bool:
    return folder is not None and folder in Path(path).parents


def _always(leaf: EligibleLeaf) -> bool:
    return bool(leaf.definition.get("alwaysApply"))


def roles_to_read(eligible: Eligible) -> list[EligibleLeaf]:
    """Agents that Codex can run as children: its own ecosystem's, and those of plugins."""
    return [leaf for leaf in eligible.leaves_of("agent") if leaf.plugin is not None or leaf.ecosystem == "codex"]


def skills_to_name(eligible: Eligible, theirs: Path | None) -> list[EligibleLeaf]:
    """Skills for Codex that it does not find by itself: those of plugins, and those in the person's own directory."""
    return [
        leaf
        for leaf in eligible.leaves_of("skill")
        if leaf.plugin is not None or (leaf.ecosystem in OWN and _below(local_path(leaf.uri) or "", theirs))
    ]


def instructions(eligible: Eligible, reading: Reading, theirs: Path | None) -> list[str]:
    """What is said to the model of skills and rules that Codex does not read by itself."""
    said = [f"Rules from {path}:\n{words}" for path, words in reading.rules.items()]
    skills = skills_to_name(eligible, theirs)
    if skills:
        lines = [
            f"- {leaf.name}: {leaf.definition.get('description') or leaf.name} (file: {local_path(leaf.uri)})"
            for leaf in skills
        ]
        said.append(
            "These skills are available too. When one fits the task, read its file first and follow it.\n"
            + "\n".join(lines)
        )
    return said


def role_file(description: str, body: str) -> str:
    """A role of Codex as TOML: a JSON string is a TOML string."""
    return f"description = {json.dumps(description)}\ndeveloper_instructions = {json.dumps(body)}\n"
