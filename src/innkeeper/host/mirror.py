"""What a chat's state means for its session, and a session's for the list of sessions (AHP §9.1, §9.3, §9.8).

Rules
* Derived from what left, by comparing states; an action that changes no summary costs one comparison.
* A changed chat is told to its session (`session/chatUpdated`), and the session's summary to the root's subscribers,
  collected for a moment, changed fields only.
* A summary field that went away is told by the whole entry, because a merge cannot remove one.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from innkeeper.engine.effects import Released
from innkeeper.host.core import Core, act
from innkeeper.host.summaries import CHAT_FIELDS, chat_changes, chat_summary, session_summary, summary_changes
from innkeeper.host.views import State
from innkeeper.protocol.uris import ROOT

WATCHED = tuple(name for name in CHAT_FIELDS if name not in ("resource", "title"))


class Mirror:
    """`delay` seconds are waited before the session list is told, so that a busy turn is one notification."""

    def __init__(self, core: Core, *, delay: float) -> None:
        self._core = core
        self._delay = delay
        self._told: dict[str, dict[str, Any]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def chat_changed(self, released: Released) -> None:
        """An action on a chat has left."""
        if released.before is released.after:
            return
        session_uri = self._core.owner(released.channel)
        session = self._core.head(session_uri) if session_uri is not None else None
        if session is None or session_uri is None or self._core.kind(released.channel) != "chat":
            return
        if any(released.before.get(name) is not released.after.get(name) for name in WATCHED):
            act(self._core, session_uri, *_chat_updates(session, released.channel, released.after))

    def session_changed(self, released: Released) -> None:
        """An action on a session has left."""
        if released.before is not released.after and released.channel not in self._timers:
            uri = released.channel
            if uri not in self._told:
                self._told[uri] = session_summary(uri, released.before)
            loop = asyncio.get_running_loop()
            self._timers[uri] = loop.call_later(self._delay, self._tell, uri)

    def forget(self, session: str) -> None:
        self._told.pop(session, None)
        if (timer := self._timers.pop(session, None)) is not None:
            timer.cancel()

    def close(self) -> None:
        for session in tuple(self._timers):
            self.forget(session)

    def _tell(self, uri: str) -> None:
        self._timers.pop(uri, None)
        before, state = self._told.pop(uri, None), self._core.head(uri)
        if before is None or state is None:
            return
        changed = summary_changes(before, session_summary(uri, state))
        if changed:
            self._core.notify(ROOT, "root/sessionSummaryChanged", {"session": uri, "changes": changed})


def _chat_updates(session: State, chat: str, state: Mapping[str, Any]) -> list[dict[str, Any]]:
    shown = next((c for c in session.get("chats") or () if c.get("resource") == chat), None)
    if shown is None:
        return []
    changed, cleared = chat_changes(shown, state)
    updates: list[dict[str, Any]] = []
    if cleared:
        summary = {**chat_summary(state), "title": shown.get("title", "")}
        updates.append({"type": "session/chatAdded", "summary": summary})
    elif changed:
        updates.append({"type": "session/chatUpdated", "chat": chat, "changes": changed})
    activity = state.get("activity")
    if session.get("defaultChat") == chat and session.get("activity") != activity:
        updates.append({"type": "session/activityChanged", **({} if activity is None else {"activity": activity})})
    return updates
