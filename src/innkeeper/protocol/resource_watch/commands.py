"""The command that starts a watch; either side may send it (AHP §4)."""

from innkeeper.protocol.common.params import GlobList, RootParams
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict


class CreateResourceWatchParams(RootParams):
    """Watches `uri`, with what is below it when `recursive`."""

    uri: ReadOnly[URI]
    recursive: NotRequired[ReadOnly[bool]]
    excludes: NotRequired[ReadOnly[GlobList]]
    includes: NotRequired[ReadOnly[GlobList]]


class CreateResourceWatchResult(TypedDict):
    """The channel to subscribe to; the watch ends when nobody is subscribed."""

    channel: ReadOnly[URI]
