"""The action of a canvas (AHP §7)."""

from typing import Literal, TypeAlias

from innkeeper.protocol.canvas.state import CanvasState
from innkeeper.protocol.types import ReadOnly, TypedDict


class CanvasStateChangedAction(TypedDict):
    """The state, whole."""

    type: ReadOnly[Literal["canvas/stateChanged"]]
    canvas: ReadOnly[CanvasState]


CanvasAction: TypeAlias = CanvasStateChangedAction
