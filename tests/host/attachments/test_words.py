"""Conversations as words (AHP §9.7): bounded, the newest whole, nothing left out in silence."""

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.host.attachments.words import LEFT_OUT, annotations, conversation

LIMIT = 200
TEXT = st.text(st.characters(codec="ascii", exclude_characters="\n"), max_size=300)


def turn(number, said, answer, state="complete"):
    parts = [{"kind": "markdown", "id": "t", "content": answer}, {"kind": "toolCall", "toolCall": {}}]
    message = {"text": f"{number}:{said}", "origin": {"kind": "user"}}
    return {"id": str(number), "message": message, "responseParts": parts, "state": state}


@given(st.lists(st.tuples(TEXT, TEXT), max_size=12))
def test_it_is_bounded_in_order_and_ends_with_the_newest(pairs):
    turns = [turn(number, *pair) for number, pair in enumerate(pairs)]
    words = conversation("t", turns, LIMIT)
    shown = [number for number in range(len(turns)) if f"User: {number}:" in words]
    assert len(words) <= LIMIT + len("The conversation 't':") + len(LEFT_OUT) + 2 * len(turns) + 20
    assert shown == list(range(len(turns)))[len(turns) - len(shown) :], "the newest ones, none skipped"
    assert bool(shown) == bool(turns) and (LEFT_OUT in words) == (len(shown) < len(turns))
    for number in shown[1:]:
        assert f"User: {number}:{pairs[number][0]}" in words, "whole, but for a single one that is too long"


def test_how_a_turn_ended_is_said():
    words = conversation("t", [turn(1, "a", "b", "cancelled"), turn(2, "c", "", "error")])
    assert "Assistant: b\n(it was stopped here)" in words and words.endswith("User: 2:c\n(it failed here)")


@given(st.lists(TEXT, max_size=8), st.sets(st.integers(0, 7)))
def test_annotations_are_those_that_are_named(texts, chosen):
    notes = [{"id": str(n), "resource": f"file:///{n}", "entries": [{"text": text}]} for n, text in enumerate(texts)]
    words = annotations({"annotations": notes}, {str(n) for n in chosen}, limit=10_000)
    assert [n for n in range(len(texts)) if f"file:///{n}:" in words] == [n for n in range(len(texts)) if n in chosen]
    assert len(annotations({"annotations": notes}, None, limit=50)) <= 50 + len("\n[the rest is left out]")
