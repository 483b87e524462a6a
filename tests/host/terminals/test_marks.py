"""Marks of a shell in a terminal's output (S27): the same pieces however the text is cut."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.host.terminals.marks import LONGEST, Mark, Marks, Piece, Query, Screen, Text, Title

NONCE = "a1b2c3"


def read(*texts: str) -> list[Piece]:
    """The pieces, adjacent texts as one."""
    marks = Marks([NONCE])
    pieces = [piece for text in texts for piece in marks.feed(text)]
    pieces += marks.end()
    joined: list[Piece] = []
    for piece in pieces:
        if joined and isinstance(piece, Text) and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined


def test_a_command_is_told_by_its_marks() -> None:
    found = read(f"\x1b]633;E;echo a\\x3b b\\\\c;{NONCE}\x07\x1b]633;C;{NONCE}\x07a\r\n\x1b]633;D;3;{NONCE}\x1b\\")
    assert found == [
        Mark("E", ("echo a; b\\c",), True),
        Mark("C", (), True),
        Text("a\r\n"),
        Mark("D", ("3",), True),
    ]


def test_a_forged_command_line_is_not_trusted() -> None:
    """S27: without the nonce, with another, with one that is elsewhere in the mark."""
    for forged in ("633;E;rm -rf /", "633;E;rm -rf /;ffff", f"633;E;{NONCE};rm -rf /", "133;C"):
        (mark,) = read(f"\x1b]{forged}\x07")
        assert isinstance(mark, Mark)
        assert not mark.trusted


def test_no_nonce_is_ever_shown() -> None:
    """Not in what is left of a mark that something cut off, nor in one that never ends."""
    for broken in (f"\x1b]633;D;0;{NONCE}\x1b[31mred", f"\x1b]633;D;0;{NONCE}", f"\x1b]633;D;0;{NONCE}\x18x"):
        shown = "".join(piece.text for piece in read(broken) if isinstance(piece, Text))
        assert NONCE not in shown


def test_a_directory_may_have_semicolons() -> None:
    assert read(f"\x1b]633;P;Cwd=/a;b;{NONCE}\x07") == [Mark("P", ("Cwd=/a;b",), True)]


def test_titles_and_screens_are_told_and_stay_in_the_text() -> None:
    found = read("\x1b]0;top\x07\x1b[?1049hx\x1b[?1049l")
    assert found == [
        Title("top"),
        Text("\x1b]0;top\x07\x1b[?1049h"),
        Screen(True),
        Text("x\x1b[?1049l"),
        Screen(False),
    ]


@pytest.mark.parametrize(
    "query",
    [
        "\x1b[c",
        "\x1b[0c",
        "\x1b[>c",
        "\x1b[=c",
        "\x1b[5n",
        "\x1b[6n",
        "\x1b[?6n",
        "\x1b[>q",
        "\x1b[?u",
        "\x1b[?2026$p",
        "\x1b[14t",
        "\x1b[18t",
        "\x1b]10;?\x07",
        "\x1b]11;?\x1b\\",
        "\x1b]4;1;?\x07",
        "\x1b]52;c;?\x07",
        "\x1bP$qm\x1b\\",
        "\x1bP+q544e\x1b\\",
        "\x1bZ",
    ],
)
def test_a_query_leaves_the_text(query: str) -> None:
    """§5.10: nobody replies to what is looked at, now or later."""
    assert read(f"a{query}b") == [Text("a"), Query(query), Text("b")]


@pytest.mark.parametrize(
    "kept", ["\x1b[31m", "\x1b[2J", "\x1b[1;2H", "\x1b]52;c;aGk=\x07", "\x1b(B", "\x1b7", "\x1b=", "\x1b[?25h"]
)
def test_what_only_shows_stays(kept: str) -> None:
    assert read(f"a{kept}b") == [Text(f"a{kept}b")]


def test_a_sequence_without_end_is_text_after_a_while() -> None:
    endless = "\x1b]0;" + "x" * LONGEST
    assert read(endless) == [Text(endless)]


FRAGMENTS = st.sampled_from(
    [
        "a",
        "ä\U0001f600",
        "\r\n",
        "\x1b",
        "\x1b[",
        "31m",
        "\x1b[6n",
        "\x1b]633;",
        f"E;ls;{NONCE}\x07",
        f"\x1b]633;C;{NONCE}\x1b\\",
        "\x1b]133;D;0\x07",
        "\x1b]0;t\x07",
        "\x1bP",
        "\x1b\\",
        "\x07",
        "\x18",
        "?",
        ";",
    ]
)


@given(st.lists(FRAGMENTS, max_size=30), st.lists(st.integers(0, 200), max_size=10))
def test_chunks_make_no_difference(fragments: list[str], cuts: list[int]) -> None:
    text = "".join(fragments)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    chunks = [text[a:b] for a, b in pairwise(places)]
    assert read(*chunks) == read(text)
    assert read(*text) == read(text)


@given(st.lists(FRAGMENTS, max_size=30))
def test_only_marks_and_queries_leave_the_text(fragments: list[str]) -> None:
    """What is left is what was there, in order."""
    text = "".join(fragments)
    shown = "".join(piece.text for piece in read(text) if isinstance(piece, Text))
    rest = iter(text)
    assert all(character in rest for character in shown)
    assert not re.search(r"\x1b\](?:633|133);[^\x1b\x07]*\x07", shown)
