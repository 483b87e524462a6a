"""The tool-call state machine (AHP §9.2).

Each function answers one action for one call and returns the same call when its status does not allow the action.
A transition keeps what identifies a call (ids, names, intention, contributor, `_meta`, fields from newer versions)
and drops what belonged to the status it leaves. `_meta` of an action, when there, replaces the call's.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from innkeeper.protocol.chat.actions import (
    ChatToolCallAuthRequiredAction,
    ChatToolCallAuthResolvedAction,
    ChatToolCallCompleteAction,
    ChatToolCallConfirmedAction,
    ChatToolCallContentChangedAction,
    ChatToolCallDeltaAction,
    ChatToolCallReadyAction,
    ChatToolCallResultConfirmedAction,
    ChatToolCallStartAction,
    ToolCallActionBase,
)
from innkeeper.protocol.chat.state import ChatState
from innkeeper.reduce.chat.parts import Part, active_turn, part_appended, parts_of, with_parts
from innkeeper.reduce.fields import find, merge, present

Call = Mapping[str, Any]
A = TypeVar("A", bound=ToolCallActionBase)

READYABLE = frozenset({"streaming", "running", "pending-confirmation"})
COMPLETABLE = frozenset({"running", "pending-confirmation", "auth-required"})
TERMINAL = frozenset({"completed", "cancelled"})

RESULT_FIELDS = ("success", "pastTenseMessage", "content", "structuredContent", "error")
CONFIRMATION_FIELDS = ("confirmationTitle", "riskAssessment", "edits", "editable", "options")
STATUS_FIELDS = frozenset(
    {
        *("status", "partialInput", "invocationMessage", "toolInput", "confirmed", "selectedOption", "auth"),
        *("reason", "reasonMessage", "userSuggestion"),
        *RESULT_FIELDS,
        *CONFIRMATION_FIELDS,
    }
)
"""Fields that belong to a status and do not outlive it unless a transition carries them."""


IDENTITY_FIELDS = ("toolCallId", "toolName", "displayName", "intention", "contributor", "_meta")
REQUIRED_FIELDS = IDENTITY_FIELDS[:3]
CALL_FIELDS = STATUS_FIELDS.difference(RESULT_FIELDS).union(IDENTITY_FIELDS)
"""Fields only the state machine itself writes."""


def start(state: ChatState, action: ChatToolCallStartAction) -> ChatState:
    """Append a call that is still receiving its input."""
    call = present({field: action.get(field) for field in IDENTITY_FIELDS})
    return part_appended(state, action["turnId"], {"kind": "toolCall", "toolCall": {**call, "status": "streaming"}})


def apply(state: ChatState, action: A, change: Callable[[Call, A], Call]) -> ChatState:
    """Let `change` answer `action` for every part of the active turn with its `toolCallId`."""
    active = active_turn(state, action["turnId"])
    if active is None:
        return state
    changed: list[Part] | None = None
    parts, call_id = parts_of(active), action["toolCallId"]
    for index, part in enumerate(parts):
        if part.get("kind") == "toolCall":
            call: Call = part.get("toolCall") or {}
            if call.get("toolCallId") == call_id and (successor := change(call, action)) is not call:
                changed = changed or list(parts)
                changed[index] = {**part, "toolCall": successor}
    return state if changed is None else with_parts(state, active, changed)


def delta(call: Call, action: ChatToolCallDeltaAction) -> Call:
    """More of the input of a streaming call, and how it is shown meanwhile."""
    if call.get("status") != "streaming":
        return call
    content = action.get("content")
    return merge(
        call,
        {
            "partialInput": None if content is None else (call.get("partialInput") or "") + content,
            "invocationMessage": action.get("invocationMessage"),
            "_meta": action.get("_meta"),
        },
    )


def ready(call: Call, action: ChatToolCallReadyAction) -> Call:
    """Input is complete: run when the action says how that was confirmed, else ask.

    A call may be asked about again, while it runs or while it already waits. Who executes it never changes.
    """
    status = call.get("status")
    if status not in READYABLE:
        return call
    refined = {**call, **_refinement(call, action)}
    tool_input = action.get("toolInput")
    if tool_input is None and status != "streaming":
        tool_input = call.get("toolInput")
    fields: dict[str, Any] = {"invocationMessage": action["invocationMessage"], "toolInput": tool_input}
    if action.get("confirmed") is not None:
        return _to("running", refined, action, {**fields, "confirmed": action["confirmed"]})
    earlier = call if status == "pending-confirmation" else {}
    for field in CONFIRMATION_FIELDS:
        given = action.get(field)
        fields[field] = earlier.get(field) if given is None else given
    return _to("pending-confirmation", refined, action, fields)


def _refinement(call: Call, action: ChatToolCallReadyAction) -> dict[str, Any]:
    """Intention and contributor as the action refines them, unless that would move the execution."""
    owner: Mapping[str, Any] = call.get("contributor") or {}
    offered: Mapping[str, Any] = action.get("contributor") or {}
    moves = "client" in (owner.get("kind"), offered.get("kind"))
    return present({"intention": action.get("intention"), "contributor": None if moves else action.get("contributor")})


def confirmed(call: Call, action: ChatToolCallConfirmedAction) -> Call:
    """The answer to a pending confirmation. An edited input replaces only an inline one (AHP §9.2)."""
    if call.get("status") != "pending-confirmation":
        return call
    options = call.get("options") or ()
    chosen = find(options, "id", action.get("selectedOptionId"))
    fields = _carried(call, "invocationMessage", "toolInput")
    fields["selectedOption"] = options[chosen] if chosen >= 0 else None
    if not action["approved"]:
        fields.update((field, action.get(field)) for field in ("reason", "reasonMessage", "userSuggestion"))
        return _to("cancelled", call, action, fields)
    edited = action.get("editedToolInput")
    if edited is not None and isinstance(call.get("toolInput"), str):
        fields["toolInput"] = edited
    return _to("running", call, action, {**fields, "confirmed": action["confirmed"]})


def complete(call: Call, action: ChatToolCallCompleteAction) -> Call:
    """The result of a call. One that waits for authentication can only fail, and then needs no review."""
    status, result = call.get("status"), action["result"]
    if status not in COMPLETABLE or (status == "auth-required" and result.get("success")):
        return call
    fields = _carried(call, "invocationMessage", "toolInput")
    if status == "pending-confirmation":
        fields["confirmed"] = "not-needed"
    else:
        fields.update(_carried(call, "confirmed", "selectedOption"))
    # The partial content of a call that never resumed is all it ever produced.
    content = call.get("content") if status == "auth-required" else None
    reviewed = bool(action.get("requiresResultConfirmation")) and status != "auth-required"
    target = "pending-result-confirmation" if reviewed else "completed"
    # What a client returns cannot rename the call or claim another status.
    given = {key: value for key, value in present(result).items() if key not in CALL_FIELDS}
    return {**_to(target, call, action, fields), **present({"content": content}), **given}


def result_confirmed(call: Call, action: ChatToolCallResultConfirmedAction) -> Call:
    """The review of a result: kept, or withdrawn from the agent."""
    if call.get("status") != "pending-result-confirmation":
        return call
    if not action["approved"]:
        fields = _carried(call, "invocationMessage", "toolInput", "selectedOption")
        return _to("cancelled", call, action, {**fields, "reason": "result-denied"})
    fields = _carried(call, "invocationMessage", "toolInput", "confirmed", "selectedOption", *RESULT_FIELDS)
    return _to("completed", call, action, fields)


def content_changed(call: Call, action: ChatToolCallContentChangedAction) -> Call:
    """Partial output of a running call, replaced as a whole."""
    if call.get("status") != "running":
        return call
    return merge(call, {"content": action["content"], "_meta": action.get("_meta")})


def auth_required(call: Call, action: ChatToolCallAuthRequiredAction) -> Call:
    """A running call of an MCP server needs a token first."""
    owner: Mapping[str, Any] = call.get("contributor") or {}
    if call.get("status") != "running" or owner.get("kind") != "mcp":
        return call
    return _to("auth-required", call, action, {**_execution(call), "auth": action["auth"]})


def auth_resolved(call: Call, action: ChatToolCallAuthResolvedAction) -> Call:
    """The token is there; the call goes on."""
    return call if call.get("status") != "auth-required" else _to("running", call, action, _execution(call))


def skipped(part: Part) -> Part:
    """`part` as the end of its turn leaves it: a call that did not finish is cancelled."""
    if part.get("kind") != "toolCall":
        return part
    call: Call = part.get("toolCall") or {}
    status = call.get("status")
    # A call of a newer status may lack what a cancelled one must have; it is then better left as it is.
    if status in TERMINAL or not all(isinstance(call.get(field), str) for field in REQUIRED_FIELDS):
        return part
    fields = {"reason": "skipped", "invocationMessage": call.get("invocationMessage")}
    if status != "streaming":
        fields["toolInput"] = call.get("toolInput")
    if fields["invocationMessage"] is None:
        fields["invocationMessage"] = ""
    return {**part, "toolCall": _to("cancelled", call, {}, fields)}


def _to(status: str, call: Call, action: Mapping[str, Any], fields: Mapping[str, Any]) -> Call:
    """The call in `status` with exactly `fields` beside what identifies it."""
    successor = {key: value for key, value in call.items() if key not in STATUS_FIELDS}
    successor.update(fields, status=status)
    if action.get("_meta") is not None:
        successor["_meta"] = action["_meta"]
    return present(successor)


def _carried(call: Call, *fields: str) -> dict[str, Any]:
    return {field: call.get(field) for field in fields}


def _execution(call: Call) -> dict[str, Any]:
    return _carried(call, "invocationMessage", "toolInput", "confirmed", "selectedOption", "content")
