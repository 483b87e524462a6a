"""Reducer of `ahp-root://` (AHP §7, Root)."""

from collections.abc import Mapping
from typing import Any

from innkeeper.reduce.fields import configured, put


def reduce_root(state: Mapping[str, Any], action: Mapping[str, Any]) -> Mapping[str, Any]:
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
        case _:
            return state
