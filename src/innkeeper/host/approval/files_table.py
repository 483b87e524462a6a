"""Which files inside a working directory are not written without a question (reference §5.11, row 9).

Rules
* Everything else may be written. What stands here runs later, decides what runs, or holds secrets.
* `ALWAYS` is what steers agents, hooks and MCP servers: no operator's rule takes a file out of it.
* Among the operator's rules the last that matches decides; where none does, the built-in table does.
* Patterns are compared without regard to case and to the spelling of accents, on every system: some file systems do.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Final

from innkeeper.host.approval.values import FileRule

GUARDED: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "editorConfiguration": ("**/.vscode/**/*.json", "**/*.code-workspace", "**/.idea/**", "**/.zed/**/*.json"),
        "repository": (
            "**/.git",
            "**/.git/**",
            "**/head",  # with two folders and a `config` beside it git takes a folder for a repository
            "**/.gitmodules",
            "**/.gitattributes",
            "**/.lfsconfig",
            "**/.hg/**",
            "**/.svn/**",
        ),
        "packageManifests": (
            "**/package.json",
            "**/pyproject.toml",
            "**/setup.{py,cfg}",
            "**/requirements*.txt",
            "**/pipfile",
            "**/cargo.toml",
            "**/go.{mod,work}",
            "**/gemfile",
            "**/*.gemspec",
            "**/composer.json",
            "**/pom.xml",
            "**/deno.{json,jsonc}",
        ),
        "environmentFiles": ("**/.env", "**/.env.*", "**/*.env", "**/.envrc"),
        "toolConfiguration": (
            "**/.npmrc",
            "**/.yarnrc",
            "**/.yarnrc.yml",
            "**/.yarn/**",
            "**/.pnpmfile.{cjs,mjs}",
            "**/pnpm-workspace.yaml",
            "**/.pypirc",
            "**/pip.conf",
            "**/.netrc",
            "**/nuget.config",
            "**/.bundle/**",
            "**/.cargo/**",
            "**/rust-toolchain{,.toml}",
            "**/.gitconfig",
            "**/.direnv/**",
            "**/{,.}mise.toml",
            "**/{,.}mise.local.toml",
            "**/.tool-versions",
            "**/.{python,node,ruby,java,go}-version",
            "**/.nvmrc",
        ),
        "lockFiles": (
            "**/*.lock",
            "**/*.lockb",
            "**/*.lockfile",
            "**/package-lock.json",
            "**/npm-shrinkwrap.json",
            "**/pnpm-lock.yaml",
            "**/packages.lock.json",
            "**/go.sum",
            "**/pipfile.lock",
        ),
        "projectFiles": (
            "**/makefile",
            "**/gnumakefile",
            "**/*.mk",
            "**/justfile",
            "**/cmakelists.txt",
            "**/*.{csproj,fsproj,vbproj,vcxproj,sln,slnx,props,targets}",
            "**/*.xcodeproj/**",
            "**/{build,settings}.gradle{,.kts}",
            "**/gradle/wrapper/**",
            "**/conftest.py",
            "**/{tox,pytest}.ini",
            "**/noxfile.py",
            "**/dockerfile",
            "**/{docker-,}compose*.{yml,yaml}",
            "**/.devcontainer/**",
            "**/.github/workflows/**",
            "**/.gitlab-ci.yml",
        ),
    }
)

ALWAYS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "hooks": (
            "**/.git/hooks/**",
            "**/.husky/**",
            "**/.githooks/**",
            "**/.github/hooks/**",
            "**/.pre-commit-config.yaml",
            "**/lefthook*.{yml,yaml,toml,json}",
            "**/hooks.json",
        ),
        "agentInstructions": (
            "**/agents.md",
            "**/agents.override.md",
            "**/claude.md",
            "**/claude.local.md",
            "**/gemini.md",
            "**/skill.md",
            "**/.github/copilot-instructions.md",
            "**/.github/{instructions,prompts,agents,chatmodes,skills}/**",
            "**/.{claude,codex,gemini,agents,cursor,copilot}/**",
            "**/.{cursorrules,windsurfrules,clinerules}",
            "**/.clinerules/**",
        ),
        "mcpDeclarations": ("**/.mcp.json", "**/mcp.json", "**/opencode.json{,c}"),
    }
)


def guard_of(relative: str, rules: Sequence[FileRule] = ()) -> tuple[str, bool] | None:
    """The pattern because of which the file at `relative` (to its working directory) is asked about, and whether no
    rule can change that; None when it may be written."""
    path = _folded(relative)
    for pattern in _patterns(True):
        if matches(pattern, path):
            return pattern, True
    for rule in reversed(rules):
        if matches(rule.pattern, path):
            return None if rule.approve else (rule.pattern, False)
    return next(((pattern, False) for pattern in _patterns(False) if matches(pattern, path)), None)


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern covers the relative path: `**` any folders, `*` and `?` within a name, `{a,b}` one of."""
    return _regex(_folded(pattern)).fullmatch(_folded(path)) is not None


@cache
def _patterns(always: bool) -> tuple[str, ...]:
    groups = ALWAYS if always else GUARDED
    return tuple(pattern for patterns in groups.values() for pattern in patterns)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    out, position = "", 0
    while position < len(pattern):
        rest = pattern[position:]
        token = next((token for token in _TOKENS if rest.startswith(token)), None)
        if token is not None:
            out, position = out + _TOKENS[token], position + len(token)
        elif rest[0] == "{" and "}" in rest:
            choices, _, _ = rest[1:].partition("}")
            out += "(?:" + "|".join(re.escape(choice) for choice in choices.split(",")) + ")"
            position += len(choices) + 2
        else:
            out, position = out + re.escape(rest[0]), position + 1
    return re.compile(out, re.DOTALL)


_TOKENS: Final = {"**/": "(?:[^/]*/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
