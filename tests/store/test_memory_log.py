"""What only the memory log has: answers at once, injected failures, holding back, a crash (architecture §3.11)."""

import pytest

from innkeeper.ports.log import Batch, PutChannel, PutEnvelope, Reserve, StoreError, StoreFull
from innkeeper.store.memory import MemoryLog

CREATE = PutChannel("ahp-root://", "root", None, 0, b"{}", created=True)


def envelope(seq: int) -> PutEnvelope:
    return PutEnvelope(seq, "ahp-root://", b"{}", seq - 1)


def test_an_immediate_log_answers_inside_of_submit_and_needs_no_loop() -> None:
    log = MemoryLog(immediate=True)
    log.open_now()
    answers: list[StoreError | None] = []
    log.submit(Batch(0, (CREATE, envelope(1))), answers.append)
    assert answers == [None]


def test_an_injected_failure_drops_the_batch_and_the_rest_of_its_epoch() -> None:
    log = MemoryLog(immediate=True)
    log.open_now()
    answers: list[StoreError | None] = []
    full = StoreFull("no space")
    log.submit(Batch(0, (CREATE,)), answers.append)
    log.fail_next(full)
    for batch in (Batch(0, (envelope(1),)), Batch(0, (envelope(2),)), Batch(1, (envelope(1),))):
        log.submit(batch, answers.append)
    assert answers == [None, full, full, None]
    assert [e.seq for e in log.crash().open_now().window] == [1]


def test_several_failures_are_injected_one_a_batch() -> None:
    log = MemoryLog(immediate=True)
    log.open_now()
    answers: list[StoreError | None] = []
    log.fail_next(StoreFull("no space"), times=2)
    for epoch in range(3):
        log.submit(Batch(epoch, (CREATE,)), answers.append)
    assert [error is None for error in answers] == [False, False, True]


def test_a_crash_loses_what_was_held_back_and_keeps_the_reserved_mark() -> None:
    log = MemoryLog(immediate=True)
    log.open_now()
    answers: list[StoreError | None] = []
    log.submit(Batch(0, (CREATE, Reserve(64), envelope(1))), answers.append)
    log.hold()
    log.submit(Batch(0, (envelope(2),)), answers.append)
    next_log = log.crash()
    log.let_go()
    image = next_log.open_now()
    assert answers == [None]
    assert (image.last_seq, image.reserved, image.gaps) == (1, 64, ((2, 64),))


def test_what_was_held_back_is_stored_in_order_when_it_is_let_go() -> None:
    log = MemoryLog(immediate=True)
    log.open_now()
    answers: list[StoreError | None] = []
    log.hold()
    log.submit(Batch(0, (CREATE,)), answers.append)
    log.submit(Batch(0, (envelope(1),)), answers.append)
    assert answers == []
    log.let_go()
    assert answers == [None, None]


def test_two_processes_share_nothing_after_a_crash() -> None:
    log = MemoryLog(immediate=True)
    log.open_now()
    log.submit(Batch(0, (CREATE,)), lambda error: None)
    first, second = log.crash(), log.crash()
    first.open_now()
    first.submit(Batch(0, (envelope(1),)), lambda error: None)
    assert second.open_now().last_seq == 0


def test_what_an_immediate_callback_raises_reaches_the_caller() -> None:
    log = MemoryLog(immediate=True)
    log.open_now()

    def broken(error: StoreError | None) -> None:
        raise ValueError("a bug of the caller")

    with pytest.raises(ValueError, match="bug"):
        log.submit(Batch(0, (CREATE,)), broken)
