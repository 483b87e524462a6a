"""May a declared server start by itself? (M4.1-M4.4) Pure.

Rules
* Strongest first, any hit allows: `trust_mode: all`, a trusted directory, an allowance or a stored grant for this
  server. No hit: it stays unloaded, and nothing asks.
* What an agent wrote is held, whatever else allows it but `trust_mode: all`, until a person connects or confirms it.
* A person's grant is bound to the declaration's fingerprint; after a change it is void and says so.
* Connecting by hand what policy does not allow freezes what is selected: names with fingerprints. From then on only
  the person's acts change that set; a changed entry stays in it and needs a new grant.
* What is invalid, switched off, or was disconnected by hand in this session does not start, whoever allows it.
* A worktree that this host made counts as the directory it was made from, for entries that are equal there (M4.1c).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from innkeeper.mcp.declarations.model import DeclaredServer
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.decisions import Grant

AllowedBy = Literal["trustMode", "trustedWorkspace", "allowance", "grant", "sessionGrant"]

DISCONNECTED = "DISCONNECTED"
NOT_SELECTED = "NOT_SELECTED"
"""Reasons that are no errors, so no rows of the error table: a sticky disconnect, and what a frozen selection lacks."""

GRANTABLE = frozenset({"NOT_ALLOWED", "DECLARATION_CHANGED", "WRITTEN_BY_AGENT", NOT_SELECTED})
"""The reasons that a person's Connect overrides."""


@dataclass(frozen=True, slots=True)
class SessionTrust:
    """What people did in one session; forgotten with it and at a host restart (M4.3)."""

    grants: Mapping[str, str] = field(default_factory=dict)
    """Server name to the fingerprint that was connected by hand."""
    disconnected: frozenset[str] = frozenset()
    """Names; survives a change of the declaration (M4.2)."""
    selected: Mapping[str, str] | None = None
    """The frozen set of a `custom` selection, name to fingerprint; None while policy selects."""

    @property
    def selection(self) -> Literal["policy", "custom"]:
        return "policy" if self.selected is None else "custom"

    def granting(self, name: str, fingerprint: str, selected: Mapping[str, str] | None = None) -> "SessionTrust":
        """Connect what policy does not allow. `selected` is what is selected at this moment by policy."""
        frozen = self.selected if self.selected is not None else selected or {}
        return replace(self, grants={**self.grants, name: fingerprint}, selected={**frozen, name: fingerprint}).lifting(
            name
        )

    def disconnecting(self, name: str) -> "SessionTrust":
        kept = None if self.selected is None else {n: f for n, f in self.selected.items() if n != name}
        grants = {n: f for n, f in self.grants.items() if n != name}
        return SessionTrust(grants, self.disconnected | {name}, kept)

    def lifting(self, name: str) -> "SessionTrust":
        """Take a disconnect back."""
        return replace(self, disconnected=self.disconnected - {name})

    def following(self) -> "SessionTrust":
        """*Follow policy*: what was connected by hand is no longer selected; disconnects stay (M4.3)."""
        return SessionTrust(disconnected=self.disconnected)


@dataclass(frozen=True, slots=True)
class TrustPlace:
    """The directory whose trust and grants count: the session's own, and the one its worktree was made from."""

    workspace: str
    """Key of the session's directory."""
    origin: str | None = None
    """Key of the directory that the user opened, when this host made the worktree (M4.1c)."""
    origin_fingerprints: Mapping[str, str] = field(default_factory=dict)
    """What is declared there now, name to fingerprint."""

    def keys(self, server: DeclaredServer) -> tuple[str, ...]:
        """The directories that count for this entry, the one that the user opened first."""
        if self.origin is not None and self.origin_fingerprints.get(server.name) == server.fingerprint != "":
            return (self.origin, self.workspace)
        return (self.workspace,)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Exactly one of `by` and `reason` is set; `reason` is a row of the error table, DISCONNECTED or NOT_SELECTED.
    `workspace` is the directory whose trust applied, `void` a stored grant that a change made void."""

    by: AllowedBy | None = None
    reason: str | None = None
    workspace: str | None = None
    void: Grant | None = None
    bare: bool = False
    """Allowed by a bare name, the operator's coarse form, or by a directory: a change of the declaration counts not."""

    @property
    def allowed(self) -> bool:
        return self.by is not None

    @property
    def by_policy(self) -> bool:
        """Whether it is kept connected, not only tried once (M7.1)."""
        return self.by is not None and self.by != "sessionGrant"


def may_start(
    server: DeclaredServer,
    *,
    enabled: bool,
    place: TrustPlace,
    settings: McpSettings,
    grants: Iterable[Grant],
    session: SessionTrust,
    held: bool = False,
) -> Verdict:
    """`enabled` is the resolved decision; `held` says that an agent wrote the entry and nobody has confirmed it."""
    if server.launch is None:
        return Verdict(reason=server.code or "FIELD_VALUE")
    if not enabled:
        return Verdict(reason="SERVER_DISABLED")
    if server.name in session.disconnected:
        return Verdict(reason=DISCONNECTED)
    policy = _policy(server, place, settings, tuple(grants), held)
    granted = session.grants.get(server.name)
    if session.selected is not None:
        return _selected(server, session.selected, granted, policy)
    if policy.allowed or granted is None:
        return policy
    if granted == server.fingerprint:
        return Verdict(by="sessionGrant", workspace=place.workspace)
    return replace(policy, reason="DECLARATION_CHANGED")


def in_force(server: DeclaredServer, verdict: Verdict, *, enabled: bool, session: SessionTrust, named: bool) -> bool:
    """Whether a request counts on the server (M5.5): it is selected, and not taken out by a person. `named` says that
    policy allows the name whatever the entry is, which is all that is known of an invalid one."""
    if not enabled or server.name in session.disconnected:
        return False
    if session.selected is not None:
        return server.name in session.selected
    return verdict.allowed or (server.launch is None and named)


def names_allowed(name: str, place: TrustPlace, settings: McpSettings) -> bool:
    """Whether policy allows servers of that name without looking at the entry."""
    return (
        settings.trust_mode == "all"
        or settings.trusts(place.workspace)
        or settings.allows_server(place.workspace, name)
    )


def _policy(
    server: DeclaredServer, place: TrustPlace, settings: McpSettings, grants: tuple[Grant, ...], held: bool
) -> Verdict:
    """The strongest layer that allows."""
    if settings.trust_mode == "all":
        return Verdict(by="trustMode", workspace=place.workspace, bare=True)
    if held:
        return Verdict(reason="WRITTEN_BY_AGENT")
    keys = place.keys(server)
    for key in keys:
        if settings.trusts(key):
            return Verdict(by="trustedWorkspace", workspace=key, bare=True)
    for key in keys:
        if settings.allows_server(key, server.name):
            return Verdict(by="allowance", workspace=key, bare=True)
    places = {place.workspace} if place.origin is None else {place.origin, place.workspace}
    stored = [g for g in grants if g.kind == "server" and g.name == server.name and g.workspace in places]
    for grant in stored:
        if grant.workspace in keys and grant.fingerprint == server.fingerprint:
            return Verdict(by="grant", workspace=grant.workspace)
    if stored:
        return Verdict(reason="DECLARATION_CHANGED", void=stored[0], workspace=stored[0].workspace)
    return Verdict(reason="NOT_ALLOWED")


def _selected(server: DeclaredServer, selected: Mapping[str, str], granted: str | None, policy: Verdict) -> Verdict:
    """In a `custom` selection: what was frozen, as it was then."""
    if server.name not in selected:
        return Verdict(reason=NOT_SELECTED) if policy.allowed else policy
    if selected[server.name] != server.fingerprint:
        return replace(policy, by=None, reason="DECLARATION_CHANGED")
    if policy.allowed:
        return policy
    if granted == server.fingerprint:
        return Verdict(by="sessionGrant", workspace=policy.workspace)
    return policy
