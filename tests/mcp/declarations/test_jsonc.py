"""The JSONC scanner: what it takes, what it refuses, and where things stand (M2.1, M8.1)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.editing.jsonc.scanner import JsoncError, parse
from innkeeper.editing.tree import Node, line_of
from innkeeper.limits import DECLARATION_DEPTH

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans(), st.sampled_from([None, 2, "\t"]))
def test_every_json_text_reads_as_the_standard_library_reads_it(
    value: object, ascii: bool, indent: int | str | None
) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii, indent=indent)).root.plain() == value


@given(st.text(alphabet='{}[]",:/*\\ \n\rtrue0-1eE.u"', max_size=60))
def test_no_text_raises_anything_but_its_own_error(text: str) -> None:
    try:
        parsed = parse(text).root.plain()
    except JsoncError as error:
        assert 0 <= error.offset <= len(text)
    else:
        try:
            plain = json.loads(text)
        except ValueError:
            return  # comments or a trailing comma
        assert parsed == plain


def test_comments_trailing_commas_and_bom_are_accepted() -> None:
    text = '\ufeff// head\r\n{ /* a */ "a" /* b */ : /* c */ 1, // d\r"b": ["x" , /* e */], }// end'
    assert parse(text).root.plain() == {"a": 1, "b": ["x"]}


def test_comment_marks_inside_strings_are_text() -> None:
    assert parse('{"u": "https://x/*y*/"}').root.plain() == {"u": "https://x/*y*/"}


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "FILE_EMPTY", 1),
        (" \n\t", "FILE_EMPTY", 2),
        ("// only a comment", "FILE_EMPTY", 1),
        ("{\n# no comment\n}", "FILE_SYNTAX", 2),
        ("{'a': 1}", "FILE_SYNTAX", 1),
        ("{a: 1}", "FILE_SYNTAX", 1),
        ('{"a": 0x1}', "FILE_SYNTAX", 1),
        ('{"a": 01}', "FILE_SYNTAX", 1),
        ('{"a": +1}', "FILE_SYNTAX", 1),
        ('{"a": NaN}', "FILE_SYNTAX", 1),
        ('{"a": 1,, "b": 2}', "FILE_SYNTAX", 1),
        ("[,]", "FILE_SYNTAX", 1),
        ('{"a": 1} x', "FILE_SYNTAX", 1),
        ('{"a": "b\nc"}', "FILE_SYNTAX", 1),
        ('{"a": "\\x"}', "FILE_SYNTAX", 1),
        ('{"a": "\\u12g4"}', "FILE_SYNTAX", 1),
        ('{"a": 1', "FILE_SYNTAX", 1),
        ("/* open", "FILE_SYNTAX", 1),
        ("[" * (DECLARATION_DEPTH + 2), "FILE_TOO_DEEP", 1),
        ('{"a":' * 5000, "FILE_TOO_DEEP", 1),
    ],
)
def test_what_is_no_jsonc_says_where(text: str, code: str, line: int) -> None:
    with pytest.raises(JsoncError) as caught:
        parse(text)
    assert caught.value.code == code
    assert line_of(text, caught.value.offset) == line


def test_spans_bound_exactly_the_text_of_members_and_values() -> None:
    text = '{ "a" : [1, {"b": "é"}] , "c":-0.5e3 }'
    root = parse(text).root
    a, c = root.members
    assert text[a.start : a.end] == '"a" : [1, {"b": "é"}]'
    assert text[a.start : a.key_end] == '"a"'
    assert text[a.value.items[1].start : a.value.items[1].end] == '{"b": "é"}'
    assert text[c.value.start : c.value.end] == "-0.5e3"
    assert (c.value.value, c.value.plain()) == ("-0.5e3", -500.0)


def test_duplicate_keys_are_found_at_any_depth_and_by_decoded_name() -> None:
    root = parse(r'{"a": 1, "\u0061": 2, "n": [{"x": 1, "x": 2}]}').root
    assert [member.key for member in root.duplicates()] == ["a", "x"]
    found = root.get("a")
    assert isinstance(found, Node) and found.plain() == 2


def test_positions_count_utf16_units_and_every_line_end() -> None:
    text = '{"\U0001f600": 1,\r\n"b": 2,\r"c": 3,\n"d": 4}'
    document = parse(text)
    assert [document.position(member.start) for member in document.root.members] == [(0, 1), (1, 0), (2, 0), (3, 0)]
    assert document.position(document.root.members[0].value.start) == (0, 7)


def test_surrogate_pairs_join_and_lone_ones_stay_visible() -> None:
    assert parse(r'"\ud83d\ude00"').root.value == "\U0001f600"
    assert parse(r'"\ud83d"').root.value == "\ud83d"
