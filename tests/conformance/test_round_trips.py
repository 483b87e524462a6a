"""The shared round trips: check, store, send again, and nothing is lost (issue 2 section 3).

Each payload is decoded at the door, checked against its declaration, written to a file, read back and encoded. What
comes out must be what went in, value by value and member by member: `preservedOutput` where a fixture has one (its
`KNOWN-FIDELITY-GAPS.md`, group B), else the one acceptable output.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from innkeeper.protocol.actions import StateAction
from innkeeper.protocol.annotations.state import AnnotationsState
from innkeeper.protocol.automation.state import AutomationState
from innkeeper.protocol.automation_run.state import AutomationRunState
from innkeeper.protocol.canvas.state import CanvasState
from innkeeper.protocol.changeset.commands import ChangesetOperationTarget
from innkeeper.protocol.changeset.state import ChangesetState
from innkeeper.protocol.chat.commands import ChatSource
from innkeeper.protocol.chat.state import ChatInputQuestion, ChatState
from innkeeper.protocol.check import check
from innkeeper.protocol.common.actions import ActionEnvelope
from innkeeper.protocol.common.commands import (
    Implementation,
    InitializeResult,
    ReconnectParams,
    SubscribeParams,
    SubscribeResult,
)
from innkeeper.protocol.common.flow import ChannelFrameParams
from innkeeper.protocol.common.snapshot import Snapshot
from innkeeper.protocol.common.state import StringOrMarkdown
from innkeeper.protocol.root.notifications import SessionAddedParams
from innkeeper.protocol.root.state import RootState
from innkeeper.protocol.session.state import Customization, PartialSessionSummary, SessionState, SessionSummary
from innkeeper.protocol.status import SessionStatus
from innkeeper.protocol.tcp.commands import CreateTcpConnectionParams
from innkeeper.protocol.tcp.notifications import TcpDataParams
from innkeeper.protocol.terminal.state import TerminalState
from innkeeper.wire.json import decode, encode
from innkeeper.wire.jsonrpc import (
    Notification,
    Request,
    Response,
    classify,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)

FOLDERS = {"round-trips": 66, "round-trips-1.1.0-dev": 10}
TYPES: Mapping[str, Any] = {
    "ActionEnvelope": ActionEnvelope,
    "ChangesetOperationTarget": ChangesetOperationTarget,
    "ChannelFrameParams": ChannelFrameParams,
    "ChatInputQuestion": ChatInputQuestion,
    "ChatSource": ChatSource,
    "CreateTcpConnectionParams": CreateTcpConnectionParams,
    "Customization": Customization,
    "Implementation": Implementation,
    "InitializeResult": InitializeResult,
    "PartialSessionSummary": PartialSessionSummary,
    "ReconnectParams": ReconnectParams,
    "SessionAddedParams": SessionAddedParams,
    "SessionStatus": SessionStatus,
    "SessionSummary": SessionSummary,
    "Snapshot": Snapshot,
    "StateAction": StateAction,
    "StringOrMarkdown": StringOrMarkdown,
    "SubscribeParams": SubscribeParams,
    "SubscribeResult": SubscribeResult,
    "TcpDataParams": TcpDataParams,
}
STATES: Mapping[str, Any] = {
    "ahp-root": RootState,
    "ahp-session": SessionState,
    "ahp-chat": ChatState,
    "ahp-terminal": TerminalState,
    "ahp-automations": AutomationState,
    "ahp-automation-run": AutomationRunState,
    "ahp-canvas": CanvasState,
    "ahp-changeset": ChangesetState,
}


def fixtures(shared: Path, folder: str) -> dict[str, Any]:
    paths = sorted((shared / "ahp" / "fixtures" / folder).glob("*.json"))
    return {path.name: json.loads(path.read_text("utf-8")) for path in paths}


def expected(fixture: Mapping[str, Any]) -> object:
    assert len(fixture["acceptableOutputs"]) == 1
    return fixture.get("preservedOutput", fixture["acceptableOutputs"][0])


def through_the_door(value: object, folder: Path) -> object:
    """Into a file and out again."""
    stored = folder / "stored.json"
    stored.write_bytes(encode(decode(json.dumps(value))))
    return decode(stored.read_bytes())


def check_snapshots(value: Any) -> None:
    """A snapshot's state says nothing about its kind; these fixtures' URIs do."""
    snapshots = [value, *value.get("snapshots", ())] if isinstance(value, dict) else []
    for snapshot in snapshots:
        if isinstance(snapshot, dict) and "state" in snapshot and "fromSeq" in snapshot:
            check(STATES[snapshot["resource"].partition(":")[0]], snapshot["state"], "state")


def send_again(value: object) -> object:
    """A JSON-RPC message read and written by our own hands."""
    match classify(value):
        case Request(id, method, params):
            assert isinstance(id, int)
            return decode(encode_request(id, method, params))
        case Notification(method, params):
            return decode(encode_notification(method, params))
        case Response(id, _, error) if error is not None:
            return decode(encode_error(id, error.code, error.message, error.data))
        case Response(id, result):
            return decode(encode_result(id, result))
        case invalid:
            raise AssertionError(invalid)


def same(left: object, right: object) -> bool:
    """Equal values, and equal kinds: 1 is not true, 12 is not 12.0, null is not absence."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_shared_round_trip_is_run(shared: Path, folder: str) -> None:
    found = fixtures(shared, folder)
    assert len(found) == FOLDERS[folder]
    assert {fixture["type"] for fixture in found.values()} <= TYPES.keys() | {"JsonRpcMessage"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_shared_round_trip_comes_out_as_it_went_in(shared: Path, tmp_path: Path, folder: str) -> None:
    """Issue 2 section 3; dependencies §1.1: we assert `preservedOutput`."""
    failed = []
    for name, fixture in fixtures(shared, folder).items():
        value = through_the_door(fixture["input"], tmp_path)
        if fixture["type"] == "JsonRpcMessage":
            value = send_again(value)
        else:
            check(TYPES[fixture["type"]], value, fixture["type"])
            check_snapshots(value)
        if not same(value, expected(fixture)):
            failed.append(name)
    assert failed == []


def test_null_and_absence_stay_apart_on_the_way_through(tmp_path: Path) -> None:
    value = {"resource": "a:b", "activity": None, "n": 1, "f": 1.5, "t": True}
    assert same(through_the_door(value, tmp_path), value)
    assert not same({"a": None}, {})
    assert not same({"a": 1}, {"a": True})
    assert not same({"a": 1}, {"a": 1.0})


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (StateAction, {"type": "chat/fromTheFuture", "anything": [1, None, {"deep": 1.5}]}),
        (StateAction, {"type": "x-acme/note", "text": "t"}),
        (Customization, {"type": "theme", "id": "1", "uri": "a:b", "name": "n", "colour": "red"}),
        (ChatSource, {"kind": "merge", "chats": ["a:b"]}),
        (ChatInputQuestion, {"kind": "date", "id": "1", "message": "When?"}),
        (SessionStatus, 2**31 + 24),
        (AnnotationsState, {"annotations": [], "filter": "open"}),
        (
            SessionSummary,
            {
                "resource": "a:b",
                "provider": "p",
                "title": "t",
                "status": 2**20,
                "createdAt": "c",
                "modifiedAt": "m",
                "origin": {"kind": "email", "from": "a@b"},
                "artifacts": [{"type": "link", "relations": [{"kind": "guessed"}]}],
                "fromTheFuture": {"a": 1},
            },
        ),
        (
            ChatState,
            {
                "resource": "a:b",
                "title": "t",
                "status": 1,
                "modifiedAt": "m",
                "turns": [
                    {
                        "id": "1",
                        "message": {"text": "t", "origin": {"kind": "robot"}, "attachments": [{"type": "video"}]},
                        "responseParts": [
                            {"kind": "hologram", "beams": 3},
                            {"kind": "toolCall", "toolCall": {"status": "dreaming", "toolCallId": "c"}},
                        ],
                        "state": "complete",
                    }
                ],
                "backgroundWork": [{"kind": "download"}],
            },
        ),
        (
            TerminalState,
            {
                "title": "t",
                "content": [{"type": "image", "data": ""}],
                "lifecycle": {"status": "paused"},
                "claim": {"kind": "robot"},
            },
        ),
    ],
)
def test_what_we_do_not_know_survives(declared: Any, value: object, tmp_path: Path) -> None:
    """AHP §1: unknown fields, variants and enum values are kept verbatim."""
    check(declared, value)
    assert same(through_the_door(value, tmp_path), value)
