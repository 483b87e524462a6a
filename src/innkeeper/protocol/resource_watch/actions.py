"""The action of a resource watch (AHP §7)."""

from typing import Literal, TypeAlias

from innkeeper.protocol.resource_watch.state import ResourceChanges
from innkeeper.protocol.types import ReadOnly, TypedDict


class ResourceWatchChangedAction(TypedDict):
    """Files changed."""

    type: ReadOnly[Literal["resourceWatch/changed"]]
    changes: ReadOnly[ResourceChanges]


ResourceWatchAction: TypeAlias = ResourceWatchChangedAction
