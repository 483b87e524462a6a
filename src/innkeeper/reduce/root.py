"""Reducer of `ahp-root://` (AHP §7, Root)."""

from typing import assert_never

from innkeeper.protocol.root.actions import RootAction
from innkeeper.protocol.root.state import RootState
from innkeeper.reduce.fields import configured, put


def reduce_root(state: RootState, action: RootAction) -> RootState:
    """The root state after `action`."""
    match action["type"]:
        case "root/agentsChanged":
            return put(state, "agents", action["agents"])
        case "root/activeSessionsChanged":
            return put(state, "activeSessions", action["activeSessions"])
        case "root/terminalsChanged":
            return put(state, "terminals", action["terminals"])
        case "root/configChanged":
            return configured(state, action["config"], replace=bool(action.get("replace")))
        case _ as unknown:
            assert_never(unknown)
