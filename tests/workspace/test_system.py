"""The machine's clock and random ids (ports.clock, ports.ids)."""

import re

from innkeeper.ports.clock import Clock
from innkeeper.ports.ids import Ids
from innkeeper.workspace.system import RandomIds, SystemClock


def test_time_is_utc_with_milliseconds_as_ahp_has_it_and_never_goes_back() -> None:
    """AHP §1"""
    clock: Clock = SystemClock()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", clock.now())
    readings = [clock.monotonic() for _ in range(100)]
    assert readings == sorted(readings)


def test_ids_are_unique_and_safe_in_a_uri_path() -> None:
    ids: Ids = RandomIds()
    found = {ids.new() for _ in range(1000)}
    assert len(found) == 1000
    assert all(re.fullmatch(r"[0-9a-f-]{36}", name) for name in found)
