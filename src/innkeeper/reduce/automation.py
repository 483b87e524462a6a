"""Reducers of the automations channel and of an automation run (AHP §7, Others; §11).

Requests (`createRequested`, `updateRequested`, `cancelRequested`) change nothing by themselves: the host validates,
stores, and then announces the result with an action of its own.
"""

from typing import assert_never

from innkeeper.protocol.automation.actions import AutomationAction
from innkeeper.protocol.automation.state import AutomationState
from innkeeper.protocol.automation_run.actions import AutomationRunAction
from innkeeper.protocol.automation_run.state import AutomationRunState
from innkeeper.reduce.fields import add_item, drop, drop_item, put, upsert


def reduce_automation(state: AutomationState, action: AutomationAction) -> AutomationState:
    """The state of `ahp-automations://` after `action`."""
    match action["type"]:
        case "automation/createRequested" | "automation/updateRequested":
            return state
        case "automation/set":
            return upsert(state, "entries", action["automation"], "resource")
        case "automation/removed":
            return drop(state, "entries", action["resource"], "resource")
        case _ as unknown:
            assert_never(unknown)


def reduce_automation_run(state: AutomationRunState, action: AutomationRunAction) -> AutomationRunState:
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
        case _ as unknown:
            assert_never(unknown)
