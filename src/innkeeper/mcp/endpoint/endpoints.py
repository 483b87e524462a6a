"""All endpoints of a host: the adapter of `ports.endpoints.McpEndpoints` (architecture §5).

Rules
* Nothing listens and nothing of the SDK or the HTTP server is imported before the first offer.
* Paths and secrets are random, 256 bits each, new for each endpoint; they are never logged.
* A withdrawn endpoint goes on refusing for a while, so that its agent can see that the list is empty; then it is gone.
  The endpoints of a closed session are gone at once.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Final

from innkeeper.mcp.endpoint.door import KEY_HEADER, Door
from innkeeper.mcp.endpoint.levels import LEVELS
from innkeeper.ports.endpoints import Ask, CurrentTurn, EndpointOffer, Who
from innkeeper.ports.mcp import JsonObject, McpGateway, McpRefused

if TYPE_CHECKING:
    from innkeeper.mcp.endpoint.endpoint import Endpoint
    from innkeeper.mcp.endpoint.listener import Listener

logger = logging.getLogger(__name__)

RANDOM_BYTES: Final = 32
LINGER_SECONDS: Final = 30.0
HEARTBEAT_SECONDS: Final = 5.0

_Key = tuple[str, str, str | None]


class Endpoints:
    """`current` knows the running turn; `ask` puts a server's own questions to a person, None where nobody can be
    asked. To be joined by `servers.watch(endpoints.changed)` and `gateway.log_to(endpoints.logged)`. `heartbeat` is how
    often an agent hears of a call that waits for a person, `linger` how long a withdrawn endpoint goes on refusing,
    both in seconds."""

    def __init__(
        self,
        *,
        gateway: McpGateway,
        current: CurrentTurn,
        ask: Ask | None = None,
        heartbeat: float = HEARTBEAT_SECONDS,
        linger: float = LINGER_SECONDS,
    ) -> None:
        self._gateway = gateway
        self._current = current
        self._ask = ask
        self._heartbeat = heartbeat
        self._linger = linger
        self._endpoints: dict[str, Endpoint] = {}
        self._offers: dict[_Key, tuple[str, EndpointOffer]] = {}
        self._door = Door(self._endpoints)
        self._listener: Listener | None = None
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._closed = False

    async def offer(
        self,
        session: str,
        server: str,
        *,
        subagent: str | None = None,
        patience: float | None = None,
        who: Who | None = None,
    ) -> EndpointOffer:
        async with self._lock:
            key = (session, self._gateway.offering(session, server).id, subagent)
            known = self._offers.get(key)
            if known is not None:
                return known[1]
            listener = await self._listening()
            return await self._open(key, listener, patience, who)

    async def withdraw(self, session: str, server: str | None = None, *, subagent: str | None = None) -> None:
        async with self._lock:
            for path, endpoint in tuple(self._endpoints.items()):
                named = server is None or server in endpoint.names
                if endpoint.session == session and named and subagent in (None, endpoint.subagent):
                    self._withdraw(path, endpoint)

    def give_up(self, session: str, call: str) -> None:
        for endpoint in self._of(session):
            endpoint.give_up(call)

    async def close(self) -> None:
        """End every endpoint and stop listening. Idempotent."""
        async with self._lock:
            self._closed = True
            self._end(tuple(self._endpoints.items()))
            for timer in self._timers:
                timer.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)
            if self._listener is not None:
                await self._listener.stop()

    def changed(self, session: str) -> None:
        """Something about the session's servers may be different. What is not part of it any more, as after its end,
        loses its endpoints now."""
        back: set[str] = set()
        for path, endpoint in tuple(self._endpoints.items()):
            if endpoint.session != session:
                continue
            found = endpoint.look()
            if found == "gone":
                self._end([(path, endpoint)])
            elif found == "back":
                back.add(endpoint.server)
        for server in back:
            self._spawn(self._level_changed(session, server))

    async def logged(self, session: str, id: str, message: JsonObject) -> None:
        """A log message of a server; it may hold anything and goes to agents only (M7.7)."""
        for endpoint in self._of(session):
            if endpoint.server == id and not endpoint.withdrawn:
                await endpoint.logged(message)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _listening(self) -> "Listener":
        if self._closed:
            raise McpRefused("SERVER_NOT_CONNECTED", "the host is closing")
        if self._listener is None:
            await asyncio.to_thread(_import_stack)
            from innkeeper.mcp.endpoint.listener import Listener

            listener = Listener(self._door)
            await listener.start()
            self._listener = listener
        return self._listener

    async def _open(self, key: _Key, listener: "Listener", patience: float | None, who: Who | None) -> EndpointOffer:
        from innkeeper.mcp.endpoint.endpoint import Endpoint
        from innkeeper.mcp.endpoint.listener import ADDRESS

        session, server, subagent = key
        offering = self._gateway.offering(session, server)
        path, secret = f"/{secrets.token_urlsafe(RANDOM_BYTES)}/mcp", secrets.token_urlsafe(RANDOM_BYTES)
        endpoint = Endpoint(
            offering,
            session,
            subagent,
            secret.encode(),
            gateway=self._gateway,
            current=self._current,
            ask=self._ask,
            heartbeat=self._heartbeat,
            level_changed=self._level_changed,
            patience=patience,
            who=who,
        )
        await endpoint.open()
        try:
            self._gateway.offering(session, server)
        except McpRefused:
            await endpoint.close()
            raise
        offer = EndpointOffer(
            offering.safe_name,
            f"http://{ADDRESS}:{listener.port}{path}",
            {"authorization": f"Bearer {secret}", KEY_HEADER: secret},
        )
        self._endpoints[path] = endpoint
        self._offers[key] = (path, offer)
        endpoint.look()
        return offer

    def _withdraw(self, path: str, endpoint: "Endpoint") -> None:
        if endpoint.withdrawn:
            return
        self._offers.pop((endpoint.session, endpoint.server, endpoint.subagent), None)
        endpoint.withdraw()

        def gone() -> None:
            self._timers.discard(timer)
            self._end([(path, endpoint)])

        timer = asyncio.get_running_loop().call_later(self._linger, gone)
        self._timers.add(timer)

    def _end(self, ending: Iterable[tuple[str, "Endpoint"]]) -> None:
        for path, endpoint in ending:
            self._endpoints.pop(path, None)
            self._offers.pop((endpoint.session, endpoint.server, endpoint.subagent), None)
            self._spawn(endpoint.close())

    async def _level_changed(self, session: str, server: str) -> None:
        """The upstream server is told the most that any agent wants; each endpoint leaves out what its own does not."""
        wanted = [level for one in self._of(session) if one.server == server for level in one.levels]
        if wanted:
            with contextlib.suppress(McpRefused):  # told when it is connected and asked again
                await self._gateway.set_log_level(session, server, min(wanted, key=LEVELS.index))

    def _of(self, session: str) -> list["Endpoint"]:
        return [endpoint for endpoint in self._endpoints.values() if endpoint.session == session]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("an mcp endpoint could not be closed: %s", type(error).__name__)


def _import_stack() -> None:
    """Half a second, off the event loop."""
    import innkeeper.mcp.endpoint.endpoint
    import innkeeper.mcp.endpoint.listener  # noqa: F401
