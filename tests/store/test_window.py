"""How far back the replay window reaches (architecture §7)."""

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.store.window import BLOCK, WindowFloor, WindowLimits, newest

SIZES = st.lists(st.lists(st.integers(1, 400), min_size=1, max_size=60), max_size=40)


@given(groups=SIZES, envelopes=st.integers(1, 600), size=st.integers(1, 50_000))
def test_the_floor_never_covers_an_envelope_of_the_window(groups: list[list[int]], envelopes: int, size: int) -> None:
    limits = WindowLimits(envelopes, size)
    floor = WindowFloor(limits)
    stored: list[tuple[int, int]] = []
    for group in groups:
        before, first = floor.floor, len(stored) + 1
        stored.extend((first + offset, length) for offset, length in enumerate(group))
        floor.add(stored[-1][0], len(group), sum(group))
        window = list(newest(reversed(stored), limits))
        assert floor.floor >= before
        assert not window or floor.floor < window[-1]


def test_the_floor_follows_within_two_blocks() -> None:
    floor = WindowFloor(WindowLimits(1000, 2**40))
    for seq in range(1, 10_001):
        floor.add(seq, 1, 10)
    assert 9_000 - 2 * BLOCK <= floor.floor <= 9_000


def test_a_window_holds_the_newest_that_fit_both_limits() -> None:
    items = [(number, 10) for number in range(10)]
    assert list(newest(items, WindowLimits(3, 1000))) == [0, 1, 2]
    assert list(newest(items, WindowLimits(9, 45))) == [0, 1, 2, 3]
    assert list(newest(items, WindowLimits(9, 9))) == []
