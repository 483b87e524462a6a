"""Error codes of AHP and JSON-RPC, and the exception that carries one (AHP §8).

-32006 existed before 1.0 and is not used again.
"""

from collections.abc import Sequence
from typing import Final

from innkeeper.protocol.common.resources import ResourceRequestParams
from innkeeper.protocol.common.state import ProtectedResourceMetadata
from innkeeper.protocol.types import NotRequired, ReadOnly, TypedDict

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

SESSION_NOT_FOUND: Final = -32001
PROVIDER_NOT_FOUND: Final = -32002
SESSION_ALREADY_EXISTS: Final = -32003
TURN_IN_PROGRESS: Final = -32004
UNSUPPORTED_PROTOCOL_VERSION: Final = -32005
AUTH_REQUIRED: Final = -32007
NOT_FOUND: Final = -32008
PERMISSION_DENIED: Final = -32009
ALREADY_EXISTS: Final = -32010
CONFLICT: Final = -32011


class AuthRequiredErrorData(TypedDict):
    """The resources that want a token."""

    resources: ReadOnly[Sequence[ProtectedResourceMetadata]]


class PermissionDeniedErrorData(TypedDict):
    """The `resourceRequest` that would help, if one would."""

    request: NotRequired[ReadOnly[ResourceRequestParams]]


class UnsupportedProtocolVersionErrorData(TypedDict):
    """The versions, or ranges, that would do."""

    supportedVersions: ReadOnly[Sequence[str]]


class RpcError(Exception):
    """Ends a request with an error. `message` is for a person and goes over the wire; `data` is JSON or None."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        return f"RpcError({self.code}, {self.message!r})"


def auth_required(resources: Sequence[ProtectedResourceMetadata], message: str = "a token is needed") -> RpcError:
    """-32007 with the resources that want a token."""
    return RpcError(AUTH_REQUIRED, message, {"resources": list(resources)})


def permission_denied(message: str, request: ResourceRequestParams | None = None) -> RpcError:
    """-32009, with the `resourceRequest` that would help."""
    return RpcError(PERMISSION_DENIED, message, {} if request is None else {"request": request})


def unsupported_protocol_version(supported: Sequence[str]) -> RpcError:
    """-32005 with what is supported; the connection is closed after it."""
    return RpcError(
        UNSUPPORTED_PROTOCOL_VERSION,
        f"no common protocol version; supported: {', '.join(supported)}",
        {"supportedVersions": list(supported)},
    )
