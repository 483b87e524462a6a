"""Each form of TOML, changed by hand-written examples: every byte outside the change stays (M8.1)."""

from typing import Any

import pytest

from innkeeper.editing.edits import Delete, Edit, Insert, Put
from innkeeper.editing.engine import edit_bytes
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.front import TOML


def edited(text: str, *edits: Edit) -> str:
    return edit_bytes(TOML, text.encode(), edits).decode()


HAND_WRITTEN = """\
# My settings.   Do not sort!

trust_mode = "manual"   # never "all"
trusted_workspaces = [
    "/work/a",   # the shop
    # "/work/old",
    "/work/b"    # the bakery
]
conflict_policy='error'

# ---- limits ----
[limits]   # cold
connections   =  12
  # indented comment
# queued_messages = 3

# Both of us
[[workspace_allowances]]
workspace = "/work/a"
allow_mcp = ["files", "git",]

  [[workspace_allowances]] # second
  workspace = "/work/b"
  allow_tools = []

# vim: set ft=toml:
"""


@pytest.mark.parametrize(
    ("edit", "old", "new"),
    [
        (Put(("trust_mode",), "all"), '"manual" ', '"all" '),
        (Put(("conflict_policy",), "first-wins"), "'error'", "'first-wins'"),
        (Put(("limits", "connections"), 7), "12", "7"),
        (Put(("trusted_workspaces", 1), "/x"), '"/work/b" ', '"/x" '),
        (Delete(("trusted_workspaces", 0)), '    "/work/a",   # the shop\n', ""),
        (
            Put(("trusted_workspaces",), ["/work/a", "/work/b", "/work/c"]),
            '"/work/b"    # the bakery\n',
            '"/work/b",    # the bakery\n    "/work/c"\n',
        ),
        (
            Insert(("trusted_workspaces", 0), "/first"),
            'trusted_workspaces = [\n',
            'trusted_workspaces = [\n    "/first",\n',
        ),
        (
            Insert(("trusted_workspaces", 1), "/mid"),
            '"/work/a",   # the shop\n',
            '"/work/a",   # the shop\n    "/mid",\n',
        ),
        (Insert(("workspace_allowances", 0, "allow_mcp", 9), "x"), '"git",]', '"git", "x",]'),
        (Insert(("workspace_allowances", 0, "allow_mcp", 1), "x"), '"files", "git"', '"files", "x", "git"'),
        (Delete(("workspace_allowances", 0, "allow_mcp", 0)), '"files", ', ""),
        (Delete(("workspace_allowances", 0, "allow_mcp", 1)), ', "git",]', ",]"),
        (Put(("workspace_allowances", 1, "allow_tools"), ["a.b"]), "allow_tools = []", 'allow_tools = ["a.b"]'),
        (
            Put(("workspace_allowances", 1, "allow_mcp"), ["g"]),
            "  allow_tools = []\n",
            '  allow_tools = []\n  allow_mcp = ["g"]\n',
        ),
        (
            Insert(("workspace_allowances", 2), {"workspace": "/c", "allow_mcp": ["m"]}),
            "  allow_tools = []\n",
            '  allow_tools = []\n\n  [[workspace_allowances]]\n  workspace = "/c"\n  allow_mcp = ["m"]\n',
        ),
        (
            Insert(("workspace_allowances", 1), {"workspace": "/c"}),
            '"git",]\n',
            '"git",]\n\n[[workspace_allowances]]\nworkspace = "/c"\n',
        ),
        (
            Insert(("workspace_allowances", 0), {"workspace": "/c"}),
            "# Both of us\n",
            '[[workspace_allowances]]\nworkspace = "/c"\n\n# Both of us\n',
        ),
        (
            Delete(("workspace_allowances", 0)),
            '[[workspace_allowances]]\nworkspace = "/work/a"\nallow_mcp = ["files", "git",]\n',
            "",
        ),
        (
            Delete(("workspace_allowances", 1)),
            '\n  [[workspace_allowances]] # second\n  workspace = "/work/b"\n  allow_tools = []\n',
            "",
        ),
        (Delete(("trust_mode",)), 'trust_mode = "manual"   # never "all"\n', ""),
        (Delete(("limits", "connections")), "connections   =  12\n", ""),
        (Put(("enabled_builtins",), ["root"]), "'error'\n", "'error'\nenabled_builtins = [\"root\"]\n"),
        (Put(("limits", "outbox_bytes"), 5), "=  12\n", "=  12\noutbox_bytes = 5\n"),
        (Put(("serve",), {"port": 0}), "  allow_tools = []\n", "  allow_tools = []\n\n[serve]\nport = 0\n"),
        (Put(("serve", "port"), 0), "  allow_tools = []\n", "  allow_tools = []\n\n[serve]\nport = 0\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_one_change_of_a_commented_file_touches_its_span_alone(
    edit: Edit, old: str, new: str, ends: str, mark: str
) -> None:
    """M8.1: comments, order, other keys, BOM, line ends, indentation stay."""
    assert HAND_WRITTEN.count(old) == 1
    before = mark + HAND_WRITTEN.replace("\n", ends)
    after = mark + HAND_WRITTEN.replace(old, new).replace("\n", ends)
    assert edited(before, edit) == after


def test_a_list_that_is_given_anew_keeps_the_comments_of_the_items_that_stay() -> None:
    text = edited(HAND_WRITTEN, Put(("trusted_workspaces",), ["/work/b"]))
    assert "# the bakery" in text
    assert '# "/work/old"' in text
    tables: Any = [{"workspace": "/work/b", "allow_tools": []}, {"workspace": "/n"}]
    text = edited(HAND_WRITTEN, Put(("workspace_allowances",), tables))
    assert "[[workspace_allowances]] # second\n" in text
    assert text.endswith('  [[workspace_allowances]]\n  workspace = "/n"\n\n# vim: set ft=toml:\n')


def test_a_value_that_is_the_same_already_changes_no_byte() -> None:
    assert edited(HAND_WRITTEN, Put(("conflict_policy",), "error")) == HAND_WRITTEN
    assert edited(HAND_WRITTEN, Delete(("presets",)), Delete(("trusted_workspaces", 9))) == HAND_WRITTEN


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        ("", [Put(("a",), 1)], "a = 1\n"),
        ("", [Put(("a",), {"b": 1})], "[a]\nb = 1\n"),
        ("x = 1", [Put(("a",), 1)], "x = 1\na = 1"),
        ("x = 1", [Put(("a",), [{"b": 1}, {"b": 2}])], "x = 1\n\n[[a]]\nb = 1\n\n[[a]]\nb = 2"),
        ("# c\n", [Put(("a",), 1)], "# c\na = 1\n"),
        ("# c", [Put(("a",), 1)], "# c\na = 1"),
        ("# about t\n[t]\n", [Put(("a",), 1)], "a = 1\n\n# about t\n[t]\n"),
        ("# file\n\n# about t\n[t]\n", [Put(("a",), 1)], "# file\n\na = 1\n\n# about t\n[t]\n"),
        ("[t]", [Put(("t", "a"), 1)], "[t]\na = 1"),
        ("[t]\nb = 1", [Delete(("t", "b"))], "[t]"),
        ("[t.u]\nb = 1\n", [Put(("t", "a"), 1)], "[t]\na = 1\n\n[t.u]\nb = 1\n"),
        ("[t.u]\nb = 1\n", [Put(("t", "v"), {"c": 1})], "[t.u]\nb = 1\n\n[t.v]\nc = 1\n"),
        ("t.u = 1 # c\nx = 2\n", [Put(("t", "a.b"), 1)], 't.u = 1 # c\nt."a.b" = 1\nx = 2\n'),
        ("[p]\nt.u = 1", [Put(("p", "t", "v"), 2)], "[p]\nt.u = 1\nt.v = 2"),
        ("t.u = 1\nx = 2\nt.v = 3\n", [Delete(("t",))], "x = 2\n"),
        ("a = {}", [Put(("a", "b"), 1)], "a = { b = 1 }"),
        ("a = { x = 1 }", [Put(("a", "b"), 1)], "a = { x = 1, b = 1 }"),
        ("a = { x = 1, y = 2, z = 3 }", [Delete(("a", "y"))], "a = { x = 1, z = 3 }"),
        ("a = { x = 1, y = 2 }", [Delete(("a", "y"))], "a = { x = 1 }"),
        ("a = { x = 1 }", [Delete(("a", "x"))], "a = {}"),
        ("a = {\n  x = 1, # c\n  y = 2,\n}\n", [Delete(("a", "y"))], "a = {\n  x = 1, # c\n}\n"),
        ("a = {\n  x = 1, # c\n}\n", [Put(("a", "y"), 2)], "a = {\n  x = 1, # c\n  y = 2,\n}\n"),
        ("a = []", [Insert(("a", 0), "x")], 'a = ["x"]'),
        ("a = [\n  # none yet\n]\n", [Insert(("a", 0), "x")], 'a = [\n  # none yet\n  "x",\n]\n'),
        ("a = []", [Insert(("a", 0), {"x": 1})], "a = [{ x = 1 }]"),
        ("a = [{ x = 1 }]", [Put(("a", 0, "y"), 2)], "a = [{ x = 1, y = 2 }]"),
        ("", [Insert(("a", 0), {"x": 1})], "[[a]]\nx = 1\n"),
        ("a = [ 1 # one\n, 2 # two\n, 3 ]\n", [Delete(("a", 1))], "a = [ 1 # one\n,  # two\n 3 ]\n"),
        ('a = """\n[t]\nb = 1\n"""\n[t]\nb = 1\n', [Put(("t", "b"), 2)], 'a = """\n[t]\nb = 1\n"""\n[t]\nb = 2\n'),
        ("a = '''x'''", [Put(("a",), "it's")], 'a = "it\'s"'),
        ("[a]\nx=1\n[a.b]\ny=1\n\n# c\n[c]\n", [Delete(("a",))], "# c\n[c]\n"),
        ("[b]\n[[a]]\nx=1\n", [Insert(("a", 0), {"x": 0})], "[b]\n[[a]]\nx = 0\n[[a]]\nx=1\n"),
        ("[a]\nx=1\n# about b\n[a.b]\ny=1\n[c]\n", [Delete(("a",))], "[c]\n"),
        ("[[a]]\nx=1\n[a.s]\nz=1\n[[a]]\nx=2\n", [Delete(("a", 0))], "[[a]]\nx=2\n"),
        ("[[a]]\nx=1\n[[a]]\nx=2\n[a.s]\nz=1\n", [Put(("a", 1, "s", "z"), 2)], "[[a]]\nx=1\n[[a]]\nx=2\n[a.s]\nz=2\n"),
        ("[[a]]\nx=1\n", [Put(("a",), [])], "a = []\n"),
        ("[a]\nx=1\n", [Put(("a",), 3)], "a = 3\n"),
        ("d = 1979-05-27 07:32:00 # c\n", [Put(("e",), 1)], "d = 1979-05-27 07:32:00 # c\ne = 1\n"),
        ('"a b".\'c.d\' = 1\n', [Put(("a b", "c.d"), 2)], '"a b".\'c.d\' = 2\n'),
        ('x = "\\e"\n', [Put(("y",), 1)], 'x = "\\e"\ny = 1\n'),
    ],
)  # fmt: skip
def test_every_form_is_changed_where_it_stands(before: str, edits: list[Edit], after: str) -> None:
    assert edited(before, *edits) == after


@pytest.mark.parametrize(
    ("text", "edit", "reason", "line"),
    [
        ("a = 1\na = 2\n", Put(("b",), 1), "duplicate", 2),
        ("[a]\n[b]\n[a]\n", Put(("b", "c"), 1), "duplicate", 3),
        ("a = \n", Put(("b",), 1), "syntax", 1),
        ("a = { x.y = 1, x.z = 2 }\n", Delete(("a", "x")), "split", 1),
        ("a = { x.y = 1 }\n", Put(("a", "x", "z"), 2), "split", 1),
        ("a = 1\n", Put(("a", "b"), 1), "missing", 1),
        ("a = [1]\n", Put(("a", 5), 1), "missing", 1),
        ("a = 1\n", Put(("b",), None), "value", None),
        ("a = 1\n", Put(("b",), "\ud800"), "value", None),
        ("a = 1\n", Put((), 1), "missing", None),
        ("a = 1\nx = '''\n'''\nx.y = 1\n", Put(("b",), 1), "duplicate", 4),
    ],
)
def test_what_cannot_be_kept_is_refused_with_reason_and_line(
    text: str, edit: Edit, reason: str, line: int | None
) -> None:
    """M8.1: there is no lossy mode, and the refusal names the place."""
    with pytest.raises(EditUnsafe) as refused:
        edited(text, edit)
    assert (refused.value.code, refused.value.reason, refused.value.line) == ("EDIT_UNSAFE", reason, line)
    assert refused.value.message("zh_Hans") != refused.value.message()
    if line is not None:
        assert str(line) in refused.value.message()


def test_a_file_that_is_not_utf_8_is_refused_with_its_line() -> None:
    with pytest.raises(EditUnsafe) as refused:
        edit_bytes(TOML, b"a = 1\n# caf\xe9\n", [Put(("a",), 2)])
    assert (refused.value.reason, refused.value.line) == ("encoding", 2)


def test_an_edit_of_several_is_all_or_nothing() -> None:
    with pytest.raises(EditUnsafe):
        edited("a = 1\n", Put(("b",), 1), Put(("a", "b"), 1))
