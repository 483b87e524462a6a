"""JSON-RPC both ways: every shape of message, ids of every type, answers matched to requests (AHP §1, §13)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.wire.json import Raw, decode, encode
from innkeeper.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Correlator,
    ErrorObject,
    InvalidMessage,
    Notification,
    Request,
    Response,
    classify,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    read,
)
from innkeeper.wire.limits import Limits

IDS = [1, 0, -1, 2**70, 1.5, "abc", "", None, True, [1], {"a": 1}]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_a_request_is_read() -> None:
    message = read(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"channel":"ahp-root://"}}')
    assert message == Request(7, "ping", {"channel": "ahp-root://"})


def test_a_notification_is_read() -> None:
    message = read('{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"a:b"}}')
    assert message == Notification("unsubscribe", {"channel": "a:b"})


@pytest.mark.parametrize("params", ["", ',"params":null', ',"params":{}'])
def test_absent_params_are_no_params(params: str) -> None:
    assert read(f'{{"jsonrpc":"2.0","id":1,"method":"ping"{params}}}') == Request(1, "ping", {})


@pytest.mark.parametrize("id", IDS, ids=repr)
def test_an_id_of_any_type_is_accepted_and_echoed(id: object) -> None:
    """Issue 2 section 2; `"id": null` is an id too, because it asks for an answer."""
    message = read(encode({"jsonrpc": "2.0", "id": id, "method": "m"}))
    assert message == Request(id, "m", {})
    assert type(message.id) is type(id)
    assert decode(encode_result(message.id, {})) == {"jsonrpc": "2.0", "id": id, "result": {}}
    assert decode(encode_error(message.id, -32601, "x"))["id"] == id  # type: ignore[index]


@pytest.mark.parametrize("text", ["", "{", "nope", '{"jsonrpc":"2.0","id":1,"method":"ping"', "[1,", '"\\x"'])
def test_bad_json_is_a_parse_error_with_id_null(text: str) -> None:
    message = read(text)
    assert isinstance(message, InvalidMessage)
    assert (message.code, message.id, message.answer) == (PARSE_ERROR, None, True)


def test_a_message_beyond_the_limits_is_a_parse_error_that_says_so() -> None:
    large = read(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Limits(max_bytes=8))
    deep = read(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{}}}', Limits(max_depth=2))
    assert isinstance(large, InvalidMessage)
    assert isinstance(deep, InvalidMessage)
    assert (large.code, deep.code) == (PARSE_ERROR, PARSE_ERROR)
    assert "too large" in large.message
    assert "too deeply" in deep.message


@pytest.mark.parametrize("value", [[], [{"jsonrpc": "2.0", "id": 1, "method": "ping"}], [1, 2]], ids=repr)
def test_a_batch_is_answered_with_one_error(value: object) -> None:
    message = classify(value)
    assert isinstance(message, InvalidMessage)
    assert (message.code, message.id, message.answer) == (INVALID_REQUEST, None, True)
    assert "batch" in message.message


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "ping"], ids=repr)
def test_a_value_that_is_no_object_is_an_invalid_request(value: object) -> None:
    message = classify(value)
    assert isinstance(message, InvalidMessage)
    assert (message.code, message.id, message.answer) == (INVALID_REQUEST, None, True)


@pytest.mark.parametrize(
    ("value", "id"),
    [
        ({}, None),
        ({"id": 3}, 3),
        ({"id": 3, "method": "ping"}, 3),
        ({"jsonrpc": "1.0", "id": "x", "method": "ping"}, "x"),
        ({"jsonrpc": 2.0, "id": 4, "method": "ping"}, 4),
        ({"jsonrpc": "2.0", "id": 5}, 5),
        ({"jsonrpc": "2.0"}, None),
        ({"jsonrpc": "2.0", "id": 6, "method": 7}, 6),
        ({"jsonrpc": "2.0", "id": 6, "method": None}, 6),
        ({"jsonrpc": "2.0", "id": 6, "method": ""}, 6),
        ({"jsonrpc": "2.0", "method": ["ping"]}, None),
    ],
    ids=repr,
)
def test_a_wrong_shape_is_an_invalid_request_that_keeps_its_id(value: dict[str, object], id: object) -> None:
    message = classify(value)
    assert isinstance(message, InvalidMessage)
    assert (message.code, message.id, message.answer) == (INVALID_REQUEST, id, True)


@pytest.mark.parametrize("params", [[], [1], "x", 1, True], ids=repr)
def test_params_that_are_no_object_are_invalid_params(params: object) -> None:
    message = classify({"jsonrpc": "2.0", "id": 9, "method": "ping", "params": params})
    assert message == InvalidMessage(INVALID_PARAMS, "params must be an object", 9)


def test_bad_params_of_a_notification_are_not_answered() -> None:
    message = classify({"jsonrpc": "2.0", "method": "unsubscribe", "params": [1]})
    assert message == InvalidMessage(INVALID_PARAMS, "params must be an object", None, answer=False)


def test_members_that_nobody_knows_are_ignored() -> None:
    value = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}, "trace": "x", "result": None}
    assert classify(value) == Request(1, "ping", {})


@pytest.mark.parametrize("result", [None, {}, [1], 0, "x", False], ids=repr)
def test_an_answer_with_a_result_is_read(result: object) -> None:
    assert classify({"jsonrpc": "2.0", "id": 1, "result": result}) == Response(1, result)
    assert classify({"jsonrpc": "2.0", "id": 1, "result": result, "error": None}) == Response(1, result)


def test_an_answer_with_an_error_is_read() -> None:
    value = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32007, "message": "no token", "data": {"resources": []}}}
    assert classify(value) == Response(1, error=ErrorObject(-32007, "no token", {"resources": []}))


def test_an_error_wins_over_a_result() -> None:
    message = classify({"jsonrpc": "2.0", "id": 1, "result": None, "error": {"code": 1, "message": "m"}})
    assert message == Response(1, error=ErrorObject(1, "m"))


@pytest.mark.parametrize("error", ["x", [], {}, {"code": "1", "message": "m"}, {"code": 1}, {"code": True}], ids=repr)
def test_a_malformed_error_still_ends_its_request(error: object) -> None:
    message = classify({"jsonrpc": "2.0", "id": 1, "error": error})
    assert isinstance(message, Response)
    assert message.error is not None
    assert message.error.code == INTERNAL_ERROR


@pytest.mark.parametrize(
    "value",
    [
        {"jsonrpc": "2.0", "result": 1},
        {"jsonrpc": "2.0", "id": 1, "error": None},
        {"jsonrpc": "1.0", "id": 1, "result": 1},
        {"id": 1, "error": {"code": 1, "message": "m"}},
    ],
    ids=repr,
)
def test_a_malformed_answer_is_never_answered(value: dict[str, object]) -> None:
    """Two peers must not keep correcting each other."""
    message = classify(value)
    assert isinstance(message, InvalidMessage)
    assert not message.answer


@settings(deadline=None)
@given(JSON)
def test_any_value_is_one_of_the_four(value: object) -> None:
    assert isinstance(classify(value), (Request, Notification, Response, InvalidMessage))


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
            "id": JSON,
            "method": st.text(max_size=5) | JSON,
            "params": JSON,
            "result": JSON,
            "error": JSON,
        },
    )
)
def test_whatever_wants_an_answer_can_be_answered(value: dict[str, object]) -> None:
    match classify(value):
        case Request(id=id):
            assert decode(encode_result(id, None)) == {"jsonrpc": "2.0", "id": id, "result": None}
        case InvalidMessage(code, text, id, answer=True):
            answered = decode(encode_error(id, code, text))
            assert answered == {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}
        case message:
            assert not isinstance(message, Request)


def test_messages_are_written_as_the_standard_says() -> None:
    """AHP §1; the same four shapes as the round-trip fixtures 008–011."""
    params = {"channel": "ahp-root://"}
    assert decode(encode_request(1, "ping", params)) == {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params}
    assert decode(encode_notification("action", params)) == {"jsonrpc": "2.0", "method": "action", "params": params}
    assert decode(encode_result("a", None)) == {"jsonrpc": "2.0", "id": "a", "result": None}
    assert decode(encode_error(None, -32700, "bad")) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "bad"},
    }


def test_an_error_carries_its_data() -> None:
    data = {"supportedVersions": ["1.0.0"]}
    value: Any = decode(encode_error(1, -32005, "no", data))
    assert value["error"] == {"code": -32005, "message": "no", "data": data}


def test_params_may_be_encoded_already() -> None:
    frame = encode_notification("action", {"channel": "a:b", "action": Raw(b'{"type":"x"}')})
    assert read(frame) == Notification("action", {"channel": "a:b", "action": {"type": "x"}})


def test_what_is_written_is_read_back() -> None:
    assert read(encode_request(3, "ping", {})) == Request(3, "ping", {})
    assert read(encode_notification("x", {})) == Notification("x", {})
    assert read(encode_result(3, [1])) == Response(3, [1])
    assert read(encode_error(3, 1, "m", [2])) == Response(3, error=ErrorObject(1, "m", [2]))


def test_requests_are_numbered_from_one_and_matched_once() -> None:
    """AHP §1: ids that we send are non-negative integers."""
    pending: Correlator[str] = Correlator()
    assert [pending.open("a"), pending.open("b"), pending.open("c")] == [1, 2, 3]
    assert pending.resolve(Response(2, "x")) == "b"
    assert pending.resolve(Response(2, "x")) is None
    assert len(pending) == 2


def test_a_late_answer_to_a_cancelled_request_is_ignored() -> None:
    pending: Correlator[str] = Correlator()
    request_id = pending.open("a")
    assert pending.cancel(request_id) == "a"
    assert pending.cancel(request_id) is None
    assert pending.resolve(Response(request_id, 1)) is None


@pytest.mark.parametrize("id", [True, 1.0, "1", None, [1], {"a": 1}, 2], ids=repr)
def test_an_answer_with_an_id_that_is_not_ours_matches_nothing(id: object) -> None:
    pending: Correlator[str] = Correlator()
    pending.open("a")
    assert pending.resolve(Response(id)) is None
    assert len(pending) == 1


def test_everything_that_waits_is_given_back_when_the_connection_is_gone() -> None:
    pending: Correlator[str] = Correlator()
    pending.open("a")
    second = pending.open("b")
    pending.open("c")
    pending.cancel(second)
    assert pending.fail_all() == ("a", "c")
    assert pending.fail_all() == ()
    assert pending.open("d") == 4
