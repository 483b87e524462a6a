"""The command of a changeset channel (AHP §4)."""

from typing import Literal, TypeAlias

from innkeeper.protocol.common.params import BaseParams
from innkeeper.protocol.common.state import ContentRef, StringOrMarkdown, TextRange
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict

ChangesetOperationTargetKind: TypeAlias = Literal["resource", "range"] | str
ChangesetSide: TypeAlias = Literal["before", "after"] | str


class ChangesetResourceTarget(TypedDict):
    """A whole file."""

    kind: ReadOnly[Literal["resource"]]
    resource: ReadOnly[URI]
    side: NotRequired[ReadOnly[ChangesetSide]]


class ChangesetRangeTarget(TypedDict):
    """Part of a file."""

    kind: ReadOnly[Literal["range"]]
    resource: ReadOnly[URI]
    side: NotRequired[ReadOnly[ChangesetSide]]
    range: ReadOnly[TextRange]


ChangesetOperationTarget: TypeAlias = ChangesetResourceTarget | ChangesetRangeTarget


class ChangesetOperationFollowUp(TypedDict):
    """Content to be shown after an operation, `external` in the system's own viewer."""

    content: ReadOnly[ContentRef]
    external: NotRequired[ReadOnly[bool]]


class InvokeChangesetOperationParams(BaseParams):
    """`target` is absent for the whole set; its kind must be among the operation's scopes."""

    operationId: ReadOnly[str]
    target: NotRequired[ReadOnly[ChangesetOperationTarget]]


class InvokeChangesetOperationResult(TypedDict):
    """What to tell the person."""

    message: NotRequired[ReadOnly[StringOrMarkdown]]
    followUp: NotRequired[ReadOnly[ChangesetOperationFollowUp]]
