"""Whatever the document and whatever the edit (M8.1)."""

import copy
import os
import re
import tomllib
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness.toml_documents import COMMENTS, documents
from innkeeper.editing.edits import Delete, Edit, Insert, Path, Put, applied, lookup, prunings, same
from innkeeper.editing.engine import edit_bytes
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.front import TOML
from innkeeper.editing.toml.model import Entry, Section, Value
from innkeeper.editing.toml.places import find
from innkeeper.editing.toml.scanner import scan

HEADER = re.compile(r"""\s*\[(?:"[^"]*"|'[^']*'|[^]"'])*\]""")
NEW = st.one_of(
    st.sampled_from([True, 0, -1.5, "", "new # text", 'q"\\\n', [], {}, [1, 2], {"x": 1}, ["a", "b"]]),
    st.lists(st.fixed_dictionaries({"workspace": st.just("/w"), "allow": st.just(["x"])}), min_size=1, max_size=2),
)
EXAMPLES = 1000 if os.environ.get("INNKEEPER_SOAK") == "1" else 60
FAST = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def valid(text: str) -> Any:
    """The data; other documents than valid ones are not looked at."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)


def paths(data: Any, path: Path = ()) -> list[Path]:
    """Every path below the root."""
    found = [path] if path else []
    members = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in members:
        found += paths(value, (*path, key))
    return found


@st.composite
def edits(draw: st.DrawFn, data: Any) -> Edit:
    """Set, add or delete something, anywhere."""
    known = paths(data)
    tables = [(), *(path for path in known if isinstance(lookup(data, path), dict))]
    lists = [path for path in known if isinstance(lookup(data, path), list)]
    kinds = ["add", *(["set", "delete"] if known else []), *(["insert"] if lists else [])]
    match draw(st.sampled_from(kinds)):
        case "set":
            return Put(draw(st.sampled_from(known)), draw(NEW))
        case "delete":
            return Delete(draw(st.sampled_from(known)))
        case "insert":
            path = draw(st.sampled_from(lists))
            return Insert((*path, draw(st.integers(0, len(lookup(data, path))))), draw(NEW))
    return Put((*draw(st.sampled_from(tables)), draw(st.sampled_from(["new", "new key"]))), draw(NEW))


def attempt(text: str, edit: Edit) -> str | None:
    try:
        return edit_bytes(TOML, text.encode(), [edit]).decode()
    except EditUnsafe as refused:
        assert refused.reason == "split", (refused.reason, edit)
        return None


def comments(text: str) -> list[str]:
    """Every comment, told from keys and strings by the scanner's spans."""
    bare = list(text)

    def hide(start: int, end: int) -> None:
        bare[start:end] = "-" * (end - start)

    waiting: list[Any] = list(scan(text).sections)
    while waiting:
        found = waiting.pop()
        if isinstance(found, Section) and found.path:
            hide(found.start, found.start + len(HEADER.match(text[found.start :])[0]))  # type: ignore[index]
        if isinstance(found, Entry):
            hide(found.start, found.key_end)
        if isinstance(found, Value) and found.kind == "scalar":
            hide(found.start, found.end)
        waiting += found.members if isinstance(found, (Section, Value)) else [found.value]
    return re.findall(r"#[^\r\n]*", "".join(bare))


@FAST
@given(st.data())
def test_the_data_is_the_old_data_with_the_one_change_or_nothing_happens(source: st.DataObject) -> None:
    text = source.draw(documents())
    data = valid(text)
    edit = source.draw(edits(data))
    new = attempt(text, edit)
    if new is not None:
        found, wanted = tomllib.loads(new), applied(copy.deepcopy(data), edit)
        vanished = prunings(wanted, edit.path) if isinstance(edit, Delete) else ()
        assert same(found, wanted) or any(same(found, less) for less in vanished)
        assert new.startswith("\ufeff") == text.startswith("\ufeff")
        if new and text:
            assert ("\r\n" in new) <= ("\r\n" in text)


@FAST
@given(st.data())
def test_comments_stay(source: st.DataObject) -> None:
    """Adding loses none; deleting loses none but those inside of what is deleted, or behind it on its line."""
    text = source.draw(documents())
    data = valid(text)
    edit = source.draw(edits(data))
    new = attempt(text, edit)
    assume(new is not None)
    before, after = Counter(comments(text)), Counter(comments(new or ""))
    assert after <= before
    if isinstance(edit, Insert) or (isinstance(edit, Put) and edit.path not in paths(data)):
        assert after == before


@FAST
@given(st.data())
def test_what_is_added_and_deleted_again_leaves_the_same_bytes(source: st.DataObject) -> None:
    text = source.draw(documents())
    data = valid(text)
    edit = source.draw(edits(data).filter(lambda edit: not isinstance(edit, Delete)))
    assume(isinstance(edit, Insert) or edit.path not in paths(data))
    holder = find(scan(text), edit.path[:-1]) if len(edit.path) > 1 else None
    if holder is not None and not (holder.slot or holder.dotted):
        assume(isinstance(edit, Insert) or any(section.path == edit.path[:-1] for section in holder.sections))
    new = attempt(text, edit)
    assume(new is not None)
    back = attempt(new or "", Delete(edit.path))
    assert back == text


@FAST
@given(st.data())
def test_edits_of_different_places_commute(source: st.DataObject) -> None:
    text = source.draw(documents())
    data = valid(text)
    known = [path for path in paths(data) if not isinstance(lookup(data, path), (dict, list))]
    assume(len(known) > 1)
    one, other = source.draw(st.lists(st.sampled_from(known), min_size=2, max_size=2, unique=True))
    there = [Put(one, "first"), Put(other, "second")]
    first = edit_bytes(TOML, text.encode(), there)
    assert first == edit_bytes(TOML, text.encode(), there[::-1])


@FAST
@given(documents(), st.text(alphabet="[]{}\"'=#,.\n\\ab", max_size=3), st.integers(0, 400))
def test_broken_documents_are_refused_and_nothing_else_is_raised(text: str, noise: str, place: int) -> None:
    broken = text[:place] + noise + text[place:]
    try:
        new = edit_bytes(TOML, broken.encode(), [Put(("added",), 1)])
    except EditUnsafe:
        return
    assert TOML.parse(new.decode())["added"] == 1


@settings(max_examples=50, deadline=None)
@given(documents(), COMMENTS)
def test_the_scanner_finds_the_values_that_the_parser_finds(text: str, comment: str) -> None:
    """Two readings of one text: spans against data."""
    data = valid(text)
    document = scan(text + comment if text.endswith("\n") else text)
    for section in document.sections:
        for entry in section.entries:
            path: Path = (*section.path, *entry.keys)
            alone = tomllib.loads(f"x = {text[entry.value.start : entry.value.end]}")["x"]
            assert same(alone, lookup(data, path))


def test_a_deep_document_is_refused_and_not_crashed_on() -> None:
    for text in ("a = " + "[" * 400 + "]" * 400, "a = " + "[" * 5000 + "]" * 5000):
        with pytest.raises(EditUnsafe):
            edit_bytes(TOML, text.encode(), [Put(("b",), 1)])
