"""The list of sessions: rows, pages, cursors (AHP §4, architecture §7)."""

import base64
import json

import pytest

from innkeeper.engine.listings import Listings
from innkeeper.engine.records import PutListing
from innkeeper.host import listing
from innkeeper.host.summaries import CREATED_AT, session_summary
from innkeeper.wire.json import encode


def session(*chats, **more):
    state = {"provider": "p", "title": "", "status": 1, "lifecycle": "ready", "activeClients": []}
    return {**state, "chats": [{"resource": f"c{i}", "title": "", **c} for i, c in enumerate(chats)], **more}


def made(number):
    return listing.row(f"s{number}", session(_meta={CREATED_AT: f"2026-01-0{number}T00:00:00Z"}))


def test_pages_are_stable_when_their_last_session_is_gone():
    rows = Listings(made(number) for number in range(1, 6))
    first, more = listing.page(rows.page(3, None), 2)
    assert [row.channel for row in first] == ["s5", "s4"]
    rows.remove("s4")
    rest, end = listing.page(rows.page(11, listing.place(more["nextCursor"])), 10)
    assert [row.channel for row in rest] == ["s3", "s2", "s1"] and end == {}


@pytest.mark.parametrize("value", ["nothing", ["s1"], [True, "s1"], [1, 2], {"s": 1}, [1e400, "s"], [None, "s"]])
def test_a_cursor_that_was_not_given_out_is_told_apart(value):
    cursor = base64.urlsafe_b64encode(json.dumps(value).encode()).decode()
    with pytest.raises(listing.UnknownCursor):
        listing.place(cursor)
    with pytest.raises(listing.UnknownCursor):
        listing.place("not base64 %")


def test_a_row_holds_the_summary_and_its_place():
    """Architecture §7: a start reads rows and no states."""
    state = session({"modifiedAt": "2026-01-02T00:00:00Z"}, title="A")
    row = listing.row("s", state)
    assert listing.read(row) == session_summary("s", state)
    assert row.modified == 1767312000.0 and not row.unfinished


@pytest.mark.parametrize(
    "state",
    [
        session(lifecycle="creating"),
        session({"status": 8}),
        session({"status": 1}, {"status": 24 | 32}),
        session(status=1 | 24),
        session(inputNeeded=[{"id": "x"}]),
    ],
)
def test_what_was_at_work_is_put_right_by_the_next_process(state):
    """AHP §13.13."""
    assert listing.row("s", state).unfinished


def test_a_session_at_work_that_cannot_be_read_is_shown_as_failed():
    """S9: its flags stay."""
    shown = listing.read(listing.unreadable(listing.row("s", session({"status": 8}, status=1 | 64))))
    assert shown["status"] == 2 | 64
    broken = PutListing("s", 1.0, True, b"{")
    assert listing.unreadable(broken) is broken


@pytest.mark.parametrize("summary", [b"", b"{", b"[]", b"7", encode({"resource": "another"})])
def test_a_damaged_row_reads_as_none(summary):
    """S9."""
    assert listing.read(PutListing("s", 1.0, False, summary)) is None


def test_rows_of_the_same_time_keep_one_order_and_a_changed_row_moves():
    rows = Listings(PutListing(name, 5.0, False, b"{}") for name in "cab")
    assert [row.channel for row in rows.page(9, None)] == ["c", "b", "a"]
    assert rows.put(PutListing("a", 9.0, False, b"{}")) and not rows.put(PutListing("a", 9.0, False, b"{}"))
    assert [row.channel for row in rows.page(9, None)] == ["a", "c", "b"]
    assert [row.channel for row in rows.page(9, (5.0, "c"))] == ["b"]
    assert rows.put(PutListing("c", 5.0, True, b"{}")) and rows.unfinished() == ("c",)
