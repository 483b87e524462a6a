"""Actions of a changeset channel (AHP §7)."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.changeset.state import (
    ChangesetFile,
    ChangesetOperation,
    ChangesetOperationStatus,
    ChangesetStatus,
)
from innkeeper.protocol.common.state import ErrorInfo
from innkeeper.protocol.types import NotRequired, ReadOnly, TypedDict


class ChangesetStatusChangedAction(TypedDict):
    """The computation moved on."""

    type: ReadOnly[Literal["changeset/statusChanged"]]
    status: ReadOnly[ChangesetStatus]
    error: NotRequired[ReadOnly[ErrorInfo]]


class ChangesetFileSetAction(TypedDict):
    """A file was added or changed."""

    type: ReadOnly[Literal["changeset/fileSet"]]
    file: ReadOnly[ChangesetFile]


class ChangesetFileRemovedAction(TypedDict):
    """A file left the set."""

    type: ReadOnly[Literal["changeset/fileRemoved"]]
    fileId: ReadOnly[str]


class ChangesetFilesReviewChangedAction(TypedDict):
    """Files were marked as reviewed or not."""

    type: ReadOnly[Literal["changeset/filesReviewChanged"]]
    files: ReadOnly[Sequence[str]]
    reviewed: ReadOnly[bool]


class ChangesetContentChangedAction(TypedDict):
    """All files, and the operations if given; status and error stay."""

    type: ReadOnly[Literal["changeset/contentChanged"]]
    files: ReadOnly[Sequence[ChangesetFile]]
    operations: NotRequired[ReadOnly[Sequence[ChangesetOperation]]]


class ChangesetOperationsChangedAction(TypedDict):
    """All operations; absent clears them."""

    type: ReadOnly[Literal["changeset/operationsChanged"]]
    operations: NotRequired[ReadOnly[Sequence[ChangesetOperation]]]


class ChangesetOperationStatusChangedAction(TypedDict):
    """One operation's status."""

    type: ReadOnly[Literal["changeset/operationStatusChanged"]]
    operationId: ReadOnly[str]
    status: ReadOnly[ChangesetOperationStatus]
    error: NotRequired[ReadOnly[ErrorInfo]]


class ChangesetClearedAction(TypedDict):
    """No files any more."""

    type: ReadOnly[Literal["changeset/cleared"]]


ChangesetAction: TypeAlias = (
    ChangesetStatusChangedAction
    | ChangesetFileSetAction
    | ChangesetFileRemovedAction
    | ChangesetFilesReviewChangedAction
    | ChangesetContentChangedAction
    | ChangesetOperationsChangedAction
    | ChangesetOperationStatusChangedAction
    | ChangesetClearedAction
)
