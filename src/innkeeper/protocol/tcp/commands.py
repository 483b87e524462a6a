"""The command that opens a connection; a windowed `subscribe` then starts the data. 1.1-dev (AHP §12.4)."""

from innkeeper.protocol.common.params import BaseParams
from innkeeper.protocol.types import ReadOnly


class CreateTcpConnectionParams(BaseParams):
    """`channel` is the URI the connection gets; the host connects to `host` and `port`."""

    host: ReadOnly[str]
    port: ReadOnly[int]
