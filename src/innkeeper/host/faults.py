"""How failures reach a client: one mapping, never a stack trace (AHP §8).

Rules
* What we refuse is an `RpcError`, built where it is refused. What other parts raise is mapped here.
* What nobody expected is -32603 with a reference; the same reference is in the log beside the whole story.
"""

import logging

from innkeeper.errors import HostError
from innkeeper.host.outcomes import ClientGone, ClientRefused, ClientTimeout, StorageFailed
from innkeeper.ports.ids import Ids
from innkeeper.ports.mcp import McpRefused, ToggleRefused
from innkeeper.protocol.errors import (
    CONFLICT,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    NOT_FOUND,
    PROVIDER_NOT_FOUND,
    SESSION_NOT_FOUND,
    TURN_IN_PROGRESS,
    RpcError,
)
from innkeeper.providers.spi import ProviderError

log = logging.getLogger(__name__)

CODES = {
    "SESSION_UNKNOWN": SESSION_NOT_FOUND,
    "PROVIDER_UNKNOWN": PROVIDER_NOT_FOUND,
    "SERVER_UNKNOWN": NOT_FOUND,
    "TOOL_UNKNOWN": NOT_FOUND,
    "CONTENT_UNKNOWN": NOT_FOUND,
    "OPERATION_UNKNOWN": INVALID_PARAMS,
    "OPERATION_TARGET": INVALID_PARAMS,
    "BRANCH_MISSING": INVALID_PARAMS,
    "TURN_RUNNING": TURN_IN_PROGRESS,
}


def wire_error(error: Exception, doing: str, ids: Ids) -> RpcError:
    """The error of a failed request; `doing` names the method in the log."""
    match error:
        case RpcError():
            return error
        case StorageFailed(code=code):
            return RpcError(INTERNAL_ERROR, "the host could not store the change; nothing was changed", {"code": code})
        case HostError(code=code):
            return RpcError(CODES.get(code, CONFLICT), error.message(), {"code": code})
        case McpRefused(code=code):
            return RpcError(CODES.get(code, CONFLICT), str(error), {"code": code})
        case ToggleRefused():
            return RpcError(CONFLICT, str(error))
        case ProviderError(error_type=error_type, message=message):
            return RpcError(INTERNAL_ERROR, message, {"code": error_type})
        case ClientGone() | ClientTimeout() | ClientRefused():
            return RpcError(CONFLICT, f"the client that has to answer did not: {type(error).__name__}")
        case _:
            reference = logged(error, doing, ids)
            return RpcError(INTERNAL_ERROR, f"internal error; the host's log has it under {reference}")


def logged(error: BaseException, doing: str, ids: Ids) -> str:
    """Log an unexpected failure whole; the reference is what others may be told."""
    reference = ids.new()[:12]
    log.error("%s failed [%s]", doing, reference, exc_info=error)
    return reference


def bad_params(message: str) -> RpcError:
    return RpcError(INVALID_PARAMS, message)


def no_session(uri: str) -> RpcError:
    return RpcError(SESSION_NOT_FOUND, f"there is no session {uri[:200]}")


def no_chat(uri: str) -> RpcError:
    return RpcError(NOT_FOUND, f"there is no chat {uri[:200]}")
