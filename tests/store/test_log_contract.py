"""What every adapter of `ports.log` keeps (architecture §7, §3.11; spec C8.1)."""

import asyncio
from typing import Any

import pytest

from innkeeper.ports.decisions import (
    Decision,
    DropDecision,
    DropGrant,
    Grant,
    PutDecision,
    PutGrant,
)
from innkeeper.ports.log import (
    Batch,
    DropChannel,
    PutChannel,
    PutClient,
    PutEnvelope,
    PutListing,
    Reserve,
    StaleWriter,
    StoredChannel,
    StoreError,
)

pytestmark = pytest.mark.anyio

ROOT = "ahp-root://"
SESSION = "session:/s1"
CHAT = "ahp-chat:/c1"


def create(channel: str, seq: int = 0, owner: str | None = None, state: bytes = b"{}") -> PutChannel:
    kind = "root" if channel == ROOT else "session" if owner is None else "chat"
    return PutChannel(channel, kind, owner, seq, state, created=True)


def fold(channel: str, seq: int, state: bytes) -> PutChannel:
    return PutChannel(channel, "session", None, seq, state, created=False)


def envelope(seq: int, expected: int, channel: str = SESSION, body: bytes | None = None) -> PutEnvelope:
    return PutEnvelope(seq, channel, b'{"serverSeq":%d}' % seq if body is None else body, expected)


def body(seq: int) -> bytes:
    return b'{"serverSeq":%d}' % seq


def run(first: int, last: int, channel: str = SESSION, expected: int = 0, text: bytes = b"") -> list[PutEnvelope]:
    """Envelopes with adjacent numbers of one channel."""
    return [
        envelope(seq, expected if seq == first else seq - 1, channel, text or None) for seq in range(first, last + 1)
    ]


async def test_a_new_log_is_empty(store: Any) -> None:
    image = await store.open()
    assert (image.last_seq, image.reserved, image.window_start) == (0, 0, 0)
    assert (image.channels, image.dormant, image.listed, image.window, image.gaps) == ((), (), (), (), ())
    assert image.clients == ()
    assert image.decisions.decisions == () and image.decisions.grants == ()


async def test_what_was_stored_is_there_after_a_clean_end(store: Any) -> None:
    await store.open()
    assert await store.put(create(SESSION, 0, state=b'{"a":1}'), envelope(1, 0), envelope(2, 1)) is None
    image = await store.reopen(last_seq=2)
    assert await store.sessions() == (StoredChannel(SESSION, "session", None, 0, 2, b'{"a":1}', (body(1), body(2))),)
    assert [(e.seq, e.channel, e.body) for e in image.window] == [(1, SESSION, body(1)), (2, SESSION, body(2))]
    assert (image.last_seq, image.window_start) == (2, 0)


async def test_what_was_acknowledged_is_there_after_a_crash(store: Any) -> None:
    """Architecture §3.13: durable before acknowledged."""
    await store.open()
    assert await store.put(create(SESSION), Reserve(100), envelope(1, 0)) is None
    image = await store.crash()
    assert [e.seq for e in image.window] == [1]
    assert (await store.sessions())[0].version == 1


async def test_a_start_reads_the_root_and_names_the_others_which_are_read_when_needed(store: Any) -> None:
    await store.open()
    root = create(ROOT, state=b"{}")
    await store.put(root, create(SESSION), create(CHAT, owner=SESSION, state=b"[]"), envelope(1, 0, CHAT))
    image = await store.reopen(last_seq=1)
    assert image.channels == (StoredChannel(ROOT, "root", None, 0, 0, b"{}"),)
    assert image.dormant == ((SESSION, "session", None), (CHAT, "chat", SESSION))
    assert await store.log.channel(CHAT) == StoredChannel(CHAT, "chat", SESSION, 0, 1, b"[]", (body(1),))


async def test_a_channel_that_is_not_stored_reads_as_none(store: Any) -> None:
    await store.open()
    assert await store.log.channel("session:/nothing") is None


async def test_a_read_sees_every_batch_that_was_submitted_before_it(store: Any) -> None:
    await store.open()
    store.log.submit(Batch(0, (create(SESSION), *run(1, 50))), lambda error: None)
    found = await store.log.channel(SESSION)
    assert found is not None and (found.version, len(found.tail)) == (50, 50)


# -- numbers and versions ----------------------------------------------------------------------------------------------


async def test_an_envelope_on_another_version_is_refused_with_its_whole_batch(store: Any) -> None:
    """Architecture §3.4: the log refuses a stale writer."""
    await store.open()
    await store.put(create(SESSION), create(ROOT), envelope(1, 0))
    error = await store.put(envelope(2, 0, ROOT), envelope(3, 0))
    assert isinstance(error, StaleWriter) and SESSION in str(error)
    image = await store.reopen(last_seq=3)
    assert [e.seq for e in image.window] == [1]


@pytest.mark.parametrize("seq", [1, 2])
async def test_a_number_that_is_not_above_every_stored_one_is_refused(store: Any, seq: int) -> None:
    await store.open()
    await store.put(create(SESSION), create(ROOT), envelope(1, 0), envelope(2, 1))
    assert isinstance(await store.put(envelope(seq, 0, ROOT)), StaleWriter)


async def test_a_number_at_or_below_the_creation_of_its_channel_is_refused(store: Any) -> None:
    await store.open()
    assert isinstance(await store.put(create(SESSION, 5), envelope(5, 5)), StaleWriter)


async def test_an_envelope_of_a_channel_that_is_not_there_is_refused(store: Any) -> None:
    await store.open()
    assert isinstance(await store.put(envelope(1, 0)), StaleWriter)


async def test_a_channel_is_created_once(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION, state=b"1"))
    assert isinstance(await store.put(create(SESSION, state=b"2")), StaleWriter)
    found = await store.log.channel(SESSION)
    assert found is not None and found.state == b"1"


async def test_a_channel_whose_owner_is_not_there_is_refused(store: Any) -> None:
    await store.open()
    assert isinstance(await store.put(create(CHAT, owner=SESSION)), StaleWriter)
    assert await store.log.channel(CHAT) is None


async def test_the_version_survives_a_snapshot_and_a_restart(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION, 3), envelope(5, 3), envelope(9, 5), fold(SESSION, 5, b"5"))
    image = await store.reopen(last_seq=9)
    assert image.last_seq == 9
    session = (await store.sessions())[0]
    assert (session.snapshot_seq, session.version) == (5, 9)
    assert await store.put(envelope(10, 9)) is None


async def test_numbers_below_the_reserved_mark_are_refused_after_a_crash(store: Any) -> None:
    """Architecture §7: a restart begins above the reserved mark, a crash never reuses a number."""
    await store.open()
    await store.put(create(SESSION), Reserve(100), envelope(1, 0))
    image = await store.crash()
    assert image.reserved == 100
    assert isinstance(await store.put(envelope(100, 1)), StaleWriter)
    assert await store.put(envelope(101, 1), epoch=1) is None


async def test_the_reserved_mark_is_never_lowered_by_a_later_one(store: Any) -> None:
    await store.open()
    await store.put(Reserve(200))
    await store.put(Reserve(100))
    assert (await store.crash()).reserved == 200


# -- epochs ------------------------------------------------------------------------------------------------------------


async def test_after_a_failure_later_batches_of_the_epoch_fail_with_the_same_error(store: Any) -> None:
    await store.open()
    batches = [
        Batch(3, (create(SESSION),)),
        Batch(3, (envelope(1, 7),)),
        Batch(3, (envelope(1, 0),)),
        Batch(2, (envelope(1, 0),)),
        Batch(4, (envelope(1, 0),)),
    ]
    answers = await store.put_all(batches)
    assert answers[0] is None and answers[4] is None
    assert isinstance(answers[1], StaleWriter) and answers[2] is answers[1] and answers[3] is answers[1]
    assert [e.seq for e in (await store.reopen(last_seq=1)).window] == [1]


async def test_a_newer_epoch_stays_open_when_an_older_one_fails_again(store: Any) -> None:
    await store.open()
    answers = await store.put_all(
        [Batch(1, (envelope(1, 7),)), Batch(2, (create(SESSION),)), Batch(1, ()), Batch(2, (envelope(1, 0),))]
    )
    assert [error is None for error in answers] == [False, True, False, True]


async def test_a_refused_batch_in_the_middle_harms_no_other_epoch(store: Any) -> None:
    """Nothing of a refused batch may stay in the versions that later ones are compared with."""
    await store.open()
    await store.put(create(SESSION), create(CHAT, owner=SESSION))
    drop_then_stale = Batch(0, (envelope(1, 0), fold(SESSION, 1, b"x"), DropChannel(SESSION), envelope(9, 0)))
    answers = await store.put_all([drop_then_stale, Batch(1, (envelope(1, 0),)), Batch(1, (envelope(2, 0, CHAT),))])
    assert [error is None for error in answers] == [False, True, True]
    image = await store.reopen(last_seq=2)
    assert await store.sessions() == (StoredChannel(SESSION, "session", None, 0, 1, b"{}", (body(1),)),)
    assert image.dormant == ((SESSION, "session", None), (CHAT, "chat", SESSION))


async def test_answers_come_in_the_order_of_submission(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION))
    answers = await store.put_all([Batch(0, (item,)) for item in run(1, 700)])
    assert answers == [None] * 700


# -- snapshots and drops -----------------------------------------------------------------------------------------------


async def test_a_snapshot_shortens_the_tail_and_keeps_the_window(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), *run(1, 5))
    await store.put(fold(SESSION, 3, b"three"))
    image = await store.reopen(last_seq=5)
    assert await store.sessions() == (StoredChannel(SESSION, "session", None, 3, 5, b"three", (body(4), body(5))),)
    assert [e.seq for e in image.window] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("seq", [2, 6])
async def test_a_snapshot_that_is_older_or_of_the_future_is_refused(store: Any, seq: int) -> None:
    await store.open()
    await store.put(create(SESSION), *run(1, 5), fold(SESSION, 3, b"three"))
    assert isinstance(await store.put(fold(SESSION, seq, b"other")), StaleWriter)
    found = await store.log.channel(SESSION)
    assert found is not None and found.state == b"three"


async def test_a_snapshot_of_a_channel_that_is_gone_is_passed_over(store: Any) -> None:
    """The host folds when envelopes leave; a drop that was submitted earlier may be stored before."""
    await store.open()
    await store.put(create(SESSION), envelope(1, 0), DropChannel(SESSION))
    assert await store.put(fold(SESSION, 1, b"late")) is None
    assert (await store.reopen(last_seq=1)).dormant == ()


@pytest.mark.parametrize("end", ["reopen", "crash"])
async def test_a_dropped_channel_takes_what_it_owns_and_never_comes_back(store: Any, end: str) -> None:
    terminal = "ahp-terminal:/t1"
    await store.open()
    await store.put(create(ROOT), create(SESSION), create(CHAT, owner=SESSION), create(terminal, owner=CHAT))
    await store.put(envelope(1, 0, ROOT), envelope(2, 0), envelope(3, 0, CHAT), envelope(4, 0, terminal))
    assert await store.put(DropChannel(SESSION)) is None
    image = await getattr(store, end)()
    assert [row.channel for row in image.channels] == [ROOT]
    assert image.dormant == ()
    assert [e.seq for e in image.window] == [1]
    assert image.last_seq == 4
    assert await store.log.channel(CHAT) is None


async def test_a_channel_may_be_created_again_after_its_drop_without_its_past(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), *run(1, 3))
    assert await store.put(DropChannel(SESSION), create(SESSION, 3, state=b"new"), envelope(4, 3)) is None
    image = await store.crash()
    assert await store.sessions() == (StoredChannel(SESSION, "session", None, 3, 4, b"new", (body(4),)),)
    assert [e.seq for e in image.window] == [4]


async def test_what_was_dropped_before_a_crash_never_reaches_a_channel_created_after_it(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), Reserve(2000), *run(1, 1000))
    assert await store.put(DropChannel(SESSION)) is None
    image = await store.crash()
    assert (image.dormant, image.window, image.last_seq) == ((), (), 1000)
    assert await store.put(create(CHAT, 2000), envelope(2001, 2000, CHAT), epoch=1) is None
    found = await store.log.channel(CHAT)
    assert found == StoredChannel(CHAT, "session", None, 2000, 2001, b"{}", (body(2001),))
    assert [e.seq for e in (await store.crash()).window] == [2001]


async def test_to_drop_what_is_not_there_is_no_error(store: Any) -> None:
    await store.open()
    assert await store.put(DropChannel(SESSION)) is None


async def test_the_owner_of_a_dropped_channel_may_be_dropped_later(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), create(CHAT, owner=SESSION))
    assert await store.put(DropChannel(CHAT)) is None
    assert await store.put(DropChannel(SESSION)) is None
    image = await store.reopen()
    assert (image.channels, image.dormant) == ((), ())


# -- the list of sessions ----------------------------------------------------------------------------------------------


def listing(modified: float, channel: str = SESSION, *, unfinished: bool = False) -> PutListing:
    return PutListing(channel, modified, unfinished, b'{"modified":%d}' % modified)


@pytest.mark.parametrize("end", ["reopen", "crash"])
async def test_the_newest_row_of_a_session_is_there_after_a_start(store: Any, end: str) -> None:
    await store.open()
    await store.put(create(SESSION), listing(1.5), create("session:/s2"), listing(2, "session:/s2"))
    assert await store.put(envelope(1, 0), listing(3, unfinished=True)) is None
    assert (await getattr(store, end)()).listed == (listing(3, unfinished=True), listing(2, "session:/s2"))


async def test_a_row_goes_with_its_session_and_one_that_comes_late_is_passed_over(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), listing(1), DropChannel(SESSION))
    assert await store.put(listing(2)) is None
    assert await store.put(create(SESSION, 5)) is None
    assert (await store.reopen(last_seq=5)).listed == ()


async def test_a_row_is_stored_with_its_envelope_or_not_at_all(store: Any) -> None:
    """The list never says what the session does not."""
    await store.open()
    await store.put(create(SESSION), listing(1))
    assert isinstance(await store.put(listing(2), envelope(1, 7)), StaleWriter)
    assert (await store.crash()).listed == (listing(1),)


# -- window and gaps ---------------------------------------------------------------------------------------------------


async def test_the_window_is_bounded_in_count(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), *run(1, 30))
    image = await store.reopen(last_seq=30, replay_envelopes=10)
    assert [e.seq for e in image.window] == list(range(21, 31))
    assert image.window_start == 20


async def test_the_window_is_bounded_in_bytes(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), *run(1, 30, text=b"x" * 100))
    image = await store.reopen(last_seq=30, replay_bytes=550)
    assert [e.seq for e in image.window] == [26, 27, 28, 29, 30]
    assert image.window_start == 25


async def test_a_tail_outside_of_the_window_is_kept(store: Any) -> None:
    """Only what the snapshot covers may go."""
    await store.open(replay_envelopes=10)
    await store.put(create(SESSION), create(ROOT), *run(1, 20))
    for first in range(21, 1200, 100):
        await store.put(*run(first, first + 99, ROOT, expected=0 if first == 21 else first - 1))
    image = await store.reopen(last_seq=1220, replay_envelopes=10)
    (session,) = await store.sessions()
    assert [*session.tail] == [body(seq) for seq in range(1, 21)]
    assert [e.seq for e in image.window] == list(range(1211, 1221))
    assert image.window_start == 1210


async def test_a_wider_window_never_claims_what_was_pruned(store: Any) -> None:
    await store.open(replay_envelopes=10)
    await store.put(create(SESSION))
    for first in range(1, 1500, 100):
        await store.put(*run(first, first + 99, expected=first - 1), fold(SESSION, first + 99, b"folded"))
    image = await store.reopen(last_seq=1500, replay_envelopes=10)
    await asyncio.wait_for(store.log.channel(SESSION), 5)
    image = await store.reopen(last_seq=1500)
    seen = [e.seq for e in image.window]
    assert seen == list(range(image.window_start + 1, 1501)) and len(seen) >= 10


async def test_numbers_lost_by_a_crash_are_a_gap(store: Any) -> None:
    """Architecture §7: a client whose last seen number lies in a lost range gets a snapshot, never silence."""
    await store.open()
    await store.put(create(SESSION), Reserve(100), *run(1, 7))
    image = await store.crash()
    assert image.gaps == ((8, 100),)
    assert (image.last_seq, image.reserved) == (7, 100)


async def test_a_gap_is_kept_over_later_ends_of_both_kinds(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), Reserve(100), *run(1, 7))
    await store.crash()
    await store.put(Reserve(200), envelope(101, 7))
    assert (await store.crash()).gaps == ((8, 100), (102, 200))
    await store.put(envelope(201, 101))
    image = await store.reopen(last_seq=201)
    assert image.gaps == ((8, 100), (102, 200))
    assert (image.last_seq, image.reserved) == (201, 201)


async def test_a_start_that_stores_nothing_keeps_the_gap_as_it_was(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), Reserve(100), *run(1, 7))
    await store.crash()
    image = await store.crash()
    assert (image.gaps, image.reserved) == (((8, 100),), 100)
    image = await store.reopen(last_seq=0)
    assert (image.gaps, image.reserved) == (((8, 100),), 100)


async def test_a_gap_before_the_window_is_forgotten(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), Reserve(100), *run(1, 7))
    await store.crash(replay_envelopes=5)
    await store.put(envelope(101, 7), *run(102, 120, expected=101))
    assert (await store.reopen(last_seq=120, replay_envelopes=5)).gaps == ()


async def test_a_clean_end_gives_back_what_was_reserved(store: Any) -> None:
    await store.open()
    await store.put(create(SESSION), Reserve(4096), *run(1, 7))
    image = await store.reopen(last_seq=9)
    assert (image.last_seq, image.reserved, image.gaps) == (9, 9, ())
    assert await store.put(envelope(10, 7)) is None


# -- clients, decisions ------------------------------------------------------------------------------------------------


async def test_clients_are_remembered_in_the_order_of_their_last_connection(store: Any) -> None:
    """AHP §2.4: the negotiated version outlives the process."""
    await store.open()
    await store.put(PutClient("a", "1.0.0", b"{}"), PutClient("b", "0.9.0", b"{}"))
    await store.put(PutClient("a", "0.9.0", b'{"x":1}'))
    assert (await store.reopen()).clients == (PutClient("b", "0.9.0", b"{}"), PutClient("a", "0.9.0", b'{"x":1}'))


async def test_only_the_newest_thousand_clients_are_remembered(store: Any) -> None:
    await store.open()
    await store.put(*(PutClient(f"c{number}", "1.0.0", b"{}") for number in range(1005)))
    clients = (await store.reopen()).clients
    assert [c.client_id for c in clients] == [f"c{number}" for number in range(5, 1005)]


DECISION = Decision("mcp:docs", "workspace", "file:///w", False, "2026-11-30T10:00:00Z")
GRANT = Grant("file:///w", "tool", "mcp__docs__read", "sha256:1", "2026-11-30T10:00:00Z")


async def test_decisions_and_grants_are_restored(store: Any) -> None:
    await store.open()
    other = Decision("mcp:docs", "global", "", True, "2026-11-30T10:00:01Z", pinned=True)
    await store.put(PutDecision(DECISION), PutDecision(other), PutGrant(GRANT))
    changed = Decision("mcp:docs", "workspace", "file:///w", True, "2026-11-30T11:00:00Z")
    await store.put(PutDecision(changed))
    image = await store.crash()
    assert image.decisions.decisions == (other, changed)
    assert image.decisions.grants == (GRANT,)


async def test_dropped_decisions_and_grants_are_gone(store: Any) -> None:
    await store.open()
    await store.put(PutDecision(DECISION), PutGrant(GRANT))
    await store.put(DropDecision(DECISION.slot), DropGrant(GRANT.slot), DropDecision(DECISION.slot))
    image = await store.reopen()
    assert (image.decisions.decisions, image.decisions.grants) == ((), ())


async def test_a_decision_is_stored_only_together_with_its_envelope(store: Any) -> None:
    """C8.1: durable before the toggle is echoed, in one transaction with its envelope."""
    await store.open()
    await store.put(create(SESSION))
    assert isinstance(await store.put(PutDecision(DECISION), envelope(1, 99)), StaleWriter)
    assert (await store.crash()).decisions.decisions == ()
    assert await store.put(PutDecision(DECISION), envelope(1, 0)) is None
    image = await store.crash()
    assert image.decisions.decisions == (DECISION,) and [e.seq for e in image.window] == [1]


# -- life --------------------------------------------------------------------------------------------------------------


async def test_close_stores_what_was_submitted_and_answers_first(store: Any) -> None:
    await store.open()
    order: list[str] = []
    store.log.submit(Batch(0, (create(SESSION), *run(1, 300))), lambda error: order.append(f"done {error}"))
    await store.close(last_seq=300)
    assert order == ["done None"]
    assert len((await store.open()).window) == 300


async def test_a_closed_log_refuses_batches_and_reads(store: Any) -> None:
    await store.open()
    await store.close()
    assert isinstance(await store.put(create(SESSION)), StoreError)
    with pytest.raises(StoreError):
        await store.log.channel(SESSION)


async def test_close_twice_is_close_once(store: Any) -> None:
    await store.open()
    await store.close()
    assert await store.close() is None


async def test_a_log_is_opened_once(store: Any) -> None:
    await store.open()
    with pytest.raises(StoreError):
        await store.log.open()


async def test_a_callback_that_fails_does_not_keep_the_others_from_their_answers(
    store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await store.open()
    answers: list[object] = []

    def broken(error: StoreError | None) -> None:
        raise ValueError("a bug of the caller")

    store.log.submit(Batch(0, (create(SESSION),)), broken)
    store.log.submit(Batch(0, (envelope(1, 0),)), answers.append)
    await store.log.channel(SESSION)
    await asyncio.sleep(0)
    assert answers == [None]
    assert "callback" in caplog.text
