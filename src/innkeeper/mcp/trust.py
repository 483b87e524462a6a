"""May a declared server start by itself? (M4.1-M4.4)

Rules
* Strongest first, any hit allows: `trust_mode: all`, a trusted directory, an allowance or a stored grant for this
  server, a grant of this session. No hit: it stays unloaded, and nothing asks.
* A person's grant is bound to the declaration's fingerprint; after a change it is void and says so.
* What is invalid, switched off, or was disconnected by hand in this session does not start, whoever allows it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from innkeeper.mcp.declarations.model import DeclaredServer
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.decisions import Grant

AllowedBy = Literal["trustMode", "trustedWorkspace", "allowance", "grant", "sessionGrant"]

DISCONNECTED = "DISCONNECTED"
"""The reason of a sticky disconnect: no error, so no row of the error table."""


@dataclass(frozen=True, slots=True)
class SessionTrust:
    """What people did in one session; forgotten with it and at a host restart (M4.3)."""

    grants: Mapping[str, str] = field(default_factory=dict)
    """Server name to the fingerprint that was connected by hand."""
    disconnected: frozenset[str] = frozenset()
    """Names; survives a change of the declaration (M4.2)."""

    def granting(self, name: str, fingerprint: str) -> "SessionTrust":
        return SessionTrust({**self.grants, name: fingerprint}, self.disconnected)

    def disconnecting(self, name: str) -> "SessionTrust":
        return SessionTrust({n: f for n, f in self.grants.items() if n != name}, self.disconnected | {name})

    def lifting(self, name: str) -> "SessionTrust":
        return SessionTrust(self.grants, self.disconnected - {name})


@dataclass(frozen=True, slots=True)
class Verdict:
    """Exactly one of the two is set. `reason` is a row of the error table, or DISCONNECTED."""

    by: AllowedBy | None = None
    reason: str | None = None

    @property
    def allowed(self) -> bool:
        return self.by is not None


def may_start(
    server: DeclaredServer,
    *,
    enabled: bool,
    workspace: str,
    settings: McpSettings,
    grants: Iterable[Grant],
    session: SessionTrust,
) -> Verdict:
    """`workspace` is the key of the directory whose grants apply; `enabled` the resolved decision."""
    if server.launch is None:
        return Verdict(reason=server.code)
    if not enabled:
        return Verdict(reason="SERVER_DISABLED")
    if server.name in session.disconnected:
        return Verdict(reason=DISCONNECTED)
    if settings.trust_mode == "all":
        return Verdict(by="trustMode")
    if settings.trusts(workspace):
        return Verdict(by="trustedWorkspace")
    if settings.allows_server(workspace, server.name):
        return Verdict(by="allowance")
    slot = (workspace, "server", server.name)
    stored = [grant.fingerprint for grant in grants if grant.slot == slot]
    if server.fingerprint in stored:
        return Verdict(by="grant")
    held = session.grants.get(server.name)
    if held == server.fingerprint:
        return Verdict(by="sessionGrant")
    return Verdict(reason="DECLARATION_CHANGED" if stored or held is not None else "NOT_ALLOWED")
