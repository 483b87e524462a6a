"""The commands that the host answers: one table, method to handler (AHP §4, architecture §6).

Rules
* A handler gets who asks and the checked params, and returns the result or raises; failures are mapped in one place.
* What this host does not serve yet is not in the table: the engine answers -32601. What a client may rely on to be
  refused is refused in words: resources with -32009, `moveChat`, unknown authentication targets.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from innkeeper.engine.effects import Command
from innkeeper.host.chats import Chats
from innkeeper.host.faults import bad_params, no_chat, wire_error
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

    def __init__(self, table: Mapping[str, Handler], ids: Ids) -> None:
        self._table = MappingProxyType(dict(table))
        self._ids = ids

    @property
    def methods(self) -> frozenset[str]:
        return frozenset(self._table)

    async def run(self, command: Command) -> object:
        """The result. Raises RpcError, nothing else."""
        try:
            return await self._table[command.method](Asker(command.client_id, command.connection), command.params)
        except Exception as error:
            raise wire_error(error, f"command {command.method}", self._ids) from error


def standard_commands(sessions: Sessions, chats: Chats) -> dict[str, Handler]:
    """The commands of AHP that this host serves, besides those of the engine."""

    async def list_sessions(asker: Asker, params: Params) -> object:
        return sessions.listed(params)

    async def resolve(asker: Asker, params: Params) -> object:
        return sessions.resolve(params)

    async def complete_config(asker: Asker, params: Params) -> object:
        return sessions.completions(params)

    async def create_session(asker: Asker, params: Params) -> object:
        await sessions.create(asker.client_id, params)
        return None

    async def dispose_session(asker: Asker, params: Params) -> object:
        await sessions.dispose(params["channel"])
        return None

    async def create_chat(asker: Asker, params: Params) -> object:
        await chats.create(params)
        return None

    async def dispose_chat(asker: Asker, params: Params) -> object:
        await chats.dispose(params["channel"])
        return None

    async def move_chat(asker: Asker, params: Params) -> object:
        chats.move(params)

    async def completions(asker: Asker, params: Params) -> object:
        if not chats.knows(params["channel"]):
            raise no_chat(params["channel"])
        return {"items": []}

    return {
        "listSessions": list_sessions,
        "resolveSessionConfig": resolve,
        "sessionConfigCompletions": complete_config,
        "createSession": create_session,
        "disposeSession": dispose_session,
        "createChat": create_chat,
        "disposeChat": dispose_chat,
        "moveChat": move_chat,
        "completions": completions,
        "authenticate": _authenticate,
        **dict.fromkeys(RESOURCE_METHODS, _no_resources),
    }


async def _authenticate(asker: Asker, params: Params) -> object:
    raise bad_params("nothing on this host asks for a token for that resource")


async def _no_resources(asker: Asker, params: Params) -> object:
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
"""What `standard_commands` serves; the engine is told before those objects exist."""
