"""Reducers of the automations channel and of an automation run (AHP §7, Others; §11).

Requests (`createRequested`, `updateRequested`, `cancelRequested`) change nothing by themselves: the host validates,
stores, and then announces the result with an action of its own.
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.reduce.fields import add_item, drop, drop_item, put, upsert


def reduce_automation(state: Mapping[str, Any], action: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state of `ahp-automations://` after `action`."""
    match action["type"]:
        case "automation/createRequested" | "automation/updateRequested":
            return state
        case "automation/set":
            return upsert(state, "entries", action["automation"], "resource")
        case "automation/removed":
            return drop(state, "entries", action["resource"], "resource")
        case _:
            return state


def reduce_automation_run(state: Mapping[str, Any], action: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state of an `ahp-automation-run:` channel after `action`."""
    match action["type"]:
        case "automationRun/lifecycleChanged":
            return put(state, "lifecycle", action["lifecycle"])
        case "automationRun/sessionSet":
            return add_item(state, "sessions", action["session"])
        case "automationRun/sessionRemoved":
            session = action["session"]
            rest = drop_item(state, "sessions", session)
            is_primary = rest is not state and state.get("primarySession") == session
            return put(rest, "primarySession", None) if is_primary else rest
        case "automationRun/primarySessionChanged":
            return put(state, "primarySession", action.get("primarySession"))
        case "automationRun/cancelRequested":
            return state
        case _:
            return state
