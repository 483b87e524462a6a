"""State of a changeset channel (AHP Appendix A, `channels-changeset/state`)."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.common.state import ErrorInfo, FileEdit, StringOrMarkdown
from innkeeper.protocol.types import Meta, NotRequired, Presence, ReadOnly, TypedDict

ChangesetStatus: TypeAlias = Literal["computing", "recomputing", "ready", "error"] | str
ChangesetOperationStatus: TypeAlias = Literal["idle", "running", "error", "disabled"] | str
ChangesetOperationScope: TypeAlias = Literal["changeset", "resource", "range"] | str


class ChangesetCapabilities(TypedDict):
    """`review`: files can be marked as reviewed."""

    review: NotRequired[ReadOnly[Presence]]


class Changeset(TypedDict):
    """A changeset on offer; `uriTemplate` expands to the channel to subscribe to."""

    label: ReadOnly[str]
    uriTemplate: ReadOnly[str]
    description: NotRequired[ReadOnly[str]]
    changeKind: ReadOnly[str]
    capabilities: NotRequired[ReadOnly[ChangesetCapabilities]]


class ChangesetFile(TypedDict):
    """One changed file."""

    id: ReadOnly[str]
    edit: ReadOnly[FileEdit]
    reviewed: NotRequired[ReadOnly[bool]]
    _meta: NotRequired[ReadOnly[Meta]]


class ChangesetOperation(TypedDict):
    """Something that can be done to the whole set, a file, or a range of one."""

    id: ReadOnly[str]
    label: ReadOnly[str]
    description: NotRequired[ReadOnly[str]]
    scopes: ReadOnly[Sequence[ChangesetOperationScope]]
    confirmation: NotRequired[ReadOnly[StringOrMarkdown]]
    icon: NotRequired[ReadOnly[str]]
    group: NotRequired[ReadOnly[str]]
    status: ReadOnly[ChangesetOperationStatus]
    error: NotRequired[ReadOnly[ErrorInfo]]


class ChangesetState(TypedDict):
    """What a subscriber of a changeset sees."""

    status: ReadOnly[ChangesetStatus]
    error: NotRequired[ReadOnly[ErrorInfo]]
    files: ReadOnly[Sequence[ChangesetFile]]
    operations: NotRequired[ReadOnly[Sequence[ChangesetOperation]]]
