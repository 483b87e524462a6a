"""Where a session is, for decisions (C3.3, C4.1, C4.4)."""

import pytest

from customizations.world import directory, skill, world
from innkeeper.customizations.enablement import InvalidSet, Overlay, Target, replace
from innkeeper.customizations.places import Pending, Place, SessionFacts, Workspaces, situate
from innkeeper.customizations.resolution import Resolution

REPO = "file:///repo"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"decisions_read": False}, Pending("session")),
        ({"decisions_read": False, "workspaceless": True}, Pending("session")),
        ({"decisions_fault": "torn"}, Pending("session", "torn")),
        ({"workspaceless": True, "worktree_pending": True, "directories": [REPO]}, Place("s")),
        ({"worktree_pending": True, "directories": [REPO]}, Pending("workingDirectory")),
        ({"directories": None}, Pending("workingDirectory")),
        ({"directories": []}, Place("s")),
        ({"directories": [REPO, "file:///more"]}, Place("s", REPO)),
    ],
)
def test_what_is_not_known_is_pending_in_this_order(facts: dict[str, object], expected: Place | Pending) -> None:
    """C4.1, C4.4"""
    known = SessionFacts(**{"session": "s", "decisions_read": True} | facts)  # type: ignore[arg-type]
    assert situate(known, Workspaces()) == expected


def test_link_and_what_it_leads_to_are_one_workspace_and_the_stated_one_is_published() -> None:
    """Issue 4 item 7"""
    known = Workspaces(real={"file:///link/": REPO})
    place = known.place("s", "file:///link")
    assert (place.directory, place.workspace) == ("file:///link", REPO)
    assert place.accepts("/link/") and place.accepts(REPO) and not place.accepts("file:///other")


def test_worktree_of_the_host_is_its_repository_and_one_made_by_hand_is_not() -> None:
    """C3.3: by the host's own record, links resolved."""
    known = Workspaces(real={"file:///home/repo": REPO}, worktrees={"file:///trees/one": "file:///home/repo"})
    place = known.place("s", "file:///trees/one/")
    assert place.workspace == REPO
    assert place.accepts("file:///trees/one") and place.accepts(REPO)
    assert known.place("s", "file:///trees/two").workspace == "file:///trees/two"


def test_link_to_a_worktree_is_its_repository() -> None:
    known = Workspaces(real={"file:///link": "file:///trees/one"}, worktrees={"file:///trees/one": REPO})
    assert known.place("s", "file:///link").workspace == REPO


def test_case_is_ignored_below_the_roots_that_ignore_it() -> None:
    known = Workspaces(ignoring_case=["file:///Volumes/Data"])
    assert known.place("s", "file:///Volumes/Data/Repo").workspace == "file:///volumes/data/repo"
    assert known.place("s", "file:///Volumes/DataTwo/Repo").workspace == "file:///Volumes/DataTwo/Repo"
    assert known.place("s", "file:///Volumes/Data/Repo").accepts("file:///VOLUMES/data/repo/")


def test_session_without_a_directory_accepts_none() -> None:
    assert Place("s").workspace is None and not Place("s").accepts(REPO)


@pytest.mark.parametrize("uri", ["file:///repo/sub", "file:///", "file:///repo2", "https://host/repo"])
def test_entry_for_another_directory_is_refused(uri: str) -> None:
    wanted = [{"kind": "workspace", "uri": uri, "enabled": False}]
    with pytest.raises(InvalidSet, match="another directory"):
        replace(wanted, Target("k"), Place("s", REPO), Overlay(), Resolution([], world().enablement()).base, "")  # type: ignore[arg-type]


def test_directory_of_the_workspace_has_one_key_in_repository_worktree_and_every_repository() -> None:
    """C3.1, C3.3: what is found there is known by its path in the workspace; a second root is another one."""
    played = world()
    played.workspaces = Workspaces(worktrees={"file:///trees/one": REPO})
    keys = {}
    for session, root in (("s1", "/repo"), ("s2", "/trees/one"), ("s3", "/other")):
        found = directory("skill", [skill("x")], root=f"file://{root}")
        played.open(session, root, [found])
        items = played.resolution(session).items.values()
        keys[session] = [item.target.key for item in items if item.target]
    assert keys["s1"] == keys["s2"] == keys["s3"]
    second = directory("skill", [skill("x")], root="file:///second")
    played.open("s4", "/repo", [second])
    items = played.resolution("s4").items.values()
    assert not {item.target.key for item in items if item.target} & set(keys["s1"])
