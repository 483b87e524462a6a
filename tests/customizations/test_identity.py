"""Durable keys (C3.1-C3.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.customizations.identity import (
    WORKSPACE_SOURCE,
    Definitions,
    DirectoryIdentity,
    Identity,
    LeafIdentity,
    PluginIdentity,
    ServerIdentity,
    identify_sighting,
    key_of,
    older_keys,
    owner_map,
    root_of,
    workspace_key,
)

CONTAINERS = st.one_of(
    st.text().map(PluginIdentity),
    st.builds(DirectoryIdentity, st.text(), st.text(), st.sampled_from(["skill", "hook"])),
)
IDENTITIES = st.one_of(
    CONTAINERS,
    st.builds(LeafIdentity, CONTAINERS.map(key_of), st.sampled_from(["skill", "hook", "agent"]), st.text()),
    st.builds(ServerIdentity, st.text(), st.text(), st.none()),
    st.builds(ServerIdentity, st.text(), st.just(""), st.text()),
)


@given(IDENTITIES, IDENTITIES)
def test_one_identity_has_one_key_and_two_have_two(one: Identity, other: Identity) -> None:
    assert (key_of(one) == key_of(other)) == (one == other)


def test_owned_server_has_one_key_whatever_source_it_was_seen_with() -> None:
    """C3.1: the same server seen top-level and nested."""
    nested = ServerIdentity("git", "plugin", owner="file:///p")
    assert key_of(nested) == key_of(ServerIdentity("git", WORKSPACE_SOURCE, owner="file:///p"))
    assert key_of(nested) != key_of(ServerIdentity("git", WORKSPACE_SOURCE))


@pytest.mark.parametrize(
    "spelling",
    [
        "file:///work/my%20repo",
        "file:///work/my%20repo/",
        "file:///work//my%20repo/.",
        "file:///work/x/../my repo",
        "FILE://localhost/work/my%20repo",
        "file:/work/my%20repo",
        "file:///%77ork/my%20repo",
        "/work/my repo",
        "/work/my repo///",
    ],
)
def test_spellings_of_a_posix_directory_are_one_workspace(spelling: str) -> None:
    assert workspace_key(spelling) == "file:///work/my%20repo"


@pytest.mark.parametrize(
    "spelling",
    [
        "file:///C:/Repo",
        "file:///c%3A/repo/",
        "c:\\repo",
        "C:/Repo/",
        "file:///c|/repo",
        "C:\\Repo\\.",
        "file:C:/repo",
        "file:///C:\\Repo",
        "\\\\?\\C:\\Repo",
        "FILE://localhost/C:/x/../Repo",
    ],
)
def test_spellings_of_a_windows_directory_are_one_workspace(spelling: str) -> None:
    assert workspace_key(spelling) == "file:///c:/repo"


def test_case_counts_unless_the_file_system_ignores_it() -> None:
    assert workspace_key("/Work/Repo") != workspace_key("/work/repo")
    assert workspace_key("/Work/Repo", ignores_case=True) == workspace_key("/work/repo", ignores_case=True)


def test_different_directories_stay_different() -> None:
    directories = [
        "/a",
        "/a/b",
        "/ab",
        "/a%2Fb",
        "/",
        "file://host/a",
        "ssh://host/a",
        "ssh://host/a?x=1",
        "\\\\host\\b",
    ]
    assert len({workspace_key(directory) for directory in directories}) == len(directories)


@given(st.text(alphabet="ab/.% é#?", max_size=12))
def test_normalising_twice_changes_nothing(path: str) -> None:
    once = workspace_key(f"/{path}")
    assert workspace_key(once) == once


@pytest.mark.parametrize("name", ["a#b", "a=b", "a/b", "../mcp/git", "%2F", "", " ", "名前", "\ud800"])
def test_no_name_can_look_like_another_key(name: str) -> None:
    """C3.2"""
    key = key_of(ServerIdentity(name, WORKSPACE_SOURCE))
    assert key.count("/") == 2 and "#" not in key and "=" not in key


@pytest.mark.parametrize(
    ("owners", "sources", "settled", "expected"),
    [
        ({"git": ["file:///p"]}, {}, False, ServerIdentity("git", "", owner="file:///p")),
        ({"git": ["file:///p"]}, {"git": ["workspace"]}, False, ServerIdentity("git", "", owner="file:///p")),
        ({}, {"git": ["workspace", "workspace"]}, False, ServerIdentity("git", "workspace")),
        ({}, {}, False, None),
        ({"git": ["file:///p", "file:///q"]}, {}, False, None),
        ({"git": ["file:///p", "file:///q"]}, {"git": ["workspace"]}, False, None),
        ({}, {"git": ["workspace", "user"]}, False, None),
        ({}, {}, True, ServerIdentity("git", "agent:codex")),
        ({"git": ["file:///p", "file:///q"]}, {}, True, ServerIdentity("git", "agent:codex")),
        ({"other": ["file:///p"]}, {"other": ["workspace"]}, True, ServerIdentity("git", "agent:codex")),
    ],
)
def test_bare_name_is_matched_by_owner_then_declaration_else_waits_then_is_the_agents(
    owners: dict[str, list[str]], sources: dict[str, list[str]], settled: bool, expected: ServerIdentity | None
) -> None:
    """C3.1b"""
    assert identify_sighting("git", Definitions(owners, sources, settled), "codex") == expected


def test_only_servers_without_an_owner_have_an_older_key() -> None:
    """C3.1b"""
    assert older_keys(ServerIdentity("a#b", WORKSPACE_SOURCE)) == ("mcpServers#a#b",)
    assert older_keys(ServerIdentity("git", "", owner="file:///p")) == ()
    assert older_keys(PluginIdentity("file:///p")) == ()


def test_owner_map_has_each_plugin_once() -> None:
    assert owner_map([("a", "p"), ("a", "q"), ("a", "p"), ("b", "q")]) == {"a": ("p", "q"), "b": ("q",)}


@pytest.mark.parametrize(
    ("uri", "path", "root"),
    [
        ("file:///repo/.claude/skills", ".claude/skills", "file:///repo"),
        ("file:///repo/my%20skills/", "my skills", "file:///repo"),
        ("file:///repo", "", "file:///repo"),
        ("file:///elsewhere", ".claude/skills", "file:///elsewhere"),
    ],
)
def test_root_of_a_directory(uri: str, path: str, root: str) -> None:
    assert root_of(uri, path) == root


@pytest.mark.parametrize("uri", ["file://[bad/x", "x:", "file:", "", "://", "file:///%zz", "\\\\", "C:", "\ud800"])
def test_no_spelling_raises(uri: str) -> None:
    assert "://" in workspace_key(uri)
