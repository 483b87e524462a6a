"""Client actions from the door to the echo (AHP §6, §9.9)."""

from typing import Any

import pytest

from harness.engine_world import CHAT, NOW, ROOT, SESSION, Peer, World, agent, chat_state, session_state
from innkeeper.engine.effects import Act, Admit, Also, Create, Drop, Hold, Refuse
from innkeeper.ports.decisions import Decision, PutDecision

USER = {"text": "hi", "origin": {"kind": "user"}}
TITLE = {"type": "session/titleChanged", "title": "t"}


def started(turn: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "chat/turnStarted", "turnId": turn, "startedAt": NOW, "message": USER, **more}


def part(call: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "toolCall", "toolCall": {"toolCallId": "c", "toolName": "n", "displayName": "n", **call}}


def turn_with(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"id": "t1", "startedAt": NOW, "message": USER, "responseParts": list(parts), "usage": None}


PENDING = part({"status": "pending-confirmation", "invocationMessage": "m", "options": [{"id": "ok", "label": "Ok"}]})
RUNNING = part({"status": "running", "invocationMessage": "m", "confirmed": "not-needed"})
OURS = part({**RUNNING["toolCall"], "contributor": {"kind": "client", "clientId": "a"}})
THEIRS = part({**RUNNING["toolCall"], "contributor": {"kind": "client", "clientId": "b"}})
ASKED = {
    "kind": "inputRequest",
    "request": {
        "id": "r",
        "questions": [
            {"id": "q", "kind": "text", "message": "?", "required": True},
            {"id": "n", "kind": "integer", "message": "?"},
            {"id": "s", "kind": "single-select", "message": "?", "options": [{"id": "one", "label": "1"}]},
        ],
    },
}
DONE = {"id": "t0", "startedAt": NOW, "duration": 1, "message": USER, "responseParts": [], "usage": None}


def test_an_accepted_action_is_echoed_to_every_subscriber_with_its_origin(world: World) -> None:
    """AHP §6.3."""
    a = world.client("a", 1, SESSION)
    b = world.client("b", 2, SESSION)
    seq = a.dispatch(SESSION, TITLE)
    for peer in (a, b):
        assert peer.envelopes()[-1]["origin"] == {"clientId": "a", "clientSeq": seq}
        assert peer.envelopes()[-1]["action"] == TITLE
    assert a.envelopes()[-1]["serverSeq"] == b.envelopes()[-1]["serverSeq"]


def test_an_action_of_the_host_has_no_origin(world: World) -> None:
    """AHP §5."""
    a = world.client("a", 1, SESSION)
    world.post(SESSION, TITLE)
    assert "origin" not in a.envelopes()[-1]


def test_a_dispatch_to_a_channel_that_is_not_subscribed_counts(world: World) -> None:
    """AHP §2.5: needed to answer `inputNeeded`."""
    a = world.client("a", 1)
    a.dispatch(SESSION, TITLE)
    assert world.hub.released(SESSION)["title"] == "t"
    assert a.envelopes() == []


def test_an_unknown_channel_is_ignored_silently(world: World) -> None:
    """AHP §6.1."""
    a = world.client("a", 1, SESSION)
    a.dispatch("ahp-session:/none", TITLE)
    assert a.envelopes() == []


@pytest.mark.parametrize(
    ("channel", "action"),
    [
        (SESSION, {"type": "session/activityChanged", "activity": "x"}),
        (SESSION, {"type": "copilot/viewState"}),
        (SESSION, {"type": "chat/draftChanged"}),
        (CHAT, TITLE),
        (SESSION, {"type": "session/titleChanged"}),
        (SESSION, {"type": "session/titleChanged", "title": 7}),
        (SESSION, {"title": "no type"}),
        (SESSION, {"type": ["odd"]}),
        (CHAT, {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "x"}),
        (SESSION, {"type": "session/artifactRemoved", "uri": "file:///x"}),
    ],
)
def test_what_a_client_may_not_dispatch_is_rejected_to_it_alone_and_changes_nothing(
    world: World, channel: str, action: dict[str, Any]
) -> None:
    """AHP §6.2: never broadcast, because official mirrors would apply it."""
    a = world.client("a", 1, SESSION, CHAT)
    b = world.client("b", 2, SESSION, CHAT)
    before = world.hub.head(channel)
    a.dispatch(channel, action)
    assert len(a.rejections()) == 1
    assert b.envelopes() == []
    assert world.hub.head(channel) is before


def test_a_dispatch_is_applied_once_per_client_and_number_also_after_reconnect_and_restart(world: World) -> None:
    """AHP §2.4, §15: clients send pending actions again with the same number."""
    a = world.client("a", 1, SESSION)
    seq = a.dispatch(SESSION, TITLE)
    a.dispatch(SESSION, {**TITLE, "title": "later"})
    a.dispatch(SESSION, TITLE, seq)
    assert world.hub.released(SESSION)["title"] == "later"
    assert a.envelopes()[-1] == a.envelopes()[-3], "the first echo once more"
    world.pump()
    after = world.crash()
    after.hub.connect(1)
    a.world = after
    a.request("reconnect", clientId="a", lastSeenServerSeq=0, subscriptions=[SESSION])
    a.dispatch(SESSION, TITLE, seq)
    assert after.hub.released(SESSION)["title"] == "later"
    assert a.rejections() == []


def test_a_client_that_counts_from_one_again_after_reconnect_is_heard(world: World) -> None:
    """Found with the Copilot CLI 1.0.102: its `clientSeq` begins anew on a new socket, under the same `clientId`."""
    a = world.client("a", 1, SESSION)
    a.dispatch(SESSION, TITLE)
    a.dispatch(SESSION, {**TITLE, "title": "second"})
    a.leave()
    world.hub.connect(2)
    again = Peer(world, "a", 2)
    again.request("reconnect", clientId="a", lastSeenServerSeq=world.seqs[1], subscriptions=[SESSION])
    again.dispatch(SESSION, {**TITLE, "title": "third"})
    again.dispatch(SESSION, {**TITLE, "title": "fourth"})
    assert [e["action"]["title"] for e in again.envelopes()] == ["third", "fourth"]
    assert world.hub.released(SESSION)["title"] == "fourth"


def test_a_client_that_initializes_anew_starts_a_new_count(world: World) -> None:
    """AHP §2.4: it has forgotten its old numbers."""
    a = world.client("a", 1)
    a.dispatch(SESSION, TITLE, 1)
    a.leave()
    world.client("a", 2).dispatch(SESSION, {**TITLE, "title": "new"}, 1)
    assert world.hub.released(SESSION)["title"] == "new"


def test_old_and_loose_clients_are_understood(world: World) -> None:
    """AHP §15: no `startedAt`, no origin, toggle in the shape before 0.8."""
    kept = {"kind": "global", "enabled": True}
    server = {
        "id": "m",
        "uri": "u",
        "name": "m",
        "type": "mcpServer",
        "state": {"kind": "stopped"},
        "enablement": [kept],
    }
    world.post(SESSION, {"type": "session/customizationsChanged", "customizations": [server]})
    a = world.client("a", 1, SESSION, CHAT)
    a.dispatch(CHAT, {"type": "chat/turnStarted", "turnId": "t1", "message": {"text": "hi"}})
    assert world.hub.released(CHAT)["activeTurn"]["startedAt"] == NOW
    a.dispatch(SESSION, {"type": "session/customizationToggled", "id": "m", "enabled": False})
    decided = world.hub.released(SESSION)["customizations"][0]["enablement"]
    assert decided == [{"kind": "session", "enabled": False}, kept]


CASES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("turn while one runs", {"activeTurn": turn_with()}, started("t2"), "in progress"),
    ("turn id used before", {"turns": [DONE]}, started("t0"), "exists"),
    ("cancel without a turn", {}, {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1}, "no turn"),
    (
        "cancel of another turn",
        {"activeTurn": turn_with()},
        {"type": "chat/turnCancelled", "turnId": "t9", "duration": 1},
        "not in progress",
    ),
    (
        "resume of a good turn",
        {"turns": [{**DONE, "state": "complete"}]},
        {"type": "chat/turnResume", "turnId": "t0"},
        "resumable",
    ),
    ("resume while active", {"activeTurn": turn_with()}, {"type": "chat/turnResume", "turnId": "t1"}, "in progress"),
    ("resume of an old turn", {"turns": [DONE]}, {"type": "chat/turnResume", "turnId": "x"}, "latest"),
    ("truncate at an unknown turn", {"turns": [DONE]}, {"type": "chat/truncated", "turnId": "x"}, "not a completed"),
    (
        "confirm a running call",
        {"activeTurn": turn_with(RUNNING)},
        {
            "type": "chat/toolCallConfirmed",
            "turnId": "t1",
            "toolCallId": "c",
            "approved": True,
            "confirmed": "user-action",
        },
        "does not wait",
    ),
    (
        "confirm an unknown call",
        {"activeTurn": turn_with(RUNNING)},
        {"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "x", "approved": False, "reason": "denied"},
        "not part",
    ),
    (
        "confirm with an unknown option",
        {"activeTurn": turn_with(PENDING)},
        {
            "type": "chat/toolCallConfirmed",
            "turnId": "t1",
            "toolCallId": "c",
            "approved": True,
            "confirmed": "user-action",
            "selectedOptionId": "x",
        },
        "no option",
    ),
    (
        "confirm a result that is not asked for",
        {"activeTurn": turn_with(RUNNING)},
        {"type": "chat/toolCallResultConfirmed", "turnId": "t1", "toolCallId": "c", "approved": True},
        "does not wait",
    ),
    (
        "complete another client's call",
        {"activeTurn": turn_with(THEIRS)},
        {
            "type": "chat/toolCallComplete",
            "turnId": "t1",
            "toolCallId": "c",
            "result": {"success": True, "pastTenseMessage": ""},
        },
        "not executed by this client",
    ),
    (
        "content for another client's call",
        {"activeTurn": turn_with(THEIRS)},
        {"type": "chat/toolCallContentChanged", "turnId": "t1", "toolCallId": "c", "content": []},
        "not executed by this client",
    ),
    (
        "remove an unknown queued message",
        {},
        {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "x"},
        "no queued",
    ),
    (
        "remove an unknown steering message",
        {},
        {"type": "chat/pendingMessageRemoved", "kind": "steering", "id": "x"},
        "no steering",
    ),
    (
        "answer an unknown request",
        {"activeTurn": turn_with(ASKED)},
        {"type": "chat/inputAnswerChanged", "requestId": "x", "questionId": "q"},
        "no open input request",
    ),
    (
        "answer an unknown question",
        {"activeTurn": turn_with(ASKED)},
        {
            "type": "chat/inputAnswerChanged",
            "requestId": "r",
            "questionId": "x",
            "answer": {"state": "draft", "value": {"kind": "text", "value": "v"}},
        },
        "no question",
    ),
    (
        "answer of the wrong kind",
        {"activeTurn": turn_with(ASKED)},
        {
            "type": "chat/inputAnswerChanged",
            "requestId": "r",
            "questionId": "q",
            "answer": {"state": "draft", "value": {"kind": "boolean", "value": True}},
        },
        "kind text",
    ),
    (
        "a fraction for a whole number",
        {"activeTurn": turn_with(ASKED)},
        {
            "type": "chat/inputAnswerChanged",
            "requestId": "r",
            "questionId": "n",
            "answer": {"state": "draft", "value": {"kind": "number", "value": 1.5}},
        },
        "whole number",
    ),
    (
        "an option that is not offered",
        {"activeTurn": turn_with(ASKED)},
        {
            "type": "chat/inputAnswerChanged",
            "requestId": "r",
            "questionId": "s",
            "answer": {"state": "draft", "value": {"kind": "selected", "value": "two"}},
        },
        "no such option",
    ),
    (
        "accept without a required answer",
        {"activeTurn": turn_with(ASKED)},
        {"type": "chat/inputCompleted", "requestId": "r", "response": "accept"},
        "needs an answer",
    ),
    (
        "a directory where there is one only",
        {},
        {"type": "chat/workingDirectorySet", "directory": "file:///x"},
        "one directory",
    ),
]


@pytest.mark.parametrize(("chat", "action", "why"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_validation_table_rejects_on_the_chat_channel(
    chat: dict[str, Any], action: dict[str, Any], why: str
) -> None:
    """AHP §9.9."""
    world = World().with_session(chat_state(**chat))
    a = world.client("a", 1, CHAT)
    a.dispatch(CHAT, action)
    assert why in a.rejections()[0]


@pytest.mark.parametrize(
    ("chat", "action"),
    [
        (
            {"activeTurn": turn_with(PENDING)},
            {
                "type": "chat/toolCallConfirmed",
                "turnId": "t1",
                "toolCallId": "c",
                "approved": True,
                "confirmed": "user-action",
                "selectedOptionId": "ok",
            },
        ),
        (
            {"activeTurn": turn_with(OURS)},
            {
                "type": "chat/toolCallComplete",
                "turnId": "t1",
                "toolCallId": "c",
                "result": {"success": True, "pastTenseMessage": ""},
            },
        ),
        ({"activeTurn": turn_with(ASKED)}, {"type": "chat/inputCompleted", "requestId": "r", "response": "decline"}),
        (
            {"activeTurn": turn_with(ASKED)},
            {
                "type": "chat/inputCompleted",
                "requestId": "r",
                "response": "accept",
                "answers": {"q": {"state": "submitted", "value": {"kind": "text", "value": "v"}}},
            },
        ),
        (
            {
                "turns": [
                    {
                        **DONE,
                        "state": "error",
                        "responseParts": [
                            {"kind": "error", "error": {"errorType": "e", "message": "m"}, "resumable": True}
                        ],
                    }
                ]
            },
            {"type": "chat/turnResume", "turnId": "t0"},
        ),
        ({"turns": [DONE]}, {"type": "chat/truncated", "turnId": "t0"}),
        ({"turns": [DONE]}, {"type": "chat/truncated"}),
    ],
)
def test_the_validation_table_lets_the_right_ones_through(chat: dict[str, Any], action: dict[str, Any]) -> None:
    """AHP §9.9."""
    world = World().with_session(chat_state(**chat))
    a = world.client("a", 1, CHAT)
    a.dispatch(CHAT, action)
    assert a.rejections() == []
    assert a.envelopes()[-1]["action"] == action


CONFIG = {
    "schema": {
        "type": "object",
        "properties": {
            "mode": {"type": "string", "title": "m", "enum": ["a", "b"], "sessionMutable": True},
            "fixed": {"type": "string", "title": "f"},
            "names": {"type": "array", "title": "n", "items": {"type": "string", "title": ""}, "sessionMutable": True},
        },
    },
    "values": {"mode": "a", "fixed": "x"},
}
SERVER = {"id": "m", "uri": "u", "name": "m", "type": "mcpServer", "state": {"kind": "stopped"}}
PLUGIN = {"id": "p", "uri": "u", "name": "p", "type": "plugin", "children": [SERVER]}
SESSION_CASES: list[tuple[dict[str, Any], str]] = [
    ({"type": "session/activeClientSet", "activeClient": {"clientId": "b", "tools": []}}, "as itself"),
    ({"type": "session/activeClientRemoved", "clientId": "b"}, "remove itself"),
    ({"type": "session/workingDirectorySet", "directory": "file:///x"}, "one directory"),
    ({"type": "session/workingDirectoryRemoved", "directory": "file:///w"}, "one directory"),
    (
        {"type": "session/workingDirectoryReplaced", "directory": "file:///w", "replacement": "file:///x"},
        "one directory",
    ),
    ({"type": "session/customizationToggled", "id": "x", "enablement": []}, "no customization"),
    ({"type": "session/mcpServerStartRequested", "id": "x"}, "no MCP server"),
    ({"type": "session/mcpServerStopRequested", "id": "p"}, "is no MCP server"),
    ({"type": "session/configChanged", "config": {"other": 1}}, "no configuration property other"),
    ({"type": "session/configChanged", "config": {"fixed": "y"}}, "cannot be changed"),
    ({"type": "session/configChanged", "config": {"mode": "c"}}, "takes one of a, b"),
    ({"type": "session/configChanged", "config": {"names": [1]}}, "takes a string"),
    ({"type": "session/configChanged", "config": {"mode": "b"}, "replace": True}, "cannot be removed"),
]


@pytest.mark.parametrize(("action", "why"), SESSION_CASES)
def test_the_validation_table_rejects_on_the_session_channel(action: dict[str, Any], why: str) -> None:
    """AHP §9.5, §9.6, §9.9."""
    world = World().with_session(session=session_state(config=CONFIG, customizations=[PLUGIN]))
    a = world.client("a", 1, SESSION)
    a.dispatch(SESSION, action)
    assert why in a.rejections()[0]


@pytest.mark.parametrize(
    ("capability", "action", "why"),
    [
        ({"immutablePrimary": True}, {"type": "session/workingDirectoryRemoved", "directory": "file:///w"}, "primary"),
        (
            {"immutablePrimary": True},
            {"type": "session/workingDirectoryReplaced", "directory": "file:///w", "replacement": "file:///x"},
            "primary",
        ),
        (
            {},
            {"type": "session/workingDirectoryReplaced", "directory": "file:///q", "replacement": "file:///x"},
            "not a",
        ),
        (
            {"primaryReplacement": True, "immutablePrimary": True},
            {"type": "session/workingDirectoryReplaced", "directory": "file:///w", "replacement": "file:///x"},
            None,
        ),
        ({}, {"type": "session/workingDirectorySet", "directory": "file:///x"}, None),
    ],
)
def test_protected_directories_follow_the_agents_capability(
    capability: dict[str, Any], action: dict[str, Any], why: str | None
) -> None:
    """AHP §9.6."""
    world = World()
    world.commit(Create(ROOT, "root", None, {"agents": [agent(multipleWorkingDirectories=capability)]}))
    world.with_session()
    a = world.client("a", 1, SESSION)
    a.dispatch(SESSION, action)
    assert (why in a.rejections()[0]) if why else a.rejections() == []


def test_the_policy_has_the_last_word_and_its_rows_share_the_transaction() -> None:
    """C8.1: the decision and its envelope are one transaction."""
    row = PutDecision(Decision("k", "global", "", False, NOW))

    class Strict:
        def admit(self, view: Any, channel: str, kind: str, action: Any, client_id: str, now: str) -> Admit | Refuse:
            return Refuse("not today") if action["title"] == "no" else Admit({**action, "title": "changed"}, (row,))

    world = World(policy=Strict()).with_session()
    a = world.client("a", 1, SESSION)
    world.held = True
    a.dispatch(SESSION, {**TITLE, "title": "no"})
    assert a.rejections() == ["not today"]
    a.dispatch(SESSION, TITLE)
    batch = world.batches[-1]
    assert row in batch.ops
    assert any(getattr(op, "channel", None) == SESSION for op in batch.ops)
    world.pump()
    assert a.envelopes()[-1]["action"]["title"] == "changed"


def test_a_commit_of_the_host_is_one_transaction(world: World) -> None:
    """Architecture §7."""
    world.held = True
    row = PutDecision(Decision("k", "global", "", False, NOW))
    world.commit(
        Act(SESSION, TITLE), Act(CHAT, {"type": "chat/movableChanged", "movable": True}), Also((row,)), token=1
    )
    assert len(world.batches) == 1
    assert len([op for op in world.batches[0].ops if hasattr(op, "body")]) == 2


class Undecided:
    """Holds every title until the host can answer (C4.3)."""

    def admit(self, view: Any, channel: str, kind: str, action: Any, client_id: str, now: str) -> Admit | Hold:
        return Hold("ticket") if action["type"] == "session/titleChanged" else Admit(action)


@pytest.mark.parametrize("answer", ["admitted", "refused", "gone"])
def test_a_held_action_is_answered_once_when_the_host_can_and_holds_nothing_else_up(answer: str) -> None:
    """C4.3: nothing of it has happened before, and no echo has left."""
    world = World(policy=Undecided()).with_session()
    a = world.client("a", 1, SESSION)
    a.dispatch(SESSION, TITLE)
    assert a.envelopes() == []
    assert world.hub.head(SESSION)["title"] == ""
    a.dispatch(SESSION, {"type": "session/isReadChanged", "isRead": True})
    assert [e["action"]["type"] for e in a.envelopes()] == ["session/isReadChanged"]
    row = PutDecision(Decision("k", "global", "", False, NOW))
    world.held = True
    match answer:
        case "admitted":
            world.run(world.hub.settle("ticket", Admit({**TITLE, "title": "resolved"}, (row,))))
            assert row in world.batches[-1].ops
            world.pump()
            assert a.envelopes()[-1]["action"]["title"] == "resolved"
            assert a.envelopes()[-1]["origin"] == {"clientId": "a", "clientSeq": 1}
        case "refused":
            world.run(world.hub.settle("ticket", Refuse("it turned out so")))
            assert a.rejections() == ["it turned out so"]
        case "gone":
            world.commit(Drop(SESSION))
            world.run(world.hub.settle("ticket", Admit(TITLE)))
            world.pump()
            assert len(a.envelopes()) == 1
    assert world.hub.settle("ticket", Admit(TITLE)) == []
