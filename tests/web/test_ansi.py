"""Terminal output as lines of words with a class (issue 7 B.1, B.9)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.web.ansi import COLUMNS, LARGEST, ROWS, markup, plain, rows

ESC = "\x1b["


def test_colours_become_classes_and_end_where_they_end() -> None:
    assert markup(rows(f"{ESC}31mred{ESC}0m plain {ESC}1;32mgood{ESC}22m{ESC}39m.")) == (
        '<span class="bad">red</span> plain <span class="ansi-bold ok">good</span>.'
    )


def test_indexed_and_true_colours_are_read_over() -> None:
    assert plain(f"{ESC}38;5;196mA{ESC}48;2;1;2;3mB{ESC}38;5;1;4mC{ESC}0m", 5) == "ABC"


def test_a_progress_bar_is_one_line() -> None:
    """A carriage return overwrites, and what is erased is gone."""
    assert plain("10%\r20%\r100%\ndone", 5) == "100%\ndone"
    assert plain(f"loading…\r{ESC}Kready", 5) == "ready"
    assert plain(f"one\ntwo\n{ESC}2A{ESC}2Kfirst\n\nthird", 5) == "first\ntwo\nthird"


def test_titles_links_and_queries_leave_no_trace() -> None:
    assert plain("\x1b]0;title\x07a\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\\x1b[6n\x1bP1$r\x1b\\b", 5) == "alinkb"


def test_a_cleared_screen_begins_anew() -> None:
    assert plain(f"old\n{ESC}2J{ESC}Hnew", 5) == "new"


def test_tabs_backspaces_and_moves() -> None:
    assert plain("a\tb", 1) == "a       b" and plain("ab\bc", 1) == "ac" and plain(f"abc{ESC}2DX", 1) == "aXc"


@given(
    st.text(st.characters(codec="utf-8"), max_size=300) | st.text("\x1b[]0;123mKJABCDG\r\n\b\t<>&\"'x", max_size=300)
)
def test_whatever_is_printed_never_becomes_markup(text: str) -> None:
    """B.9: the only elements are spans with one of the known classes."""
    made = str(markup(rows(text)))
    assert re.fullmatch(r'(?:[^<>"\']|<span class="[a-z -]+">[^<>"\']*</span>)*', made, re.DOTALL)
    assert "\x1b" not in made


@given(st.integers(0, 10**9), st.sampled_from("ABCDG"))
def test_it_is_bounded(count: int, letter: str) -> None:
    found = rows(f"x{ESC}{count}{letter}y" + "\n" * 3)
    assert len(found) <= ROWS and all(sum(len(span.text) for span in row) <= COLUMNS for row in found)


def test_the_end_of_much_output_is_kept() -> None:
    found = rows("\n".join(f"line {n}" for n in range(20_000)))
    assert len(found) <= ROWS and found[-1][0].text == "line 19999" and LARGEST < 200_000
