"""Front matter (C7.1, C7.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.customizations.discovery.front_matter import FrontMatter, read, read_plain, read_yaml
from innkeeper.customizations.discovery.limits import FRONT_MATTER_CHARACTERS


def block(text: str) -> str:
    return f"---\n{text}\n---\nBody: not ours\n"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {}),
        ("name: a b", {"name": "a b"}),
        ("name: \"a: b\"\ndescription: 'c # d'", {"name": "a: b", "description": "c # d"}),
        ("user-invocable: true", {"userinvocable": "true"}),
        ("applyTo: 'x'\napply_to2: y", {"applyto": "x", "applyto2": "y"}),
        ("tools: [a, 'b']", {"tools": ("a", "b")}),
        ("tools:\n  - a\n  - b", {"tools": ("a", "b")}),
        ("tools:\n- a", {"tools": ("a",)}),
        ("description: >\n  one\n  two\n", {"description": "one two\n"}),
        ("description: |-\n  one\n  two", {"description": "one\ntwo"}),
        ("name: null\nb: ~\nc:", {"name": "", "b": "", "c": ""}),
        ("version: 1.10", {"version": "1.10"}),
        ("day: 2024-99-99", {"day": "2024-99-99"}),
        ("# remark\nname: a # remark", {"name": "a"}),
        ("metadata:\n  author: x\nname: a", {"name": "a"}),
        ("url: http://x/y#z", {"url": "http://x/y#z"}),
        ("a: &x b\nc: *x", {"a": "b", "c": "b"}),
        ("globs: *.py, src/**/*.ts", {"globs": "*.py, src/**/*.ts"}),
        ("globs: **/it's", {"globs": "**/it's"}),
        ("? [a]\n: b\nc: d", {"c": "d"}),
    ],
)
def test_a_block_gives_its_texts_and_flat_lists(text: str, fields: dict[str, object]) -> None:
    assert read(block(text)) == FrontMatter(fields)


@pytest.mark.parametrize("text", ["", "Just text", "--- \nx", "----\na: b\n---\n", "text\n---\na: b\n---\n"])
def test_a_text_without_a_block_has_no_fields_and_mostly_no_problem(text: str) -> None:
    assert read(text).fields == {}


def test_line_ends_of_other_systems_are_accepted() -> None:
    assert read("---\r\nname: a\r\n---\r\nbody").fields == {"name": "a"}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("---\nname: a\n", "does not end"),
        ("---", "does not end"),
        (block("a: b: c"), "not valid YAML (line 2)"),
        (block("a: b\nc: [d"), "not valid YAML"),
        (block("a: *nobody"), "not valid YAML"),
        (block("- a"), "not a mapping"),
        (block("a: b\na: c"), "a key twice"),
        (block("a: " + "[" * 5_000), "too many brackets"),
        (block("a: " + "[" * 150), "not valid YAML"),
        (block("a: \x01"), "not valid YAML"),
        ("---\n" + "a: b\n" * FRONT_MATTER_CHARACTERS + "---\n", "too long"),
    ],
)
def test_a_broken_block_is_a_problem(text: str, part: str) -> None:
    problem = read(text).problem
    assert problem is not None
    assert part in problem


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "{a: ",
        "- ",
        "? ",
        "!x ",
        "&x ",
        "\n",
        "#\n",
        " ",
        "b, ",
        "'' ",
        "a: ",
        "\t",
        "%A b\n",
        "---\n",
        "*",
        "  y\n",
    ],
)
@pytest.mark.parametrize("lead", ["", "a: ", "a: x", "globs: *", "a: >\n"])
def test_no_block_takes_long(lead: str, unit: str) -> None:
    text = (lead + unit * FRONT_MATTER_CHARACTERS)[: FRONT_MATTER_CHARACTERS - 10]
    read(f"---\n{text}#\n---\n")
    read_plain(text + "#")


def test_aliases_of_aliases_cost_nothing() -> None:
    levels = "\n".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 30))
    assert read(block(f"k0: &k0 [x]\n{levels}\nname: a")).fields["name"] == "a"


def test_a_tag_of_a_language_makes_nothing() -> None:
    assert read(block("name: !!python/object/apply:os.system [ls]")).fields["name"] == ("ls",)


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12)
values = st.one_of(words, words.map(lambda word: f'"{word}"'), words.map(lambda word: f"'{word}'"), st.just("null"))
lines = st.tuples(st.sampled_from(["name", "description", "tools", "A-b_1"]), values).map(
    lambda kv: f"{kv[0]}: {kv[1]}"
)


@given(st.lists(lines, max_size=5).map("\n".join))
def test_lines_read_without_the_library_give_what_the_library_gives(text: str) -> None:
    plain = read_plain(text)
    if plain is not None:
        assert FrontMatter(plain) == read_yaml(text)


@given(st.text(max_size=60).map(lambda value: f"key: {value}"))
def test_any_single_line_gives_what_the_library_gives_or_is_left_to_it(text: str) -> None:
    plain = read_plain(text)
    if plain is not None and "\n" not in text:
        assert FrontMatter(plain) == read_yaml(text)


@given(st.text(alphabet="abk:-[]{}&*!|>'\"#%@`,? \n\t\x00\x85\u2028é", max_size=80))
def test_no_block_raises(text: str) -> None:
    found = read(block(text))
    assert all(isinstance(value, (str, tuple)) for value in found.fields.values())
