"""The outbox: merging keeps the state, order never changes, and what waits is bounded (AHP §2.3, §2.5)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.engine.effects import Delta, Frame
from innkeeper.engine.outbox import MERGED_BYTES, Outbox, merge
from innkeeper.reduce import reduce
from innkeeper.wire.json import decode, encode
from innkeeper.wire.jsonrpc import encode_notification

CHAT = "ahp-chat:/c"
TERMINAL = "ahp-terminal:/t"
STARTED = "2026-01-01T00:00:00.000Z"


def envelope(seq: int, channel: str, action: dict[str, Any], *, delta: bool = True) -> Frame:
    body = encode_notification("action", {"channel": channel, "action": action, "serverSeq": seq})
    return Frame(body, Delta(channel, action, seq) if delta else None)


def text(seq: int, content: str, *, part: str = "p1", kind: str = "chat/delta", **more: Any) -> Frame:
    return envelope(seq, CHAT, {"type": kind, "turnId": "t1", "partId": part, "content": content, **more})


def tool(seq: int, content: str | None, **more: Any) -> Frame:
    action = {"type": "chat/toolCallDelta", "turnId": "t1", "toolCallId": "k1", **more}
    return envelope(seq, CHAT, action if content is None else action | {"content": content})


def terminal(seq: int, data: str) -> Frame:
    return envelope(seq, TERMINAL, {"type": "terminal/data", "data": data})


def params(frame: bytes) -> dict[str, Any]:
    message = decode(frame)
    assert isinstance(message, dict)
    assert message["method"] == "action"
    result: dict[str, Any] = message["params"]
    return result


def test_adjacent_deltas_of_one_part_become_one_envelope_with_the_later_number() -> None:
    """AHP §2.5"""
    merged = merge(text(4, "Hel"), text(5, "lo"))
    assert merged is not None
    assert params(merged.body) == {
        "channel": CHAT,
        "action": {"type": "chat/delta", "turnId": "t1", "partId": "p1", "content": "Hello"},
        "serverSeq": 5,
    }
    assert merged.delta is not None
    assert merged.delta.seq == 5


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (text(1, "a"), text(2, "b", part="p2")),
        (text(1, "a"), text(2, "b", kind="chat/reasoning")),
        (text(1, "a"), terminal(2, "b")),
        (text(1, "a", _meta={"x": 1}), text(2, "b")),
        (text(1, "a"), text(2, "b", newField=True)),
        (tool(1, None, invocationMessage="Reading"), tool(2, "b")),
        (text(1, "a"), Frame(b"{}")),
        (Frame(b"{}"), text(2, "a")),
    ],
)
def test_frames_that_would_lose_something_are_not_merged(earlier: Frame, later: Frame) -> None:
    assert merge(earlier, later) is None


def test_a_merged_tool_call_delta_keeps_the_newest_message_and_ignores_null() -> None:
    merged = merge(tool(1, "{", invocationMessage="Reading a"), tool(2, "}", invocationMessage=None))
    assert merged is not None
    assert params(merged.body)["action"]["invocationMessage"] == "Reading a"
    merged = merge(tool(1, "{", invocationMessage="Reading a"), tool(2, "}", invocationMessage="Reading b"))
    assert merged is not None
    assert params(merged.body)["action"]["invocationMessage"] == "Reading b"


chat_frames = st.builds(
    lambda kind, part, content, number: (kind, part, content, number),
    st.sampled_from(["chat/delta", "chat/reasoning", "chat/toolCallDelta", "plain", "terminal/data"]),
    st.sampled_from(["p1", "p2"]),
    st.text(max_size=6),
    st.integers(0, 3),
)


def build(entries: list[tuple[str, str, str, int]]) -> list[Frame]:
    frames = []
    for seq, (kind, part, content, number) in enumerate(entries, 10):
        if kind == "terminal/data":
            frames.append(terminal(seq, content))
        elif kind == "plain":
            action = {"type": "chat/activityChanged", "activity": content}
            frames.append(envelope(seq, CHAT, action, delta=False))
        elif kind == "chat/toolCallDelta":
            more = {"invocationMessage": f"step {number}"} if number > 1 else {}
            frames.append(tool(seq, content if number else None, **more))
        else:
            frames.append(text(seq, content, part="r" + part if kind == "chat/reasoning" else part, kind=kind))
    return frames


def fold(frames: list[bytes]) -> tuple[Any, Any]:
    chat: Any = {
        "resource": CHAT, "title": "", "status": 1, "modifiedAt": STARTED, "turns": [],
        "activeTurn": {
            "id": "t1", "startedAt": STARTED, "usage": None, "message": {"text": "x", "origin": {"kind": "user"}},
            "responseParts": [
                *({"kind": "markdown", "id": part, "content": ""} for part in ("p1", "p2")),
                *({"kind": "reasoning", "id": part, "content": ""} for part in ("rp1", "rp2")),
                {"kind": "toolCall", "toolCall": {
                    "toolCallId": "k1", "toolName": "read", "displayName": "Read", "status": "streaming",
                }},
            ],
        },
    }  # fmt: skip
    screen: Any = {"title": "", "content": [], "claim": {"kind": "client", "clientId": "c"}, "lifecycle": {}}
    for frame in frames:
        envelope = params(frame)
        if envelope["channel"] == CHAT:
            chat = reduce("chat", chat, envelope["action"])
        else:
            screen = reduce("terminal", screen, envelope["action"])
    return chat, screen


@given(st.lists(chat_frames, max_size=25))
def test_what_leaves_leads_to_the_same_state_in_the_same_order(entries: list[tuple[str, str, str, int]]) -> None:
    """AHP §2.5: coalescing that leads to the same reduced state; §2.3: numbers rise."""
    frames = build(entries)
    outbox = Outbox(1 << 20)
    assert {outbox.put(frame, 40) for frame in frames} <= {"ok"}
    taken = outbox.take_all()
    assert fold(taken) == fold([frame.body for frame in frames])
    numbers = [params(frame)["serverSeq"] for frame in taken]
    assert numbers == sorted(set(numbers))
    assert numbers[-1:] == [params(frame.body)["serverSeq"] for frame in frames[-1:]]


@given(st.lists(st.one_of(chat_frames, st.integers(1, 400)), max_size=40))
def test_the_count_of_waiting_bytes_is_zero_again_after_any_way_of_taking(steps: list[Any]) -> None:
    outbox = Outbox(1 << 20)
    for step in steps:
        if isinstance(step, int):
            outbox.take(step)
        else:
            outbox.put(build([step])[0])
        assert (len(outbox) == 0) == (outbox.waiting_bytes == 0)
    outbox.take_all()
    assert outbox.waiting_bytes == 0


def test_a_long_run_is_split_below_what_clients_accept_in_one_message() -> None:
    outbox = Outbox(8 << 20)
    for seq in range(400):
        outbox.put(text(seq, "é" * 500))
    taken = outbox.take_all()
    assert max(len(body) for body in taken) <= MERGED_BYTES + 1000
    assert len(taken) == 7
    assert "".join(params(body)["action"]["content"] for body in taken) == "é" * 200_000


def test_overflow_is_told_and_leaves_what_waits_as_it_was() -> None:
    outbox = Outbox(1000)
    plain = Frame(b"x" * 400)
    assert [outbox.put(plain), outbox.put(plain)] == ["ok", "ok"]
    assert outbox.put(plain) == "overflow"
    assert outbox.put(Frame(b"y" * 100)) == "ok"
    assert outbox.take_all() == [plain.body, plain.body, b"y" * 100]


def test_merging_makes_room_that_separate_frames_would_not_have() -> None:
    outbox = Outbox(2000)
    results = {outbox.put(text(seq, "ab")) for seq in range(300)}
    assert results == {"ok"}
    assert outbox.waiting_bytes < 1000


def test_one_frame_larger_than_the_limit_may_wait_with_small_ones_but_not_with_another() -> None:
    outbox = Outbox(1000)
    snapshot = Frame(b"s" * 50_000)
    assert outbox.put(snapshot) == "ok"
    assert outbox.put(Frame(b"x" * 300)) == "ok"
    assert outbox.put(snapshot) == "overflow"


def test_take_hands_out_whole_frames_until_enough() -> None:
    outbox = Outbox(10_000)
    for name in b"abcd":
        outbox.put(Frame(bytes([name]) * 100))
    assert outbox.take(150) == [b"a" * 100, b"b" * 100]
    assert outbox.take(1) == [b"c" * 100]
    assert outbox.take(500) == [b"d" * 100]
    assert outbox.take(500) == []


def test_the_queue_may_wait_only_while_everything_in_it_may() -> None:
    """AHP §2.5, `delivery.maxLatencyMs`"""
    outbox = Outbox(10_000)
    assert outbox.delay() == 0
    outbox.put(text(1, "a"), 80)
    outbox.put(text(2, "b"), 30)
    assert outbox.delay() == 30
    outbox.put(Frame(encode({"id": 1})))
    assert outbox.delay() == 0
    outbox.take_all()
    outbox.put(text(3, "c"), 50)
    assert outbox.delay() == 50
