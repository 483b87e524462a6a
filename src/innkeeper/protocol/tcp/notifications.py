"""The data of a connection, both ways (AHP §12.4). 1.1-dev."""

from innkeeper.protocol.types import URI, ReadOnly, TypedDict


class TcpDataParams(TypedDict):
    """Bytes, base64."""

    channel: ReadOnly[URI]
    data: ReadOnly[str]


class TcpEofParams(TypedDict):
    """The sender will send no more."""

    channel: ReadOnly[URI]
