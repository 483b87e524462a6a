"""Reducer of a canvas channel (AHP §7, Others; §11): one action, which replaces everything."""

from typing import assert_never

from innkeeper.protocol.canvas.actions import CanvasAction
from innkeeper.protocol.canvas.state import CanvasState


def reduce_canvas(state: CanvasState, action: CanvasAction) -> CanvasState:
    """The canvas state after `action`."""
    match action["type"]:
        case "canvas/stateChanged":
            return action["canvas"]
        case _ as unknown:
            assert_never(unknown)
