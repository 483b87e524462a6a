"""The table of actions against the standard's figures and lists (AHP §7)."""

from collections import Counter
from typing import get_args

import pytest
from typing_extensions import get_type_hints

from innkeeper.protocol import actions
from innkeeper.protocol.actions import ACTIONS, ActionSpec
from innkeeper.protocol.channels import STATES, ChannelKind
from innkeeper.protocol.compiler import bare, parts
from innkeeper.protocol.versions import parse

FOR_CLIENTS = [
    "root/configChanged",
    "session/titleChanged",
    "session/isReadChanged",
    "session/isArchivedChanged",
    "session/activeClientSet",
    "session/activeClientRemoved",
    "session/workingDirectorySet",
    "session/workingDirectoryRemoved",
    "session/workingDirectoryReplaced",
    "session/customizationToggled",
    "session/mcpServerStartRequested",
    "session/mcpServerStopRequested",
    "session/mcpServerBackgroundRequested",
    "session/configChanged",
    "chat/turnStarted",
    "chat/toolCallConfirmed",
    "chat/toolCallComplete",
    "chat/toolCallResultConfirmed",
    "chat/toolCallContentChanged",
    "chat/turnCancelled",
    "chat/turnResume",
    "chat/truncated",
    "chat/pendingMessageSet",
    "chat/pendingMessageRemoved",
    "chat/queuedMessagesReordered",
    "chat/draftChanged",
    "chat/inputAnswerChanged",
    "chat/inputCompleted",
    "chat/workingDirectorySet",
    "chat/workingDirectoryRemoved",
    "chat/isReadChanged",
    "chat/isArchivedChanged",
    "terminal/input",
    "terminal/resized",
    "terminal/claimed",
    "terminal/titleChanged",
    "terminal/cleared",
    "changeset/filesReviewChanged",
    "annotations/set",
    "annotations/updated",
    "annotations/removed",
    "annotations/entrySet",
    "annotations/entryRemoved",
    "automation/createRequested",
    "automation/updateRequested",
    "automation/removed",
    "automationRun/cancelRequested",
]
FOR_CLIENTS_1_1 = ["session/artifactRemoved", "chat/steeringMessageSet", "chat/steeringMessageRemoved"]
STREAMING = [
    "chat/delta",
    "chat/reasoning",
    "chat/toolCallDelta",
    "chat/toolCallContentChanged",
    "chat/activityChanged",
    "session/activityChanged",
    "terminal/data",
]
CHANNEL_UNIONS = [
    actions.RootAction,
    actions.SessionAction,
    actions.ChatAction,
    actions.TerminalAction,
    actions.ChangesetAction,
    actions.AnnotationsAction,
    actions.ResourceWatchAction,
    actions.CanvasAction,
    actions.AutomationAction,
    actions.AutomationRunAction,
]


def released() -> list[ActionSpec]:
    return [spec for spec in ACTIONS.values() if spec.since != "1.1.0"]


def tag(shape: object) -> str:
    hints = get_type_hints(shape, include_extras=True)
    (value,) = get_args(bare(hints["type"]))
    assert isinstance(value, str)
    return value


def test_version_1_0_has_106_types_and_47_for_clients() -> None:
    assert len(released()) == 106
    assert sum(spec.client_dispatchable for spec in released()) == 47


def test_the_development_version_has_110_types_and_50_for_clients() -> None:
    assert len(ACTIONS) == 110
    assert sum(spec.client_dispatchable for spec in ACTIONS.values()) == 50


def test_clients_may_dispatch_exactly_what_the_standard_says() -> None:
    found = {spec.type for spec in ACTIONS.values() if spec.client_dispatchable}
    assert found == {*FOR_CLIENTS, *FOR_CLIENTS_1_1}


def test_exactly_the_streaming_actions_may_leave_before_they_are_durable() -> None:
    assert {spec.type for spec in ACTIONS.values() if spec.volatile} == set(STREAMING)


def test_each_row_has_the_shape_of_its_tag() -> None:
    for spec in ACTIONS.values():
        assert {tag(shape) for shape in parts(spec.shape)} == {spec.type}


def test_each_row_is_on_the_channel_of_its_union() -> None:
    by_kind: dict[ChannelKind, set[str]] = {}
    for spec in ACTIONS.values():
        by_kind.setdefault(spec.channel, set()).add(spec.type)
    unions = [{tag(shape) for shape in parts(union)} for union in CHANNEL_UNIONS]
    assert sorted(map(sorted, by_kind.values())) == sorted(map(sorted, unions))
    assert by_kind.keys() == STATES.keys()


def test_the_union_of_all_actions_has_every_type() -> None:
    counted = Counter(tag(shape) for shape in parts(actions.StateAction))
    assert counted.keys() == ACTIONS.keys()
    assert {name: count for name, count in counted.items() if count > 1} == {"chat/toolCallConfirmed": 2}


def test_every_version_is_one_that_exists() -> None:
    known = {"0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.5.1", "0.5.2", "0.6.0", "0.7.0", "0.8.0", "0.9.0"}
    assert {spec.since for spec in ACTIONS.values()} <= known | {"0.10.0", "1.1.0"}
    assert all(parse(spec.since) for spec in ACTIONS.values())


@pytest.mark.parametrize(
    ("type", "since"),
    [
        ("session/ready", "0.1.0"),
        ("session/chatAdded", "0.4.0"),
        ("session/workingDirectoryReplaced", "0.8.0"),
        ("session/inputNeededSet", "0.5.1"),
        ("session/mcpServerStopRequested", "0.5.2"),
        ("chat/toolCallAuthRequired", "0.6.0"),
        ("chat/turnResume", "0.9.0"),
        ("chat/canvasesChanged", "0.10.0"),
        ("canvas/stateChanged", "0.10.0"),
        ("chat/steeringMessageSet", "1.1.0"),
    ],
)
def test_a_row_says_when_its_type_appeared(type: str, since: str) -> None:
    assert ACTIONS[type].since == since


def test_the_steering_list_is_behind_its_capability() -> None:
    """AHP §12.1."""
    gated = {spec.type for spec in ACTIONS.values() if spec.capability}
    assert gated == {"chat/steeringMessageSet", "chat/steeringMessageRemoved"}


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        ACTIONS["x"] = ACTIONS["chat/delta"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        ACTIONS["chat/delta"].since = "9.9.9"  # type: ignore[misc]
