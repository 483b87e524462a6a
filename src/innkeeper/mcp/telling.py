"""Telling clients of a session's servers: the whole list when it is another one, else the one that changed (AHP §10.2).

An equal list or state is not sent again, except to answer a client that has assumed a state by asking for one.
"""

from collections.abc import Callable, Iterable, Sequence

from innkeeper.mcp.judging import Judge
from innkeeper.mcp.mounts import Mount, MountedSession
from innkeeper.ports.mcp import McpListener
from innkeeper.protocol.session.state import McpServerCustomization


class Telling:
    """`shown` gives a session's mounts with those of the whole host, `sessions` all that are open. `listener` is set
    once, before the first session."""

    def __init__(
        self,
        judge: Judge,
        shown: Callable[[MountedSession], Sequence[Mount]],
        sessions: Callable[[], Iterable[MountedSession]],
    ) -> None:
        self.listener: McpListener | None = None
        self._watching: list[Callable[[str], None]] = []
        self._judge = judge
        self._shown = shown
        self._sessions = sessions

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Be told the session whenever something about its servers may be different, a list of tools too; the result
        ends that, once."""
        self._watching.append(changed)
        return lambda: self._watching.remove(changed) if changed in self._watching else None

    def customizations(self, session: MountedSession) -> list[McpServerCustomization]:
        return [self._judge.customization(session, mount) for mount in self._shown(session)]

    def publish(self, session: MountedSession) -> None:
        """The whole list, when anything in it is new."""
        self.tell(session.uri)
        customizations = self.customizations(session)
        if session.closed or customizations == session.published:
            return
        session.published = customizations
        if self.listener is not None:
            self.listener.customizations_changed(session.uri, customizations)

    def publish_state(self, session: MountedSession, mount: Mount) -> None:
        """One server, even when nothing changed."""
        self.tell(session.uri)
        if session.closed or session.mounts.get(mount.declared.name) is not mount:
            return
        customization = self._judge.customization(session, mount)
        session.published = [
            customization if known["id"] == customization["id"] else known for known in session.published
        ]
        if self.listener is not None:
            self.listener.state_changed(session.uri, customization)

    def changed(self, session: MountedSession, mount: Mount) -> None:
        """A connection or its supervision is in another state."""
        if mount.supervisor is not None:
            mount.blocked = mount.blocked or mount.supervisor.blocked
        if not mount.project:
            for other in tuple(self._sessions()):
                self.publish(other)
        elif self._judge.customization(session, mount) not in session.published:
            self.publish_state(session, mount)
        else:
            self.tell(session.uri)

    def tell(self, session: str) -> None:
        for changed in tuple(self._watching):
            changed(session)
