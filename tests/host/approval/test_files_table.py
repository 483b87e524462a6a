"""Each default of the file table (reference §5.11, row 9)."""

import pytest

from innkeeper.host.approval.files_table import ALWAYS, GUARDED, guard_of, matches

EXAMPLES = {
    "editorConfiguration": [".vscode/settings.json", "sub/.vscode/tasks.json", "a.code-workspace", ".idea/x.xml"],
    "repository": [".git/config", ".git", "sub/.git/HEAD", ".GIT/config", ".gitmodules", ".gitattributes", "HEAD",
                   "sub/HEAD", ".lfsconfig"],
    "packageManifests": ["package.json", "sub/Cargo.toml", "pyproject.toml", "requirements-dev.txt", "go.mod"],
    "environmentFiles": [".env", ".env.local", "sub/.ENV", "prod.env", ".envrc"],
    "toolConfiguration": [".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/config.toml", "rust-toolchain", ".tool-versions",
                          ".mise.toml", "mise.local.toml", "sub/.python-version", ".nvmrc"],
    "lockFiles": ["uv.lock", "yarn.lock", "package-lock.json", "sub/go.sum", "bun.lockb", "Cargo.lock"],
    "projectFiles": ["Makefile", "justfile", "App.csproj", "x.sln", "build.gradle.kts", ".github/workflows/ci.yml",
                     "conftest.py", "docker-compose.dev.yml", "Dockerfile"],
    "hooks": [".git/hooks/pre-commit", ".husky/pre-push", ".pre-commit-config.yaml", "lefthook.yml", "p/hooks.json"],
    "agentInstructions": ["AGENTS.md", "sub/CLAUDE.md", ".github/copilot-instructions.md", ".claude/settings.json",
                          ".cursor/rules/x.mdc", "skills/x/SKILL.md", ".codex/config.toml"],
    "mcpDeclarations": [".mcp.json", ".vscode/mcp.json", "sub/.mcp.json"],
}  # fmt: skip


@pytest.mark.parametrize(("group", "path"), [(group, path) for group, paths in EXAMPLES.items() for path in paths])
def test_what_a_group_names_is_guarded(group, path):
    found = guard_of(path)
    assert found is not None
    assert any(matches(pattern, path) for pattern in {**GUARDED, **ALWAYS}[group])
    assert found[1] or group in GUARDED


def test_every_group_has_examples():
    assert set(EXAMPLES) == set(GUARDED) | set(ALWAYS)


@pytest.mark.parametrize("pattern", [pattern for group in (*GUARDED.values(), *ALWAYS.values()) for pattern in group])
def test_every_pattern_matches_something_and_not_everything(pattern):
    every = [path for paths in EXAMPLES.values() for path in paths]
    plain = pattern.replace("**/", "", 1).replace("**", "x").replace("*", "x").replace("?", "x")
    while "{" in plain:
        before, _, rest = plain.partition("{")
        choices, _, after = rest.partition("}")
        plain = before + choices.split(",")[0] + after
    assert matches(pattern, plain) and matches(pattern, f"deep/er/{plain}")
    assert not all(matches(pattern, path) for path in every)


ORDINARY = "src/app.ts README.md src/head.py src/environment.py locks/readme.txt gitignore.md a.locker Claude.mdx"


@pytest.mark.parametrize("path", ORDINARY.split())
def test_ordinary_files_are_not_guarded(path):
    assert guard_of(path) is None


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("**/a", "a", True),
        ("**/a", "x/y/a", True),
        ("**/a", "xa", False),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("*.md", "x/a.md", False),
        ("**/*.{a,b}", "x.b", True),
        ("**/x{,.y}", "x", True),
        ("?", "ab", False),
        ("**/cafe\u0301", "x/caf\u00e9", True),
        ("**/a[b]", "a[b]", True),
    ],
)
def test_patterns_are_compared_by_name_and_folder(pattern, path, fits):
    assert matches(pattern, path) is fits
