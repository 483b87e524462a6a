"""The checks against every declaration, by rules written a second time (dependencies §1.2; AHP §1)."""

from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import is_typeddict

from harness.declared_examples import (
    KINDS,
    declarations,
    every_member,
    example,
    hints,
    is_closed,
    kinds,
    members_of_union,
    unions,
)
from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.channels import STATES
from innkeeper.protocol.chat.actions import ChatToolCallConfirmedAction
from innkeeper.protocol.chat.state import ChatState, ResponsePart, ToolCallState
from innkeeper.protocol.check import TOLERATED, CheckError, check, check_action, check_params
from innkeeper.protocol.common.state import ConfigSchema
from innkeeper.protocol.methods import METHODS
from innkeeper.protocol.session.state import Customization, SessionState
from innkeeper.protocol.types import Closed
from innkeeper.wire.json import decode, encode

DECLARED = declarations()
UNIONS = unions()
ALL = pytest.mark.parametrize("name", DECLARED)


def refused(declared: Any, value: object, path: str = "x") -> CheckError:
    with pytest.raises(CheckError) as caught:
        check(declared, value, path)
    return caught.value


def test_there_are_declarations_to_test() -> None:
    assert len(DECLARED) > 300
    assert len(UNIONS) > 40


@ALL
def test_a_value_with_what_is_required_passes(name: str) -> None:
    check(DECLARED[name], example(DECLARED[name], full=False))


@ALL
def test_a_value_with_everything_passes_and_survives_the_wire(name: str) -> None:
    value = example(DECLARED[name], full=True)
    check(DECLARED[name], value)
    assert decode(encode(value)) == value


@ALL
def test_null_counts_as_absent(name: str) -> None:
    """AHP §1: peers read `null` as absent."""
    declared = DECLARED[name]
    optional = hints(declared).keys() - declared.__required_keys__
    check(declared, example(declared, full=False) | dict.fromkeys(optional))


@ALL
def test_members_that_nobody_knows_pass(name: str) -> None:
    check(DECLARED[name], example(DECLARED[name], full=True) | {"fromTheFuture": {"nested": [None, 1.5]}})


@ALL
def test_a_required_member_that_is_missing_or_null_is_named(name: str) -> None:
    declared = DECLARED[name]
    whole = example(declared, full=False)
    for key in declared.__required_keys__:
        missing = refused(declared, {other: value for other, value in whole.items() if other != key})
        null = refused(declared, whole | {key: None})
        assert missing.path == null.path == f"x.{key}"
        assert str(missing) == str(null) == f"x.{key}: expected {missing.expected}"
        assert missing.got == null.got == "nothing"


@ALL
def test_a_member_of_another_kind_is_named(name: str) -> None:
    declared = DECLARED[name]
    for key, hint in hints(declared).items():
        for kind in KINDS.keys() - kinds(hint):
            error = refused(declared, example(declared, full=False) | {key: KINDS[kind]})
            assert error.path == f"x.{key}"
            assert error.got == {"integer": "number", "fraction": "number"}.get(kind, kind)


@pytest.mark.parametrize("value", [None, True, 1, "text", []], ids=repr)
def test_what_is_no_object_is_refused(value: object) -> None:
    for declared in DECLARED.values():
        assert str(refused(declared, value)) == "x: expected object"


def test_an_open_enumeration_takes_any_string_and_a_closed_one_does_not() -> None:
    """AHP Appendix A: open enumerations must keep unknown values."""
    counted = {"open": 0, "closed": 0}
    for _, declared, key, hint in every_member():
        literals = [part for part in members_of_union(hint) if get_origin(part) is Literal]
        if not literals or kinds(hint) != {"string"}:
            continue
        value = example(declared, full=False) | {key: "from-the-future"}
        if is_closed(hint):
            error = refused(declared, value)
            assert all(f'"{known}"' in error.expected for known in get_args(hint))
            counted["closed"] += 1
        else:
            check(declared, value)
            counted["open"] += 1
    assert counted["open"] > 25
    assert counted["closed"] > 200


def tag_of(union: Any) -> str | None:
    variants = [part for part in members_of_union(union) if is_typeddict(part)]
    for key in ("approved", "kind", "status", "state", "type"):
        if all(get_origin(hints(variant).get(key)) is Literal for variant in variants):
            return key
    return None


@pytest.mark.parametrize("name", UNIONS)
def test_each_variant_of_a_union_is_checked_by_its_tag(name: str) -> None:
    tag = tag_of(UNIONS[name])
    for variant in members_of_union(UNIONS[name]):
        if not is_typeddict(variant) or tag is None:
            continue
        whole = example(variant, full=False)
        check(UNIONS[name], whole)
        check(UNIONS[name], example(variant, full=True))
        for key in variant.__required_keys__ - {"approved"}:
            without = {other: value for other, value in whole.items() if other != key}
            assert refused(UNIONS[name], without).path == f"x.{key}"


TAGGED = {name: tag for name, union in UNIONS.items() if (tag := tag_of(union)) not in (None, "approved")}
CLOSED = {
    "AutomationDisableCondition",
    "AutomationRunLifecycle",
    "AutomationRunOrigin",
    "AutomationTrigger",
    "ChatInputAnswer",
    "CustomizationLoadState",
    "ReconnectResult",
}


@pytest.mark.parametrize("name", TAGGED)
def test_an_unknown_variant_passes_unless_the_union_is_closed(name: str) -> None:
    """AHP §1: unknown variants are kept verbatim."""
    union, tag = UNIONS[name], TAGGED[name]
    assert tag is not None
    unknown = {tag: "from-the-future", "anything": [1]}
    if name in CLOSED:
        assert refused(union, unknown).path == f"x.{tag}"
    else:
        check(union, unknown)
    assert refused(union, {tag: 5}).path == refused(union, {}).path == f"x.{tag}"


def test_the_closed_unions_are_those_of_the_standard() -> None:
    closed = {name for name, union in UNIONS.items() if Closed in get_args(union)[1:]}
    assert closed == CLOSED


@pytest.mark.parametrize("spec", ACTIONS.values(), ids=lambda spec: spec.type)
def test_an_action_is_checked_by_its_tag(spec: Any) -> None:
    for shape in members_of_union(spec.shape):
        for full in (False, True):
            check_action(example(shape, full))
        for key in shape.__required_keys__ - {"type", "startedAt", "enablement"}:
            action = {other: value for other, value in example(shape, full=False).items() if other != key}
            with pytest.raises(CheckError, match=rf"^action\.{key}: expected "):
                check_action(action)


@pytest.mark.parametrize("name", METHODS)
def test_params_are_checked_by_their_method(name: str) -> None:
    declared: Any = METHODS[name].params
    fixed = METHODS[name].channel in ("root", "automations")
    for full in (False, True):
        check_params(name, example(declared, full))
    for key in declared.__required_keys__ - ({"channel"} if fixed else set()):
        params = {other: value for other, value in example(declared, full=False).items() if other != key}
        with pytest.raises(CheckError, match=rf"^params\.{key}: expected "):
            check_params(name, params)


@pytest.mark.parametrize("name", METHODS)
def test_results_are_checked_by_their_method(name: str) -> None:
    if METHODS[name].result is not None:
        for part in members_of_union(METHODS[name].result):
            check(METHODS[name].result, example(part, full=True), "result")


@pytest.mark.parametrize("kind", STATES)
def test_states_are_checked_by_the_kind_of_their_channel(kind: Any) -> None:
    check(STATES[kind], example(STATES[kind], full=True), "state")
    assert refused(STATES[kind], {}, "state").path.startswith("state.")


def test_actions_and_methods_outside_the_standard_pass() -> None:
    """AHP §1: unknown action types and methods are ignored, not refused."""
    check_action({"type": "x-innkeeper/note", "text": 5})
    check_action({"type": "chat/fromTheFuture"})
    check_params("x-innkeeper/mcp/list", {"a": 1})
    check_params("tools/call", {})


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (5, "action: expected object"),
        ([], "action: expected object"),
        ({}, "action.type: expected string"),
        ({"type": None}, "action.type: expected string"),
        ({"type": 5}, "action.type: expected string"),
        (
            {
                "type": "chat/responsePart",
                "turnId": "t",
                "part": {"kind": "toolCall", "toolCall": {"status": "running"}},
            },
            "action.part.toolCall.toolCallId: expected string",
        ),
        (
            {"type": "chat/toolCallContentChanged", "turnId": "t", "toolCallId": "c", "content": [{"type": "text"}]},
            "action.content[0].text: expected string",
        ),
        (
            {"type": "chat/inputCompleted", "requestId": "r", "response": "accept", "answers": {"q 1": {"state": "x"}}},
            'action.answers.q 1.state: expected "draft", "submitted" or "skipped"',
        ),
        (
            {"type": "chat/pendingMessageSet", "kind": "later", "id": "1", "message": {}},
            'action.kind: expected "steering" or "queued"',
        ),
        ({"type": "chat/turnComplete", "turnId": "t", "duration": True}, "action.duration: expected integer"),
        ({"type": "chat/turnComplete", "turnId": "t", "duration": "5"}, "action.duration: expected integer"),
        (
            {"type": "chat/toolCallReady", "turnId": "t", "toolCallId": "c", "invocationMessage": 5},
            "action.invocationMessage: expected string or object",
        ),
        (
            {"type": "chat/toolCallReady", "turnId": "t", "toolCallId": "c", "invocationMessage": {}},
            "action.invocationMessage.markdown: expected string",
        ),
    ],
    ids=str,
)
def test_an_error_names_the_path(action: object, text: str) -> None:
    """Issue 2 section 2."""
    with pytest.raises(CheckError) as caught:
        check_action(action)
    assert str(caught.value) == text


def test_an_error_repeats_no_value_and_no_long_key() -> None:
    error = refused(
        ConfigSchema, {"type": "object", "properties": {"k" * 500: {"type": "s3cret", "title": ["s3cret"]}}}
    )
    assert "s3cret" not in str(error)
    assert len(str(error)) < 120


def test_approval_and_denial_are_two_shapes_behind_one_tag() -> None:
    """AHP Appendix A: `approved` tells them apart."""
    base = {"type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": "c"}
    check_action(base | {"approved": True, "confirmed": "user-action"})
    check_action(base | {"approved": False, "reason": "denied"})
    assert str(refused(ChatToolCallConfirmedAction, base | {"approved": True})) == "x.confirmed: expected string"
    denied = refused(ChatToolCallConfirmedAction, base | {"approved": False, "reason": "later"})
    assert str(denied) == 'x.reason: expected "denied" or "skipped"'
    for value in (1, 0, "true", None):
        assert str(refused(ChatToolCallConfirmedAction, base | {"approved": value})) == "x.approved: expected boolean"


@pytest.mark.parametrize("duration", [0, 12, 2**40, -1])
def test_an_integer_is_accepted(duration: int) -> None:
    check_action({"type": "chat/turnComplete", "turnId": "t", "duration": duration})


@pytest.mark.parametrize("duration", [12.0, 12.5])
def test_an_integer_written_as_a_fraction_is_refused(duration: float) -> None:
    """AHP §15: it would be passed on as it came, and typed clients could not read it."""
    with pytest.raises(CheckError, match="expected integer"):
        check_action({"type": "chat/turnComplete", "turnId": "t", "duration": duration})


@pytest.mark.parametrize("value", [3, 3.0, 3.5])
def test_a_number_that_may_have_a_fraction_takes_both(value: float) -> None:
    answer = {"state": "draft", "value": {"kind": "number", "value": value}}
    check_action({"type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "q", "answer": answer})


def test_a_clients_turn_may_leave_the_time_to_the_host() -> None:
    """AHP §15: `startedAt` is left out by clients from before 0.6."""
    action = {"type": "chat/turnStarted", "turnId": "t", "message": {"text": "hi", "origin": {"kind": "user"}}}
    check_action(action)
    check_params("dispatchAction", {"channel": "ahp-chat:/1", "clientSeq": 1, "action": action})
    with pytest.raises(CheckError, match=r"action\.startedAt: expected string"):
        check_action(action | {"startedAt": 5})
    assert refused(ACTIONS["chat/turnStarted"].shape, action).path == "x.startedAt"


def test_a_toggle_of_an_old_client_passes() -> None:
    """AHP §15, §10.1: one `enabled` for all scopes before 0.8."""
    check_action({"type": "session/customizationToggled", "id": "c", "enabled": False})
    check_action({"type": "session/customizationToggled", "id": "c", "enablement": []})
    with pytest.raises(CheckError, match=r"action\.enabled: expected boolean"):
        check_action({"type": "session/customizationToggled", "id": "c", "enabled": "no"})


def test_a_session_may_be_created_with_little_or_by_an_old_client() -> None:
    """AHP §15."""
    check_params("createSession", {"channel": "ahp-session:/1"})
    check_params("createSession", {"channel": "copilot:/1", "workingDirectory": "file:///a"})
    with pytest.raises(CheckError, match=r"params\.workingDirectory: expected string"):
        check_params("createSession", {"channel": "ahp-session:/1", "workingDirectory": ["file:///a"]})


@pytest.mark.parametrize("name", [spec.name for spec in METHODS.values() if spec.channel == "root"])
def test_a_fixed_channel_may_be_left_out(name: str) -> None:
    """Issue 2 section 4: `reconnect` with or without `channel`."""
    params = {key: value for key, value in example(METHODS[name].params, full=False).items() if key != "channel"}
    check_params(name, params)
    check_params(name, params | {"channel": None})


def test_every_tolerance_says_why_and_names_real_members() -> None:
    for declared, tolerance in TOLERATED.items():
        assert tolerance.why
        assert tolerance.optional <= hints(declared).keys()
        assert not tolerance.also.keys() & hints(declared).keys()


def test_deep_values_are_refused_without_harm() -> None:
    schema: dict[str, object] = {"type": "array", "title": "t"}
    for _ in range(50_000):
        schema = {"type": "array", "title": "t", "items": schema}
    error = refused(ConfigSchema, {"type": "object", "properties": {"a": schema}})
    assert "less nesting" in str(error)
    while "items" in schema:  # freed level by level, for the interpreter's sake
        schema = schema.pop("items")  # type: ignore[assignment]


def test_a_schema_as_deep_as_a_message_may_be_passes() -> None:
    schema: dict[str, object] = {"type": "array", "title": "t"}
    for _ in range(120):
        schema = {"type": "array", "title": "t", "items": schema}
    check(ConfigSchema, {"type": "object", "properties": {"a": schema}})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["text", "running", "user"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "type", "status", "id", "content", "toolCall", "text"]), inner)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON)
def test_any_value_passes_or_is_refused_with_a_path(value: object) -> None:
    for declared in (ChatState, SessionState, ResponsePart, ToolCallState, Customization):
        try:
            check(declared, value, "x")
        except CheckError as error:
            assert str(error).startswith(f"{error.path}: expected ")
            assert error.path.startswith("x")


@settings(deadline=None)
@given(st.sampled_from(sorted(DECLARED)), st.data())
def test_a_check_never_changes_what_it_reads(name: str, data: st.DataObject) -> None:
    value = example(DECLARED[name], full=True)
    if value:
        value[data.draw(st.sampled_from(sorted(value)))] = data.draw(JSON)
    before = encode(value)
    try:
        check(DECLARED[name], value)
    except CheckError:
        assert encode(value) == before
    assert encode(value) == before


def test_a_declaration_that_says_nothing_about_the_wire_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="no check for"):
        check(set[str], set(), "x")


def test_a_union_of_values_is_checked_by_kind() -> None:
    check(Literal["a", "b"] | str, "c")
    check(str | int | None, None)
    assert str(refused(str | int, 1.5)) == "x: expected string or integer"
    assert str(refused(Literal[True], 1)) == "x: expected true"
    assert str(refused(Literal["a"], "b")) == 'x: expected "a"'
