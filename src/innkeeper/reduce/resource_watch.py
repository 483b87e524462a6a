"""Reducer of a resource watch (AHP §7, Others): changes are events, the state is constant."""

from collections.abc import Mapping
from typing import Any


def reduce_resource_watch(state: Mapping[str, Any], action: Mapping[str, Any]) -> Mapping[str, Any]:
    """Always `state`."""
    match action["type"]:
        case "resourceWatch/changed":
            return state
        case _:
            return state
