"""The choice of a version, exactly as the standard has it (AHP §2.2)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.errors import INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION
from innkeeper.protocol.versions import (
    BASELINES,
    NEWEST,
    MalformedVersion,
    UnsupportedVersions,
    choose,
    fits,
    known_at,
    parse,
)

NUMBER = st.integers(0, 12)
VERSION = st.tuples(NUMBER, NUMBER, NUMBER)


def text(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["1.0.0"], "1.0.0"),
        (["0.9.0", "1.0.0"], "1.0.0"),
        (["1.0.0", "0.9.0"], "1.0.0"),
        (["1.4.2"], "1.4.2"),
        (["1.1.0", "1.0.0"], "1.1.0"),
        (["1.9.0", "1.10.0"], "1.10.0"),
        (["0.9.7"], "0.9.7"),
        (["0.9.7", "0.9.10"], "0.9.10"),
        (["2.0.0", "0.9.0"], "0.9.0"),
        (["0.8.0", "3.1.4", "1.0.1"], "1.0.1"),
        (["1.0.0", "1.0.0"], "1.0.0"),
    ],
)
def test_the_highest_offer_that_fits_is_chosen(offered: list[str], chosen: str) -> None:
    assert choose(offered) == chosen


@pytest.mark.parametrize("offered", [["0.10.0"], ["0.8.0"], ["2.0.0"], [], ["0.8.9", "0.10.1", "10.0.0"], ["0.0.9"]])
def test_no_fitting_offer_names_what_is_supported(offered: list[str]) -> None:
    with pytest.raises(UnsupportedVersions) as caught:
        choose(offered)
    assert caught.value.code == UNSUPPORTED_PROTOCOL_VERSION == -32005
    assert caught.value.data == {"supportedVersions": ["1.0.0", "0.9.0"]}
    assert caught.value.supported == ("1.0.0", "0.9.0")


@pytest.mark.parametrize(
    "entry",
    [
        *("v1.0.0", "1.0", "1.0.0-rc.1", "01.0.0", "1.00.0", "1.0.0+5", "", " 1.0.0", "1.0.0\n", "1.0.0.0"),
        *("١.0.0", "-1.0.0", "1.0." + "9" * 100, 1, 1.0, None, ["1.0.0"]),
    ],
)
def test_one_malformed_entry_spoils_the_whole_offer(entry: object) -> None:
    for offered, position in (([entry], 0), (["1.0.0", entry], 1), ([entry, "1.0.0"], 0)):
        with pytest.raises(MalformedVersion) as caught:
            choose(offered)  # type: ignore[arg-type]
        assert caught.value.code == INVALID_PARAMS == -32602
        assert str(caught.value) == f"params.protocolVersions[{position}]: expected MAJOR.MINOR.PATCH"


def test_a_malformed_entry_counts_even_when_nothing_fits() -> None:
    with pytest.raises(MalformedVersion):
        choose(["2.0.0", "x"])


@pytest.mark.parametrize(
    ("version", "baseline", "expected"),
    [
        ((1, 0, 0), (1, 0, 0), True),
        ((1, 9, 9), (1, 0, 0), True),
        ((2, 0, 0), (1, 0, 0), False),
        ((1, 2, 2), (1, 2, 3), False),
        ((0, 9, 1), (0, 9, 0), True),
        ((0, 10, 0), (0, 9, 0), False),
        ((0, 0, 3), (0, 0, 3), True),
        ((0, 0, 4), (0, 0, 3), False),
        ((0, 1, 0), (0, 0, 3), False),
    ],
)
def test_the_caret_rule(version: tuple[int, int, int], baseline: tuple[int, int, int], expected: bool) -> None:
    assert fits(version, baseline) is expected


@settings(deadline=None)
@given(st.lists(VERSION, max_size=8), st.lists(VERSION, min_size=1, max_size=3))
def test_a_choice_is_an_offer_that_fits_and_none_that_fits_is_higher(
    offered: list[tuple[int, int, int]], baselines: list[tuple[int, int, int]]
) -> None:
    fitting = [version for version in offered if any(fits(version, baseline) for baseline in baselines)]
    if fitting:
        assert choose([*map(text, offered)], [*map(text, baselines)]) == text(max(fitting))
    else:
        with pytest.raises(UnsupportedVersions):
            choose([*map(text, offered)], [*map(text, baselines)])


@settings(deadline=None)
@given(st.lists(VERSION, max_size=8).flatmap(lambda versions: st.tuples(st.just(versions), st.permutations(versions))))
def test_the_order_of_the_offer_does_not_matter(
    orders: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]],
) -> None:
    answers = []
    for order in orders:
        try:
            answers.append(choose([*map(text, order)]))
        except UnsupportedVersions:
            answers.append("none")
    assert answers[0] == answers[1]


@settings(deadline=None)
@given(VERSION)
def test_a_strict_version_is_read_back(version: tuple[int, int, int]) -> None:
    assert parse(text(version)) == version


def test_the_host_serves_1_and_0_9() -> None:
    assert BASELINES == ("1.0.0", "0.9.0")
    assert choose([NEWEST]) == NEWEST


def test_a_0_9_peer_does_not_know_canvases() -> None:
    """AHP §2.2: send only what the chosen version knows."""
    unknown = {name for name in ACTIONS if not known_at("0.9.7", name)}
    steering = {"chat/steeringMessageSet", "chat/steeringMessageRemoved"}
    artifacts = {"session/artifactSet", "session/artifactRemoved"}
    assert unknown == {"canvas/stateChanged", "chat/canvasesChanged"} | steering | artifacts


def test_a_1_0_peer_knows_all_of_the_release() -> None:
    assert sum(known_at("1.0.0", name) for name in ACTIONS) == 106
    assert all(known_at("1.1.0", name) for name in ACTIONS)


def test_an_extension_is_known_to_whoever_asks_for_it() -> None:
    assert known_at("0.9.0", "x-innkeeper/note")
