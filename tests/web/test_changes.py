"""Files of a changeset as they are shown, the channels that are asked for, coloured diffs (issue 7 B.1)."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from innkeeper.client.changesets import Wanted, below, changed_file, channel_of
from innkeeper.host.changesets.catalogue import Name, name_of, session_catalogue
from innkeeper.web.changes import dom_of
from innkeeper.web.diffs import coloured, rows

SESSION = "ahp-session:/s"
STATE: dict[str, Any] = {"changesets": session_catalogue(SESSION, "en", git=True, left_out={})}
ids = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)


def side(uri: str, nonce: str = "1") -> dict[str, Any]:
    return {"uri": uri, "content": {"uri": f"x:{nonce}", "nonce": nonce}}


def shown(edit: dict[str, Any], **meta: Any) -> Any:
    after = edit.get("after") or edit["before"]
    own = {f"x-innkeeper/{name}": value for name, value in meta.items()}
    return changed_file({"id": after["uri"], "edit": edit, "_meta": own}, ["file:///w"])


def test_a_file_says_what_happened_to_it_and_of_which_kind_it_is() -> None:
    """docs/reference/changesets.md: none before is new, none after is deleted, two URIs are a rename."""
    old, new = side("file:///w/a%20b.py"), side("file:///w/sub/c.py", "2")
    assert (shown({"before": old, "after": side("file:///w/a%20b.py", "2")}).change, shown({"after": new}).change) == (
        "changed",
        "added",
    )
    assert shown({"before": old}).change == "deleted" and shown({"before": old}).path == "a b.py"
    moved = shown({"before": old, "after": new})
    assert (moved.change, moved.path, moved.was) == ("renamed", "sub/c.py", "a b.py")
    assert shown({"after": new}, kind="submodule").tags == ("submodule",)
    assert shown({"after": new}, kind="symlink", lfs=True, binary=True).tags == ("symlink", "binary", "lfs")
    assert shown({"after": new}, attribution={"kind": "shared"}).shared == "shared"
    assert shown({"after": new}).added is None


def test_another_content_is_another_address_so_that_an_open_diff_is_loaded_again() -> None:
    one, two = (shown({"before": side("file:///w/a"), "after": side("file:///w/a", nonce)}) for nonce in "23")
    assert one.version != two.version and dom_of(one) == dom_of(two)


def test_a_path_is_below_the_folder_that_it_is_in_and_whole_elsewhere() -> None:
    assert (
        below("file:///w/x/y.py", ["file:///w"]) == "x/y.py" and below("file:///wx/y.py", ["file:///w"]) == "/wx/y.py"
    )


@given(st.lists(ids, min_size=2, max_size=2))
def test_the_channels_are_those_that_the_host_knows_by_them(turns: list[str]) -> None:
    """Whatever the ids of turns are: they come from clients."""
    first, last = turns
    assert name_of(channel_of(Wanted("turn", (first,)), STATE) or "") == Name(SESSION, "turn", (first,))
    assert name_of(channel_of(Wanted("compare", (first, last)), STATE) or "") == Name(SESSION, "compare", (first, last))
    assert channel_of(Wanted("uncommitted"), STATE) == f"{SESSION}/changeset/uncommitted"


def test_what_the_session_does_not_offer_has_no_channel() -> None:
    assert channel_of(Wanted("uncommitted"), {"changesets": []}) is None
    assert channel_of(Wanted("turn"), STATE) is None and channel_of(Wanted("compare", ("a", "")), STATE) is None


TAG = re.compile(r'<span class="syn-[a-z]+">|</span>')
lines = st.text(st.sampled_from("ab<&\"' \n\t#'\\"), max_size=60)


@given(lines, lines)
def test_a_coloured_diff_has_the_text_of_the_plain_one(before: str, after: str) -> None:
    """B.9: colours are the only markup, and what was in the file is text."""
    plain = rows(before, after)
    for row, made in zip(plain, coloured(plain, before, after, "x.py"), strict=True):
        assert Markup(TAG.sub("", str(made.text))).unescape() == row.text


def test_colours_do_not_leak_from_line_to_line() -> None:
    text = 'x = """one\n<b>two</b>\n"""\ny = 1\n'
    made = coloured(rows("", text), "", text, "x.py")
    assert made[1].text == '<span class="syn-str">&lt;b&gt;two&lt;/b&gt;</span>'
    assert [one.text.count("<span") for one in made] == [one.text.count("</span>") for one in made]
