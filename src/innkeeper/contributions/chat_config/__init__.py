"""A chat's own configuration, beside its session's (K15).

Rules
* AHP has no place for it, so it is the session's `_meta[CHAT_CONFIG]`, by chat; what is there wins over the session's
  value for that chat. It is part of the log, so it is there before the chat is.
* A value that the session's schema does not have stays out, which keeps transient ones out.
* A chat that enters the host brings its values and overrides none that is there; a chat that is gone leaves none.
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.contributions.spi import Context, Contribution, DispatchedAction, HydratedChat, Hydration, Watch
from innkeeper.ports.contributed import CHAT_CONFIG, Channels


class ChatConfig(Contribution):
    """`chatConfig`."""

    id = "chatConfig"
    order = 650
    watch = Watch(frozenset({"session/chatRemoved"}), frozenset({"session"}))

    def __init__(self, context: Context, channels: Channels) -> None:
        self._channels = channels

    def on_did_dispatch_action(self, dispatched: DispatchedAction) -> None:
        state = self._channels.head(dispatched.session)
        kept = _kept(state)
        if state is None or dispatched.rejection is not None or dispatched.action["chat"] not in kept:
            return
        others = {chat: values for chat, values in kept.items() if chat != dispatched.action["chat"]}
        meta = {**(state.get("_meta") or {}), CHAT_CONFIG: others}
        self._channels.dispatch(dispatched.session, {"type": "session/metaChanged", "_meta": meta})

    def on_hydrate_chat(self, of: Hydration, restored: HydratedChat) -> HydratedChat:
        state = self._channels.head(of.session)
        schema: Mapping[str, Any] = ((state or {}).get("config") or {}).get("schema") or {}
        known = schema.get("properties") or {}
        brought = {name: value for name, value in (restored.config or {}).items() if name in known}
        values = {**brought, **(_kept(state).get(of.chat) or {})}
        return restored._replace(config=values or None)


def _kept(session: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found: Mapping[str, Any] = ((session or {}).get("_meta") or {}).get(CHAT_CONFIG) or {}
    return found
