"""What the client raises. One tree, so that `except ClientError` catches all of it."""

from collections.abc import Sequence
from typing import Any


class ClientError(Exception):
    """The base of everything that this library raises on purpose."""


class TargetInvalid(ClientError, ValueError):
    """The target is no address that the library knows."""


class ConnectFailed(ClientError):
    """No connection could be made: nobody listens, the address is unknown, no handshake in time."""


class AccessDenied(ConnectFailed):
    """The host refused the connection itself: access token missing or wrong, or a foreign origin (HTTP 401, 403)."""


class VersionRefused(ConnectFailed):
    """The host speaks none of the offered protocol versions (-32005)."""

    def __init__(self, message: str, supported: Sequence[str]) -> None:
        super().__init__(message)
        self.supported = tuple(supported)
        """What the host says it speaks: versions or ranges."""


class ConnectionLost(ClientError):
    """The connection ended before the answer came, or the client is closed. Whether the host acted is not known."""


class RequestTimeout(ClientError, TimeoutError):
    """The host did not answer in time."""


class RpcFailure(ClientError):
    """The host answered with an error (AHP §8)."""

    def __init__(self, method: str, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.method = method
        self.code = code
        self.message = message
        self.data = data
