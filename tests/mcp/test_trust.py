"""May a server start by itself? (M4.1-M4.4)"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.declarations.model import DeclaredServer, StdioLaunch, diagnostic
from innkeeper.mcp.settings import McpSettings, WorkspaceAllowance
from innkeeper.mcp.trust import SessionTrust, TrustPlace, Verdict, may_start
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
    held: bool = False,
    place: TrustPlace | None = None,
    enabled: bool = True,
    declared: DeclaredServer | None = None,
    workspace: str = WORKSPACE,
) -> Verdict:
    return may_start(
        declared or server(),
        enabled=enabled,
        place=place or TrustPlace(workspace),
        held=held,
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
    void = judge(None, grant("sha256:2"))
    assert (void.allowed, void.reason, void.void) == (False, "DECLARATION_CHANGED", grant("sha256:2"))
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
    assert judge(session=session.lifting("git")) == Verdict(reason="NOT_ALLOWED")
    by_policy = NOBODY.disconnecting("git")
    assert judge(McpSettings(trust_mode="all"), session=by_policy).reason == "DISCONNECTED"
    assert judge(McpSettings(trust_mode="all"), session=by_policy.lifting("git")).allowed


def test_off_and_invalid_win_over_trust() -> None:
    everything = McpSettings(trust_mode="all")
    assert judge(everything, enabled=False) == Verdict(reason="SERVER_DISABLED")
    broken = server(launch=None, diagnostics=(diagnostic("URL_SCHEME", ".mcp.json", 1, "git"),))
    assert judge(everything, declared=broken) == Verdict(reason="URL_SCHEME")


ALL = McpSettings(trust_mode="all")
TRUSTED = McpSettings(trusted_workspaces=frozenset({"/repo"}))
NAMED = McpSettings(workspace_allowances=(WorkspaceAllowance("/repo", frozenset({"git"})),))


@pytest.mark.parametrize("settings", [McpSettings(), TRUSTED, NAMED])
def test_what_an_agent_wrote_is_held_whatever_else_allows_it(settings: McpSettings) -> None:
    """M4.1b"""
    verdict = judge(settings, grant(), held=True)
    assert (verdict.allowed, verdict.reason) == (False, "WRITTEN_BY_AGENT")
    assert judge(ALL, held=True).by == "trustMode"


def test_what_is_allowed_by_name_or_directory_is_marked_and_a_grant_is_not() -> None:
    """M4.2b: the operator's coarse form."""
    assert [judge(settings).bare for settings in (ALL, TRUSTED, NAMED)] == [True, True, True]
    assert judge(None, grant()).bare is False
    assert judge(NAMED, declared=server(fingerprint="sha256:other")).allowed


def test_connecting_what_policy_does_not_allow_freezes_the_selection() -> None:
    """M4.3: from then on only the person's acts count."""
    session = NOBODY.granting("git", "sha256:1", {"memo": "sha256:9"})
    assert (NOBODY.selection, session.selection) == ("policy", "custom")
    assert judge(session=session).by == "sessionGrant"
    memo = server("memo", "sha256:9")
    assert judge(TRUSTED, session=session, declared=memo).by == "trustedWorkspace"
    assert judge(session=session, declared=memo) == Verdict(reason="NOT_ALLOWED"), "policy still decides (M5.8)"
    newcomer = server("new", "sha256:3")
    assert judge(TRUSTED, session=session, declared=newcomer).reason == "NOT_SELECTED"
    changed = judge(TRUSTED, session=session, declared=server("memo", "sha256:10"))
    assert (changed.allowed, changed.reason) == (False, "DECLARATION_CHANGED")
    assert judge(TRUSTED, session=session.following(), declared=newcomer).allowed
    assert judge(session=session.following()) == Verdict(reason="NOT_ALLOWED")


def test_disconnect_takes_out_of_a_frozen_selection_and_following_policy_keeps_it() -> None:
    """M4.2, M4.3"""
    session = NOBODY.granting("git", "sha256:1").disconnecting("git")
    assert session.selected == {}
    assert judge(TRUSTED, session=session.following()).reason == "DISCONNECTED"
    again = session.granting("git", "sha256:1")
    assert judge(session=again).by == "sessionGrant"


def test_only_policy_keeps_a_server_connected() -> None:
    """M7.1: what a person connected gets one attempt."""
    assert not judge(session=NOBODY.granting("git", "sha256:1")).by_policy
    assert all(judge(settings).by_policy for settings in (ALL, TRUSTED, NAMED))
    assert judge(None, grant()).by_policy
    both = NOBODY.granting("git", "sha256:1")
    assert judge(TRUSTED, session=both).by_policy


@pytest.mark.parametrize(
    ("settings", "stored", "by"),
    [(TRUSTED, (), "trustedWorkspace"), (NAMED, (), "allowance"), (McpSettings(), (grant(),), "grant")],
)
def test_worktree_of_this_host_counts_as_its_directory_while_the_entry_is_equal_there(
    settings: McpSettings, stored: tuple[Grant, ...], by: str
) -> None:
    """M4.1c, which stands over row T7: what applied is named."""
    equal = TrustPlace("file:///worktrees/a", WORKSPACE, {"git": "sha256:1"})
    verdict = judge(settings, *stored, place=equal)
    assert (verdict.by, verdict.workspace) == (by, WORKSPACE)
    for place in (
        TrustPlace("file:///worktrees/a", WORKSPACE, {"git": "sha256:2"}),
        TrustPlace("file:///worktrees/a", WORKSPACE, {}),
    ):
        assert not judge(settings, place=place).allowed
    assert not judge(settings, *stored, place=TrustPlace("file:///worktrees/a")).allowed, "made by others: T7"


def test_grants_of_a_worktree_itself_count_there() -> None:
    place = TrustPlace("file:///worktrees/a", WORKSPACE, {"git": "sha256:2"})
    assert judge(None, grant(workspace="file:///worktrees/a"), place=place).by == "grant"


@given(
    settings=st.sampled_from([McpSettings(), TRUSTED, NAMED, ALL]),
    acts=st.lists(st.sampled_from(["grant", "disconnect", "lift", "follow"]), max_size=6),
    granted=st.sampled_from([(), (grant(),), (grant("sha256:2"),)]),
    held=st.booleans(),
)
def test_changed_declaration_never_runs_on_what_a_person_granted(
    settings: McpSettings, acts: list[str], granted: tuple[Grant, ...], held: bool
) -> None:
    """T1, T2: whatever people did for the old fingerprint, the new one runs only if policy takes any."""
    session = NOBODY
    for act in acts:
        match act:
            case "grant":
                session = session.granting("git", "sha256:1", {})
            case "disconnect":
                session = session.disconnecting("git")
            case "lift":
                session = session.lifting("git")
            case _:
                session = session.following()
    old = [g for g in granted if g.fingerprint == "sha256:1"]
    verdict = judge(settings, *old, session=session, held=held, declared=server(fingerprint="sha256:evil"))
    assert not verdict.allowed or (verdict.bare and session.selected is None)
    assert verdict.allowed == (verdict.reason is None)
