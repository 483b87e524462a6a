"""State of a canvas (AHP Appendix A, `channels-canvas/state`; experimental)."""

from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict


class CanvasReference(TypedDict):
    """A canvas as a chat names it."""

    resource: ReadOnly[URI]


class CanvasState(TypedDict):
    """What a subscriber of a canvas sees; `url` is a secret of the moment: never logged, gone with its provider."""

    instanceId: ReadOnly[str]
    extensionId: ReadOnly[str]
    extensionName: NotRequired[ReadOnly[str]]
    canvasId: ReadOnly[str]
    title: NotRequired[ReadOnly[str]]
    status: NotRequired[ReadOnly[str]]
    url: NotRequired[ReadOnly[URI]]
