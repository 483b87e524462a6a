"""TOML and YAML as trees (M2.1, M1.3): what is read, where it stands, what is refused."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.editing.tree import FormatError, Node
from innkeeper.limits import DECLARATION_DEPTH
from innkeeper.mcp.declarations.formats import parse
from innkeeper.mcp.declarations.toml import SLOW_FORMAT_BYTES

KEYS = st.text(alphabet='ab.- "', min_size=1, max_size=4)
SCALARS = st.booleans() | st.integers(-(10**9), 10**9) | st.text(alphabet='ab\n"\\#=[]{}', max_size=8)
TABLES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=10
)


def refused(text: str, format: str) -> FormatError:
    with pytest.raises(FormatError) as caught:
        parse(text, format)  # type: ignore[arg-type]
    return caught.value


def line_of_key(text: str, format: str, *path: str) -> int:
    document = parse(text, format)  # type: ignore[arg-type]
    table = document.root.at(path[:-1])
    assert table is not None
    (member,) = [member for member in table.members if member.key == path[-1]]
    return document.position(member.start)[0] + 1


@settings(max_examples=100)
@given(st.dictionaries(KEYS, TABLES, max_size=4))
def test_toml_reads_as_the_library_reads_it(value: dict[str, object]) -> None:
    import tomlkit

    text = tomlkit.dumps(value)
    if text.strip():
        assert parse(text, "toml").root.plain() == tomllib.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        '[s.a]\ncommand = "x"\n',
        's.a.command = "x"\n',
        's = { a = { command = "x" } }\n',
        '["s".a]\n"command" = "x"\n',
        '[s]\n[s.a]\r\ncommand = "x"\r\n',
        's = {\n  a = { command = "x", }, # 1.1\n}\n',
        '\ufeff# head\n[s.a]\ncommand = "x"',
        "[s.a]\ncommand = 'x' # tail",
    ],
)
def test_toml_in_every_spelling_is_one_tree(text: str) -> None:
    assert parse(text, "toml").root.plain() == {"s": {"a": {"command": "x"}}}


def test_toml_places_are_those_of_headers_and_keys() -> None:
    text = (
        '# head\n[s.b]\ncommand = "b"\n\n# about a\n[s.a]\nargs = ["""\n[s.fake]\n"""]\n'
        "[s.a.env]\nK = 1\n\n[s.'c.d']\nx.y = 1\n"
    )
    for path, line in ((("s", "b"), 2), (("s", "a"), 6), (("s", "a", "env", "K"), 11), (("s", "c.d"), 13)):
        assert line_of_key(text, "toml", *path) == line
    assert line_of_key("\ufeffa = 1\nb = { c = 1 }\n", "toml", "b", "c") == 2
    document = parse(text, "toml")
    a = document.root.at(("s", "a"))
    assert a is not None
    assert text[a.start : a.end].endswith("K = 1")


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "FILE_EMPTY", 0),
        ("# only\n\n", "FILE_EMPTY", 0),
        ("[a]\n[a]\n", "FILE_SYNTAX", 2),
        ("a = 1\na = 2\n", "FILE_SYNTAX", 2),
        ("a = \n", "FILE_SYNTAX", 1),
        ("<<<<<<< HEAD\n", "FILE_SYNTAX", 1),
        ('a = "x', "FILE_SYNTAX", 1),
        ("a = " + "[" * 5000, "FILE_TOO_DEEP", 0),
        ("a" + ".a" * (DECLARATION_DEPTH + 5) + " = 1", "FILE_TOO_DEEP", 1),
    ],
)
def test_what_is_no_toml_says_where(text: str, code: str, line: int) -> None:
    found = refused(text, "toml")
    assert (found.code, found.line) == (code, line)


def test_only_the_fast_reader_takes_long_toml() -> None:
    filler = "# " + "x" * SLOW_FORMAT_BYTES + "\n"
    assert parse(filler + "a = 1\n", "toml").root.plain() == {"a": 1}
    assert refused(filler + "a = {\n b = 1 }\n", "toml").code == "FILE_SYNTAX"


def test_yaml_is_1_2_and_keeps_the_text_of_numbers() -> None:
    root = parse("a: {yes: yes, no: 08, v: 1.10, o: 0o7, t: true, n: null, e: , d: 2026-01-01}\n", "yaml").root
    kinds = {member.key: (member.value.kind, member.value.value) for member in root.members[0].value.members}
    assert kinds == {
        "yes": ("string", "yes"),
        "no": ("number", "08"),
        "v": ("number", "1.10"),
        "o": ("number", "0o7"),
        "t": ("boolean", True),
        "n": ("null", None),
        "e": ("null", None),
        "d": ("other", None),
    }
    assert isinstance(root.plain(), dict)


def test_yaml_anchors_aliases_and_merges_are_followed() -> None:
    text = "b: &b {command: n, args: [x]}\ns:\n  a:\n    <<: *b\n    args: [y]\n  c: *b\n  d:\n    <<: [*b, {cwd: z}]\n"
    found = parse(text, "yaml").root.get("s")
    assert found is not None
    assert found.plain() == {
        "a": {"command": "n", "args": ["y"]},
        "c": {"command": "n", "args": ["x"]},
        "d": {"command": "n", "args": ["x"], "cwd": "z"},
    }
    assert line_of_key(text, "yaml", "s", "c") == 6


def test_alias_bomb_stays_small() -> None:
    """A shared node is one node: two to the 60th of them would not fit anywhere."""
    levels = "".join(f"k{n}: &k{n} [*k{n - 1}, *k{n - 1}]\n" for n in range(1, 60))
    root = parse(f"k0: &k0 [x]\n{levels}", "yaml").root
    assert list(root.duplicates()) == []
    deepest = root.get("k59")
    assert isinstance(deepest, Node) and deepest.items[0] is deepest.items[1]
    assert isinstance(deepest.plain(), list)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "FILE_EMPTY"),
        ("# only\n", "FILE_EMPTY"),
        ("a: 1\n---\nb: 2\n", "FILE_SYNTAX"),
        ("a:\n\tb: 1\n", "FILE_SYNTAX"),
        ("a: *nowhere\n", "FILE_SYNTAX"),
        ("a: &a [*a]\n", "FILE_SYNTAX"),
        ("? [x, y]\n: 1\n", "FILE_SYNTAX"),
        ("a: {<<: 1}\n", "FILE_SYNTAX"),
        ('a: "\x07"\n', "FILE_SYNTAX"),
        ("[" * 4000, "FILE_TOO_DEEP"),
        ("a: " + "[" * 80 + "]" * 80, "FILE_TOO_DEEP"),
        ("x" * (SLOW_FORMAT_BYTES + 1), "FILE_TOO_LARGE"),
        ("".join(f"a{n}: &a{n} {{{'' if n == 0 else f'x: *a{n - 1}'}}}\n" for n in range(70)), "FILE_TOO_DEEP"),
        (
            "b: &b {" + ", ".join(f"k{n}: 1" for n in range(200)) + "}\n"
            + "".join(f"m{n}: {{<<: *b}}\n" for n in range(9)),
            "FILE_TOO_LARGE",
        ),
    ],
)  # fmt: skip
def test_what_is_no_yaml_of_ours_is_refused(text: str, code: str) -> None:
    assert refused(text, "yaml").code == code


def test_yaml_tag_makes_nothing_and_is_no_value() -> None:
    root = parse('a: !!python/object/apply:os.system ["true"]\nb: !x 1\n', "yaml").root
    assert [member.value.kind for member in root.members] == ["other", "other"]


def test_strict_json_refuses_what_jsonc_takes() -> None:
    assert parse('\ufeff{"a": 1}', "json").root.plain() == {"a": 1}
    for text in ('{"a": 1,}', '{"a": 1} // c'):
        assert parse(text, "jsonc").root.plain() == {"a": 1}
        assert refused(text, "json").hint == "strictJson"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("# c\n{}", "hashComment"),
        ("{\n<<<<<<< HEAD\n}", "mergeConflict"),
        ("{a: 1}", "json5"),
        ("{'a': 1}", "json5"),
        ('{"a": ]', ""),
        ('{"a": 1, ', ""),
    ],
)
def test_syntax_errors_say_what_they_look_like(text: str, hint: str) -> None:
    assert refused(text, "jsonc").hint == hint


@given(st.text(alphabet="[]{}=.\"'\n#ab1,:&*-<|>\t ", max_size=60), st.sampled_from(["toml", "yaml", "jsonc", "json"]))
def test_no_text_raises_anything_but_its_own_error(text: str, format: str) -> None:
    try:
        parse(text, format).root.plain()  # type: ignore[arg-type]
    except FormatError as error:
        assert error.code in ("FILE_EMPTY", "FILE_SYNTAX", "FILE_TOO_DEEP", "FILE_TOO_LARGE")
        assert 0 <= error.line <= text.count("\n") + 2
