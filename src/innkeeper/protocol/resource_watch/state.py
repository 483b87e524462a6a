"""State of a resource watch; it never changes (AHP Appendix A, `channels-resource-watch/state`)."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.common.params import GlobList
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict

ResourceChangeType: TypeAlias = Literal["added", "updated", "deleted"] | str


class ResourceWatchState(TypedDict):
    """What is watched."""

    root: ReadOnly[URI]
    recursive: ReadOnly[bool]
    excludes: NotRequired[ReadOnly[GlobList]]
    includes: NotRequired[ReadOnly[GlobList]]


class ResourceChange(TypedDict):
    """One change of one file."""

    uri: ReadOnly[URI]
    type: ReadOnly[ResourceChangeType]


class ResourceChanges(TypedDict):
    """Changes seen together; never empty."""

    items: ReadOnly[Sequence[ResourceChange]]
