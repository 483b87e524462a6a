"""The commands that the host answers: one table, method to handler (AHP §4, architecture §6).

Rules
* A handler gets who asks and the checked params, and returns the result or raises; failures are mapped in one place.
* What this host does not serve yet is not in the table: the engine answers -32601. What a client may rely on to be
  refused is refused in words: resources with -32009, `moveChat`, unknown authentication targets.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

from innkeeper.engine.effects import Command
from innkeeper.host.chats import Chats
from innkeeper.host.faults import bad_params, wire_error
from innkeeper.host.sessions import Sessions
from innkeeper.ports.ids import Ids
from innkeeper.protocol.errors import permission_denied

Params = Mapping[str, Any]

RESOURCE_METHODS = (
    "resourceRead",
    "resourceWrite",
    "resourceList",
    "resourceCopy",
    "resourceMove",
    "resourceDelete",
    "resourceResolve",
    "resourceMkdir",
    "resourceRequest",
)


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks."""

    client_id: str
    connection: int


Handler = Callable[[Asker, Params], Awaitable[object]]


class Commands:
    """The table, and the one way to run it."""

    def __init__(
        self, table: Mapping[str, Handler], ids: Ids, about: Callable[[str], None] = lambda _channel: None
    ) -> None:
        """`about` is told the channel of each command before it runs."""
        self._table = MappingProxyType(dict(table))
        self._ids = ids
        self._about = about

    @property
    def methods(self) -> frozenset[str]:
        return frozenset(self._table)

    async def run(self, command: Command) -> object:
        """The result. Raises RpcError, nothing else."""
        self._about(str(command.params.get("channel")))
        try:
            return await self._table[command.method](Asker(command.client_id, command.connection), command.params)
        except Exception as error:
            raise wire_error(error, f"command {command.method}", self._ids) from error


class StandardCommands:
    """The commands of AHP that this host serves, besides those of the engine."""

    def __init__(self, sessions: Sessions, chats: Chats) -> None:
        self._sessions = sessions
        self._chats = chats

    def table(self) -> dict[str, Handler]:
        return {
            "listSessions": self.list_sessions,
            "resolveSessionConfig": self.resolve_config,
            "sessionConfigCompletions": self.complete_config,
            "createSession": self.create_session,
            "disposeSession": self.dispose_session,
            "createChat": self.create_chat,
            "disposeChat": self.dispose_chat,
            "moveChat": self.move_chat,
            "authenticate": self.authenticate,
            **dict.fromkeys(RESOURCE_METHODS, self.no_resources),
        }

    async def list_sessions(self, asker: Asker, params: Params) -> object:
        return await self._sessions.listed(params)

    async def resolve_config(self, asker: Asker, params: Params) -> object:
        return await self._sessions.resolve(params)

    async def complete_config(self, asker: Asker, params: Params) -> object:
        return await self._sessions.completions(params)

    async def create_session(self, asker: Asker, params: Params) -> None:
        await self._sessions.create(asker.client_id, params)

    async def dispose_session(self, asker: Asker, params: Params) -> None:
        await self._sessions.dispose(params["channel"])

    async def create_chat(self, asker: Asker, params: Params) -> None:
        await self._chats.create(asker.client_id, params)

    async def dispose_chat(self, asker: Asker, params: Params) -> None:
        await self._chats.dispose(params["channel"])

    async def move_chat(self, asker: Asker, params: Params) -> NoReturn:
        self._chats.move(params)

    async def authenticate(self, asker: Asker, params: Params) -> NoReturn:
        raise bad_params("nothing on this host asks for a token for that resource")

    async def no_resources(self, asker: Asker, params: Params) -> NoReturn:
        raise permission_denied("this host gives no access to files over AHP yet")


STANDARD_METHODS = frozenset(
    {
        "listSessions",
        "resolveSessionConfig",
        "sessionConfigCompletions",
        "createSession",
        "disposeSession",
        "createChat",
        "disposeChat",
        "moveChat",
        "completions",
        "authenticate",
        *RESOURCE_METHODS,
    }
)
"""What `StandardCommands.table` serves; the engine is told before those objects exist."""
