"""JSONC and YAML, edit by edit: what a person would have typed, and nothing beside it (M8.1)."""

from typing import Any

import pytest

from innkeeper.editing.edits import Delete, Edit, Insert, Put, Rename
from innkeeper.editing.engine import Format, edit_bytes
from innkeeper.editing.jsonc.front import JSONC
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.front import TOML
from innkeeper.editing.yaml.front import YAML


def edited(syntax: Format, old: str, *edits: Edit) -> str:
    return edit_bytes(syntax, old.encode(), edits).decode()


SERVERS = """{
  // first
  "servers": {
    "a": { "command": "x" }, // why a
    /* before b */
    "b" /* key */ : /* value */ { "command": "y" },
    "c": { "command": "z" }
    // at the end
  },
}
"""


@pytest.mark.parametrize(
    ("old", "edit", "new"),
    [
        (SERVERS, Delete(("servers", "a")), SERVERS.replace('    "a": { "command": "x" }, // why a\n', "")),
        (
            SERVERS,
            Delete(("servers", "b")),
            SERVERS.replace('    "b" /* key */ : /* value */ { "command": "y" },\n', ""),
        ),
        (
            SERVERS,
            Delete(("servers", "c")),
            SERVERS.replace('    "c": { "command": "z" }\n', "").replace('"y" },', '"y" }'),
        ),
        (SERVERS, Rename(("servers", "b"), "d e"), SERVERS.replace('"b" /*', '"d e" /*')),
        (SERVERS, Put(("servers", "b", "command"), "w"), SERVERS.replace('"y"', '"w"')),
        (
            SERVERS,
            Put(("servers", "d"), {"command": "w"}),
            SERVERS.replace('"z" }\n', '"z" },\n    "d": { "command": "w" }\n'),
        ),
        ('{"\\u0061": {"b": 1}}', Put(("a", "b"), 2), '{"\\u0061": {"b": 2}}'),
        ('{"\\ud83d\\ude00": 1}', Rename(("\U0001f600",), "b"), '{"b": 1}'),
        ("{\r\t}", Put(("a",), 1), '{\r  "a": 1\r\r\t}'),
        ("{\n\r\t}", Put(("a",), 1), '{\n  "a": 1\n\n\r\t}'),
        ('{"a": 1,\r\n "b": 2\r}', Put(("c",), 3), '{"a": 1,\r\n "b": 2,\r "c": 3\r}'),
        ('\ufeff{"a": [1, 2, 3]}', Delete(("a", 1)), '\ufeff{"a": [1, 3]}'),
        ('{"a": [\n  1, // one\n  2 // two\n]}', Delete(("a", 1)), '{"a": [\n  1 // one\n]}'),
        ('{"a": [\n  1, // one\n  2 // two\n]}', Insert(("a", 1), 9), '{"a": [\n  1, // one\n  9,\n  2 // two\n]}'),
        ("", Put(("a",), 1), '{\n  "a": 1\n}\n'),
        ("// mine", Put(("a",), 1), '// mine\n{\n  "a": 1\n}\n'),
    ],
)  # fmt: skip
def test_jsonc(old: str, edit: Edit, new: str) -> None:
    assert edited(JSONC, old, edit) == new


BLOCK = """# head
servers:
  # about a
  a:   # why a
    command: x
    args:
      - one  # first
      - two
  b: {command: y}  # flow
  text: |+  # kept
    some # no comment

after: [1, 2]  # end
"""


@pytest.mark.parametrize(
    ("old", "edit", "new"),
    [
        (BLOCK, Put(("servers", "text"), "ab"), BLOCK.replace("|+  # kept\n    some # no comment\n", "ab  # kept")),
        (BLOCK, Put(("servers", "n"), {"cwd": "up"}), BLOCK.replace("\nafter", '\n  "n":\n    cwd: up\nafter')),
        (BLOCK, Put(("servers", "a", "command"), "w"), BLOCK.replace("command: x", "command: w")),
        (BLOCK, Delete(("servers", "a", "args", 0)), BLOCK.replace("      - one  # first\n", "")),
        (BLOCK, Insert(("servers", "a", "args", 1), "mid"), BLOCK.replace("      - two", "      - mid\n      - two")),
        (BLOCK, Delete(("servers", "b")), BLOCK.replace("  b: {command: y}  # flow\n", "")),
        (BLOCK, Put(("servers", "b", "env"), {"A": "1"}), BLOCK.replace("y}", 'y, env: {A: "1"}}')),
        (BLOCK, Rename(("servers", "a"), "on"), BLOCK.replace("  a:   #", '  "on":   #')),
        (BLOCK, Delete(("after",)), BLOCK.replace("after: [1, 2]  # end\n", "")),
        ("a: >-\r\n  x\r\nb: 1\r\n", Put(("a",), "word"), "a: word\r\nb: 1\r\n"),
        ("a: |2-  # c\n   x\n", Put(("a",), 1), "a: 1  # c\n"),
        ("%YAML 1.2\n---\na: 1\n...\n", Put(("b",), 2), "%YAML 1.2\n---\na: 1\nb: 2\n...\n"),
        ("other: &x {a: 1}\nservers:\n  s: {b: 1}\nmore: *x\n", Put(("servers", "s", "b"), 2),
         "other: &x {a: 1}\nservers:\n  s: {b: 2}\nmore: *x\n"),
    ],
)  # fmt: skip
def test_yaml(old: str, edit: Edit, new: str) -> None:
    assert edited(YAML, old, edit) == new


@pytest.mark.parametrize(
    ("old", "edit", "new"),
    [
        ("a = {}", Put(("a", "b"), 1), "a = { b = 1 }"),
        ("a = { }", Put(("a", "b"), 1), "a = { b = 1  }"),
        ("a = {b = 1}", Delete(("a", "b")), "a = {}"),
        ("a = { b = 1 }", Delete(("a", "b")), "a = {}"),
    ],
)
def test_an_inline_table_of_toml_is_empty_as_it_was(old: str, edit: Edit, new: str) -> None:
    assert edited(TOML, old, edit) == new
    if isinstance(edit, Put):
        assert edited(TOML, new, Delete(edit.path)) == old


@pytest.mark.parametrize(
    ("syntax", "old", "edit", "reason", "line"),
    [
        (JSONC, '{"a": 1,\n"a": 2}', Put(("a",), 3), "duplicate", 2),
        (JSONC, '{"a": 1,\n"\\u0061": 2}', Delete(("a",)), "duplicate", 2),
        (JSONC, '{"a": 1}\n{', Put(("a",), 3), "syntax", 2),
        (JSONC, '{"a": "x"}', Put(("a", "b"), 3), "missing", 1),
        (JSONC, "[1]", Put(("a",), 3), "missing", 1),
        (JSONC, '{"a": 1}', Put(("b",), "\ud800"), "value", None),
        (JSONC, '{"a": 1}', Put(("b",), float("nan")), "value", None),
        (JSONC, "[" * 70 + "]" * 70, Put(("a",), 3), "depth", 1),
        (YAML, "a: 1\nb: &x 2\n", Put(("b",), 3), "anchor", 2),
        (YAML, "a: &x {b: 1}\nc: *x\n", Put(("c",), 3), "anchor", 2),
        (YAML, "x: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", Put(("c", "d"), 3), "anchor", 3),
        (YAML, "a: !own {b: 1}\n", Put(("a", "b"), 3), "split", 1),
        (YAML, "a: 1\n---\nb: 1\n", Put(("a",), 3), "syntax", 2),
        (YAML, "a: 1\na: 2\n", Put(("a",), 3), "duplicate", 2),
        (YAML, "a:\n\tb: 1\n", Put(("a",), 3), "syntax", 2),
        (YAML, "a: |\n  x", Put(("b",), 3), "proof", None),
        (TOML, "a = [{ b.c = 1 }]", Put(("a", 0, "b", "d"), 1), "split", 1),
        (TOML, "a = 1\rb = 2", Put(("a",), 3), "syntax", 2),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_reason_and_line(
    syntax: Any, old: str, edit: Edit, reason: str, line: int | None
) -> None:
    with pytest.raises(EditUnsafe) as caught:
        edited(syntax, old, edit)
    assert (caught.value.reason, caught.value.line) == (reason, line)
