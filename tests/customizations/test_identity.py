"""Durable keys (C3.1-C3.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.customizations.identity import (
    WORKSPACE_SOURCE,
    Identity,
    PluginIdentity,
    ServerIdentity,
    key_of,
    workspace_key,
)

IDENTITIES = st.one_of(
    st.text().map(PluginIdentity),
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
    ["file:///C:/Repo", "file:///c%3A/repo/", "c:\\repo", "C:/Repo/", "file:///c|/repo", "C:\\Repo\\."],
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
