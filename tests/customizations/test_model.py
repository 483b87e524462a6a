"""Random histories of a host against a simple model (issue 4 item 1).

The model is a dict of decisions and four rules written down anew; the host is `World`. Toggles, pins, base updates,
clients that join and leave, directories that change or are not known, restarts and deletions come in any order.
"""

from collections.abc import Iterator
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from customizations.world import (
    AZ,
    GIT,
    P,
    World,
    declared,
    directory,
    one_of_each,
    plugin,
    says,
    server,
    skill,
)
from innkeeper.customizations.edits import Pin, Refused, Replace, SetScope, Stored, Unpin
from innkeeper.customizations.eligibility import verdicts
from innkeeper.customizations.enablement import SCOPES
from innkeeper.customizations.explain import explain
from innkeeper.customizations.items import ServerItem
from innkeeper.customizations.places import Pending, Place, Workspaces
from innkeeper.customizations.publishing import Published, is_on
from innkeeper.customizations.resolution import Resolution

SIGHTED = ServerItem(id="seen:git", uri="agent:/git", name="git", source=None)
FOLDER = directory("skill", [skill("one"), skill("two")], source="user")
ITEMS = [
    plugin(P, one_of_each()),
    plugin(AZ, [server("azure"), skill("s", AZ)], source="client"),
    FOLDER,
    declared("git"),
    declared("rt", default=False),
    SIGHTED,
]
AZURE = f"{AZ}#mcpServer=azure"
IDS = [AZURE, GIT, SIGHTED.id, "mcp:rt", f"{FOLDER.uri}#contents=skill&skill=one"]
SESSIONS = ["s1", "s2"]
PATHS = ["/repo", "/repo/", "/other", "/trees/one"]
WORKSPACE = {
    "/repo": "file:///repo",
    "/repo/": "file:///repo",
    "/other": "file:///other",
    "/trees/one": "file:///repo",
}
VALUE = st.sampled_from([None, True, False])
Slot = tuple[str, str, str]


class Model:
    """What is decided: slot to (value, pinned). What clients say: by session, client and key; None is silence."""

    def __init__(self) -> None:
        self.decided: dict[Slot, tuple[bool, bool]] = {}
        self.said: dict[str, dict[str, dict[str, bool | None]]] = {name: {} for name in SESSIONS}

    def base(self, session: str, key: str) -> bool | None:
        first = next(iter(self.said[session].values()), {})
        return first.get(key)

    def value(self, scope: str, session: str, workspace: str | None, key: str) -> bool | None:
        place = {"session": session, "workspace": workspace, "global": ""}[scope]
        found = None if place is None else self.decided.get((key, scope, place))
        return None if found is None else found[0]

    def inherited(self, scope: str, session: str, workspace: str | None, key: str, default: bool) -> bool:
        outer = {"session": ["workspace", "global"], "workspace": ["global"], "global": []}[scope]
        said = self.base(session, key)
        chain = [*(self.value(one, session, workspace, key) for one in outer), said, default]
        return next(value for value in chain if value is not None)

    def write(
        self, scope: str, value: bool | None, session: str, workspace: str | None, key: str, default: bool
    ) -> None:
        slot = (key, scope, {"session": session, "workspace": workspace or "", "global": ""}[scope])
        if scope == "workspace" and workspace is None:
            return
        if value is not None and self.decided.get(slot) == (value, True):
            return
        if value is None or value == self.inherited(scope, session, workspace, key, default):
            self.decided.pop(slot, None)
            return
        self.store(slot, (value, False))

    def store(self, slot: Slot, stored: tuple[bool, bool]) -> None:
        self.decided[slot] = stored
        if slot[1] == "global":
            same = [k for k, v in self.decided.items() if k[:2] == (slot[0], "workspace") and v == (stored[0], False)]
            for one in same:
                del self.decided[one]

    def published(self, session: str, workspace: str | None, key: str, default: bool) -> list[tuple[str, bool]]:
        values = [(scope, self.value(scope, session, workspace, key)) for scope in SCOPES]
        found = [(scope, value) for scope, value in values if value is not None]
        if not any(scope == "global" for scope, _ in found):
            said = self.base(session, key)
            if said is not None:
                found.append(("global", said))
            elif not default:
                found.append(("global", False))
        return found


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World(workspaces=Workspaces(worktrees={"file:///trees/one": "file:///repo"}))
        self.model = Model()
        self.where: dict[str, str | None] = {}
        self.keys: dict[str, str] = {}
        for name, path in zip(SESSIONS, ("/repo", "/other"), strict=True):
            self.world.open(name, path, ITEMS)
            self.where[name] = path

    def place(self, session: str) -> Place | Pending:
        return self.world.context(session).place

    def decidable(self, session: str, id: str) -> bool:
        item = self.world.resolution(session).items.get(id)
        return item is not None and not isinstance(item.verdict, Pending)

    def about(self, session: str, id: str, known: Resolution | None = None) -> tuple[str, str | None, str, bool]:
        target = (known or self.world.resolution(session)).items[id].target
        assert target is not None
        path = self.where[session]
        return session, None if path is None else WORKSPACE[path], target.key, target.default

    @rule(
        session=st.sampled_from(SESSIONS),
        id=st.sampled_from(IDS),
        values=st.fixed_dictionaries(dict.fromkeys(SCOPES, VALUE)),
    )
    def toggle(self, session: str, id: str, values: dict[str, bool | None]) -> None:
        path = self.where[session] or "/repo"
        wanted: list[Any] = [
            {"kind": scope, "enabled": value} | ({"uri": f"file://{path}"} if scope == "workspace" else {})
            for scope, value in values.items()
            if value is not None
        ]
        if not self.decidable(session, id):
            stored = self.world.stored()
            self.world.edit(Replace(wanted), id, session)
            assert self.world.stored() == stored
            return
        outcome = self.world.edit(Replace(wanted), id, session)
        if self.where[session] is None and values["workspace"] is not None:
            assert isinstance(outcome, Refused)
            return
        assert isinstance(outcome, Stored)
        for scope in reversed(SCOPES):
            self.model.write(scope, values[scope], *self.about(session, id))

    @rule(session=st.sampled_from(SESSIONS), id=st.sampled_from(IDS), scope=st.sampled_from(SCOPES), value=VALUE)
    def set_one_scope(self, session: str, id: str, scope: Any, value: bool | None) -> None:
        if not self.decidable(session, id):
            return
        about = self.about(session, id)
        published = dict(self.model.published(*about))
        outcome = self.world.edit(SetScope(scope, value), id, session)
        if scope == "workspace" and value is not None and self.where[session] is None:
            assert isinstance(outcome, Refused)
            return
        published.pop(scope, None)
        if value is not None:
            published[scope] = value
        for one in reversed(SCOPES):
            self.model.write(one, published.get(one), *about)

    @rule(session=st.sampled_from(SESSIONS), id=st.sampled_from(IDS), scope=st.sampled_from(SCOPES))
    def pin(self, session: str, id: str, scope: Any) -> None:
        if not self.decidable(session, id) or (scope == "workspace" and self.where[session] is None):
            return
        _, workspace, key, default = self.about(session, id)
        slot = (key, scope, {"session": session, "workspace": workspace or "", "global": ""}[scope])
        own = self.model.value(scope, session, workspace, key)
        value = self.model.inherited(scope, session, workspace, key, default) if own is None else own
        if self.model.decided.get(slot) != (value, True):
            self.model.store(slot, (value, True))
        assert isinstance(self.world.edit(Pin(scope), id, session), Stored)

    @rule(session=st.sampled_from(SESSIONS), id=st.sampled_from(IDS), scope=st.sampled_from(SCOPES))
    def unpin(self, session: str, id: str, scope: Any) -> None:
        if not self.decidable(session, id):
            return
        _, workspace, key, default = self.about(session, id)
        slot = (key, scope, {"session": session, "workspace": workspace or "", "global": ""}[scope])
        value, pinned = self.model.decided.get(slot, (None, False))
        if pinned:
            self.model.decided[slot] = (bool(value), False)
            self.model.write(scope, value, session, workspace, key, default)
        self.world.edit(Unpin(scope), id, session)

    @rule(session=st.sampled_from(SESSIONS), id=st.sampled_from(IDS))
    def clear(self, session: str, id: str) -> None:
        """Clearing restores inheritance."""
        if not self.decidable(session, id):
            return
        self.world.edit(Replace(()), id, session)
        about = self.about(session, id)
        for scope in reversed(SCOPES):
            self.model.write(scope, None, *about)
        _, workspace, key, default = about
        assert self.world.resolution(session).items[id].on == self.model.inherited(
            "session", session, workspace, key, default
        )
        found = explain(id, self.world.resolution(session), self.world.overlay)
        assert found is not None and all(step.stored is None for step in found.scopes)

    @rule(session=st.sampled_from(SESSIONS), client=st.sampled_from(["c1", "c2"]), own=VALUE, child=VALUE)
    def client_publishes(self, session: str, client: str, own: bool | None, child: bool | None) -> None:
        before = self.world.overlay
        self.world.publishes(says(client, AZ, own, azure=child), session)
        self.model.said[session][client] = {
            "plugin/file%3A%2F%2F%2Fplugins%2Fazure": own,
            "plugin/file%3A%2F%2F%2Fplugins%2Fazure/mcp/azure": child,
        }
        assert self.world.overlay is before

    @rule(session=st.sampled_from(SESSIONS), client=st.sampled_from(["c1", "c2"]))
    def client_leaves(self, session: str, client: str) -> None:
        before = self.world.overlay
        self.world.leaves(client, session)
        self.model.said[session].pop(client, None)
        assert self.world.overlay is before

    @precondition(lambda self: not self.world.waiting.edits)
    @rule(session=st.sampled_from(SESSIONS), path=st.sampled_from([*PATHS, None]))
    def directory_changes(self, session: str, path: str | None) -> None:
        self.where[session] = path
        directories = [] if path is None else [f"file://{path}"]
        self.world.change(session, directories=directories, worktree_pending=False, decisions_read=True)

    @rule(session=st.sampled_from(SESSIONS), what=st.sampled_from(["directory", "worktree", "decisions"]))
    def becomes_pending(self, session: str, what: str) -> None:
        facts: dict[str, Any] = {
            "directory": {"directories": None},
            "worktree": {"worktree_pending": True},
            "decisions": {"decisions_read": False},
        }[what]
        if self.where[session] is not None:
            self.world.change(session, **facts)

    @rule(session=st.sampled_from(SESSIONS))
    def is_known_again(self, session: str) -> None:
        """What waited is now stored or refused, and agrees with what its senders are told."""
        path = self.where[session]
        before = len(self.world.answers)
        directories = [] if path is None else [f"file://{path}"]
        self.world.change(session, directories=directories, worktree_pending=False, decisions_read=True)
        waited = {edit.id for edit in self.world.waiting.edits if edit.session == session}
        assert all(not self.decidable(session, id) for id in waited)
        for answer in self.world.answers[before:]:
            if not isinstance(answer.outcome, Stored):
                continue
            edit = answer.to.edit
            assert isinstance(edit, Replace)
            values = {entry["kind"]: entry["enabled"] for entry in edit.wanted}
            for scope in reversed(SCOPES):
                self.model.write(scope, values.get(scope), *self.about(session, answer.to.id))

    @rule()
    def restart(self) -> None:
        """Nothing durable is lost."""
        before = self.world.stored()
        self.world.restart()
        self.model.said = {name: {} for name in SESSIONS}
        assert self.world.stored() == before

    @rule(session=st.sampled_from(SESSIONS))
    def delete_and_open_again(self, session: str) -> None:
        self.world.delete(session)
        self.world.open(session, self.where[session], ITEMS)
        self.model.said[session] = {}
        self.model.decided = {
            slot: kept for slot, kept in self.model.decided.items() if slot[1:] != ("session", session)
        }

    @invariant()
    def host_and_model_agree(self) -> None:
        decided = {
            (one.key, one.scope, one.target): (one.enabled, one.pinned)
            for one in self.world.overlay.decisions.decisions
        }
        assert decided == self.model.decided

    @invariant()
    def published_lists_are_sorted_and_the_first_decides(self) -> None:
        for session, resolution, item in self.items():
            resolved = resolution.items[item["id"]]
            if isinstance(resolved.verdict, Pending):
                assert "enablement" not in item and not is_on(item)
                continue
            entries = item.get("enablement", [])
            kinds = [entry["kind"] for entry in entries]
            assert kinds == [scope for scope in SCOPES if scope in kinds]
            assert is_on(item) == (entries[0]["enabled"] if entries else True)
            found = [(entry["kind"], entry["enabled"]) for entry in entries]
            assert found == self.model.published(*self.about(session, item["id"], resolution))

    @invariant()
    def what_is_handed_over_is_on_and_not_pending(self) -> None:
        for session in SESSIONS:
            resolution = self.world.resolution(session)
            reasons = verdicts(resolution)
            found = self.world.eligible(session)
            for one in (*found.plugins, *found.servers, *found.leaves):
                item = resolution.items[one.id]
                assert item.on and reasons[one.id] is None
                assert item.container is None or resolution.items[item.container].on
            assert len(found.withheld) == sum(reason is not None for reason in reasons.values())

    @invariant()
    def one_identity_has_one_key(self) -> None:
        for _, resolution in self.resolutions():
            for item in resolution.items.values():
                if item.target is not None:
                    assert self.keys.setdefault(item.id, item.target.key) == item.target.key
        shared = {GIT, SIGHTED.id} <= self.keys.keys()
        assert not shared or self.keys[GIT] == self.keys[SIGHTED.id]
        others = {key for id, key in self.keys.items() if id != SIGHTED.id}
        assert len(others) == len(self.keys.keys() - {SIGHTED.id})

    def resolutions(self) -> Iterator[tuple[str, Resolution]]:
        for session in SESSIONS:
            if not isinstance(self.place(session), Pending):
                yield session, self.world.resolution(session)

    def items(self) -> Iterator[tuple[str, Resolution, Any]]:
        for session in SESSIONS:
            resolution = self.world.resolution(session)
            for top in Published(resolution).items:
                for item in (top, *top.get("children", ())):
                    yield session, resolution, item


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
