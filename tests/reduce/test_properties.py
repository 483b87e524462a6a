"""What holds for every history (issue 2, §3), over states and actions made from the protocol's own declarations.

A history is any sequence of actions that pass the boundary check, in any order. Ids come from a pool so small that
they often meet, now and then a variant of a newer version appears, and optional fields come and go: the reducers have
to cope with whatever a host or a client sends. Hypothesis picks the seed and reports the one that fails.
"""

import json
import random
import types
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import get_type_hints, is_typeddict

from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.channels import STATES, ChannelKind
from innkeeper.protocol.check import CheckError, check, check_action
from innkeeper.protocol.types import Closed, NotRequired, ReadOnly, Required
from innkeeper.reduce import reduce

State = dict[str, Any]
Action = dict[str, Any]
History = tuple[ChannelKind, State, list[Action]]

KINDS: tuple[ChannelKind, ...] = tuple(STATES)
IDS = ("a", "a", "a", "b")
TIMES = ("2026-03-01T08:00:00.000Z", "2026-03-01T08:00:00.123456789+05:30", "2026-03-01", "soon", "")
FREE: tuple[Any, ...] = (
    None,
    True,
    0,
    1,
    0.5,
    "",
    "é\u2028\U0001f98a",
    [],
    [1, {"x": None}],
    {},
    {"id": "a"},
    [{"id": "a"}],
)
DEPTH = 7

NEVER_CHANGES = {
    "terminal/input",
    "resourceWatch/changed",
    "automation/createRequested",
    "automation/updateRequested",
    "automationRun/cancelRequested",
}

WEIGHTS = {
    **dict.fromkeys(("chat/turnStarted", "chat/turnComplete", "chat/turnCancelled", "chat/truncated"), 1),
    **dict.fromkeys((tag for tag in ACTIONS if tag.startswith("chat/toolCall")), 15),
    **dict.fromkeys(("chat/toolCallResultConfirmed", "chat/turnResume", "session/chatsReordered"), 30),
}
"""What breaks off a turn is drawn less often, what needs one certain state before it more often."""

SEEDS = st.integers(0, 2**32 - 1)
PROPERTY = settings(max_examples=100, deadline=None)


def unwrap(declared: Any) -> Any:
    """A declaration without `ReadOnly`, `NotRequired` and the like."""
    while get_origin(declared) in (ReadOnly, NotRequired, Required):
        declared = get_args(declared)[0]
    return declared


@cache
def hints_of(declared: Any) -> dict[str, Any]:
    return {key: unwrap(hint) for key, hint in get_type_hints(declared, include_extras=True).items()}


class Maker:
    """Values of declarations, drawn from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def value(self, declared: Any, depth: int = DEPTH, name: str = "") -> Any:
        """A value of `declared`; below `depth` only what is required, and no list has entries."""
        declared = unwrap(declared)
        origin, args = get_origin(declared), get_args(declared)
        if origin is Annotated:
            closed = any(mark is Closed or isinstance(mark, Closed) for mark in args[1:])
            return self._member(args[:1], depth, name, grows=not closed)
        if is_typeddict(declared):
            return self._object(declared, depth)
        if origin in (Union, types.UnionType):
            return self._member(args, depth, name, grows=all(is_typeddict(unwrap(member)) for member in args))
        if origin is Literal:
            return self._random.choice(args)
        if origin is not None:
            count = self._random.randrange(4) if depth > 0 else 0
            if len(args) == 1:
                return [self.value(args[0], depth - 1, name) for _ in range(count)]
            return {self._random.choice(IDS): self.value(args[1], depth - 1) for _ in range(count)}
        return self._plain(declared, name)

    def history(self, kind: ChannelKind, length: int) -> list[Action]:
        """Actions that pass the check, as a host meets them."""
        specs = [spec for spec in ACTIONS.values() if spec.channel == kind]
        weights = [WEIGHTS.get(spec.type, 6) for spec in specs]
        drawn = [self.action(spec.shape) for spec in self._random.choices(specs, weights, k=length)]
        return [action for action in drawn if passes(check_action, action)]

    def action(self, declared: Any) -> Action:
        action: Action = self.value(self._random.choice(shapes_of(declared)))
        return action

    def state(self, kind: ChannelKind) -> State:
        """A state that is exactly what the protocol declares."""
        while True:
            state: State = self.value(STATES[kind])
            if passes(check, STATES[kind], state):
                return state

    def case(self, length: int = 40) -> History:
        kind = self._random.choice((*KINDS, "chat", "chat", "chat", "session", "session"))
        return kind, self.state(kind), self.history(kind, length)

    def _member(self, members: tuple[Any, ...], depth: int, name: str, *, grows: bool) -> Any:
        if grows and self._random.random() < 0.1:
            tags = dict.fromkeys(("kind", "type", "status"), "x-future")
            extra = {key: self._random.choice(FREE) for key in ("x", "children", "toolCall", "request")}
            return {**tags, "id": self._random.choice(IDS), "uri": "a", **extra}
        return self.value(self._random.choice(members), depth, name)

    def _object(self, declared: Any, depth: int) -> dict[str, Any]:
        hints = hints_of(declared)
        optional = [key for key in sorted(declared.__optional_keys__) if depth > 0 and self._random.random() < 0.5]
        keys = [*sorted(declared.__required_keys__), *optional]
        return {key: self.value(hints[key], depth - 1, key) for key in keys}

    def _plain(self, declared: Any, name: str) -> Any:
        if declared is str:
            return self._random.choice(TIMES if name.endswith("At") else IDS)
        if declared is bool:
            return self._random.random() < 0.5
        if declared is int:
            return self._random.randrange(256) if name == "status" else self._random.randrange(-3, 5000)
        if declared is float:
            return self._random.choice((0.5, 2))
        return None if declared is type(None) else self._random.choice(FREE)


def shapes_of(declared: Any) -> tuple[Any, ...]:
    """An action's declarations: two share the tag of `chat/toolCallConfirmed`."""
    return (declared,) if is_typeddict(declared) else get_args(declared)


def passes(check_value: Callable[..., None], *args: Any) -> bool:
    try:
        check_value(*args)
    except CheckError:
        return False
    return True


def text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def run(kind: ChannelKind, state: Any, history: list[Action]) -> list[Any]:
    """The states of a history, the first one included."""
    steps = [state]
    for action in history:
        steps.append(reduce(kind, steps[-1], action))
    return steps


@PROPERTY
@given(SEEDS)
def test_a_history_never_raises_and_a_valid_state_stays_valid(seed: int) -> None:
    """AHP §7; check at the door, trust inside (architecture §3, principle 6)."""
    kind, initial, history = Maker(seed).case()
    for step in run(kind, initial, history):
        check(STATES[kind], step)


@PROPERTY
@given(SEEDS)
def test_neither_state_nor_action_is_ever_changed(seed: int) -> None:
    """Architecture §3, principle 3."""
    kind, state, history = Maker(seed).case()
    for action in history:
        before = text_of([state, action])
        after: Any = reduce(kind, state, action)
        assert text_of([state, action]) == before
        state = after


@PROPERTY
@given(SEEDS, st.floats(0, 1))
def test_a_snapshot_at_any_point_and_the_tail_give_the_same_state(seed: int, where: float) -> None:
    """Architecture §7: snapshot and tail; the snapshot went through JSON, which changes nothing."""
    kind, initial, history = Maker(seed).case()
    steps = run(kind, initial, history)
    point = int(where * len(history))
    snapshot = json.loads(json.dumps(steps[point]))
    assert text_of(run(kind, snapshot, history[point:])[-1]) == text_of(steps[-1])


@PROPERTY
@given(SEEDS, st.text(max_size=20))
def test_an_unknown_action_gives_the_same_object(seed: int, tag: str) -> None:
    """AHP §1: unknown action types are ignored, those of another channel too."""
    kind, state, _ = Maker(seed).case(length=0)
    assert reduce(kind, state, {"type": f"x-{tag}", "turnId": "a", "id": "a"}) is state
    for spec in ACTIONS.values():
        assert spec.channel == kind or reduce(kind, state, {"type": spec.type}) is state


@PROPERTY
@given(SEEDS)
def test_null_in_an_optional_field_of_an_action_reads_as_absent(seed: int) -> None:
    """AHP §1: `null` and absent are one."""
    kind, initial, history = Maker(seed).case()
    nulled = []
    for action in history:
        declared: Any = ACTIONS[action["type"]].shape
        nulled.append({**dict.fromkeys(getattr(declared, "__optional_keys__", ())), **action})
    assert text_of(run(kind, initial, nulled)[-1]) == text_of(run(kind, initial, history)[-1])


@PROPERTY
@given(SEEDS)
def test_a_state_that_holds_nulls_behaves_as_one_without_them(seed: int) -> None:
    """AHP §1: peers may write `null` where a field is absent."""
    kind, initial, history = Maker(seed).case()
    declared: Any = STATES[kind]
    nulled = {**dict.fromkeys(declared.__optional_keys__), **initial}
    after: Any = run(kind, nulled, history)[-1]
    assert text_of({key: value for key, value in after.items() if value is not None}) == text_of(
        run(kind, initial, history)[-1]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_histories_reach_every_action_and_every_effect(kind: ChannelKind) -> None:
    """The properties above speak about the whole table of actions, not only about refusals."""
    expected = {spec.type for spec in ACTIONS.values() if spec.channel == kind} - NEVER_CHANGES
    reached: set[str] = set()
    for seed in range(200):
        maker = Maker(seed)
        state, history = maker.state(kind), maker.history(kind, 100)
        steps = run(kind, state, history)
        changes = zip(history, steps[:-1], steps[1:], strict=True)
        reached |= {action["type"] for action, before, after in changes if after is not before}
        if reached == expected:
            break
    assert reached == expected
