"""Reducer of a canvas channel (AHP §7, Others; §11): one action, which replaces everything."""

from collections.abc import Mapping
from typing import Any


def reduce_canvas(state: Mapping[str, Any], action: Mapping[str, Any]) -> Mapping[str, Any]:
    """The canvas state after `action`."""
    match action["type"]:
        case "canvas/stateChanged":
            canvas: Mapping[str, Any] = action["canvas"]
            return canvas
        case _:
            return state
