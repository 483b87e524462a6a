"""What follows a turn (reference §3.6, C9-C12); with real repositories in tests/host/changesets."""

from typing import Any

import pytest

from innkeeper.contributions.checkpoint_changeset import CheckpointChangeset
from innkeeper.contributions.dispatch import Dispatcher, Registry, Services
from innkeeper.contributions.dispatch.mementos import Mementos
from innkeeper.contributions.spi import TurnEnd, TurnEndReason
from innkeeper.ports.changes import TurnChanges

ERROR: Any = {"errorType": "x", "message": "x"}


class Changes:
    """Records what it is told."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, bool]] = []

    def turn_ended(self, session: str, chat: str, turn: str, outcome: str, *, resumable: bool = False) -> None:
        assert (session, chat, turn) == ("s", "c", "t")
        self.ended.append((outcome, resumable))


@pytest.fixture
def changes() -> Changes:
    return Changes()


@pytest.fixture
def hooks(changes: Changes) -> Dispatcher:
    registry = Registry(Services({TurnChanges: changes}), Mementos(lambda _chat: None))
    registry.register(CheckpointChangeset)
    return Dispatcher(registry)


def end(reason: TurnEndReason, *, subagent: bool = False) -> TurnEnd:
    return TurnEnd("s", "c", "t", {"text": "x", "origin": {"kind": "user"}}, reason, subagent)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (TurnEndReason("success"), ("success", False)),
        (TurnEndReason("error", ERROR), ("error", False)),
        (TurnEndReason("error", ERROR, resumable=True), ("error", True)),
        (TurnEndReason("cancelled"), ("cancelled", False)),
        (TurnEndReason("localCommand"), ("localCommand", False)),
    ],
)
def test_every_end_is_told_as_it_was(
    hooks: Dispatcher, changes: Changes, reason: TurnEndReason, told: tuple[str, bool]
) -> None:
    """C10, C11: whether the end is captured is decided there; the changesets are computed in each case."""
    hooks.turn_end(end(reason))
    assert changes.ended == [told]


def test_a_refused_turn_has_done_nothing(hooks: Dispatcher, changes: Changes) -> None:
    hooks.turn_end(end(TurnEndReason("rejected", ERROR)))
    assert changes.ended == []


def test_a_subagents_turn_is_part_of_the_one_that_spawned_it(hooks: Dispatcher, changes: Changes) -> None:
    hooks.turn_end(end(TurnEndReason("success"), subagent=True))
    assert changes.ended == []


def test_a_failure_here_keeps_nobody_from_the_end_of_the_turn(changes: Changes) -> None:
    """K5, D6: observers are isolated."""

    class Broken(Changes):
        def turn_ended(self, session: str, chat: str, turn: str, outcome: str, *, resumable: bool = False) -> None:
            raise RuntimeError("no")

    registry = Registry(Services({TurnChanges: Broken()}), Mementos(lambda _chat: None))
    registry.register(CheckpointChangeset)
    dispatcher = Dispatcher(registry)
    dispatcher.turn_end(end(TurnEndReason("success")))
    assert changes.ended == []


def test_it_comes_before_whatever_starts_the_next_turn() -> None:
    """§3.6: the end of this turn is captured before the start of the next."""
    from innkeeper.contributions.builtin import builtin_kinds

    orders = {kind.id: kind.order for kind in builtin_kinds() if hasattr(kind, "on_turn_end")}
    assert orders["checkpointAndChangeset"] == 100
    assert orders["checkpointAndChangeset"] < orders["queueDrain"]
    assert [id for id, order in orders.items() if order <= 100] == ["checkpointAndChangeset"]
