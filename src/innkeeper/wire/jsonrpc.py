"""JSON-RPC 2.0 messages: reading, writing, and matching answers to requests (AHP §1, §13; issue 2, section 2).

A message is read into one of four values and never raises. Ids are echoed as they came, whatever their type; our own
are positive integers, because typed peers read nothing else (AHP §15). A message that could be an answer is never
answered, so that two peers cannot keep correcting each other.
"""

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from innkeeper.wire.json import JsonError, decode, encode
from innkeeper.wire.limits import DEFAULT_LIMITS, Limits

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_NO_PARAMS: dict[str, object] = {}
_MISSING = object()


class Request(NamedTuple):
    """Wants an answer with the same `id`, which may be any JSON value."""

    id: object
    method: str
    params: Mapping[str, object]


class Notification(NamedTuple):
    """Wants no answer."""

    method: str
    params: Mapping[str, object]


class ErrorObject(NamedTuple):
    """Why a request failed."""

    code: int
    message: str
    data: object = None


class Response(NamedTuple):
    """The answer to a request: `error`, or else `result`."""

    id: object
    result: object = None
    error: ErrorObject | None = None


class InvalidMessage(NamedTuple):
    """Not a message. `answer` says whether to send `encode_error(id, code, message)`."""

    code: int
    message: str
    id: object = None
    answer: bool = True


Message: TypeAlias = Request | Notification | Response | InvalidMessage


def read(data: bytes | str, limits: Limits = DEFAULT_LIMITS) -> Message:
    """The message in a frame; bad JSON is an `InvalidMessage` with -32700 and id null."""
    try:
        value = decode(data, limits)
    except JsonError as error:
        return InvalidMessage(PARSE_ERROR, str(error))
    return classify(value)


def classify(value: object) -> Message:
    """The message in a decoded value; anything else is an `InvalidMessage` with -32600, or -32602 for bad params."""
    if not isinstance(value, dict):
        kind = "a batch; batches are not supported" if isinstance(value, list) else "not an object"
        return InvalidMessage(INVALID_REQUEST, f"the message is {kind}")
    message_id = value.get("id", _MISSING)
    known_id = None if message_id is _MISSING else message_id
    is_call = "method" in value
    if value.get("jsonrpc") != "2.0":
        looks_like_answer = not is_call and ("result" in value or "error" in value)
        return InvalidMessage(INVALID_REQUEST, 'jsonrpc must be "2.0"', known_id, answer=not looks_like_answer)
    if not is_call:
        return _classify_response(value, message_id)
    method = value["method"]
    if type(method) is not str or not method:
        return InvalidMessage(INVALID_REQUEST, "method must be a non-empty string", known_id)
    params = value.get("params")
    if params is None:
        params = _NO_PARAMS
    elif type(params) is not dict:
        return InvalidMessage(INVALID_PARAMS, "params must be an object", known_id, answer=message_id is not _MISSING)
    if message_id is _MISSING:
        return Notification(method, params)
    return Request(message_id, method, params)


def _classify_response(value: dict[str, object], message_id: object) -> Message:
    error = value.get("error")
    if error is None and "result" not in value:
        if "error" in value:
            return InvalidMessage(INVALID_REQUEST, "an answer needs a result or an error", answer=False)
        known_id = None if message_id is _MISSING else message_id
        return InvalidMessage(INVALID_REQUEST, "the message has no method", known_id)
    if message_id is _MISSING:
        return InvalidMessage(INVALID_REQUEST, "an answer needs an id", answer=False)
    if error is None:
        return Response(message_id, value["result"])
    return Response(message_id, error=_read_error(error))


def _read_error(error: object) -> ErrorObject:
    """A malformed error still ends the request that it answers."""
    if isinstance(error, dict):
        code, message = error.get("code"), error.get("message")
        if type(code) is int and type(message) is str:
            return ErrorObject(code, message, error.get("data"))
    return ErrorObject(INTERNAL_ERROR, "the peer answered with a malformed error")


def encode_request(id: int, method: str, params: Mapping[str, object]) -> bytes:
    """A request; `params` may hold `Raw` values, as everywhere below."""
    return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def encode_notification(method: str, params: Mapping[str, object]) -> bytes:
    """A notification."""
    return encode({"jsonrpc": "2.0", "method": method, "params": params})


def encode_result(id: object, result: object) -> bytes:
    """The answer to a request that succeeded; `id` as it came."""
    return encode({"jsonrpc": "2.0", "id": id, "result": result})


def encode_error(id: object, code: int, message: str, data: object = None) -> bytes:
    """The answer to a request that failed; `id` is None when it could not be read. None as `data` is left out."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return encode({"jsonrpc": "2.0", "id": id, "error": error})


PendingT = TypeVar("PendingT")


class Correlator(Generic[PendingT]):
    """Numbers the requests of one connection and finds what waits for an answer.

    What waits is the caller's own (a future, a callback): this class does no I/O and keeps no time.
    """

    __slots__ = ("_next_id", "_pending")

    def __init__(self) -> None:
        self._next_id = 1
        self._pending: dict[int, PendingT] = {}

    def __len__(self) -> int:
        """How many requests have no answer yet."""
        return len(self._pending)

    def open(self, waiter: PendingT) -> int:
        """The id for a new request; `waiter` is given back by `resolve`, `cancel` or `fail_all`, once."""
        request_id = self._next_id
        self._next_id += 1
        self._pending[request_id] = waiter
        return request_id

    def resolve(self, response: Response) -> PendingT | None:
        """What waits for this answer; None when nothing does (any more), which is no fault of the peer's."""
        return self._pending.pop(response.id, None) if type(response.id) is int else None

    def cancel(self, request_id: int) -> PendingT | None:
        """Stops waiting for an answer (time-out, cancellation)."""
        return self._pending.pop(request_id, None)

    def fail_all(self) -> tuple[PendingT, ...]:
        """Everything that waits, in order, and waits no more: the connection is gone."""
        waiters = tuple(self._pending.values())
        self._pending.clear()
        return waiters
