"""Lines, URIs and names (C7.1)."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.customizations.discovery.limits import LINED_CHARACTERS
from innkeeper.customizations.discovery.places import child_uri, contained, file_uri, inside, key_ranges, shown


@pytest.mark.parametrize("path", ["/", "/a b/ä", "/a+b~c(d)", "/100%"])
def test_a_file_uri_is_the_one_of_pathlib(path: str) -> None:
    assert file_uri(path) == Path(path).as_uri()


def test_a_child_is_below_its_base() -> None:
    assert child_uri("file:///a", "b c") == "file:///a/b%20c"
    assert child_uri("x:/a/", "b") == "x:/a/b"
    assert child_uri("x:/a/", "") == "x:/a/"


def test_a_range_is_that_of_a_name_that_comes_once() -> None:
    text = '{"one": 1,\n "ä😀": {"two": "one"},\n "x": {"dup": 1}, "y": {"dup": 2}, "v": "two:"}'
    found = key_ranges(text)

    assert found["two"] == {"start": {"line": 1, "character": 9}, "end": {"line": 1, "character": 14}}
    assert found["ä😀"] == {"start": {"line": 1, "character": 1}, "end": {"line": 1, "character": 6}}
    assert "dup" not in found
    assert set(found) == {"one", "two", "ä😀", "x", "y", "v"}


def test_strings_with_quotes_hide_no_names() -> None:
    assert set(key_ranges(json.dumps({"a": 'x": {"b": 1', 'c"': 1}))) == {"a"}


def test_a_very_long_text_has_no_ranges() -> None:
    assert key_ranges(json.dumps({"a": "x" * LINED_CHARACTERS})) == {}


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), st.text(max_size=5), max_size=4),
    st.integers(0, 2),
)
def test_each_range_points_at_its_name(value: dict[str, str], indent: int) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    lines = text.split("\n")
    for name, place in key_ranges(text).items():
        units = lines[place["start"]["line"]].encode("utf-16-le")
        part = units[place["start"]["character"] * 2 : place["end"]["character"] * 2].decode("utf-16-le")
        assert part == f'"{name}"'


@pytest.mark.parametrize(
    ("path", "normal"),
    [("a/./b/", "a/b"), ("./", "."), (".", "."), ("a/../b", "b"), ("a\\b", "a/b"), ("a/..", "."), ("..a", "..a")],
)
def test_a_relative_path_is_normalised(path: str, normal: str) -> None:
    assert contained(path) == normal


@pytest.mark.parametrize("path", ["", "/a", "..", "../a", "a/../..", "\\a", "c:\\a", "~/a", "a\0b"])
def test_a_path_that_leads_out_is_none(path: str) -> None:
    assert contained(path) is None


def test_inside_is_not_a_matter_of_letters() -> None:
    assert inside("/a/b", "/a")
    assert inside("/a", "/a")
    assert inside("/a", "/")
    assert not inside("/ab", "/a")


def test_a_name_that_is_not_utf_8_can_be_shown() -> None:
    assert shown("a\udcff") == "a\ufffd"
    assert shown("ä") == "ä"
