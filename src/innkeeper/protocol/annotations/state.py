"""State of a session's annotations (AHP Appendix A, `channels-annotations/state`)."""

from collections.abc import Sequence

from innkeeper.protocol.common.state import StringOrMarkdown, TextRange
from innkeeper.protocol.types import URI, Meta, NotRequired, ReadOnly, TypedDict


class AnnotationsSummary(TypedDict):
    """How much there is, and the channel to subscribe to."""

    resource: ReadOnly[URI]
    annotationCount: ReadOnly[int]
    entryCount: ReadOnly[int]


class AnnotationOrigin(TypedDict):
    """What the annotated text belongs to."""

    session: ReadOnly[URI]
    chat: NotRequired[ReadOnly[URI]]
    turnId: NotRequired[ReadOnly[str]]


class AnnotationEntry(TypedDict):
    """One comment of a thread."""

    id: ReadOnly[str]
    text: ReadOnly[StringOrMarkdown]
    _meta: NotRequired[ReadOnly[Meta]]


class Annotation(TypedDict):
    """A thread of comments on a file or on a range of it."""

    id: ReadOnly[str]
    origin: ReadOnly[AnnotationOrigin]
    resource: ReadOnly[URI]
    range: NotRequired[ReadOnly[TextRange]]
    resolved: ReadOnly[bool]
    entries: ReadOnly[Sequence[AnnotationEntry]]
    _meta: NotRequired[ReadOnly[Meta]]


class AnnotationsState(TypedDict):
    """What a subscriber of a session's annotations sees."""

    annotations: ReadOnly[Sequence[Annotation]]
