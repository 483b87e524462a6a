"""Making the supervisor of a mount: which connection, by which orders (M5.4, M7.1, M7.8).

Rules
* A connection runs exactly what is declared (M7.9), with the declared start-up limit where there is one (M1.7).
* What the installed SDK cannot do is off and says MONITORING_UNSUPPORTED; without its core nothing is started.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from innkeeper.mcp.connections.connection import Connection
from innkeeper.mcp.connections.environment import child_environment
from innkeeper.mcp.connections.values import Limits, Use
from innkeeper.mcp.declarations.model import DeclaredServer, HttpLaunch
from innkeeper.mcp.judging import Judge
from innkeeper.mcp.mounts import Mount, MountedSession
from innkeeper.mcp.oauth.access import ServerAccess
from innkeeper.mcp.oauth.service import Authorization
from innkeeper.mcp.publishing import server_id
from innkeeper.mcp.reading import FileReader
from innkeeper.mcp.supervision.admission import Admission, admission
from innkeeper.mcp.supervision.probe import HttpProbe
from innkeeper.mcp.supervision.supervisor import Orders, Supervisor, Timing
from innkeeper.ports.clock import Clock
from innkeeper.ports.processes import Processes

CHANGED: Final = "DECLARATION_CHANGED"
ENDING_SECONDS: Final = 5.0
"""What ending a process takes at most, step after step, on a busy machine."""


class Starting:
    """`changed` is called after each change of a server, `idle` when none of its calls runs any more."""

    def __init__(
        self,
        *,
        processes: Processes,
        environment: Mapping[str, str],
        limits: Limits,
        authorization: Authorization,
        timing: Timing,
        judge: Judge,
        reader: FileReader,
        changed: Callable[[MountedSession, Mount], None],
        idle: Callable[[MountedSession, Mount], None],
        admitted: Callable[[], Admission] = admission,
        probe: Callable[[str], Awaitable[bool]] | None = None,
    ) -> None:
        self._processes = processes
        self._environment = environment
        self._limits = limits
        self._authorization = authorization
        self._timing = timing
        self._judge = judge
        self._reader = reader
        self._changed = changed
        self._idle = idle
        self._admitted = admitted
        self._probe = probe or HttpProbe()
        self.elicitation = False
        """Whether servers may ask; they are told when they connect."""

    def limit(self, declared: DeclaredServer) -> float:
        """Seconds until a start has come to something: its own limit, and the end of a process that kept still."""
        return self._own_limit(declared) + ENDING_SECONDS

    def _own_limit(self, declared: DeclaredServer) -> float:
        return self._limits.start if declared.timeouts.start is None else declared.timeouts.start

    def begin(self, session: MountedSession, mount: Mount) -> None:
        """Begin a try of the mount's server, which may run, under its supervisor."""
        if mount.supervisor is None:
            mount.supervisor = self._supervisor(session, mount)
        mount.supervisor.start()

    def _supervisor(self, session: MountedSession, mount: Mount) -> Supervisor:
        can_probe = self._admitted().allows("probe")
        orders = Orders(
            make=lambda: self._connection(session, mount),
            supervised=lambda: mount.project and self._judge.verdict(session, mount).by_policy,
            obstacle=lambda: self._obstacle(session, mount),
            changed=lambda: self._changed(session, mount),
            probe=self._probe if can_probe and mount.project else None,
            starts=session.starts,
        )
        return Supervisor(mount.declared.name, orders, self._timing)

    def _connection(self, session: MountedSession, mount: Mount) -> Connection:
        declared = mount.declared
        assert declared.launch is not None

        def used(connection: Connection, use: Use) -> None:
            if mount.supervisor is not None:
                mount.supervisor.used(connection, use)
            if use == "idle":
                self._idle(session, mount)

        def changed(connection: Connection) -> None:
            if mount.supervisor is not None:
                mount.supervisor.connection_changed(connection)

        connection = Connection(
            declared.name,
            declared.launch,
            self._processes,
            lambda values: child_environment(self._environment, values),
            changed,
            dataclasses.replace(self._limits, start=self._own_limit(declared)),
            self._access(session, declared),
            used,
            refused=None if self._admitted().allows("connect") else "MONITORING_UNSUPPORTED",
        )
        connection.exchanges.elicitation = self.elicitation
        return connection

    def _access(self, session: MountedSession, declared: DeclaredServer) -> ServerAccess | None:
        if not isinstance(declared.launch, HttpLaunch):
            return None
        launch = declared.launch
        return self._authorization.access(session.uri, server_id(declared), launch.url, launch.client)

    async def _obstacle(self, session: MountedSession, mount: Mount) -> str | None:
        """Why a further try would not be what was allowed (M7.3)."""
        if session.closed or session.mounts.get(mount.declared.name) is not mount or mount.leaving:
            return CHANGED
        present = await self._reader.present(session, mount.declared.name) if mount.project else mount.declared
        if present is None or present.fingerprint != mount.declared.fingerprint:
            return CHANGED
        return self._judge.verdict(session, mount).reason


def later(clock: Clock) -> Callable[[float], str]:
    """Timestamps of so many seconds from now, whole seconds."""

    def stamp(seconds: float) -> str:
        then = datetime.fromisoformat(clock.now()) + timedelta(seconds=seconds + 0.5)
        return then.replace(microsecond=0).isoformat().replace("+00:00", "Z")

    return stamp
