"""Tries, back-off and pauses as values (M7.1-M7.3)."""

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.supervision.course import DELAYS, STABLE, Course, delay

LOST = {"permanent": False, "supervised": True, "unit": 1.0}


def fail(course: Course, now: float, **changes: object) -> Course:
    return course.failed(now, "CONNECTION_LOST", **{**LOST, **changes})  # type: ignore[arg-type]


def test_delays_are_the_schedule_and_then_a_minute_for_ever() -> None:
    """M7.2"""
    assert list(DELAYS) == [1, 2, 4, 8, 16, 30, 60]
    assert [delay(n, 1.0) for n in range(1, 11)] == [1, 2, 4, 8, 16, 30, 60, 60, 60, 60]
    assert [delay(n, 0.0) for n in (1, 7, 1000)] == [0.8, 48.0, 48.0]


@given(failures=st.integers(1, 10_000), unit=st.floats(0, 1))
def test_every_delay_is_within_the_jitter_and_a_minute(failures: int, unit: float) -> None:
    step = DELAYS[min(failures, 7) - 1]
    assert 0.8 * step <= delay(failures, unit) <= step <= 60


def test_short_connection_does_not_end_the_row_and_a_stable_one_does() -> None:
    """M7.2, R3: reset only after 30 s."""
    course = Course()
    for n in range(1, 4):
        course = fail(course.begun(0.0).connected(0.0), STABLE - 0.01)
        assert course.attempt == n
    course = fail(course.begun(0.0).connected(0.0), STABLE)
    assert (course.attempt, course.next_try) == (1, STABLE + 1)


def test_time_in_a_try_is_no_stability() -> None:
    course = fail(fail(Course().begun(0.0), 100.0).begun(101.0), 500.0)
    assert (course.attempt, course.next_try) == (2, 502.0)


def test_permanent_failure_pauses_and_unsupervised_one_ends() -> None:
    """M7.3, M7.1"""
    paused = fail(Course().begun(0.0), 1.0, permanent=True)
    assert (paused.phase, paused.next_try, paused.code) == ("paused", None, "CONNECTION_LOST")
    ended = fail(Course().begun(0.0), 1.0, supervised=False)
    assert (ended.phase, ended.next_try) == ("ended", None)


def test_retry_now_leaves_the_row_as_it_is() -> None:
    course = fail(fail(Course().begun(0.0), 1.0).begun(1.5), 2.0)
    again = fail(course.begun(2.1), 2.2)
    assert (course.attempt, again.attempt) == (2, 3)
    assert again.next_try == 2.2 + 4


def test_reconnecting_is_between_tries_and_in_a_further_one() -> None:
    first = Course().begun(0.0)
    assert not first.reconnecting and not first.connected(1.0).reconnecting
    waiting = fail(first, 1.0)
    assert waiting.reconnecting and waiting.begun(2.0).reconnecting
    assert not waiting.paused(2.0, "DECLARATION_CHANGED").reconnecting


@given(
    steps=st.lists(st.tuples(st.sampled_from(["lost", "stable", "refused"]), st.floats(0, 1)), min_size=1, max_size=60)
)
def test_tries_never_come_faster_than_the_schedule(steps: list[tuple[str, float]]) -> None:
    """R2: whatever happens, the n-th failure in a row waits at least four fifths of its step, and waiting goes on."""
    course, now, row = Course(), 0.0, 0
    for kind, unit in steps:
        course = course.begun(now)
        if kind == "stable":
            course, now, row = course.connected(now), now + STABLE, 0
        elif kind == "lost":
            course = course.connected(now)
        course = course.failed(now, "X", permanent=False, supervised=True, unit=unit)
        row += 1
        assert course.next_try is not None
        assert course.next_try - now >= 0.8 * DELAYS[min(row, 7) - 1] - 1e-9 * (1 + now)
        now = course.next_try
