"""State of a chat channel; every name of AHP Appendix A, `channels-chat/state`, can be imported from here."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.canvas.state import CanvasReference
from innkeeper.protocol.changeset.state import Changeset
from innkeeper.protocol.chat.input import (
    ChatInputAnswer,
    ChatInputAnswered,
    ChatInputAnswerState,
    ChatInputAnswerValue,
    ChatInputAnswerValueKind,
    ChatInputBooleanAnswerValue,
    ChatInputBooleanQuestion,
    ChatInputMultiSelectQuestion,
    ChatInputNumberAnswerValue,
    ChatInputNumberQuestion,
    ChatInputOption,
    ChatInputQuestion,
    ChatInputQuestionBase,
    ChatInputQuestionKind,
    ChatInputRequest,
    ChatInputResponseKind,
    ChatInputSelectedAnswerValue,
    ChatInputSelectedManyAnswerValue,
    ChatInputSingleSelectQuestion,
    ChatInputSkipped,
    ChatInputTextAnswerValue,
    ChatInputTextQuestion,
)
from innkeeper.protocol.chat.messages import (
    Message,
    MessageAnnotationsAttachment,
    MessageAttachment,
    MessageAttachmentBase,
    MessageAttachmentKind,
    MessageChatAttachment,
    MessageEmbeddedResourceAttachment,
    MessageKind,
    MessageOrigin,
    MessageResourceAttachment,
    PendingMessage,
    PendingMessageKind,
    SimpleMessageAttachment,
)
from innkeeper.protocol.chat.tools import (
    ConfirmationOption,
    ConfirmationOptionKind,
    TerminalCommandResult,
    ToolCallAuthRequiredState,
    ToolCallBase,
    ToolCallCancellationReason,
    ToolCallCancelledState,
    ToolCallClientContributor,
    ToolCallCompletedState,
    ToolCallConfirmationReason,
    ToolCallConfirmationState,
    ToolCallContributor,
    ToolCallContributorKind,
    ToolCallError,
    ToolCallIdentity,
    ToolCallMcpContributor,
    ToolCallParameterFields,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallPostConfirmationFields,
    ToolCallResult,
    ToolCallRiskAssessment,
    ToolCallRiskAssessmentBase,
    ToolCallRiskAssessmentCompleteState,
    ToolCallRiskAssessmentKind,
    ToolCallRiskAssessmentLoadingState,
    ToolCallRiskAssessmentStatus,
    ToolCallRunningState,
    ToolCallState,
    ToolCallStatus,
    ToolCallStreamingState,
    ToolInput,
    ToolResultContent,
    ToolResultContentType,
    ToolResultEmbeddedResourceContent,
    ToolResultFileEditContent,
    ToolResultResourceContent,
    ToolResultSubagentContent,
    ToolResultTerminalContent,
    ToolResultTextContent,
)
from innkeeper.protocol.chat.turns import (
    ActiveTurn,
    ErrorResponsePart,
    InputRequestResponsePart,
    MarkdownResponsePart,
    ReasoningResponsePart,
    ResourceResponsePart,
    ResponsePart,
    ResponsePartKind,
    SystemNotificationResponsePart,
    ToolCallResponsePart,
    Turn,
    TurnState,
)
from innkeeper.protocol.session.values import ChangesSummary
from innkeeper.protocol.status import SessionStatus
from innkeeper.protocol.types import URI, Meta, NotRequired, ReadOnly, TypedDict

__all__ = [
    "ActiveTurn",
    "BackgroundShellWork",
    "BackgroundSubagentWork",
    "BackgroundWork",
    "BackgroundWorkBase",
    "BackgroundWorkKind",
    "ChatInputAnswer",
    "ChatInputAnswerState",
    "ChatInputAnswerValue",
    "ChatInputAnswerValueKind",
    "ChatInputAnswered",
    "ChatInputBooleanAnswerValue",
    "ChatInputBooleanQuestion",
    "ChatInputMultiSelectQuestion",
    "ChatInputNumberAnswerValue",
    "ChatInputNumberQuestion",
    "ChatInputOption",
    "ChatInputQuestion",
    "ChatInputQuestionBase",
    "ChatInputQuestionKind",
    "ChatInputRequest",
    "ChatInputResponseKind",
    "ChatInputSelectedAnswerValue",
    "ChatInputSelectedManyAnswerValue",
    "ChatInputSingleSelectQuestion",
    "ChatInputSkipped",
    "ChatInputTextAnswerValue",
    "ChatInputTextQuestion",
    "ChatInteractivity",
    "ChatOrigin",
    "ChatOriginKind",
    "ChatState",
    "ChatSummary",
    "ConfirmationOption",
    "ConfirmationOptionKind",
    "ErrorResponsePart",
    "ForkChatOrigin",
    "InputRequestResponsePart",
    "MarkdownResponsePart",
    "Message",
    "MessageAnnotationsAttachment",
    "MessageAttachment",
    "MessageAttachmentBase",
    "MessageAttachmentKind",
    "MessageChatAttachment",
    "MessageEmbeddedResourceAttachment",
    "MessageKind",
    "MessageOrigin",
    "MessageResourceAttachment",
    "PartialChatSummary",
    "PendingMessage",
    "PendingMessageKind",
    "ReasoningResponsePart",
    "ResourceResponsePart",
    "ResponsePart",
    "ResponsePartKind",
    "SideChatOrigin",
    "SideChatSelection",
    "SimpleMessageAttachment",
    "SystemNotificationResponsePart",
    "TerminalCommandResult",
    "ToolCallAuthRequiredState",
    "ToolCallBase",
    "ToolCallCancellationReason",
    "ToolCallCancelledState",
    "ToolCallClientContributor",
    "ToolCallCompletedState",
    "ToolCallConfirmationReason",
    "ToolCallConfirmationState",
    "ToolCallContributor",
    "ToolCallContributorKind",
    "ToolCallError",
    "ToolCallIdentity",
    "ToolCallMcpContributor",
    "ToolCallParameterFields",
    "ToolCallPendingConfirmationState",
    "ToolCallPendingResultConfirmationState",
    "ToolCallPostConfirmationFields",
    "ToolCallResponsePart",
    "ToolCallResult",
    "ToolCallRiskAssessment",
    "ToolCallRiskAssessmentBase",
    "ToolCallRiskAssessmentCompleteState",
    "ToolCallRiskAssessmentKind",
    "ToolCallRiskAssessmentLoadingState",
    "ToolCallRiskAssessmentStatus",
    "ToolCallRunningState",
    "ToolCallState",
    "ToolCallStatus",
    "ToolCallStreamingState",
    "ToolChatOrigin",
    "ToolInput",
    "ToolResultContent",
    "ToolResultContentType",
    "ToolResultEmbeddedResourceContent",
    "ToolResultFileEditContent",
    "ToolResultResourceContent",
    "ToolResultSubagentContent",
    "ToolResultTerminalContent",
    "ToolResultTextContent",
    "Turn",
    "TurnState",
    "UserChatOrigin",
]

ChatOriginKind: TypeAlias = Literal["user", "fork", "sideChat", "tool"] | str
ChatInteractivity: TypeAlias = Literal["full", "read-only", "hidden"]
BackgroundWorkKind: TypeAlias = Literal["shell", "subagent"] | str


class SideChatSelection(TypedDict):
    """The text a side chat is about, word for word, and the part it is from."""

    text: ReadOnly[str]
    responsePartId: NotRequired[ReadOnly[str]]


class UserChatOrigin(TypedDict):
    """A person began the chat."""

    kind: ReadOnly[Literal["user"]]


class ForkChatOrigin(TypedDict):
    """The chat goes on from a copy of another one, up to a turn."""

    kind: ReadOnly[Literal["fork"]]
    chat: ReadOnly[URI]
    turnId: ReadOnly[str]


class SideChatOrigin(TypedDict):
    """The chat has its own history and knows that of another one, up to a turn."""

    kind: ReadOnly[Literal["sideChat"]]
    chat: ReadOnly[URI]
    turnId: ReadOnly[str]
    selection: NotRequired[ReadOnly[SideChatSelection]]


class ToolChatOrigin(TypedDict):
    """A tool call of another chat began it (a subagent)."""

    kind: ReadOnly[Literal["tool"]]
    chat: ReadOnly[URI]
    toolCallId: ReadOnly[str]


ChatOrigin: TypeAlias = UserChatOrigin | ForkChatOrigin | SideChatOrigin | ToolChatOrigin


class BackgroundWorkBase(TypedDict):
    """What all background work has."""

    id: ReadOnly[str]
    label: ReadOnly[str]
    startedAt: ReadOnly[str]
    _meta: NotRequired[ReadOnly[Meta]]


class BackgroundShellWork(BackgroundWorkBase):
    """A command."""

    kind: ReadOnly[Literal["shell"]]
    command: ReadOnly[str]
    terminal: NotRequired[ReadOnly[URI]]


class BackgroundSubagentWork(BackgroundWorkBase):
    """A subagent."""

    kind: ReadOnly[Literal["subagent"]]
    chat: ReadOnly[URI]


BackgroundWork: TypeAlias = BackgroundShellWork | BackgroundSubagentWork


class ChatSummary(TypedDict):
    """A chat in the list of its session; equal to the same members of its state."""

    resource: ReadOnly[URI]
    title: ReadOnly[str]
    status: ReadOnly[SessionStatus]
    activity: NotRequired[ReadOnly[str]]
    modifiedAt: ReadOnly[str]
    changes: NotRequired[ReadOnly[ChangesSummary]]
    origin: NotRequired[ReadOnly[ChatOrigin]]
    movable: NotRequired[ReadOnly[bool]]
    interactivity: NotRequired[ReadOnly[ChatInteractivity]]
    workingDirectories: NotRequired[ReadOnly[Sequence[URI]]]


class PartialChatSummary(TypedDict, total=False):
    """Members of a `ChatSummary` that changed."""

    resource: ReadOnly[URI]
    title: ReadOnly[str]
    status: ReadOnly[SessionStatus]
    activity: ReadOnly[str]
    modifiedAt: ReadOnly[str]
    changes: ReadOnly[ChangesSummary]
    origin: ReadOnly[ChatOrigin]
    movable: ReadOnly[bool]
    interactivity: ReadOnly[ChatInteractivity]
    workingDirectories: ReadOnly[Sequence[URI]]


class ChatState(TypedDict):
    """What a subscriber of a chat sees.

    `turns` are those that have ended, oldest first; `turnsNextCursor` is there while older ones can be fetched.
    `steeringMessages` is 1.1-dev and independent of `steeringMessage` (AHP §12.1).
    """

    resource: ReadOnly[URI]
    title: ReadOnly[str]
    status: ReadOnly[SessionStatus]
    activity: NotRequired[ReadOnly[str]]
    modifiedAt: ReadOnly[str]
    changes: NotRequired[ReadOnly[ChangesSummary]]
    origin: NotRequired[ReadOnly[ChatOrigin]]
    movable: NotRequired[ReadOnly[bool]]
    interactivity: NotRequired[ReadOnly[ChatInteractivity]]
    workingDirectories: NotRequired[ReadOnly[Sequence[URI]]]
    changesets: NotRequired[ReadOnly[Sequence[Changeset]]]
    backgroundWork: NotRequired[ReadOnly[Sequence[BackgroundWork]]]
    canvases: NotRequired[ReadOnly[Sequence[CanvasReference]]]
    turns: ReadOnly[Sequence[Turn]]
    turnsNextCursor: NotRequired[ReadOnly[str]]
    activeTurn: NotRequired[ReadOnly[ActiveTurn]]
    steeringMessage: NotRequired[ReadOnly[PendingMessage]]
    steeringMessages: NotRequired[ReadOnly[Sequence[PendingMessage]]]
    queuedMessages: NotRequired[ReadOnly[Sequence[PendingMessage]]]
    draft: NotRequired[ReadOnly[Message]]
    _meta: NotRequired[ReadOnly[Meta]]
