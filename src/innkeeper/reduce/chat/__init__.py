"""Reducer of a chat channel (AHP §7, Chat; §9.2, §9.7, §9.8). Topics live in the modules of this package."""

from typing import TypeAlias, assert_never

from innkeeper.protocol.chat.actions import (
    ChatAction,
    ChatActivityChangedAction,
    ChatBackgroundWorkRemovedAction,
    ChatBackgroundWorkSetAction,
    ChatCanvasesChangedAction,
    ChatChangesetsChangedAction,
    ChatIsArchivedChangedAction,
    ChatIsReadChangedAction,
    ChatMovableChangedAction,
    ChatPendingMessageRemovedAction,
    ChatPendingMessageSetAction,
    ChatQueuedMessagesReorderedAction,
    ChatSteeringMessageRemovedAction,
    ChatSteeringMessageSetAction,
    ChatToolCallAuthRequiredAction,
    ChatToolCallAuthResolvedAction,
    ChatToolCallCompleteAction,
    ChatToolCallConfirmedAction,
    ChatToolCallContentChangedAction,
    ChatToolCallDeltaAction,
    ChatToolCallReadyAction,
    ChatToolCallResultConfirmedAction,
    ChatToolCallStartAction,
    ChatWorkingDirectoryRemovedAction,
    ChatWorkingDirectorySetAction,
)
from innkeeper.protocol.chat.state import ChatState
from innkeeper.protocol.status import IS_ARCHIVED, IS_READ
from innkeeper.reduce.chat import input_requests, pending, tool_calls, turns
from innkeeper.reduce.chat.parts import part_appended, text_appended
from innkeeper.reduce.chat.summary import refreshed
from innkeeper.reduce.fields import add_item, drop, drop_item, put, upsert
from innkeeper.reduce.status import with_flag

FieldAction: TypeAlias = (
    ChatActivityChangedAction
    | ChatIsReadChangedAction
    | ChatIsArchivedChangedAction
    | ChatMovableChangedAction
    | ChatChangesetsChangedAction
    | ChatCanvasesChangedAction
    | ChatWorkingDirectorySetAction
    | ChatWorkingDirectoryRemovedAction
    | ChatBackgroundWorkSetAction
    | ChatBackgroundWorkRemovedAction
    | ChatPendingMessageSetAction
    | ChatPendingMessageRemovedAction
    | ChatQueuedMessagesReorderedAction
    | ChatSteeringMessageSetAction
    | ChatSteeringMessageRemovedAction
)
"""Actions on single fields and lists of a chat."""

ToolCallAction: TypeAlias = (
    ChatToolCallStartAction
    | ChatToolCallDeltaAction
    | ChatToolCallReadyAction
    | ChatToolCallConfirmedAction
    | ChatToolCallCompleteAction
    | ChatToolCallResultConfirmedAction
    | ChatToolCallContentChangedAction
    | ChatToolCallAuthRequiredAction
    | ChatToolCallAuthResolvedAction
)
"""Actions of the tool-call state machine."""


def reduce_chat(state: ChatState, action: ChatAction) -> ChatState:
    """The chat state after `action`."""
    match action["type"]:
        case "chat/delta":
            return text_appended(state, action, "markdown")
        case "chat/reasoning":
            return text_appended(state, action, "reasoning")
        case "chat/draftChanged":
            return put(state, "draft", action.get("draft"))
        case "chat/responsePart":
            # An error part ends its turn, so it only ever comes with `chat/error`.
            is_error = action["part"].get("kind") == "error"
            return state if is_error else part_appended(state, action["turnId"], action["part"])
        case "chat/turnStarted":
            return turns.started(state, action)
        case "chat/turnComplete":
            return turns.ended(state, action, "complete")
        case "chat/turnCancelled":
            return turns.ended(state, action, "cancelled")
        case "chat/error":
            return turns.ended(state, action, "error", action["part"])
        case "chat/turnResume":
            return turns.resumed(state, action["turnId"])
        case "chat/usage":
            return turns.used(state, action)
        case "chat/truncated":
            return turns.truncated(state, action.get("turnId"))
        case "chat/turnsLoaded":
            return turns.loaded(state, action)
        case "chat/inputRequested":
            return input_requests.requested(state, action["request"])
        case "chat/inputAnswerChanged":
            return input_requests.answer_changed(state, action)
        case "chat/inputCompleted":
            return input_requests.completed(state, action)
        case _:
            return _reduce_tool_calls(state, action)


def _reduce_tool_calls(state: ChatState, action: ToolCallAction | FieldAction) -> ChatState:
    match action["type"]:
        case "chat/toolCallStart":
            return tool_calls.start(state, action)
        case "chat/toolCallDelta":
            return tool_calls.apply(state, action, tool_calls.delta)
        case "chat/toolCallContentChanged":
            return tool_calls.apply(state, action, tool_calls.content_changed)
        case "chat/toolCallReady":
            changed = tool_calls.apply(state, action, tool_calls.ready)
        case "chat/toolCallConfirmed":
            changed = tool_calls.apply(state, action, tool_calls.confirmed)
        case "chat/toolCallComplete":
            changed = tool_calls.apply(state, action, tool_calls.complete)
        case "chat/toolCallResultConfirmed":
            changed = tool_calls.apply(state, action, tool_calls.result_confirmed)
        case "chat/toolCallAuthRequired":
            changed = tool_calls.apply(state, action, tool_calls.auth_required)
        case "chat/toolCallAuthResolved":
            changed = tool_calls.apply(state, action, tool_calls.auth_resolved)
        case _:
            return _reduce_fields(state, action)
    return state if changed is state else refreshed(changed)


def _reduce_fields(state: ChatState, action: FieldAction) -> ChatState:
    match action["type"]:
        case "chat/activityChanged":
            return put(state, "activity", action.get("activity"))
        case "chat/isReadChanged":
            return _flagged(state, IS_READ, action["isRead"])
        case "chat/isArchivedChanged":
            return _flagged(state, IS_ARCHIVED, action["isArchived"])
        case "chat/movableChanged":
            return put(state, "movable", action["movable"])
        case "chat/changesetsChanged":
            return put(state, "changesets", action.get("changesets"))
        case "chat/canvasesChanged":
            return put(state, "canvases", action.get("canvases"))
        case "chat/workingDirectorySet":
            return add_item(state, "workingDirectories", action["directory"])
        case "chat/workingDirectoryRemoved":
            return drop_item(state, "workingDirectories", action["directory"])
        case "chat/backgroundWorkSet":
            return upsert(state, "backgroundWork", action["work"])
        case "chat/backgroundWorkRemoved":
            return drop(state, "backgroundWork", action["id"])
        case "chat/pendingMessageSet":
            return pending.message_set(state, action)
        case "chat/pendingMessageRemoved":
            return pending.message_removed(state, action)
        case "chat/queuedMessagesReordered":
            return pending.reordered(state, action["order"])
        case "chat/steeringMessageSet":
            return upsert(state, "steeringMessages", action["steeringMessage"])
        case "chat/steeringMessageRemoved":
            return drop(state, "steeringMessages", action["id"], keep_empty=False)
        case _ as unknown:
            assert_never(unknown)


def _flagged(state: ChatState, flag: int, on: bool) -> ChatState:
    return put(state, "status", with_flag(state.get("status") or 0, flag, on))
