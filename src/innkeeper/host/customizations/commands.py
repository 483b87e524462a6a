"""Own commands about customizations, `x-innkeeper/customizations/…`; docs/reference/extensions.md.

They answer when the session's places have been looked at. Each change is durable when it is answered.
"""

from collections.abc import Mapping
from typing import Any, Final, get_args

from innkeeper.customizations.edits import Edit, Pin, Unpin
from innkeeper.customizations.explain import find
from innkeeper.customizations.resolution import Resolution
from innkeeper.host.commands import Asker, Handler
from innkeeper.host.core import Core
from innkeeper.host.customizations.handover import Handover
from innkeeper.host.customizations.servers import is_host_wide
from innkeeper.host.customizations.service import Customizations
from innkeeper.host.customizations.telling import explained, tree
from innkeeper.host.customizations.toggles import HOST_WIDE
from innkeeper.host.faults import bad_params, no_session
from innkeeper.ports.decisions import Scope
from innkeeper.ports.mcp import ToggleRefused
from innkeeper.protocol.errors import NOT_FOUND, RpcError

Params = Mapping[str, Any]

PREFIX: Final = "x-innkeeper/customizations/"
CUSTOMIZATION_METHODS = frozenset(PREFIX + verb for verb in ("list", "why", "pin", "unpin"))
"""What `CustomizationCommands.table` serves; the engine is told before that object exists."""


class CustomizationCommands:
    def __init__(self, core: Core, customizations: Customizations, handover: Handover) -> None:
        self._core = core
        self._customizations = customizations
        self._handover = handover

    def table(self) -> dict[str, Handler]:
        verbs = {"list": self.listed, "why": self.why, "pin": self.pin, "unpin": self.unpin}
        return {PREFIX + verb: handler for verb, handler in verbs.items()}

    async def listed(self, asker: Asker, params: Params) -> object:
        """The tree; with `history`, every record about the session."""
        resolution = await self._read(params)
        answer: dict[str, Any] = {"items": tree(resolution, self._customizations.overlay)}
        if params.get("history") is True:
            answer["history"] = await self._handover.history(resolution.context.session)
        return answer

    async def why(self, asker: Asker, params: Params) -> object:
        """Every item that the name may mean; with `history`, the records about it."""
        resolution, name = await self._read(params), _text(params, "name")
        session = resolution.context.session
        ids = find(name, resolution)
        if not ids:
            raise _unknown(name)
        answer: dict[str, Any] = {"items": [self._explained(id, resolution) for id in ids]}
        if params.get("history") is True:
            answer["history"] = await self._handover.history(session, resolution.items[ids[0]].raw.name)
        return answer

    async def pin(self, asker: Asker, params: Params) -> object:
        return await self._edited(params, Pin(_scope(params)))

    async def unpin(self, asker: Asker, params: Params) -> object:
        return await self._edited(params, Unpin(_scope(params)))

    # -- inside --------------------------------------------------------------------------------------------------

    async def _edited(self, params: Params, edit: Edit) -> object:
        resolution, id = await self._read(params), _text(params, "id")
        session = resolution.context.session
        if id not in resolution.items:
            raise _unknown(id)
        if is_host_wide(resolution.items[id].raw):
            raise ToggleRefused(HOST_WIDE)
        await self._customizations.edit(session, id, edit)
        after = self._customizations.resolution(session) or resolution
        return {"item": self._explained(id, after)}

    def _explained(self, id: str, resolution: Resolution) -> Mapping[str, Any] | None:
        verdict = self._handover.verdict(resolution.context.session, id)
        return explained(id, resolution, self._customizations.overlay, verdict)

    async def _read(self, params: Params) -> Resolution:
        uri = _text(params, "channel")
        if self._core.kind(uri) != "session":
            raise no_session(uri)
        await self._customizations.read(uri)
        resolution = self._customizations.resolution(uri)
        if resolution is None:
            raise no_session(uri)
        return resolution


def _unknown(name: str) -> RpcError:
    return RpcError(NOT_FOUND, f"there is no customization {name[:100]}", {"code": "CUSTOMIZATION_UNKNOWN"})


def _scope(params: Params) -> Scope:
    found: Scope | None = next((scope for scope in get_args(Scope) if scope == params.get("scope")), None)
    if found is None:
        raise bad_params("params.scope must be session, workspace or global")
    return found


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise bad_params(f"params.{name} must be a non-empty string")
    return value
