"""Whatever the document and whatever the edit, in JSONC and YAML; and renaming in all three (M8.1)."""

import copy
import os
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness import jsonc_documents, toml_documents, yaml_documents
from innkeeper.editing.edits import Delete, Edit, Insert, Path, Put, Rename, applied, lookup, same
from innkeeper.editing.engine import Format, edit_bytes, spliced
from innkeeper.editing.jsonc.front import JSONC
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.toml.front import TOML
from innkeeper.editing.yaml.front import YAML

EXAMPLES = 1000 if os.environ.get("INNKEEPER_SOAK") == "1" else 80
pytestmark = pytest.mark.timeout(240)
"""Generated documents of any size, on any machine."""
FAST = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
NEW = st.sampled_from(
    [True, 0, None, "", "new # text", 'q"\\\n\u2028', [], {}, ["a", "b"], {"x": "1"}, {"args": ["-y", "on"], "e": {}}]
)
FORMATS: list[Any] = [(JSONC, jsonc_documents.documents()), (YAML, yaml_documents.documents())]


def paths(data: Any, path: Path = ()) -> list[Path]:
    found = [path] if path else []
    members = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in members:
        found += paths(value, (*path, key))
    return found


@st.composite
def edits(draw: st.DrawFn, data: Any) -> Edit:
    """Set, add, insert, rename or delete something, anywhere."""
    known = paths(data)
    tables = [(), *(path for path in known if isinstance(lookup(data, path), dict))]
    lists = [path for path in known if isinstance(lookup(data, path), list)]
    keyed = [path for path in known if isinstance(path[-1], str)]
    kinds = ["add", *(["set", "delete"] if known else []), *(["insert"] if lists else []), *(["rename"] * bool(keyed))]
    match draw(st.sampled_from(kinds)):
        case "set":
            return Put(draw(st.sampled_from(known)), draw(NEW))
        case "delete":
            return Delete(draw(st.sampled_from(known)))
        case "rename":
            return Rename(draw(st.sampled_from(keyed)), draw(st.sampled_from(["new", "new key", "ä'\""])))
        case "insert":
            path = draw(st.sampled_from(lists))
            return Insert((*path, draw(st.integers(0, len(lookup(data, path))))), draw(NEW))
    return Put((*draw(st.sampled_from(tables)), draw(st.sampled_from(["new", "new key"]))), draw(NEW))


def parsed(syntax: Format, text: str) -> Any:
    """The data; other documents than valid ones are not looked at."""
    try:
        return syntax.parse(text.removeprefix("\ufeff"))
    except EditUnsafe:
        assume(False)


def attempt(syntax: Format, text: str, edit: Edit) -> str | None:
    try:
        return edit_bytes(syntax, text.encode(), [edit]).decode()
    except EditUnsafe as refused:
        allowed = ("split", "missing", "proof") if syntax is YAML else ("split", "missing")
        assert refused.reason in allowed, (refused.reason, edit)
        return None


@pytest.mark.parametrize("which", [0, 1], ids=["jsonc", "yaml"])
@FAST
@given(st.data())
def test_the_new_text_parses_and_has_the_one_change_and_all_else_is_equal(which: int, source: st.DataObject) -> None:
    """(a), (b) and (c) of issue 7 A.1, told by the splices and by the bytes."""
    syntax, documents = FORMATS[which]
    text = source.draw(documents)
    data = parsed(syntax, text)
    edit = source.draw(edits(data))
    new = attempt(syntax, text, edit)
    if new is None:
        assert syntax is YAML, edit
        return
    assert same(parsed(syntax, new), applied(copy.deepcopy(data), edit))
    assert new.startswith("\ufeff") == text.startswith("\ufeff")
    bare = text.removeprefix("\ufeff")
    steps = syntax.steps(bare, data, edit)
    if len(steps) == 1:
        splices = sorted(syntax.splices(bare, steps[0]), key=lambda one: one.start)
        assert spliced(bare, splices) == new.removeprefix("\ufeff")
        if isinstance(steps[0], Insert) or (isinstance(steps[0], Put) and steps[0].path not in paths(data)):
            assert all(splice.start == splice.end for splice in splices), "adding is a pure insertion"


@pytest.mark.parametrize("which", [0, 1], ids=["jsonc", "yaml"])
@FAST
@given(st.data())
def test_what_is_added_and_deleted_again_leaves_the_same_bytes(which: int, source: st.DataObject) -> None:
    syntax, documents = FORMATS[which]
    text = source.draw(documents)
    data = parsed(syntax, text)
    tables = [(), *(path for path in paths(data) if isinstance(lookup(data, path), dict))]
    path = (*source.draw(st.sampled_from(tables)), "new")
    new = attempt(syntax, text, Put(path, {"command": "npx", "args": ["-y"], "env": {"A": "b"}}))
    assume(new is not None)
    assert attempt(syntax, new or "", Delete(path)) == text


COMMENT = {
    0: re.compile(r"""[^"/]+|"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*.*?\*/)""", re.DOTALL),
    1: re.compile(r"""(# (?:one|a: b|above|out|head|end)\b)"""),
}
"""What the generators write as comments; in YAML no text of theirs has one of these."""


def comments(which: int, text: str) -> Counter[str]:
    return Counter(found[1] for found in COMMENT[which].finditer(text) if found[1])


@pytest.mark.parametrize("which", [0, 1], ids=["jsonc", "yaml"])
@FAST
@given(st.data())
def test_comments_stay(which: int, source: st.DataObject) -> None:
    """Adding, renaming and setting a value lose none; a deletion loses those inside of it or behind it on its line."""
    syntax, documents = FORMATS[which]
    text = source.draw(documents)
    data = parsed(syntax, text)
    edit = source.draw(edits(data))
    new = attempt(syntax, text, edit)
    assume(new is not None)
    before, after = comments(which, text), comments(which, new or "")
    assert after <= before
    replaces = isinstance(edit, Put) and edit.path in paths(data) and isinstance(lookup(data, edit.path), (dict, list))
    if not isinstance(edit, Delete) and not replaces:
        assert after == before


@pytest.mark.parametrize("which", [0, 1, 2], ids=["jsonc", "yaml", "toml"])
@FAST
@given(st.data())
def test_what_is_deleted_leaves_a_part_of_the_old_text(which: int, source: st.DataObject) -> None:
    """(c) of issue 7 A.1 told without the engine: nothing is written but what an emptied block of YAML is."""
    syntax, documents = [*FORMATS, (TOML, toml_documents.documents())][which]
    text = source.draw(documents)
    known = paths(parsed(syntax, text))
    assume(known)
    new = attempt(syntax, text, Delete(source.draw(st.sampled_from(known))))
    assume(new is not None)
    kept = new or ""
    emptied = re.finditer(r" ?(?:\{\}|\[\])", kept) if which == 1 else ()
    assert _is_part(kept, text) or any(_is_part(kept[: one.start()] + kept[one.end() :], text) for one in emptied)


def _is_part(part: str, text: str) -> bool:
    rest = iter(text)
    return all(character in rest for character in part)


@pytest.mark.parametrize("which", [0, 1, 2], ids=["jsonc", "yaml", "toml"])
@FAST
@given(st.data())
def test_what_is_renamed_and_renamed_back_has_the_same_data(which: int, source: st.DataObject) -> None:
    syntax, documents = [*FORMATS, (TOML, toml_documents.documents())][which]
    text = source.draw(documents)
    data = parsed(syntax, text)
    keyed = [path for path in paths(data) if isinstance(path[-1], str)]
    assume(keyed)
    path = source.draw(st.sampled_from(keyed))
    new = attempt(syntax, text, Rename(path, "another name"))
    assume(new is not None)
    assert same(parsed(syntax, new or ""), applied(data, Rename(path, "another name")))
    back = attempt(syntax, new or "", Rename((*path[:-1], "another name"), str(path[-1])))
    assert back is not None and same(parsed(syntax, back), data)
    assert (new or "").count("#") == text.count("#") - str(path[-1]).count("#") * 0


@pytest.mark.parametrize("which", [0, 1], ids=["jsonc", "yaml"])
@FAST
@given(st.data())
def test_edits_of_different_places_commute(which: int, source: st.DataObject) -> None:
    syntax, documents = FORMATS[which]
    text = source.draw(documents)
    data = parsed(syntax, text)
    known = [path for path in paths(data) if isinstance(lookup(data, path), str)]
    assume(len(known) > 1)
    one, other = source.draw(st.lists(st.sampled_from(known), min_size=2, max_size=2, unique=True))
    there = [Put(one, "first"), Put(other, "second")]
    assert edit_bytes(syntax, text.encode(), there) == edit_bytes(syntax, text.encode(), there[::-1])


@pytest.mark.parametrize("which", [0, 1], ids=["jsonc", "yaml"])
@FAST
@given(st.data())
def test_broken_documents_are_refused_and_nothing_else_is_raised(which: int, source: st.DataObject) -> None:
    syntax, documents = FORMATS[which]
    text = source.draw(documents)
    place = source.draw(st.integers(0, 300))
    noise = source.draw(st.text(alphabet="[]{}\"'#,:\n\\&*!|>-?%@\t", max_size=3))
    broken = text[:place] + noise + text[place:]
    try:
        new = edit_bytes(syntax, broken.encode(), [Put(("added",), 1)])
    except EditUnsafe:
        return
    assert syntax.parse(new.decode().removeprefix("\ufeff"))["added"] == 1
