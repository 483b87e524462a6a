"""What holds for one server of one session now: enablement, trust, what clients are told (M4, M5.8, M7.6).

Rules
* Computed anew each time, from the present decisions and settings; nothing here remembers a verdict (T8).
* The one place that joins enablement, trust, grants, holds and worktrees, for every provider (D2, M6.6).
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from innkeeper.customizations.enablement import ClientBase, Overlay, Resolved, Target, resolve
from innkeeper.customizations.identity import WORKSPACE_SOURCE, ServerIdentity, key_of
from innkeeper.mcp.authorship import Authorship
from innkeeper.mcp.declarations.model import DeclaredServer
from innkeeper.mcp.mounts import Mount, MountedSession
from innkeeper.mcp.publishing import NO_COURSE, ServerView, customization_of, report_of, view_of
from innkeeper.mcp.settings import McpSettings
from innkeeper.mcp.trust import Verdict, in_force, may_start, names_allowed
from innkeeper.ports.decisions import Decisions
from innkeeper.ports.mcp import DeclarationView, ServerReport
from innkeeper.protocol.session.state import McpServerCustomization

HOST_WIDE = Verdict(by="trustMode", bare=True)
"""The operator declared it: nothing else decides (M5.2)."""

VIEWS_KEPT = 4096
GRANTED_KEPT = 1000


class GrantedMemory(Protocol):
    """What allowed declarations said, by fingerprint, over a restart."""

    def load(self) -> Mapping[str, DeclarationView]: ...

    def save(self, views: Mapping[str, DeclarationView]) -> None: ...


class Judge:
    """`decisions` and `settings` give the present value."""

    def __init__(
        self,
        decisions: Callable[[], Decisions],
        settings: Callable[[], McpSettings],
        authorship: Authorship,
        granted: GrantedMemory | None = None,
    ) -> None:
        self._decisions = decisions
        self._settings = settings
        self._authorship = authorship
        self._memory = granted
        self._kept: dict[str, DeclarationView] = {} if granted is None else dict(granted.load())
        self._views: dict[str, DeclarationView] = {}

    def saw(self, declared: DeclaredServer) -> None:
        """Remember what this fingerprint stands for, to show it beside a later one."""
        if declared.fingerprint and declared.fingerprint not in self._views:
            self._views[declared.fingerprint] = view_of(declared)
            while len(self._views) > VIEWS_KEPT:
                del self._views[next(iter(self._views))]

    def granted(self, declared: DeclaredServer) -> None:
        """A person allowed it for good: what it said is kept over a restart."""
        self._kept.pop(declared.fingerprint, None)
        self._kept[declared.fingerprint] = view_of(declared)
        while len(self._kept) > GRANTED_KEPT:
            del self._kept[next(iter(self._kept))]
        if self._memory is not None:
            self._memory.save(self._kept)

    def resolved(self, session: MountedSession, declared: DeclaredServer) -> Resolved:
        return resolve(target_of(declared), session.place, Overlay(self._decisions()), ClientBase())

    def verdict(self, session: MountedSession, mount: Mount) -> Verdict:
        """Whether the mount's server may run now."""
        return self.verdict_on(session, mount.declared) if mount.project else HOST_WIDE

    def verdict_on(self, session: MountedSession, declared: DeclaredServer) -> Verdict:
        return may_start(
            declared,
            enabled=self.resolved(session, declared).enabled,
            place=session.trust_place,
            settings=self._settings(),
            grants=self._decisions().grants,
            session=session.trust,
            held=self._authorship.held(session.workspace, declared),
        )

    def in_force(self, session: MountedSession, declared: DeclaredServer) -> bool:
        """Whether a request counts on the server (M5.5)."""
        return in_force(
            declared,
            self.verdict_on(session, declared),
            enabled=self.resolved(session, declared).enabled,
            session=session.trust,
            named=names_allowed(declared.name, session.trust_place, self._settings()),
        )

    def missing(self, session: MountedSession) -> tuple[str, str] | None:
        """The first required server that is in force and not connected, with the code that says why (M5.5)."""
        for name, (_, code) in session.lost.items():
            return name, code
        for mount in session.mounts.values():
            if mount.declared.required and not mount.ready and self.in_force(session, mount.declared):
                return mount.declared.name, self._why_not(session, mount)
        return None

    def known_down(self, session: MountedSession) -> list[tuple[str, str]]:
        """Required servers in force whose last try has failed. A request does not bring the next one forward (M7.2), so
        it cannot have them."""
        return [
            (mount.declared.name, self._why_not(session, mount))
            for mount in session.mounts.values()
            if mount.declared.required and self.in_force(session, mount.declared) and _has_failed(mount)
        ]

    def _why_not(self, session: MountedSession, mount: Mount) -> str:
        state, reason = mount.state, self.verdict(session, mount).reason
        if reason is not None or state is None:
            return reason or "REQUIRED_UNAVAILABLE"
        return state.code or ("START_TIMEOUT" if state.kind == "starting" else "REQUIRED_UNAVAILABLE")

    def customization(self, session: MountedSession, mount: Mount) -> McpServerCustomization:
        return customization_of(self.view(session, mount))

    def report(self, session: MountedSession, mount: Mount) -> ServerReport:
        return report_of(self.view(session, mount))

    def view(self, session: MountedSession, mount: Mount) -> ServerView:
        connection, supervisor, verdict = mount.connection, mount.supervisor, self.verdict(session, mount)
        course = NO_COURSE if supervisor is None else supervisor.course
        before = verdict.void.fingerprint if verdict.void is not None else self._granted_before(session, mount)
        return ServerView(
            declared=mount.declared,
            directory=session.place.directory or "",
            resolved=self.resolved(session, mount.declared),
            verdict=verdict,
            connection=mount.state,
            pid=None if connection is None else connection.pid,
            tools=() if connection is None else tuple(tool["name"] for tool in connection.catalogue.tools),
            selection=session.trust.selection,
            course=course,
            next_try=None if supervisor is None else supervisor.next_try,
            unverified=supervisor is not None and supervisor.unverified,
            confirmed_at=None if supervisor is None else supervisor.confirmed_at,
            leaving=mount.leaving,
            project=mount.project,
            granted=(self._views.get(before) or self._kept.get(before))
            if verdict.reason == "DECLARATION_CHANGED"
            else None,
        )

    def _granted_before(self, session: MountedSession, mount: Mount) -> str:
        name = mount.declared.name
        return session.trust.grants.get(name) or (session.trust.selected or {}).get(name, "")


def target_of(declared: DeclaredServer) -> Target:
    return Target(key_of(ServerIdentity(declared.name, WORKSPACE_SOURCE)), default=declared.enabled_in_file)


def _has_failed(mount: Mount) -> bool:
    return mount.state is not None and mount.state.kind == "error"
