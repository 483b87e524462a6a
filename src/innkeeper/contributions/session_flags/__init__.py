"""Flags of a session that follow from one another (AHP §9.1).

Rules
* Flags and configuration are state, so they survive a restart; a value that the schema does not have never gets there,
  which keeps transient ones out (K15, K17).
* An archived session is read. When it was archived is its `_meta[ARCHIVED_AT]`; out of the archive the stamp is gone.
* A rejected action changes nothing.
"""

from typing import Any, Final

from innkeeper.contributions.spi import Context, Contribution, DispatchedAction, Watch
from innkeeper.ports.clock import Clock
from innkeeper.ports.contributed import Channels
from innkeeper.protocol.status import IS_READ

ARCHIVED_AT: Final = "x-innkeeper/archivedAt"


class SessionFlags(Contribution):
    """`sessionFlags`."""

    id = "sessionFlags"
    order = 700
    watch = Watch(frozenset({"session/isArchivedChanged"}), frozenset({"session"}))

    def __init__(self, context: Context, channels: Channels, clock: Clock) -> None:
        self._channels = channels
        self._clock = clock

    def on_did_dispatch_action(self, dispatched: DispatchedAction) -> None:
        state = self._channels.head(dispatched.session)
        if dispatched.rejection is not None or state is None:
            return
        archived = bool(dispatched.action["isArchived"])
        meta = {name: value for name, value in (state.get("_meta") or {}).items() if name != ARCHIVED_AT}
        actions: list[dict[str, Any]] = []
        if archived:
            meta[ARCHIVED_AT] = self._clock.now()
            if not int(state.get("status") or 0) & IS_READ:
                actions.append({"type": "session/isReadChanged", "isRead": True})
        if meta != (state.get("_meta") or {}):
            actions.append({"type": "session/metaChanged", "_meta": meta})
        self._channels.dispatch(dispatched.session, *actions)
