"""Attribution of turns that overlap (reference §10.11; S17 as the issue decides it)."""

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.host.changesets.attribution import Shown, attribute, explains, net
from innkeeper.host.changesets.book import ABSENT, Content, Edit, Known, git_id
from innkeeper.ports.git import FileChange, Side

ROOT = "/r"


def content(text: str) -> Content:
    data = text.encode()
    return Content(f"d-{text}", git_id(data), len(data))


def known(text: str | None) -> Known:
    return ABSENT if text is None else content(text)


def edit(turn: str, path: str, before: str | None, after: str | None, old: str | None = None) -> Edit:
    moved = None if old is None else f"{ROOT}/{old}"
    return Edit("chat", turn, turn, f"call-{turn}", f"{ROOT}/{path}", known(before), known(after), moved)


def side(text: str | None) -> Side | None:
    return None if text is None else Side("file", git_id(text.encode()), len(text))


def change(path: str, before: str | None, after: str | None) -> FileChange:
    kind = "added" if before is None else "deleted" if after is None else "edited"
    return FileChange(kind, path, None, side(before), side(after), 1, 1)  # type: ignore[arg-type]


def names(shown: list[Shown]) -> dict[str, str]:
    return {file.path.removeprefix(f"{ROOT}/"): file.why for file in shown}


def test_a_turn_that_was_alone_has_what_its_snapshots_say() -> None:
    shown = attribute(ROOT, [change("a", "1", "2")], [], [], overlapped=False)
    assert names(shown) == {"a": "alone"}


def test_a_turn_that_was_alone_also_has_what_git_does_not_see() -> None:
    own = [edit("t", "ignored.log", None, "x"), edit("t", "a", "1", "2")]
    shown = attribute(ROOT, [], own, [], overlapped=False, tracked=frozenset({f"{ROOT}/a"}))
    assert names(shown) == {"ignored.log": "own"}, "a was changed back in the same turn, git knows it"


def test_a_file_that_the_other_turn_explains_is_not_shown() -> None:
    shown = attribute(
        ROOT, [change("b", "1", "3")], [], [edit("o", "b", "1", "2"), edit("o", "b", "2", "3")], overlapped=True
    )
    assert shown == []


def test_a_file_that_both_reported_is_shown_under_both_with_what_each_made_of_it() -> None:
    mine, theirs = [edit("t", "a", "1", "2")], [edit("o", "a", "2", "3")]
    (here,) = attribute(ROOT, [change("a", "1", "3")], mine, theirs, overlapped=True)
    (there,) = attribute(ROOT, [change("a", "1", "3")], theirs, mine, overlapped=True)
    assert (here.why, here.before, here.after, here.shared_with) == ("shared", content("1"), content("2"), ("o",))
    assert (there.before, there.after, there.shared_with) == (content("2"), content("3"), ("t",))


def test_what_nobody_reported_is_shown_under_every_turn_that_was_there() -> None:
    assert names(attribute(ROOT, [change("x", None, "1")], [], [], overlapped=True)) == {"x": "unattributed"}


def test_a_gap_between_the_other_turns_reports_is_somebody_elses_edit() -> None:
    """A command of this turn wrote `2` between the other's edits: the chain has a gap, so the file is shown."""
    theirs = [edit("o", "a", "0", "1"), edit("o", "a", "2", "3")]
    assert names(attribute(ROOT, [change("a", "0", "3")], [], theirs, overlapped=True)) == {"a": "unattributed"}


def test_edits_of_the_other_turn_from_before_this_one_do_not_break_the_chain() -> None:
    theirs = [edit("o", "a", "0", "1"), edit("o", "a", "1", "2")]
    assert explains(change("a", "1", "2"), theirs)
    assert not explains(change("a", "1", "9"), theirs)


def test_an_edit_that_another_turn_undid_stays_in_view() -> None:
    mine, theirs = [edit("t", "a", "1", "2")], [edit("o", "a", "2", "1")]
    (shown,) = attribute(ROOT, [], mine, theirs, overlapped=True)
    assert (shown.path, shown.before, shown.after) == (f"{ROOT}/a", content("1"), content("2"))


def test_unknown_contents_explain_nothing() -> None:
    unknown = Edit("chat", "o", "o", "c", f"{ROOT}/a", None, None)
    assert names(attribute(ROOT, [change("a", "1", "2")], [], [unknown], overlapped=True)) == {"a": "unattributed"}
    (shown,) = attribute(ROOT, [change("a", "1", "2")], [unknown], [edit("o", "a", "1", "2")], overlapped=True)
    assert shown.why == "shared"
    assert shown.change is not None, "without contents of its own, the snapshots' are shown"


def test_a_rename_that_the_other_turn_reported_is_explained_and_its_own_is_followed() -> None:
    moved = FileChange("renamed", "new", "old", side("1"), side("1"), 0, 0)
    assert attribute(ROOT, [moved], [], [edit("o", "new", "1", "1", old="old")], overlapped=True) == []
    (shown,) = attribute(ROOT, [moved], [edit("t", "new", "1", "1", old="old")], [], overlapped=True)
    assert (shown.why, shown.change, shown.old_path) == ("own", moved, f"{ROOT}/old")
    twice = net([edit("t", "b", "1", "1", old="a"), edit("t", "c", "1", "2", old="b")])
    assert [(of.path, of.old_path, of.before, of.after) for of in twice.values()] == [
        (f"{ROOT}/c", f"{ROOT}/a", content("1"), content("2"))
    ]


STEP = st.tuples(st.sampled_from("AB"), st.sampled_from("xyz"), st.sampled_from([None, "1", "2", "3"]), st.booleans())


@given(st.lists(STEP, max_size=12), st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", "2"])))
def test_nobodys_edit_is_lost_from_view(steps: list[tuple[str, str, str | None, bool]], begun: dict[str, str]) -> None:
    """Two turns that overlap from end to end do `steps` (turn, file, content, reported): each file that differs at the
    end is under one of them at least, and each reported change under its own turn."""
    files: dict[str, str | None] = dict(begun)
    logs: dict[str, list[Edit]] = {"A": [], "B": []}
    for turn, path, after, reported in steps:
        if reported and files.get(path) != after:
            logs[turn].append(edit(turn, path, files.get(path), after))
        files[path] = after
    changes = [
        change(path, begun.get(path), files.get(path))
        for path in sorted({*begun, *files})
        if begun.get(path) != files.get(path)
    ]
    a = names(attribute(ROOT, changes, logs["A"], logs["B"], overlapped=True))
    b = names(attribute(ROOT, changes, logs["B"], logs["A"], overlapped=True))
    assert {c.path for c in changes} <= {*a, *b}
    for shown, turn in ((a, "A"), (b, "B")):
        made = {of.path.removeprefix(f"{ROOT}/") for of in net(logs[turn]).values() if not of.nothing}
        assert made <= set(shown)
