"""Actions of an annotations channel; clients may dispatch all of them (AHP §7)."""

from typing import Literal, TypeAlias

from innkeeper.protocol.annotations.state import Annotation, AnnotationEntry, AnnotationOrigin
from innkeeper.protocol.common.state import TextRange
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict


class AnnotationsSetAction(TypedDict):
    """Adds a thread, or replaces it."""

    type: ReadOnly[Literal["annotations/set"]]
    annotation: ReadOnly[Annotation]


class AnnotationsUpdatedAction(TypedDict):
    """Changes the given members of a thread."""

    type: ReadOnly[Literal["annotations/updated"]]
    annotationId: ReadOnly[str]
    origin: NotRequired[ReadOnly[AnnotationOrigin]]
    resource: NotRequired[ReadOnly[URI]]
    range: NotRequired[ReadOnly[TextRange]]
    resolved: NotRequired[ReadOnly[bool]]


class AnnotationsRemovedAction(TypedDict):
    """Removes a thread."""

    type: ReadOnly[Literal["annotations/removed"]]
    annotationId: ReadOnly[str]


class AnnotationsEntrySetAction(TypedDict):
    """Adds a comment to a thread, or replaces it."""

    type: ReadOnly[Literal["annotations/entrySet"]]
    annotationId: ReadOnly[str]
    entry: ReadOnly[AnnotationEntry]


class AnnotationsEntryRemovedAction(TypedDict):
    """Removes a comment."""

    type: ReadOnly[Literal["annotations/entryRemoved"]]
    annotationId: ReadOnly[str]
    entryId: ReadOnly[str]


AnnotationsAction: TypeAlias = (
    AnnotationsSetAction
    | AnnotationsUpdatedAction
    | AnnotationsRemovedAction
    | AnnotationsEntrySetAction
    | AnnotationsEntryRemovedAction
)
