"""The JSON door: limits, hostile and broken texts, values that must survive (issue 2 section 2, dependencies §1.2)."""

import json
import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper import limits as catalogue
from innkeeper.wire import json as json_door
from innkeeper.wire.json import JsonError, Raw, decode, encode
from innkeeper.wire.limits import DEFAULT_LIMITS, Limits

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5), max_leaves=25
)


def test_the_default_limits_are_those_of_the_page_of_limits() -> None:
    assert Limits(catalogue.MESSAGE_BYTES, catalogue.MESSAGE_DEPTH) == DEFAULT_LIMITS


@settings(deadline=None)
@given(VALUES)
def test_every_json_value_survives_encoding_and_decoding(value: object) -> None:
    assert decode(encode(value)) == value


@settings(deadline=None)
@given(VALUES)
def test_what_the_standard_library_writes_is_read_alike(value: object) -> None:
    text = json.dumps(value)
    assert decode(text) == json.loads(text) == decode(text.encode())


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_bytes_of_any_kind_raise_nothing_but_the_one_error(data: bytes) -> None:
    try:
        decode(data)
    except JsonError as error:
        assert str(error)


@settings(deadline=None)
@given(st.lists(st.sampled_from(['"', "\\", "u", "d83d", "de00", "{", "[", "]", "}", ":", ",", "a", "1", " ", "\0"])))
def test_near_json_of_any_kind_raises_nothing_but_the_one_error(pieces: list[str]) -> None:
    try:
        decode("".join(pieces))
    except JsonError as error:
        assert str(error)


@pytest.mark.parametrize(
    "text", ["123456789012345678901234567890", "-9223372036854775809", "18446744073709551616", "9007199254740993"]
)
def test_integers_of_any_size_keep_every_digit(text: str) -> None:
    value = decode(text)
    assert type(value) is int
    assert encode(value) == text.encode()


def test_an_integer_is_written_as_an_integer() -> None:
    """AHP §15: typed peers read `12`, not `12.0`."""
    assert encode({"duration": 12}) == b'{"duration":12}'


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("NaN", "near byte 0"),
        ("[Infinity]", "near byte 1"),
        ("-Infinity", "near byte 1"),
        ("1e400", "out of range"),
        ("1" * 5000, "out of range"),
        ("", "ends too early"),
        ('{"a":', "ends too early"),
        ('{"a" 1}', "near byte 5"),
        ("[1,]", "near byte 3"),
        ("{1:2}", "near byte 1"),
        ("01", "near byte 1"),
        ("1 2", "near byte 3"),
        ('"a\nb"', "near byte 2"),
        ('"\\x"', "near byte"),
        ('"\\ud83', "not valid JSON"),
        ('"\\ud83d" x', "near byte"),
        ("'a'", "near byte 0"),
        ("undefined", "near byte 0"),
    ],
)
def test_text_that_is_not_json_is_refused_with_the_place(text: str, part: str) -> None:
    with pytest.raises(JsonError, match="not valid JSON") as caught:
        decode(text)
    assert part in str(caught.value)


@pytest.mark.parametrize("data", [b'"\xff"', b'"\xed\xa0\x80"', b"\xef\xbb\xbf1", b"\xff\xfe1\x00"])
def test_bytes_that_are_not_utf_8_are_refused(data: bytes) -> None:
    with pytest.raises(JsonError, match="not valid JSON"):
        decode(data)


def test_no_error_repeats_what_was_in_the_message() -> None:
    for text in ('{"token": "s3cret" x}', '{"token": "s3cret', "s3cret", '["s3cret\\ud83"]'):
        with pytest.raises(JsonError) as caught:
            decode(text)
        assert "s3cret" not in str(caught.value)


def test_a_message_at_the_size_limit_passes_and_one_byte_more_does_not() -> None:
    limits = Limits(max_bytes=10)
    assert decode(b'"12345678"', limits) == "12345678"
    with pytest.raises(JsonError, match="too large: 11 bytes, at most 10"):
        decode(b'"123456789"', limits)


def test_the_size_of_text_is_its_size_in_bytes() -> None:
    with pytest.raises(JsonError, match="too large: 11 bytes"):
        decode('"ééé€"', Limits(max_bytes=10))


def test_a_message_at_the_depth_limit_passes_and_one_level_more_does_not() -> None:
    limits = Limits(max_depth=5)
    assert decode("[" * 5 + "]" * 5, limits) == [[[[[]]]]]
    with pytest.raises(JsonError, match="nested too deeply: at most 5 levels"):
        decode("[" * 6 + "]" * 6, limits)
    with pytest.raises(JsonError, match="nested too deeply"):
        decode('{"a":' * 6 + "1" + "}" * 6, limits)


def test_many_brackets_side_by_side_are_not_depth() -> None:
    value = [{"a": [1], "b": "[[[[{{{{"} for _ in range(1000)]
    assert decode(json.dumps(value), Limits(max_depth=3)) == value


def test_brackets_in_strings_are_not_depth() -> None:
    text = json.dumps(['{"[' * 200, '\\"[[' * 200, "]" * 10])
    assert decode(text, Limits(max_depth=1)) == json.loads(text)


@settings(deadline=None)
@given(VALUES, st.integers(1, 6))
def test_the_depth_limit_counts_levels_exactly(value: object, limit: int) -> None:
    def depth(inner: object) -> int:
        match inner:
            case dict():
                return 1 + max(map(depth, inner.values()), default=0)
            case list():
                return 1 + max(map(depth, inner), default=0)
        return 0

    text = json.dumps([value, ["[{"], [[]], *([[]] * 10)])
    if depth(json.loads(text)) <= limit:
        decode(text, Limits(max_depth=limit))
    else:
        with pytest.raises(JsonError, match="nested too deeply"):
            decode(text, Limits(max_depth=limit))


@pytest.mark.parametrize(
    "bomb", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, '[{"a":' * 100_000], ids=len
)
def test_a_depth_bomb_is_refused_whatever_the_limit(bomb: str) -> None:
    for limits in (DEFAULT_LIMITS, Limits(max_depth=10_000_000)):
        with pytest.raises(JsonError, match="nested too deeply"):
            decode(bomb, limits)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d"', "\ufffd"),
        (r'"\uDE00 tail"', "\ufffd tail"),
        (r'"head \ud83d"', "head \ufffd"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\ud83d\ud83d\ude00"', "\ufffd😀"),
        (r'"\ud83d\ude00\ude00"', "😀\ufffd"),
        (r'"\ud83d\u0041"', "\ufffdA"),
        (r'"\\ud83d"', r"\ud83d"),
        (r'"\\\ud83d"', "\\\ufffd"),
        (r'"\\\\\ud83d\\"', "\\\\\ufffd\\"),
        (r'{"\ud83d":"\udfff"}', {"\ufffd": "\ufffd"}),
        (r'["\ud83d", "\"\ud83d\""]', ["\ufffd", '"\ufffd"']),
    ],
)
def test_a_cut_surrogate_becomes_the_replacement_character(text: str, value: object) -> None:
    """Dependencies §1.2: JavaScript peers cut text by UTF-16 units."""
    assert decode(text) == value
    assert decode(text.encode()) == value


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["\\ud83d", "\\ude00", "\\\\", "\\n", "\\u0041", '\\"', "x", "u", "d83d"]), max_size=12)
)
def test_cut_surrogates_are_found_wherever_escapes_stand(pieces: list[str]) -> None:
    text = f'"{"".join(pieces)}"'
    repaired = "".join("\ufffd" if 0xD800 <= ord(char) < 0xE000 else char for char in json.loads(text))
    assert decode(text) == repaired


def test_text_that_holds_a_surrogate_itself_is_repaired_too() -> None:
    assert decode('"a\ud83d"') == "a\ufffd"


def test_a_value_with_a_surrogate_can_be_sent() -> None:
    value = {"path\udcff": ["\ud83d", {"x": ("\udfff", 1)}], "n": 1}
    assert decode(encode(value)) == {"path\ufffd": ["\ufffd", {"x": ["\ufffd", 1]}], "n": 1}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_written_as_null(value: float) -> None:
    assert encode([value]) == b"[null]"


def test_encoded_json_is_copied_as_it_is() -> None:
    """Architecture principle 5: an envelope's bytes are made once."""
    action = b'{ "type":"chat/delta",  "n":1.50 }'
    assert encode({"params": {"action": Raw(action)}}) == b'{"params":{"action":' + action + b"}}"


def test_a_value_that_is_too_deep_to_write_raises_the_one_error() -> None:
    value: object = None
    for _ in range(100_000):
        value = [value]
    with pytest.raises(JsonError, match="nested too deeply"):
        encode(value)
    while isinstance(value, list):  # freed level by level, for the interpreter's sake
        value = value.pop()


def test_a_cut_surrogate_hides_no_depth() -> None:
    bomb = '["\\ud83d",' + "[" * 100_000 + "]" * 100_001
    with pytest.raises(JsonError, match="nested too deeply"):
        decode(bomb, Limits(max_depth=10_000_000))
    value: object = "\ud83d"
    for _ in range(100_000):
        value = [value]
    with pytest.raises(JsonError, match="nested too deeply"):
        encode(value)
    while isinstance(value, list):
        value = value.pop()


def test_words_of_the_library_that_we_do_not_know_are_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(data: bytes) -> object:
        raise msgspec.DecodeError("s3cret")

    monkeypatch.setattr(json_door, "_decode", refuse)
    with pytest.raises(JsonError, match=r"^not valid JSON$"):
        decode("1")


def test_a_value_that_json_has_no_word_for_raises_the_one_error() -> None:
    with pytest.raises(JsonError, match="cannot be written"):
        encode({"a": object()})


def test_a_value_at_the_depth_limit_can_be_sent_again() -> None:
    """A client must not be able to make a state that cannot be sent (dependencies, line on orjson)."""
    depth = DEFAULT_LIMITS.max_depth
    text = b"[" * depth + b"]" * depth
    assert encode({"jsonrpc": "2.0", "params": {"action": {"x": decode(text)}}}).count(b"[") == depth
