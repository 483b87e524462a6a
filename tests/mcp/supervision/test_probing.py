"""When an HTTP server is looked at (M7.4)."""

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.supervision.probe import plain
from innkeeper.mcp.supervision.probing import AGAIN, FRESH, NEVER_AFTER, TIMEOUT, Probing


def looks(probing: Probing, until: float) -> list[float]:
    """The moments of looks that are all answered."""
    found: list[float] = []
    while (due := probing.due()) is not None and due <= until:
        found.append(due)
        probing = probing.answered(due)
    return found


def test_figures() -> None:
    assert (TIMEOUT, AGAIN, FRESH) == (1.5, 1.2, 5.0)


def test_every_ten_seconds_with_work_every_thirty_after_two_minutes_and_none_after_five() -> None:
    found = looks(Probing(0.0, 0.0), 10_000)
    assert found == [*range(10, 130, 10), 150, 180, 210, 240, 270, 300]


def test_work_brings_the_short_cadence_back() -> None:
    idle = Probing(confirmed=300.0, worked=0.0)
    assert idle.due() is None
    assert idle.working(1000.0).due() == 310.0, "overdue: at once"
    assert idle.working(1000.0).answered(1000.0).due() == 1010.0


def test_one_silence_is_unverified_looked_at_again_after_1_2_seconds_and_two_are_gone() -> None:
    once = Probing(0.0, 0.0).unanswered(11.5)
    assert (once.health, once.due()) == ("unverified", 12.7)
    assert once.unanswered(14.2).health == "gone"
    assert once.answered(12.8).health == "confirmed"
    assert once.answered(12.8).unanswered(30).health == "unverified", "two in a row, not two at all"


def test_call_and_panel_look_when_the_proof_is_older_than_five_seconds() -> None:
    assert not Probing(0.0, 0.0).stale(FRESH)
    assert Probing(0.0, 0.0).stale(FRESH + 0.1)
    assert Probing(0.0, 0.0).unanswered(1.0).stale(1.0)


@given(confirmed=st.floats(0, 1e6), worked=st.floats(0, 1e6))
def test_idle_servers_are_left_alone_and_busy_ones_looked_at_in_time(confirmed: float, worked: float) -> None:
    due = Probing(confirmed, worked).due()
    if due is None:
        assert confirmed + 30 > worked + NEVER_AFTER
    else:
        assert due <= worked + NEVER_AFTER
        assert due >= confirmed + 10


def test_credentials_of_the_address_are_not_sent() -> None:
    assert plain("https://user:secret@example.org:8443/mcp?key=k#f") == "https://example.org:8443/mcp"
    assert plain("http://[::1]:80") == "http://[::1]:80/"
