"""Where the ecosystems keep loose customizations, in a workspace and in a home (C7.2). Data only.

Each `Location` becomes a `directory` container, each `FixedFiles` one that nothing can be written to. Order is the
order of publication.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from innkeeper.customizations.discovery.items import Ecosystem
from innkeeper.customizations.discovery.leaves import LeafType, Syntax
from innkeeper.customizations.discovery.limits import DEPTH, SKILL_DEPTH

Naming: TypeAlias = Literal["stem", "path", "colons"]
"""What names an item whose file does not: the file's name, its path below the location, or that path with colons; each
without the suffix."""


@dataclass(frozen=True, slots=True)
class Location:
    """A directory, relative to a workspace or home. `depth` 1 looks only at its own entries. `suffixes` compare
    without case and are cut from names, the longest first. `always`: see `Subject`. `own_names`: whether `name` in a
    file counts."""

    path: str
    contents: LeafType | Literal["hook"]
    ecosystem: Ecosystem
    suffixes: tuple[str, ...] = (".md",)
    depth: int = 1
    syntax: Syntax = "markdown"
    naming: Naming = "stem"
    always: bool | None = None
    own_names: bool = True
    excluded: frozenset[str] = frozenset({"README.md"})


@dataclass(frozen=True, slots=True)
class FixedFiles:
    """Single files below `path`, published together where there are any."""

    path: str
    files: tuple[str, ...]
    contents: Literal["rule", "hook"]
    ecosystem: Ecosystem


_AGENT_SUFFIXES = (".agent.md", ".md")


def _skills(path: str, ecosystem: Ecosystem) -> Location:
    return Location(path, "skill", ecosystem, depth=SKILL_DEPTH)


def _agents(path: str, ecosystem: Ecosystem) -> Location:
    return Location(path, "agent", ecosystem, _AGENT_SUFFIXES)


def _claude(folder: str) -> tuple[Location, ...]:
    return (
        _agents(f"{folder}/agents", "claude"),
        _skills(f"{folder}/skills", "claude"),
        Location(f"{folder}/commands", "prompt", "claude", depth=DEPTH, own_names=False),
        Location(f"{folder}/rules", "rule", "claude", depth=DEPTH, naming="path", always=True, own_names=False),
    )


def _codex(folder: str) -> tuple[Location, ...]:
    return (
        Location(f"{folder}/agents", "agent", "codex", (".toml",), syntax="toml"),
        _skills(f"{folder}/skills", "codex"),
        Location(f"{folder}/prompts", "prompt", "codex", own_names=False),
    )


def _gemini(folder: str) -> tuple[Location, ...]:
    return (
        _agents(f"{folder}/agents", "gemini"),
        _skills(f"{folder}/skills", "gemini"),
        Location(f"{folder}/commands", "prompt", "gemini", (".toml",), DEPTH, "toml", naming="colons", own_names=False),
    )


def _instructions(path: str) -> Location:
    return Location(path, "rule", "copilot", (".instructions.md",), depth=5, naming="path", always=False)


def _hooks(path: str) -> Location:
    return Location(path, "hook", "copilot", (".json",), depth=8, naming="path")


WORKSPACE: Final[tuple[Location | FixedFiles, ...]] = (
    _agents(".github/agents", "copilot"),
    _skills(".github/skills", "copilot"),
    _instructions(".github/instructions"),
    Location(".github/prompts", "prompt", "copilot", (".prompt.md",), depth=5),
    _hooks(".github/hooks"),
    *_claude(".claude"),
    _agents(".agents/agents", "shared"),
    _skills(".agents/skills", "shared"),
    *_codex(".codex"),
    Location(".cursor/rules", "rule", "cursor", (".mdc",), depth=DEPTH, naming="path", own_names=False),
    *_gemini(".gemini"),
    FixedFiles(
        "",
        (
            "AGENTS.md",
            "CLAUDE.md",
            "CLAUDE.local.md",
            "GEMINI.md",
            ".claude/CLAUDE.md",
            ".github/copilot-instructions.md",
        ),
        "rule",
        "shared",
    ),
    FixedFiles(".github/copilot", ("settings.json", "settings.local.json"), "hook", "copilot"),
    FixedFiles(".claude", ("settings.json", "settings.local.json"), "hook", "claude"),
    FixedFiles(".codex", ("hooks.json",), "hook", "codex"),
    FixedFiles(".gemini", ("settings.json",), "hook", "gemini"),
)

USER: Final[tuple[Location | FixedFiles, ...]] = (
    _agents(".copilot/agents", "copilot"),
    _skills(".copilot/skills", "copilot"),
    _instructions(".copilot/instructions"),
    _hooks(".copilot/hooks"),
    *_claude(".claude"),
    _skills(".agents/skills", "shared"),
    *_codex(".codex"),
    *_gemini(".gemini"),
    FixedFiles(".copilot", ("copilot-instructions.md",), "rule", "copilot"),
    FixedFiles(".claude", ("CLAUDE.md",), "rule", "claude"),
    FixedFiles(".codex", ("AGENTS.md",), "rule", "codex"),
    FixedFiles(".gemini", ("GEMINI.md",), "rule", "gemini"),
    FixedFiles(".claude", ("settings.json",), "hook", "claude"),
    FixedFiles(".codex", ("hooks.json",), "hook", "codex"),
    FixedFiles(".gemini", ("settings.json",), "hook", "gemini"),
)
