"""The table from signals to actions (AHP §7, §9.2), one row a rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.host.signals import actions, merged, with_subagents
from innkeeper.protocol.check import check_action
from innkeeper.providers.spi import (
    ActivityChanged,
    Notice,
    ReasoningDelta,
    SteeringConsumed,
    SubagentEnded,
    SubagentStarted,
    TextDelta,
    TitleSuggested,
    ToolCompleted,
    ToolInputDelta,
    ToolProgress,
    ToolRunning,
    ToolStarted,
    UsageReported,
)
from innkeeper.reduce import reduce

DONE = {"success": True, "pastTenseMessage": "Done"}
BLOCK = {"type": "subagent", "resource": "ahp-chat:/w", "title": "W"}
WORDS = {"type": "text", "text": "words"}


def chat(*parts, **more):
    turn = {"id": "t", "startedAt": "2026-01-01T00:00:00Z", "responseParts": list(parts)}
    turn["message"] = {"text": "hi", "origin": {"kind": "user"}}
    return {"resource": "c", "title": "", "status": 8, "modifiedAt": "", "turns": [], "activeTurn": turn, **more}


def call(status, **more):
    return {
        "kind": "toolCall",
        "toolCall": {"toolCallId": "k", "toolName": "n", "displayName": "N", "status": status, **more},
    }


TEXT = {"kind": "markdown", "id": "p", "content": "a"}

ROWS = [
    ("the first delta opens the part", chat(), TextDelta("a", "p"), ["chat/responsePart"]),
    ("a further delta appends", chat(TEXT), TextDelta("b", "p"), ["chat/delta"]),
    ("an empty further delta is nothing", chat(TEXT), TextDelta("", "p"), []),
    ("reasoning is another kind of part", chat(TEXT), ReasoningDelta("b", "p"), ["chat/responsePart"]),
    ("a call starts", chat(), ToolStarted("k", "n", "N"), ["chat/toolCallStart"]),
    ("a call starts once", chat(call("streaming")), ToolStarted("k", "n", "N"), []),
    ("an id may be used again", chat(call("completed")), ToolStarted("k", "n", "N"), ["chat/toolCallStart"]),
    ("input streams", chat(call("streaming")), ToolInputDelta("k", "{"), ["chat/toolCallDelta"]),
    ("input of a running call is late", chat(call("running")), ToolInputDelta("k", "{"), []),
    ("a call runs", chat(call("streaming")), ToolRunning("k", "Doing"), ["chat/toolCallReady"]),
    ("a call that waits is not run by the agent", chat(call("pending-confirmation")), ToolRunning("k", "Doing"), []),
    ("progress of a running call", chat(call("running")), ToolProgress("k", [WORDS]), ["chat/toolCallContentChanged"]),
    ("progress of a call that waits", chat(call("pending-confirmation")), ToolProgress("k", [WORDS]), []),
    ("a running call completes", chat(call("running")), ToolCompleted("k", DONE), ["chat/toolCallComplete"]),
    (
        "a call whose start was left out runs first",
        chat(call("streaming")),
        ToolCompleted("k", DONE),
        ["chat/toolCallReady", "chat/toolCallComplete"],
    ),
    ("a denied call has no result", chat(call("cancelled")), ToolCompleted("k", DONE), []),
    ("a call that nobody started", chat(), ToolCompleted("k", DONE), []),
    ("usage", chat(), UsageReported({"inputTokens": 1}), ["chat/usage"]),
    ("a notice", chat(), Notice("hm"), ["chat/responsePart"]),
    ("activity", chat(), ActivityChanged("Reading"), ["chat/activityChanged"]),
    ("no activity", chat(), ActivityChanged(None), ["chat/activityChanged"]),
    ("titles are the session's", chat(), TitleSuggested("T"), []),
    ("subagents have their own chats", chat(), SubagentStarted("k", "T"), []),
    ("their end too", chat(), SubagentEnded("k"), []),
    ("steering that does not wait", chat(), SteeringConsumed("s"), []),
    (
        "steering from the slot",
        chat(steeringMessage={"id": "s"}),
        SteeringConsumed("s"),
        ["chat/pendingMessageRemoved"],
    ),
    (
        "steering from the list of 1.1",
        chat(steeringMessages=[{"id": "s"}]),
        SteeringConsumed("s"),
        ["chat/steeringMessageRemoved"],
    ),
]


@pytest.mark.parametrize(("state", "signal", "types"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_signal_means_these_actions(state, signal, types):
    found = actions(signal, state, "t")
    assert [action["type"] for action in found] == types
    for action in found:
        check_action(action)


@pytest.mark.parametrize("signal", [row[2] for row in ROWS])
def test_a_signal_of_another_turn_means_nothing(signal):
    """AHP §7: a wrong turn id is a no-op; so nothing is sent."""
    assert actions(signal, chat(TEXT, call("running")), "old") == ()


def test_the_subagent_block_survives_progress_and_result():
    """AHP §9.3."""
    state = chat(call("running", content=[BLOCK]))
    (progress,) = actions(ToolProgress("k", [WORDS]), state, "t")
    assert progress["content"] == [BLOCK, WORDS]
    (done,) = actions(ToolCompleted("k", {**DONE, "content": [WORDS]}), state, "t")
    assert done["result"]["content"] == [BLOCK, WORDS]
    assert with_subagents(state["activeTurn"]["responseParts"][0]["toolCall"], [{**BLOCK, "title": "New"}]) == [
        {**BLOCK, "title": "New"}
    ]


def test_only_neighbours_of_one_part_and_one_agent_merge():
    signals = [
        TextDelta("a", "p"),
        TextDelta("b", "p"),
        TextDelta("c", "q"),
        TextDelta("d", "q", subagent="k"),
        ReasoningDelta("e", "q", subagent="k"),
        ReasoningDelta("f", "q", subagent="k"),
        ToolInputDelta("k", "{"),
        ToolInputDelta("k", "}"),
        TextDelta("g", "p"),
    ]
    assert merged(signals) == [
        TextDelta("ab", "p"),
        TextDelta("c", "q"),
        TextDelta("d", "q", subagent="k"),
        ReasoningDelta("ef", "q", subagent="k"),
        ToolInputDelta("k", "{}"),
        TextDelta("g", "p"),
    ]


ids = st.sampled_from(["k", "l"])
signals = st.lists(
    st.one_of(
        st.builds(TextDelta, st.text(max_size=3), ids),
        st.builds(ReasoningDelta, st.text(max_size=3), ids),
        st.builds(ToolStarted, ids, st.just("n"), st.just("N")),
        st.builds(ToolInputDelta, ids, st.text(max_size=3)),
        st.builds(ToolRunning, ids, st.just("Doing")),
        st.builds(ToolProgress, ids, st.just([WORDS])),
        st.builds(ToolCompleted, ids, st.just(DONE)),
        st.builds(UsageReported, st.just({"inputTokens": 1})),
        st.builds(Notice, st.text(max_size=3)),
        st.builds(SteeringConsumed, ids),
    ),
    max_size=30,
)


@given(signals)
def test_whatever_an_agent_says_is_valid_and_merging_changes_nothing(said):
    """providers.spi: the host owns the state; no signal raises, every action is one of AHP's."""

    def run(sequence):
        state = chat()
        for signal in sequence:
            for action in actions(signal, state, "t"):
                check_action(action)
                state = reduce("chat", state, action)
        return state

    state = run(said)
    assert state == run(merged(said))
    for signal_type, kind in ((TextDelta, "markdown"), (ReasoningDelta, "reasoning")):
        spoken = "".join(s.text for name in ("k", "l") for s in said if isinstance(s, signal_type) and s.part == name)
        parts = [p for p in state["activeTurn"]["responseParts"] if p["kind"] == kind]
        shown = "".join(p["content"] for name in ("k", "l") for p in parts if p["id"].split(":")[-1] == name)
        assert shown == spoken, "no word is lost, whatever else has its part's id"
