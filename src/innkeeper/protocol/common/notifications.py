"""Notifications that can be about any channel (AHP §5)."""

from typing import Literal, TypeAlias

from innkeeper.protocol.common.state import ProtectedResourceMetadata
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict

AuthRequiredReason: TypeAlias = Literal["required", "expired"] | str


class AuthRequiredParams(TypedDict):
    """A token is wanted; after `expired` it must be a new one."""

    channel: ReadOnly[URI]
    resource: ReadOnly[ProtectedResourceMetadata]
    reason: NotRequired[ReadOnly[AuthRequiredReason]]
