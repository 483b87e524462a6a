"""MCP servers of the whole host, which only the operator's configuration declares (M5.2).

Rules
* One connection a host, shared by all sessions, started when the first request wants it. They are not gated, filtered,
  supervised or removed by what holds for project servers; what ended gets another try with each request.
* They stay visible; a connected project server of the same name stands before one in its session.
* Nothing of a project reaches this list (M5.1).
"""

import asyncio
from collections.abc import Sequence

from innkeeper.customizations.enablement import Place
from innkeeper.mcp.declarations.model import DeclaredServer, StdioLaunch
from innkeeper.mcp.mounts import Mount, MountedSession
from innkeeper.mcp.names import safe_server_name
from innkeeper.mcp.publishing import HOST_PRESET
from innkeeper.mcp.settings import HostServer
from innkeeper.mcp.starting import Starting

URI = "x-innkeeper:/host"


class HostServers:
    """The mounts of the host, in the order of the configuration."""

    def __init__(self, starting: Starting) -> None:
        self._starting = starting
        self._session = MountedSession(URI, Place(URI, None), None)

    @property
    def mounts(self) -> Sequence[Mount]:
        return tuple(self._session.mounts.values())

    def find(self, server: str) -> Mount | None:
        return self._session.find(server)

    def start(self, declared: Sequence[HostServer]) -> list[Mount]:
        """Begin to connect what is not connected; gives what a request may wait for."""
        for server in declared:
            if server.name not in self._session.mounts:
                self._session.mounts[server.name] = Mount(_declared(server), project=False)
        tried = [mount for mount in self._session.mounts.values() if not (mount.live or mount.blocked)]
        for mount in tried:
            self._starting.begin(self._session, mount)
        return [mount for mount in self._session.mounts.values() if mount.live and not mount.ready]

    async def close(self) -> None:
        self._session.closed = True
        await asyncio.gather(*(mount.disconnect() for mount in self.mounts))


def _declared(server: HostServer) -> DeclaredServer:
    """The operator's entry in the shape of a declaration; nothing of it is shown but its name."""
    return DeclaredServer(
        name=server.name,
        safe_name=safe_server_name(server.name),
        preset=HOST_PRESET,
        file="config.toml",
        line=0,
        range={"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        transport="stdio" if isinstance(server.launch, StdioLaunch) else "http",
        fingerprint=f"host:{server.name}",
        launch=server.launch,
    )
