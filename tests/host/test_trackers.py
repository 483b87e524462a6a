"""Quiet turns are reported and never ended (contributions K7; reference §4.12)."""

import pytest

from innkeeper.contributions.spi import Context, Contribution, services
from innkeeper.host.running import RunningTurn, RunningTurns
from innkeeper.host.trackers import QUIET_SECONDS, Counters, ToolCalls, Turns


class Clock:
    def __init__(self):
        self.at = 0.0

    def monotonic(self):
        return self.at

    def now(self):
        return "2026-01-01T00:00:00.000Z"


class Chats:
    def __init__(self):
        self.parts = []

    def head(self, chat):
        return {"activeTurn": {"id": "t", "responseParts": self.parts}}


@pytest.fixture
def quiet():
    """A running turn, and what watches it."""

    class Quiet:
        clock, chats, running, counters = Clock(), Chats(), RunningTurns(), Counters()
        turn = RunningTurn("s", "c", "t", 0.0)

        def pass_(self, seconds=QUIET_SECONDS):
            self.clock.at += seconds
            self.turns.look()

        def counted(self):
            return dict(self.counters.all())

    found = Quiet()
    found.turns = Turns(found.chats, found.running, found.counters, found.clock)
    found.running.add(found.turn)
    found.turns.look()
    return found


def test_a_turn_without_progress_is_reported_once(quiet, caplog):
    quiet.pass_(QUIET_SECONDS - 1)
    assert not quiet.counted()
    for _ in range(9):
        quiet.pass_()
    assert quiet.counted() == {"turn.quiet{why=noProgress}": 1}
    assert "nothing for 300 s (noProgress)" in caplog.text


def test_a_turn_that_goes_on_is_not_reported(quiet):
    for number in range(5):
        quiet.chats.parts = [{"kind": "markdown", "id": str(number)}]
        quiet.pass_()
    assert not quiet.counted()


def test_waiting_for_a_person_comes_before_a_running_tool(quiet):
    quiet.chats.parts = [{"kind": "toolCall", "toolCall": {"toolCallId": "x", "status": "running"}}]
    quiet.turns.blocked("c", frozenset({"toolConfirmation:c:t:x"}))
    quiet.pass_()
    quiet.pass_()
    assert quiet.counted() == {"turn.quiet{why=waitsForPerson}": 1}
    quiet.turns.blocked("c", frozenset())
    quiet.pass_()
    assert quiet.counted()["turn.quiet{why=toolRuns}"] == 1


def test_the_end_of_a_reported_turn_is_told(quiet):
    quiet.pass_()
    quiet.running.remove(quiet.turn)
    quiet.turns.look()
    assert quiet.counted()["turn.recovered"] == 1
    quiet.turns.look()
    assert quiet.counted()["turn.recovered"] == 1


def test_a_call_that_waits_is_counted_once():
    counters = Counters()
    calls = ToolCalls(counters)
    for waiting in (True, True, False, False, True):
        calls.blocked("c", frozenset({"x"} if waiting else ()))
    assert counters.all() == {"toolCall.waited": 2}


@pytest.mark.anyio
async def test_what_is_counted_is_told_and_stays_here(world, client):
    """K7: contributions count too; `status` is the only place that it goes to."""

    class Counting(Contribution):
        id = "counting"
        order = 10_000

        def __init__(self, context: Context, telemetry: services.Telemetry) -> None:
            self.telemetry = telemetry

        def on_turn_end(self, end):
            self.telemetry.count("ends", kind=end.reason.kind)

    world.service.contributions.register(Counting)
    session, chat = await client.new_session()
    client.start_turn(chat, "ask")
    await client.state(session, lambda s: s.get("inputNeeded"))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.ended(chat)
    counts = (await client.request("x-innkeeper/status"))["counts"]
    assert counts == {"toolCall.waited": 1, "ends{kind=cancelled}": 1}
