"""`x-innkeeper/mcp/grants` and `…/forget`: every stored grant of a person, whatever its workspace (M4.2b, M9.2).

Rules
* A grant is told by its name, its workspace and its time; never by its fingerprint, which is of use to nobody else.
* What is forgotten holds no longer in any session: what nothing else allows is disconnected (M5.8).
* With `web_control = false` neither is served (M9.3).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from innkeeper.errors import HostError
from innkeeper.host.commands import Asker, Handler
from innkeeper.host.core import Core
from innkeeper.host.faults import bad_params
from innkeeper.ports.decisions import DecisionOp, Decisions, DropGrant
from innkeeper.ports.mcp import McpServers
from innkeeper.protocol.errors import RpcError, permission_denied

Params = Mapping[str, Any]

GRANT_METHODS = frozenset({"x-innkeeper/mcp/grants", "x-innkeeper/mcp/forget"})


class GrantCommands:
    """`decisions` and `store` are the host's own; `open_to_clients` is the operator's `web_control`."""

    def __init__(
        self,
        core: Core,
        mcp: McpServers,
        decisions: Callable[[], Decisions],
        store: Callable[[Sequence[DecisionOp]], Awaitable[None]],
        language: Callable[[str], str],
        *,
        open_to_clients: bool,
    ) -> None:
        self._core = core
        self._mcp = mcp
        self._decisions = decisions
        self._store = store
        self._language = language
        self._open = open_to_clients

    def table(self) -> dict[str, Handler]:
        return {"x-innkeeper/mcp/grants": self.grants, "x-innkeeper/mcp/forget": self.forget}

    async def grants(self, asker: Asker, params: Params) -> object:
        self._require_open(asker)
        stored = sorted(self._decisions().grants, key=lambda grant: grant.slot)
        return {
            "items": [
                {"workspace": one.workspace, "kind": one.kind, "name": one.name, "grantedAt": one.granted_at}
                for one in stored
            ]
        }

    async def forget(self, asker: Asker, params: Params) -> object:
        """Idempotent; the answer is the list as it then is."""
        self._require_open(asker)
        named = [params.get(name) for name in ("workspace", "kind", "name")]
        if not all(isinstance(one, str) and one for one in named):
            raise bad_params("params.workspace, params.kind and params.name must be non-empty strings")
        slots = [grant.slot for grant in self._decisions().grants if list(grant.slot) == named]
        if slots:
            await self._store([DropGrant(slot) for slot in slots])
            for session in self._core.channels("session"):
                await self._mcp.reconcile(session)
        return await self.grants(asker, params)

    def _require_open(self, asker: Asker) -> None:
        if not self._open:
            error, lang = HostError("WEB_CONTROL_OFF"), self._language(asker.client_id)
            said = f"{error.message(lang)} {error.remedy(lang)}"
            raise RpcError(permission_denied("").code, said, {"code": error.code})
