"""Reducer of a resource watch (AHP §7, Others): changes are events, the state is constant."""

from typing import assert_never

from innkeeper.protocol.resource_watch.actions import ResourceWatchAction
from innkeeper.protocol.resource_watch.state import ResourceWatchState


def reduce_resource_watch(state: ResourceWatchState, action: ResourceWatchAction) -> ResourceWatchState:
    """Always `state`."""
    match action["type"]:
        case "resourceWatch/changed":
            return state
        case _ as unknown:
            assert_never(unknown)
