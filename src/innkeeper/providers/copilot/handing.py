"""What may reach the model, in Copilot's words (C6.1, C6.2, C7.2).

Rules
* The agent is told to find nothing by itself. Everything it has was handed over when its session was opened: skills as
  a folder of links, agents with their text, rules at the end of the system message. What is withheld is in none.
* Of the ecosystems, Copilot's own and the shared ones are handed over, skills of all, since their format is one.
* Hooks are not handed over: what a file wants to run, the host does not have an agent run unasked.
* Pure, but for what says that it reads.
"""

import hashlib
import posixpath
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.customizations import Eligible, EligibleLeaf
from innkeeper.providers.files import local, safe, words_of

OWN: Final = frozenset({"copilot", "shared"})
SHARED_RULES: Final = frozenset({"AGENTS.md", "CLAUDE.md", "GEMINI.md", "copilot-instructions.md"})
"""Of the files that several agents read, those that Copilot reads."""
SKILL_FILE: Final = "SKILL.md"


@dataclass(frozen=True, slots=True)
class Rule:
    path: str
    globs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Handed:
    """`skills`: name to local folder. `agents`: name to local path and description."""

    skills: Mapping[str, str] = field(default_factory=dict)
    agents: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """A `Handed` with the texts of its files."""

    handed: Handed
    agents: tuple[Mapping[str, Any], ...] = ()
    rules: tuple[str, ...] = ()
    stamps: tuple[object, ...] = ()

    @property
    def mark(self) -> str:
        """Equal for what is equal to the agent."""
        parts = (sorted(self.handed.skills.items()), self.agents, self.rules, self.stamps)
        return hashlib.sha256(repr(parts).encode(errors="replace")).hexdigest()


def handed(eligible: Eligible) -> Handed:
    plugins = {plugin.uri: plugin for plugin in eligible.plugins}
    skills: dict[str, str] = {}
    agents: dict[str, tuple[str, str]] = {}
    rules: dict[str, Rule] = {}
    for leaf in eligible.leaves:
        path = local(leaf.uri, plugins.get(leaf.plugin or ""))
        if path is None or not _is_ours(leaf, path):
            continue
        definition: Mapping[str, Any] = leaf.definition
        match leaf.type:
            case "skill":
                folder = posixpath.dirname(path) if posixpath.basename(path) == SKILL_FILE else path
                skills.setdefault(leaf.name, folder)
            case "agent":
                agents.setdefault(leaf.name, (path, str(definition.get("description") or leaf.name)))
            case "rule":
                globs = () if definition.get("alwaysApply") else tuple(map(str, definition.get("globs") or ()))
                rules.setdefault(path, Rule(path, globs))
    return Handed(skills, agents, tuple(rules.values()))


def _is_ours(leaf: EligibleLeaf, path: str) -> bool:
    if leaf.plugin is not None or leaf.type == "skill":
        return True
    if leaf.type == "rule" and leaf.ecosystem == "shared":
        return posixpath.basename(path) in SHARED_RULES
    return leaf.ecosystem in OWN


def read(given: Handed) -> Read:
    """With the texts as they are now. Blocks."""
    agents = []
    for name, (path, description) in given.agents.items():
        if (prompt := words_of(path)) is not None:
            agents.append({"name": safe(name), "description": description, "prompt": prompt})
    rules = []
    for rule in given.rules:
        if words := words_of(rule.path):
            about = f" (for files that match {', '.join(rule.globs)})" if rule.globs else ""
            rules.append(f"Instructions from {rule.path}{about}:\n\n{words}")
    stamps = tuple(_stamp(folder) for folder in given.skills.values())
    return Read(given, tuple(agents), tuple(rules), stamps)


def _stamp(folder: str) -> tuple[str, int]:
    """A changed skill is another one."""
    try:
        return folder, (Path(folder) / SKILL_FILE).stat().st_mtime_ns
    except OSError:
        return folder, 0


def lay_out(skills: Mapping[str, str], folder: Path) -> list[str]:
    """The folders in which the agent finds these skills and no other; made anew. Blocks."""
    shutil.rmtree(folder, ignore_errors=True)
    if not skills:
        return []
    folder.mkdir(parents=True, mode=0o700)
    for name, source in skills.items():
        link = folder / safe(name)
        if not link.is_symlink():
            link.symlink_to(source, target_is_directory=True)
    return [str(folder)]


def system_message(rules: Sequence[str], instructions: Sequence[str]) -> dict[str, str] | None:
    """What stands at the end of the agent's own system message."""
    words = "\n\n".join((*instructions, *rules))
    return {"mode": "append", "content": words} if words else None
