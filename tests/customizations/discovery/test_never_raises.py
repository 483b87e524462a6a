"""No bytes of a manifest, a hooks file, a definition or front matter make discovery raise (C7.3)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from customizations.discovery.memory import Link, MemoryFiles, Pipe
from innkeeper.customizations.discovery import DiscoveredContainer, Discovery, Places, PluginRoot, child_key
from innkeeper.customizations.discovery.leaves import LeafType, Subject, Syntax, read_leaf
from innkeeper.wire.json import encode

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "name",
    "version",
    "agents",
    "skills",
    "rules",
    "commands",
    "hooks",
    "mcpServers",
    "extensions",
    "$schema",
    "paths",
)
manifests = st.dictionaries(
    st.sampled_from(FIELDS), json_values | st.sampled_from(["a", "../x", "./", "SKILL.md"]), max_size=6
)
hooks = st.fixed_dictionaries(
    {
        "hooks": json_values
        | st.dictionaries(
            st.sampled_from(["Stop", "x"]),
            st.lists(
                json_values
                | st.fixed_dictionaries(
                    {},
                    optional={
                        "matcher": json_values,
                        "hooks": json_values,
                        "command": json_values,
                        "timeout": json_values,
                        "env": json_values,
                    },
                ),
                max_size=3,
            ),
        )
    }
)
some_bytes = (
    st.binary(max_size=60)
    | st.one_of(manifests, hooks, json_values).map(lambda value: encode(value))
    | st.text(max_size=60).map(lambda text: f"---\n{text}\n---\n".encode("utf-8", "replace"))
)


def checked(files: MemoryFiles) -> tuple[DiscoveredContainer, ...]:
    """Scan everything; what comes out keeps the rules of the items and can be written as JSON."""
    found = Discovery(files).scan(Places(("/w",), "/h", (PluginRoot("/p"),))).containers
    for container in found:
        keys = [child_key(child) for child in container.children]
        assert keys == sorted(set(keys))
        for child in container.children:
            assert child.name
            json.dumps([child.name, child.uri, child.load]).encode()
    return found


@given(st.sampled_from(["plugin.json", ".plugin/plugin.json", ".claude-plugin/plugin.json"]), some_bytes)
def test_no_manifest_raises(path: str, data: bytes) -> None:
    files = MemoryFiles({f"/p/{path}": data, "/p/a/x.md": "", "/p/SKILL.md": "", "/p/skills/y/SKILL.md": ""})
    assert checked(files)[0].type == "plugin"


@given(manifests, some_bytes, some_bytes, some_bytes)
def test_no_plugin_raises(content: dict[str, object], hook: bytes, server: bytes, markdown: bytes) -> None:
    files = MemoryFiles(
        {
            "/p/.plugin/plugin.json": encode(content),
            "/p/hooks/hooks.json": hook,
            "/p/.mcp.json": server,
            "/p/agents/a.md": markdown,
            "/p/skills/a/SKILL.md": markdown,
            "/p/rules/a.mdc": markdown,
            "/p/commands/a.md": markdown,
        }
    )
    assert checked(files)


@given(some_bytes, some_bytes)
def test_no_workspace_raises(markdown: bytes, other: bytes) -> None:
    files = MemoryFiles(
        {
            "/w/.claude/skills/a/SKILL.md": markdown,
            "/w/.claude/rules/a.md": markdown,
            "/w/.claude/settings.json": other,
            "/w/.github/hooks/a.json": other,
            "/w/.codex/agents/a.toml": other,
            "/w/.gemini/commands/a.toml": markdown,
            "/w/AGENTS.md": other,
            "/h/.claude/CLAUDE.md": markdown,
        }
    )
    assert checked(files)


@pytest.mark.parametrize("type", ["agent", "skill", "prompt", "rule"])
@pytest.mark.parametrize("syntax", ["markdown", "toml"])
@given(some_bytes)
@settings(max_examples=50)
def test_no_definition_raises(type: LeafType, syntax: Syntax, data: bytes) -> None:
    found = read_leaf(data, type, syntax, Subject("u", "n"))
    assert (found.type, bool(found.name)) == (type, True)


names = st.sampled_from(["a", "b", "SKILL.md", ".claude", "skills", "rules", "x.md"])
paths = st.lists(names, min_size=1, max_size=4).map(lambda parts: "/w/.claude/" + "/".join(parts))
targets = st.sampled_from(["..", ".", "/", "/w", "a", "../a", "/w/.claude/skills", "/w/.claude/rules/a", "gone"])
nodes = st.just("x") | st.none() | st.just(Pipe()) | targets.map(Link)


@given(st.lists(st.tuples(paths, nodes), max_size=12))
def test_no_tree_of_links_raises_or_goes_on_for_ever(tree: list[tuple[str, object]]) -> None:
    files = MemoryFiles({"/w/.claude/rules": None, "/w/.claude/skills": None})
    for path, node in tree:
        above = path.rsplit("/", 1)[0]
        if files.nodes.get(above, None) is None and not any(
            files.nodes.get(path.rsplit("/", n)[0], None) is not None for n in range(1, path.count("/"))
        ):
            files.put(path, node)  # type: ignore[arg-type]
    checked(files)
    assert len(files.reads) < 500
