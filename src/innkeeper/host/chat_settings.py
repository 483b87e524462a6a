"""A chat's own configuration and a session's surface, which AHP has no place for (K15, contributions `chatSurface`).

Rules
* A value is checked against the session's schema, like the session's own, and what is fixed in a running session is
  fixed in its chats; null takes the chat's value away again.
* What a chat has wins over its session, from its next request on.
"""

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.engine.admission.config import refuse_config
from innkeeper.engine.effects import Act
from innkeeper.host.commands import Asker, Handler
from innkeeper.host.config import problem
from innkeeper.host.core import Core
from innkeeper.host.faults import bad_params, no_chat, no_session
from innkeeper.host.views import State, effective_values
from innkeeper.ports.contributed import CHAT_CONFIG, SURFACE

Params = Mapping[str, Any]
CHAT_SETTING_METHODS: Final = frozenset({"x-innkeeper/chat/configure", "x-innkeeper/session/surface"})
SURFACES: Final = ("terminal", "editorInline")


class ChatSettings:
    def __init__(self, core: Core) -> None:
        self._core = core

    def table(self) -> dict[str, Handler]:
        return {"x-innkeeper/chat/configure": self.configure, "x-innkeeper/session/surface": self.surface}

    async def configure(self, asker: Asker, params: Params) -> object:
        """`values` of the chat `channel`; answers with all that hold there. Raises RpcError -32008, -32602."""
        chat, values = str(params["channel"]), params.get("values")
        session = self._core.owner(chat)
        state = None if session is None else await self._core.load(session)
        if session is None or state is None or self._core.kind(chat) != "chat":
            raise no_chat(chat)
        if not isinstance(values, Mapping):
            raise bad_params("params.values must be an object of configuration values")
        if (why := _refusal(state, chat, values)) is not None:
            raise bad_params(why)
        meta = state.get("_meta") or {}
        kept = meta.get(CHAT_CONFIG) or {}
        own = {name: value for name, value in {**(kept.get(chat) or {}), **values}.items() if value is not None}
        changed = {**meta, CHAT_CONFIG: {**kept, chat: own}}
        await self._core.commit(Act(session, {"type": "session/metaChanged", "_meta": changed}))
        return {"values": effective_values(self._core.head(session) or state, chat)}

    async def surface(self, asker: Asker, params: Params) -> object:
        """Where the session is shown: `kind` terminal or editorInline (with `target`, a URI), or null for neither."""
        session, kind = str(params["channel"]), params.get("kind")
        state = await self._core.load(session)
        if state is None or self._core.kind(session) != "session":
            raise no_session(session)
        if kind is not None and kind not in SURFACES:
            raise bad_params(f"params.kind takes one of {', '.join(SURFACES)}, or null")
        meta = {name: value for name, value in (state.get("_meta") or {}).items() if name != SURFACE}
        if kind is not None:
            target = params.get("target")
            meta[SURFACE] = {"kind": kind, **({"target": str(target)} if target is not None else {})}
        await self._core.commit(Act(session, {"type": "session/metaChanged", "_meta": meta}))
        return {"surface": meta.get(SURFACE)}


def _refusal(session: State, chat: str, values: Mapping[str, Any]) -> str | None:
    """Why the chat cannot be configured so."""
    schema: Mapping[str, Any] = (session.get("config") or {}).get("schema") or {}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    if (unknown := next((name for name in values if name not in properties), None)) is not None:
        return f"there is no configuration property {str(unknown)[:200]}"
    given = {name: value for name, value in values.items() if value is not None}
    found = (problem(f"params.values.{name}", properties[name], value) for name, value in given.items())
    if (why := next((why for why in found if why is not None), None)) is not None:
        return why
    return refuse_config({"schema": schema, "values": effective_values(session, chat)}, given, replace=False)
