"""AHP §7, ending a turn: `modifiedAt = startedAt + duration`, without a clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.reduce.timestamps import end_of


@pytest.mark.parametrize(
    ("started_at", "duration", "ended_at"),
    [
        ("1970-01-01T00:00:01.000Z", 8999, "1970-01-01T00:00:09.999Z"),
        ("2024-02-29T23:59:59.750-05:00", 500, "2024-03-01T05:00:00.250Z"),
        ("2026-03-01T08:00:00+14:00", 0, "2026-02-28T18:00:00.000Z"),
        ("2026-03-01T08:00:00.999999999Z", 0, "2026-03-01T08:00:00.999Z"),
        ("2026-03-01T08:00:00.1Z", 1, "2026-03-01T08:00:00.101Z"),
        ("1969-12-31T23:59:59.9995Z", 0, "1969-12-31T23:59:59.999Z"),
        ("2026-03-01t08:00:00z", 1, "2026-03-01T08:00:00.001Z"),
        ("2026-03-01", 1, "2026-03-01T00:00:00.001Z"),
        ("2026-03-01T08:00:00.000Z", 1.9, "2026-03-01T08:00:00.001Z"),
        ("0001-01-01T00:00:00Z", 0, "0001-01-01T00:00:00.000Z"),
    ],
)
def test_the_end_is_utc_with_milliseconds(started_at: str, duration: float, ended_at: str) -> None:
    """AHP §7: offsets are normalised; nine decimals are tolerated."""
    assert end_of(started_at, duration) == ended_at


@pytest.mark.parametrize("started_at", ["", "soon", "2026-02-30T00:00:00Z", "2026-03-01T24:00:01Z", "\ud800", None, 7])
def test_what_is_no_timestamp_has_no_end(started_at: object) -> None:
    """The caller then keeps the time it has."""
    assert end_of(started_at, 1) is None


@pytest.mark.parametrize(
    ("started_at", "duration"),
    [
        ("9999-12-31T23:59:59.999Z", 1),
        ("9999-12-31T23:59:59.999-01:00", 0),
        ("0001-01-01T00:00:00+01:00", 0),
        ("2026-03-01T08:00:00Z", 2**53),
        ("2026-03-01T08:00:00Z", 1e300),
        ("2026-03-01T08:00:00Z", float("inf")),
        ("2026-03-01T08:00:00Z", float("nan")),
    ],
)
def test_an_end_outside_of_the_calendar_is_none(started_at: str, duration: float) -> None:
    assert end_of(started_at, duration) is None


@given(st.text(max_size=40) | st.datetimes().map(str), st.integers() | st.floats())
def test_no_text_and_no_duration_raises(started_at: str, duration: float) -> None:
    """The reducers never raise (issue 2, §3)."""
    ended_at = end_of(started_at, duration)
    assert ended_at is None or end_of(ended_at, 0) == ended_at
