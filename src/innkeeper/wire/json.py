"""The one door between JSON text and values; the only module that knows the JSON library (architecture §2).

Guarantees (dependencies §1.2): a message beyond the limits is refused before a value is built; nothing but `JsonError`
is raised for any bytes; NaN and infinities are refused; integers of any size survive; a lone surrogate escape, which
JavaScript peers send when they cut text, becomes U+FFFD. No error repeats what was in the message.
"""

import re
from array import array
from itertools import accumulate

import msgspec

from innkeeper.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ["JsonError", "Raw", "decode", "encode"]

Raw = msgspec.Raw
"""`Raw(data)` stands for JSON that is encoded already, and is copied into a larger `encode` as it is."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = b"{}[]"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_STEPS = bytes.maketrans(_BRACKETS, b"\x01\xff\x01\xff")
_OFFSET = re.compile(r"\(byte (\d+)\)")
_HIGH = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE = re.compile(_HIGH + rb"(?!" + _LOW + rb")|(?<!" + _HIGH + rb")" + _LOW)
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


class JsonError(ValueError):
    """Text that is not acceptable JSON, or a value that cannot be written as JSON. The message is safe to send."""


def decode(data: bytes | str, limits: Limits = DEFAULT_LIMITS) -> object:
    """The value of a JSON text, of dicts, lists, str, int, float, bool and None.

    Raises `JsonError`: too large, too deep, or not JSON (with the offset in bytes where that is known).
    """
    raw = _to_bytes(data)
    if len(raw) > limits.max_bytes:
        raise JsonError(f"message too large: {len(raw)} bytes, at most {limits.max_bytes} are accepted")
    if raw.count(b"{") + raw.count(b"[") > limits.max_depth and _depth(raw) > limits.max_depth:
        raise JsonError(f"message nested too deeply: at most {limits.max_depth} levels are accepted")
    try:
        return _decode(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        repaired = _replace_lone_surrogates(raw)
        if repaired == raw or isinstance(error, RecursionError):
            raise _syntax_error(error) from None
    try:
        return _decode(repaired)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _syntax_error(error) from None


def encode(value: object) -> bytes:
    """JSON text of a value made of dicts, lists, tuples, str, int, float, bool, None and `Raw`.

    Raises `JsonError` for a value that is nested too deeply or not JSON. A lone surrogate becomes U+FFFD; NaN and
    infinities, which JSON does not have, become null.
    """
    try:
        try:
            return _encode(value)
        except UnicodeEncodeError:
            return _encode(_without_surrogates(value))
    except RecursionError:
        raise JsonError("value nested too deeply") from None
    except (TypeError, msgspec.MsgspecError) as error:
        raise JsonError(f"value cannot be written as JSON: {error}") from None


def _to_bytes(data: bytes | str) -> bytes:
    if isinstance(data, bytes):
        return data
    try:
        return data.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(_REPLACEMENT, data).encode()


def _depth(raw: bytes) -> int:
    """How deep valid JSON is nested; some number for other text, which the decoder will refuse."""
    steps = array("b", _STRING.sub(b"", raw).translate(_STEPS, _NOT_BRACKETS))
    return max(accumulate(steps), default=0)


def _replace_lone_surrogates(raw: bytes) -> bytes:
    """Escaped backslashes step aside meanwhile, as two bytes that no JSON text has, so that what is left escapes."""
    if b"\\u" not in raw or b"\0" in raw:
        return raw
    escapes = raw.replace(b"\\\\", b"\0\0")
    return _LONE.sub(rb"\\ufffd", escapes).replace(b"\0\0", b"\\\\")


def _syntax_error(error: Exception) -> JsonError:
    """Our own words: the library's may one day repeat the text. An offset may be one past the place."""
    if isinstance(error, RecursionError):
        return JsonError("message nested too deeply")
    text = str(error)
    offset = _OFFSET.search(text)
    if offset:
        return JsonError(f"not valid JSON near byte {offset[1]}")
    if "truncated" in text:
        return JsonError("not valid JSON: the text ends too early")
    if "UTF-8" in text:
        return JsonError("not valid JSON: the text is not UTF-8")
    if "out of range" in text:
        return JsonError("not valid JSON: a number is out of range")
    return JsonError("not valid JSON")


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return _SURROGATE.sub(_REPLACEMENT, value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_surrogates(item) for item in value]
    return value
