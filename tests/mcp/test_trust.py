"""May a server start by itself? (M4.1-M4.4)"""

import itertools

import pytest

from innkeeper.mcp.declarations.model import DeclaredServer, StdioLaunch, diagnostic
from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance
from innkeeper.mcp.trust import SessionTrust, Verdict, may_start
from innkeeper.ports.decisions import Grant

WORKSPACE = "file:///repo"
NOBODY = SessionTrust()


def server(name: str = "git", fingerprint: str = "sha256:1", **changes: object) -> DeclaredServer:
    fields: dict[str, object] = {
        "name": name,
        "safe_name": name,
        "preset": "root",
        "file": ".mcp.json",
        "line": 1,
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}},
        "transport": "stdio",
        "fingerprint": fingerprint,
        "launch": StdioLaunch("n", (), {}, "/"),
    }
    return DeclaredServer(**{**fields, **changes})  # type: ignore[arg-type]


def judge(
    settings: McpSettings | None = None,
    *grants: Grant,
    session: SessionTrust = NOBODY,
    enabled: bool = True,
    declared: DeclaredServer | None = None,
    workspace: str = WORKSPACE,
) -> Verdict:
    return may_start(
        declared or server(),
        enabled=enabled,
        workspace=workspace,
        settings=settings or McpSettings(),
        grants=grants,
        session=session,
    )


def grant(fingerprint: str = "sha256:1", name: str = "git", workspace: str = WORKSPACE) -> Grant:
    return Grant(workspace, "server", name, fingerprint, "2026-11-30T12:00:00.000Z")


def test_nothing_starts_unasked() -> None:
    assert judge() == Verdict(reason="NOT_ALLOWED")


@pytest.mark.parametrize(
    ("settings", "by"),
    [
        (McpSettings(trust_mode="all"), "trustMode"),
        (McpSettings(trusted_workspaces=frozenset({"/repo/"})), "trustedWorkspace"),
        (McpSettings(workspace_allowances=(WorkspaceAllowance("/repo", frozenset({"git"})),)), "allowance"),
    ],
)
def test_each_layer_of_policy_allows(settings: McpSettings, by: str) -> None:
    assert judge(settings).by == by


@pytest.mark.parametrize("trusted", ["file:///", "file:///repo/sub", "file:///rep", "file:///repository"])
def test_trust_is_of_exactly_one_directory(trusted: str) -> None:
    """M4.1: no subdirectories, no parents."""
    assert not judge(McpSettings(trusted_workspaces=frozenset({trusted}))).allowed
    assert not judge(McpSettings(workspace_allowances=(WorkspaceAllowance(trusted, frozenset({"git"})),))).allowed


def test_stored_grant_is_bound_to_name_workspace_and_fingerprint() -> None:
    """M4.2b"""
    assert judge(None, grant()).by == "grant"
    assert judge(None, grant("sha256:2")) == Verdict(reason="DECLARATION_CHANGED")
    assert judge(None, grant(name="other")) == Verdict(reason="NOT_ALLOWED")
    assert judge(None, grant(workspace="file:///other")) == Verdict(reason="NOT_ALLOWED")


def test_tool_grant_starts_nothing() -> None:
    """M6.1: two decisions."""
    tool = Grant(WORKSPACE, "tool", "git", "sha256:1", "now")
    assert not judge(None, tool).allowed


def test_connect_by_hand_is_bound_to_the_fingerprint() -> None:
    """M4.2"""
    session = NOBODY.granting("git", "sha256:1")
    assert judge(session=session).by == "sessionGrant"
    assert judge(session=session, declared=server(fingerprint="sha256:2")) == Verdict(reason="DECLARATION_CHANGED")


def test_disconnect_is_sticky_over_every_permission_and_over_changes() -> None:
    session = NOBODY.granting("git", "sha256:1").disconnecting("git")
    for settings, stored in itertools.product([McpSettings(trust_mode="all"), McpSettings()], [(), (grant(),)]):
        for declared in (server(), server(fingerprint="sha256:2")):
            verdict = judge(settings, *stored, session=session, declared=declared)
            assert verdict == Verdict(reason="DISCONNECTED")
    assert judge(McpSettings(trust_mode="all"), session=session.lifting("git")).allowed
    assert judge(session=session.lifting("git")) == Verdict(reason="NOT_ALLOWED")


def test_off_and_invalid_win_over_trust() -> None:
    everything = McpSettings(trust_mode="all")
    assert judge(everything, enabled=False) == Verdict(reason="SERVER_DISABLED")
    broken = server(launch=None, diagnostics=(diagnostic("URL_SCHEME", ".mcp.json", 1, "git"),))
    assert judge(everything, declared=broken) == Verdict(reason="URL_SCHEME")
