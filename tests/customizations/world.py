"""A host's customizations as values, driven by short sentences: what the reference rows and the model test are told in.

`World` holds what a host would: the durable decisions, the sessions with what is known of them, the edits that wait.
It publishes and hands over through the same functions as the host, and forgets at `restart` what is not durable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from innkeeper.customizations.clients import NO_CLIENTS, ClientPlugin, ClientPlugins, Contribution
from innkeeper.customizations.discovery.items import (
    LOADED,
    DiscoveredAgent,
    DiscoveredChild,
    DiscoveredDirectory,
    DiscoveredHook,
    DiscoveredPlugin,
    DiscoveredPrompt,
    DiscoveredRule,
    DiscoveredServer,
    DiscoveredSkill,
)
from innkeeper.customizations.edits import Edit, Refused, Replace, SetScope, Stored, affected, apply
from innkeeper.customizations.eligibility import eligible
from innkeeper.customizations.enablement import Overlay
from innkeeper.customizations.items import RawItem, ServerItem
from innkeeper.customizations.places import SessionFacts, Workspaces, situate
from innkeeper.customizations.publishing import publish
from innkeeper.customizations.resolution import Context, Resolution, ScopedEnablement, context_of
from innkeeper.customizations.retention import of_session
from innkeeper.customizations.waiting import Answer, Waiting, WaitingEdit
from innkeeper.ports.customizations import Eligible
from innkeeper.ports.decisions import Decisions
from innkeeper.protocol.session.state import CustomizationEnablement

NOW = "2026-11-30T12:00:00.000Z"
P = "file:///plugins/example"
AZ = "file:///plugins/azure"
A = f"{AZ}#mcpServer=azure"
GIT = "mcp:git"
SCOPES = {"S": "session", "W": "workspace", "G": "global"}
VALUES = {"on": True, "off": False, "none": None}


def skill(name: str, folder: str = "file:///repo/.claude/skills") -> DiscoveredSkill:
    return DiscoveredSkill(uri=f"{folder}/{name}/SKILL.md", name=name, description=f"{name} well")


def server(name: str, plugin: str = AZ) -> DiscoveredServer:
    return DiscoveredServer(uri=f"{plugin}/.mcp.json", name=name, pointer=("mcpServers", name))


def plugin(
    uri: str = P, children: Sequence[DiscoveredChild] = (), *, source: Any = "host", load: Any = LOADED
) -> DiscoveredPlugin:
    name = uri.rsplit("/", 1)[-1]
    path = f"/copies/{name}"
    return DiscoveredPlugin(uri=uri, name=name, path=path, format="claude", source=source, load=load, children=children)


def directory(
    contents: Any = "skill",
    children: Sequence[DiscoveredChild] = (),
    *,
    root: str = "file:///repo",
    path: str = ".claude/skills",
    source: Any = "workspace",
) -> DiscoveredDirectory:
    return DiscoveredDirectory(
        uri=f"{root}/{path}",
        name=path,
        contents=contents,
        writable=True,
        source=source,
        ecosystem="claude",
        load=LOADED,
        children=children,
    )


def declared(name: str = "git", **fields: Any) -> ServerItem:
    return ServerItem(
        **{"id": f"mcp:{name}", "uri": f"file:///repo/.mcp.json#mcp={name}", "name": name, "source": "workspace"}
        | fields
    )


def one_of_each(uri: str = P) -> list[DiscoveredChild]:
    """A child of every type."""
    return [
        DiscoveredAgent(uri=f"{uri}/agents/a.md", name="a", model="large", tools=("x", "y")),
        DiscoveredSkill(uri=f"{uri}/skills/s/SKILL.md", name="s"),
        DiscoveredPrompt(uri=f"{uri}/commands/p.md", name="p"),
        DiscoveredRule(uri=f"{uri}/rules/r.mdc", name="r", always_apply=True, globs=("*.py",)),
        DiscoveredHook(uri=f"{uri}/hooks/hooks.json", name="Stop", event="Stop"),
        DiscoveredServer(uri=f"{uri}/.mcp.json", name="m", pointer=("mcpServers", "m")),
    ]


def says(client: str, uri: str, own: bool | None = None, nonce: str = "1", **children: bool | None) -> ClientPlugin:
    return ClientPlugin(client=client, uri=uri, name=uri.rsplit("/", 1)[-1], nonce=nonce, says=own, children=children)


@dataclass
class Session:
    facts: SessionFacts
    items: list[RawItem]
    clients: ClientPlugins = NO_CLIENTS
    discovered: bool = True


@dataclass
class World:
    overlay: Overlay = field(default_factory=Overlay)
    sessions: dict[str, Session] = field(default_factory=dict)
    waiting: Waiting = field(default_factory=Waiting)
    workspaces: Workspaces = field(default_factory=Workspaces)
    target: str = P
    outcome: Stored | Refused | None = None
    answers: list[Answer] = field(default_factory=list)
    events: list[tuple[str, ...]] = field(default_factory=list)

    def open(self, session: str, directory: str | None = "/repo", items: Sequence[RawItem] = ()) -> Session:
        where = None if directory is None else [_uri(directory)]
        opened = Session(
            SessionFacts(session=session, decisions_read=True, directories=where), list(items or [plugin(P)])
        )
        self.sessions[session] = opened
        return opened

    def context(self, session: str = "s1") -> Context:
        known = self.sessions[session]
        return context_of(
            known.facts,
            self.workspaces,
            known.items,
            provider="console",
            clients=known.clients,
            discovered=known.discovered,
        )

    def enablement(self, session: str = "s1") -> ScopedEnablement:
        return ScopedEnablement(self.context(session), self.overlay)

    def resolution(self, session: str = "s1") -> Resolution:
        return Resolution(self.sessions[session].items, self.enablement(session))

    def published(self, id: str | None = None, session: str = "s1") -> Mapping[str, Any]:
        wire = publish(self.sessions[session].items, self.enablement(session)).items
        every = [child for top in wire for child in (top, *top.get("children", ()))]
        return next(item for item in every if item["id"] == (id or self.target))  # type: ignore[return-value]

    def words(self, id: str | None = None, session: str = "s1") -> str:
        """The published list, `S:off W:on`; `-` without one; `pending:<reason>`."""
        item = self.published(id, session)
        reason = item["_meta"].get("x-innkeeper/pending")
        if reason is not None:
            assert "enablement" not in item
            return f"pending:{reason}"
        entries = item.get("enablement", [])
        return " ".join(f"{one['kind'][0].upper()}:{'on' if one['enabled'] else 'off'}" for one in entries) or "-"

    def eligible(self, session: str = "s1") -> Eligible:
        return eligible(self.sessions[session].items, self.enablement(session))

    def reaches(self, id: str | None = None, session: str = "s1") -> bool:
        found = self.eligible(session)
        ids = {one.id for one in (*found.plugins, *found.servers, *found.leaves)}
        withheld = {one.id for one in found.withheld}
        assert not ids & withheld
        return (id or self.target) in ids

    def stored(self, key: str | None = None) -> str:
        """`G=off W[/repo]=on S[s1]=off`, of all decisions or of one key; `-` for none."""
        words = []
        for scope, letter in (("global", "G"), ("workspace", "W"), ("session", "S")):
            for one in sorted(self.overlay.decisions.decisions):
                if one.scope == scope and key in (None, one.key):
                    place = f"[{one.target.removeprefix('file://')}]" if one.target else ""
                    words.append(f"{letter}{place}={'on' if one.enabled else 'off'}{'!' if one.pinned else ''}")
        return " ".join(words) or "-"

    def edit(self, edit: Edit, id: str | None = None, session: str = "s1") -> Stored | Refused | None:
        """As the host does it: stored at once, refused, or it waits (None)."""
        target = id or self.target
        resolution = self.resolution(session)
        outcome = apply(target, edit, resolution, self.overlay, NOW)
        if isinstance(outcome, Stored):
            self.waiting, replaced = self.waiting.overtaken(session, resolution.sharing(target))
            self.answers += replaced
            self._store(outcome)
        elif not isinstance(outcome, Refused):
            self.waiting, due = self.waiting.add(WaitingEdit(f"t{len(self.answers)}", session, target, edit))
            self.answers += due
            self.outcome = None
            return None
        self.outcome = outcome
        return outcome

    def settle(self, session: str = "s1") -> None:
        """A reason for pending may have ended."""
        self.waiting, answers, self.overlay = self.waiting.settle(session, self.resolution(session), self.overlay, NOW)
        self.answers += answers
        self.events.append((session,))

    def change(self, session: str = "s1", **facts: Any) -> None:
        known = self.sessions[session]
        known.facts = replace(known.facts, **facts)
        self.settle(session)

    def publishes(self, entry: ClientPlugin, session: str = "s1") -> None:
        """The client publishes this plugin, and no other."""
        known = self.sessions[session]
        known.clients = known.clients.joined(Contribution(entry.client, (entry,)))
        uris = [item.uri for item in known.items]
        if entry.uri in uris:
            place = uris.index(entry.uri)
            held = known.items[place]
            assert isinstance(held, DiscoveredPlugin)
            known.items[place] = replace(held, source="client")
        else:
            known.items.append(plugin(entry.uri, source="client"))

    def leaves(self, client: str, session: str = "s1") -> None:
        self.sessions[session].clients = self.sessions[session].clients.left(client)

    def restart(self) -> None:
        """What is durable stays: the decisions. Clients are gone, and what waited was never acknowledged."""
        self.overlay = Overlay(Decisions(tuple(self.overlay.decisions.decisions), self.overlay.decisions.grants))
        self.waiting = Waiting()
        for known in self.sessions.values():
            known.clients = NO_CLIENTS

    def delete(self, session: str) -> None:
        self.overlay = self.overlay.after(of_session(self.overlay, session))
        self.waiting = self.waiting.closed(session)
        del self.sessions[session]

    def run(self, steps: Sequence[str]) -> "World":
        for step in steps:
            self.step(step)
        return self

    def step(self, sentence: str) -> None:
        """`s2 set G off`, `replace S:off W:on@/other`, `client on`, `open s2 /other`; no session named: s1."""
        words = sentence.split()
        session = words.pop(0) if words[0][0] == "s" and words[0][1:].isdigit() else "s1"
        match words:
            case ["open", name, *place]:
                self.open(name, place[0] if place else "/repo", self.sessions["s1"].items if self.sessions else ())
            case ["set", scope, value]:
                self.edit(SetScope(SCOPES[scope], VALUES[value]), session=session)  # type: ignore[arg-type]
            case ["replace", *entries]:
                self.edit(Replace(self.entries(entries, session)), session=session)
            case ["client", value]:
                self.publishes(says("c1", self.target.split("#")[0], VALUES[value]), session)
            case ["child", value]:
                self.publishes(says("c1", AZ, azure=VALUES[value]), session)
            case ["directory", path]:
                self.change(session, directories=[_uri(path)])
            case ["directory-unknown"]:
                self.change(session, directories=None)
            case ["workspaceless"]:
                self.change(session, workspaceless=True)
            case ["worktree", state]:
                self.change(session, worktree_pending=state == "pending")
            case ["row", state]:
                fault = "it is not JSON" if state == "broken" else None
                self.change(session, decisions_read=state == "read", decisions_fault=fault)
            case ["restart"]:
                self.restart()
            case _:
                raise AssertionError(sentence)

    def entries(self, words: Sequence[str], session: str = "s1") -> list[CustomizationEnablement]:
        made: list[Any] = []
        directories = self.sessions[session].facts.directories
        for word in words:
            decision, _, place = word.partition("@")
            letter, value = decision.split(":")
            entry: dict[str, Any] = {"kind": SCOPES[letter], "enabled": VALUES[value]}
            if letter == "W":
                entry["uri"] = _uri(place) if place else (directories or [_uri("/repo")])[0]
            made.append(entry)
        return made

    def _store(self, outcome: Stored) -> None:
        places = {name: situate(known.facts, self.workspaces) for name, known in self.sessions.items()}
        self.overlay = outcome.overlay
        self.events.append(affected(outcome.ops, places))


def world(target: str = P, items: Sequence[RawItem] = ()) -> World:
    made = World(target=target)
    made.open("s1", "/repo", items)
    return made


def _uri(path: str) -> str:
    return path if "://" in path else f"file://{path}"
