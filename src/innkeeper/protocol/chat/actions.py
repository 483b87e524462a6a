"""Actions of a chat channel (AHP §7). Durations are milliseconds, times ISO 8601."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.canvas.state import CanvasReference
from innkeeper.protocol.changeset.state import Changeset
from innkeeper.protocol.chat.state import (
    BackgroundWork,
    ChatInputAnswer,
    ChatInputRequest,
    ChatInputResponseKind,
    ConfirmationOption,
    ErrorResponsePart,
    Message,
    PendingMessage,
    PendingMessageKind,
    ResponsePart,
    ToolCallConfirmationReason,
    ToolCallContributor,
    ToolCallResult,
    ToolCallRiskAssessment,
    ToolInput,
    ToolResultContent,
    Turn,
)
from innkeeper.protocol.common.state import FileEditCollection, StringOrMarkdown, UsageInfo
from innkeeper.protocol.session.mcp import McpAuthRequirement
from innkeeper.protocol.types import URI, Meta, NotRequired, ReadOnly, TypedDict


class ChatTurnStartedAction(TypedDict):
    """A message begins a turn; `queuedMessageId` when it came from the queue.

    Required members are those of the standard; a client may leave `startedAt` out (`check.TOLERATED`).
    """

    type: ReadOnly[Literal["chat/turnStarted"]]
    turnId: ReadOnly[str]
    startedAt: ReadOnly[str]
    message: ReadOnly[Message]
    queuedMessageId: NotRequired[ReadOnly[str]]
    _meta: NotRequired[ReadOnly[Meta]]


class ChatDeltaAction(TypedDict):
    """Appends text to a Markdown part."""

    type: ReadOnly[Literal["chat/delta"]]
    turnId: ReadOnly[str]
    partId: ReadOnly[str]
    content: ReadOnly[str]
    _meta: NotRequired[ReadOnly[Meta]]


class ChatReasoningAction(TypedDict):
    """Appends text to a reasoning part."""

    type: ReadOnly[Literal["chat/reasoning"]]
    turnId: ReadOnly[str]
    partId: ReadOnly[str]
    content: ReadOnly[str]
    _meta: NotRequired[ReadOnly[Meta]]


class ChatResponsePartAction(TypedDict):
    """Appends a part; an error part has an action of its own."""

    type: ReadOnly[Literal["chat/responsePart"]]
    turnId: ReadOnly[str]
    part: ReadOnly[ResponsePart]
    _meta: NotRequired[ReadOnly[Meta]]


class ToolCallActionBase(TypedDict):
    """Names the call; `_meta`, when given, replaces the call's."""

    turnId: ReadOnly[str]
    toolCallId: ReadOnly[str]
    _meta: NotRequired[ReadOnly[Meta]]


class ChatToolCallStartAction(ToolCallActionBase):
    """The model begins a call."""

    type: ReadOnly[Literal["chat/toolCallStart"]]
    toolName: ReadOnly[str]
    displayName: ReadOnly[str]
    intention: NotRequired[ReadOnly[str]]
    contributor: NotRequired[ReadOnly[ToolCallContributor]]


class ChatToolCallDeltaAction(ToolCallActionBase):
    """More of the input."""

    type: ReadOnly[Literal["chat/toolCallDelta"]]
    content: NotRequired[ReadOnly[str]]
    invocationMessage: NotRequired[ReadOnly[StringOrMarkdown]]


class ChatToolCallReadyAction(ToolCallActionBase):
    """The input is complete: with `confirmed` the call runs, without it a person is asked."""

    type: ReadOnly[Literal["chat/toolCallReady"]]
    contributor: NotRequired[ReadOnly[ToolCallContributor]]
    intention: NotRequired[ReadOnly[str]]
    invocationMessage: ReadOnly[StringOrMarkdown]
    toolInput: NotRequired[ReadOnly[ToolInput]]
    confirmationTitle: NotRequired[ReadOnly[StringOrMarkdown]]
    riskAssessment: NotRequired[ReadOnly[ToolCallRiskAssessment]]
    edits: NotRequired[ReadOnly[FileEditCollection]]
    editable: NotRequired[ReadOnly[bool]]
    confirmed: NotRequired[ReadOnly[ToolCallConfirmationReason]]
    options: NotRequired[ReadOnly[Sequence[ConfirmationOption]]]


class ChatToolCallApprovedAction(ToolCallActionBase):
    """A person, or a rule, approved the call."""

    type: ReadOnly[Literal["chat/toolCallConfirmed"]]
    approved: ReadOnly[Literal[True]]
    confirmed: ReadOnly[ToolCallConfirmationReason]
    editedToolInput: NotRequired[ReadOnly[str]]
    selectedOptionId: NotRequired[ReadOnly[str]]


class ChatToolCallDeniedAction(ToolCallActionBase):
    """A person denied the call, or skipped it."""

    type: ReadOnly[Literal["chat/toolCallConfirmed"]]
    approved: ReadOnly[Literal[False]]
    reason: ReadOnly[Literal["denied", "skipped"]]
    userSuggestion: NotRequired[ReadOnly[Message]]
    reasonMessage: NotRequired[ReadOnly[StringOrMarkdown]]
    selectedOptionId: NotRequired[ReadOnly[str]]


ChatToolCallConfirmedAction: TypeAlias = ChatToolCallApprovedAction | ChatToolCallDeniedAction
"""Two shapes behind one tag, told apart by `approved`."""


class ChatToolCallCompleteAction(ToolCallActionBase):
    """The call ended; its result may wait for a person's approval."""

    type: ReadOnly[Literal["chat/toolCallComplete"]]
    result: ReadOnly[ToolCallResult]
    requiresResultConfirmation: NotRequired[ReadOnly[bool]]


class ChatToolCallResultConfirmedAction(ToolCallActionBase):
    """A person let the result through, or not."""

    type: ReadOnly[Literal["chat/toolCallResultConfirmed"]]
    approved: ReadOnly[bool]


class ChatToolCallContentChangedAction(ToolCallActionBase):
    """What a running call has so far, whole."""

    type: ReadOnly[Literal["chat/toolCallContentChanged"]]
    content: ReadOnly[Sequence[ToolResultContent]]


class ChatToolCallAuthRequiredAction(ToolCallActionBase):
    """The MCP server of a running call wants a token."""

    type: ReadOnly[Literal["chat/toolCallAuthRequired"]]
    auth: ReadOnly[McpAuthRequirement]


class ChatToolCallAuthResolvedAction(ToolCallActionBase):
    """The token came; the call goes on."""

    type: ReadOnly[Literal["chat/toolCallAuthResolved"]]


class ChatTurnCompleteAction(TypedDict):
    """The turn ended well."""

    type: ReadOnly[Literal["chat/turnComplete"]]
    turnId: ReadOnly[str]
    duration: ReadOnly[int]
    _meta: NotRequired[ReadOnly[Meta]]


class ChatTurnCancelledAction(TypedDict):
    """The turn was stopped."""

    type: ReadOnly[Literal["chat/turnCancelled"]]
    turnId: ReadOnly[str]
    duration: ReadOnly[int]
    _meta: NotRequired[ReadOnly[Meta]]


class ChatErrorAction(TypedDict):
    """The turn ended in an error, its last part."""

    type: ReadOnly[Literal["chat/error"]]
    turnId: ReadOnly[str]
    duration: ReadOnly[int]
    part: ReadOnly[ErrorResponsePart]
    _meta: NotRequired[ReadOnly[Meta]]


class ChatTurnResumeAction(TypedDict):
    """Reopens the latest turn, which ended in a resumable error."""

    type: ReadOnly[Literal["chat/turnResume"]]
    turnId: ReadOnly[str]


class ChatActivityChangedAction(TypedDict):
    """A line on what goes on; absent clears it."""

    type: ReadOnly[Literal["chat/activityChanged"]]
    activity: NotRequired[ReadOnly[str]]


class ChatBackgroundWorkSetAction(TypedDict):
    """Background work began, or changed."""

    type: ReadOnly[Literal["chat/backgroundWorkSet"]]
    work: ReadOnly[BackgroundWork]


class ChatBackgroundWorkRemovedAction(TypedDict):
    """Background work ended."""

    type: ReadOnly[Literal["chat/backgroundWorkRemoved"]]
    id: ReadOnly[str]


class ChatMovableChangedAction(TypedDict):
    """Whether the chat may be moved."""

    type: ReadOnly[Literal["chat/movableChanged"]]
    movable: ReadOnly[bool]


class ChatChangesetsChangedAction(TypedDict):
    """The changesets, whole; absent clears them."""

    type: ReadOnly[Literal["chat/changesetsChanged"]]
    changesets: NotRequired[ReadOnly[Sequence[Changeset]]]


class ChatCanvasesChangedAction(TypedDict):
    """The canvases, whole; absent clears them."""

    type: ReadOnly[Literal["chat/canvasesChanged"]]
    canvases: NotRequired[ReadOnly[Sequence[CanvasReference]]]


class ChatWorkingDirectorySetAction(TypedDict):
    """Adds a directory of the session to the chat's."""

    type: ReadOnly[Literal["chat/workingDirectorySet"]]
    directory: ReadOnly[URI]


class ChatWorkingDirectoryRemovedAction(TypedDict):
    """Takes a directory away from the chat."""

    type: ReadOnly[Literal["chat/workingDirectoryRemoved"]]
    directory: ReadOnly[URI]


class ChatUsageAction(TypedDict):
    """Tokens used by the turn so far."""

    type: ReadOnly[Literal["chat/usage"]]
    turnId: ReadOnly[str]
    usage: ReadOnly[UsageInfo]
    _meta: NotRequired[ReadOnly[Meta]]


class ChatTruncatedAction(TypedDict):
    """Keeps the turns up to `turnId`; absent drops all."""

    type: ReadOnly[Literal["chat/truncated"]]
    turnId: NotRequired[ReadOnly[str]]


class ChatTurnsLoadedAction(TypedDict):
    """Older turns, to be put in front."""

    type: ReadOnly[Literal["chat/turnsLoaded"]]
    turns: ReadOnly[Sequence[Turn]]
    turnsNextCursor: NotRequired[ReadOnly[str]]


class ChatPendingMessageSetAction(TypedDict):
    """Adds or replaces a waiting message."""

    type: ReadOnly[Literal["chat/pendingMessageSet"]]
    kind: ReadOnly[PendingMessageKind]
    id: ReadOnly[str]
    message: ReadOnly[Message]


class ChatPendingMessageRemovedAction(TypedDict):
    """Removes a waiting message."""

    type: ReadOnly[Literal["chat/pendingMessageRemoved"]]
    kind: ReadOnly[PendingMessageKind]
    id: ReadOnly[str]


class ChatQueuedMessagesReorderedAction(TypedDict):
    """The queue's order; messages not named stay at the end."""

    type: ReadOnly[Literal["chat/queuedMessagesReordered"]]
    order: ReadOnly[Sequence[str]]


class ChatSteeringMessageSetAction(TypedDict):
    """Adds or replaces an entry of the steering list. 1.1-dev (AHP §12.1)."""

    type: ReadOnly[Literal["chat/steeringMessageSet"]]
    steeringMessage: ReadOnly[PendingMessage]


class ChatSteeringMessageRemovedAction(TypedDict):
    """Removes an entry of the steering list. 1.1-dev (AHP §12.1)."""

    type: ReadOnly[Literal["chat/steeringMessageRemoved"]]
    id: ReadOnly[str]


class ChatDraftChangedAction(TypedDict):
    """The message being written; absent clears it."""

    type: ReadOnly[Literal["chat/draftChanged"]]
    draft: NotRequired[ReadOnly[Message]]


class ChatIsReadChangedAction(TypedDict):
    """Whether the chat was read."""

    type: ReadOnly[Literal["chat/isReadChanged"]]
    isRead: ReadOnly[bool]


class ChatIsArchivedChangedAction(TypedDict):
    """Whether the chat is archived."""

    type: ReadOnly[Literal["chat/isArchivedChanged"]]
    isArchived: ReadOnly[bool]


class ChatInputRequestedAction(TypedDict):
    """Questions to a person, new or changed."""

    type: ReadOnly[Literal["chat/inputRequested"]]
    request: ReadOnly[ChatInputRequest]


class ChatInputAnswerChangedAction(TypedDict):
    """One answer, as it is being given; absent clears it."""

    type: ReadOnly[Literal["chat/inputAnswerChanged"]]
    requestId: ReadOnly[str]
    questionId: ReadOnly[str]
    answer: NotRequired[ReadOnly[ChatInputAnswer]]


class ChatInputCompletedAction(TypedDict):
    """The person is done; `answers` go over the ones given before."""

    type: ReadOnly[Literal["chat/inputCompleted"]]
    requestId: ReadOnly[str]
    response: ReadOnly[ChatInputResponseKind]
    answers: NotRequired[ReadOnly[Mapping[str, ChatInputAnswer]]]


ChatAction: TypeAlias = (
    ChatTurnStartedAction
    | ChatDeltaAction
    | ChatReasoningAction
    | ChatResponsePartAction
    | ChatToolCallStartAction
    | ChatToolCallDeltaAction
    | ChatToolCallReadyAction
    | ChatToolCallApprovedAction
    | ChatToolCallDeniedAction
    | ChatToolCallCompleteAction
    | ChatToolCallResultConfirmedAction
    | ChatToolCallContentChangedAction
    | ChatToolCallAuthRequiredAction
    | ChatToolCallAuthResolvedAction
    | ChatTurnCompleteAction
    | ChatTurnCancelledAction
    | ChatErrorAction
    | ChatTurnResumeAction
    | ChatActivityChangedAction
    | ChatBackgroundWorkSetAction
    | ChatBackgroundWorkRemovedAction
    | ChatMovableChangedAction
    | ChatChangesetsChangedAction
    | ChatCanvasesChangedAction
    | ChatWorkingDirectorySetAction
    | ChatWorkingDirectoryRemovedAction
    | ChatUsageAction
    | ChatTruncatedAction
    | ChatTurnsLoadedAction
    | ChatPendingMessageSetAction
    | ChatPendingMessageRemovedAction
    | ChatQueuedMessagesReorderedAction
    | ChatSteeringMessageSetAction
    | ChatSteeringMessageRemovedAction
    | ChatDraftChangedAction
    | ChatIsReadChangedAction
    | ChatIsArchivedChangedAction
    | ChatInputRequestedAction
    | ChatInputAnswerChangedAction
    | ChatInputCompletedAction
)
