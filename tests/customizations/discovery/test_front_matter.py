"""Front matter (C7.1, C7.3)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.customizations.discovery.front_matter import FrontMatter, read, read_yaml
from innkeeper.customizations.discovery.limits import FRONT_MATTER_CHARACTERS
from innkeeper.customizations.discovery.plain_yaml import read_plain


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
    assert read(f"---\n{text}#\n---\n").fields.keys() <= {"a", "globs"}


def test_aliases_of_aliases_cost_nothing() -> None:
    levels = "\n".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 30))
    assert read(block(f"k0: &k0 [x]\n{levels}\nname: a")).fields["name"] == "a"


def test_a_tag_of_a_language_makes_nothing() -> None:
    assert read(block("name: !!python/object/apply:os.system [ls]")).fields["name"] == ("ls",)


letters = st.text("aB1 -:#,'\"[]{}>|&*!%.é()", max_size=8)
words = (
    letters | st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["null", "true", "~", "a: b", "x"])
)
scalars = words | words.map(lambda word: f'"{word}"') | words.map(lambda word: f"'{word}'")
indents = st.sampled_from(["", " ", "  ", "   "])


def entry(key: str, form: str, items: list[str], indent: str) -> str:
    """One key with a value of a form, right or nearly so."""
    if form == "flow":
        return f"{key}: [{', '.join(items)}]"
    if form in (">", "|", ">-", "|-", ">+", "|2"):
        return "\n".join([f"{key}: {form}", *(indent + item for item in items)])
    if form == "list":
        return "\n".join([f"{key}:", *(f"{indent}- {item}" for item in items)])
    if form == "mapping":
        return "\n".join([f"{key}:", *(f"{indent}k{n}: {item}" for n, item in enumerate(items))])
    return f"{key}: {' '.join(items)}"


entries = st.builds(
    entry,
    st.sampled_from(["name", "description", "tools", "A-b_1"]),
    st.sampled_from(["flow", ">", "|", ">-", "|-", ">+", "|2", "list", "mapping", "text"]),
    st.lists(scalars, max_size=3),
    indents,
)


@pytest.mark.parametrize(
    "text",
    [
        "name: a\ndescription: 'b: c'",
        "name: a\n\n# d\nb: c\n",
        "tools: [a, 'b', \"c d\"]\nx: []",
        "tools:\n  - a\n  - 'b'\nname: x",
        "tools:\n- a\n- Bash(git:*)",
        "metadata:\n  author: a\n  version: '1'\nname: x",
        "description: >\n  a\n  - b\nname: x",
        "description: |-\n   a\n   b: #c",
    ],
)
def test_what_most_files_have_is_read_without_the_library(text: str) -> None:
    plain = read_plain(text)
    assert plain is not None
    assert FrontMatter(plain) == read_yaml(text)


@settings(max_examples=400)
@given(st.lists(entries | st.sampled_from(["", "# x", "#", "  ", "  # x"]), max_size=5).map("\n".join))
def test_what_is_read_without_the_library_is_what_the_library_reads(text: str) -> None:
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
