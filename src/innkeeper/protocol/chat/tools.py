"""Tool calls, one type a state, and their results (AHP §9.2). Part of `chat.state`."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.chat.messages import Message
from innkeeper.protocol.common.state import ContentRef, FileEdit, FileEditCollection, StringOrMarkdown
from innkeeper.protocol.session.mcp import McpAuthRequirement
from innkeeper.protocol.types import URI, JsonObject, Meta, NotRequired, ReadOnly, TypedDict

ToolCallStatus: TypeAlias = (
    Literal[
        "streaming",
        "pending-confirmation",
        "running",
        "auth-required",
        "pending-result-confirmation",
        "completed",
        "cancelled",
    ]
    | str
)
ToolCallConfirmationReason: TypeAlias = Literal["not-needed", "user-action", "setting"] | str
ToolCallCancellationReason: TypeAlias = Literal["denied", "skipped", "result-denied"]
ToolCallRiskAssessmentKind: TypeAlias = Literal["judge"] | str
ToolCallRiskAssessmentStatus: TypeAlias = Literal["loading", "complete"] | str
ConfirmationOptionKind: TypeAlias = Literal["approve", "deny"] | str
ToolCallContributorKind: TypeAlias = Literal["client", "mcp"] | str
ToolResultContentType: TypeAlias = (
    Literal["text", "embeddedResource", "resource", "fileEdit", "terminal", "subagent"] | str
)

ToolInput: TypeAlias = str | ContentRef
"""The input as text, or by reference; a reference may change until the call is confirmed."""


class ToolCallRiskAssessmentBase(TypedDict):
    """Who assesses."""

    kind: ReadOnly[ToolCallRiskAssessmentKind]


class ToolCallRiskAssessmentLoadingState(ToolCallRiskAssessmentBase):
    """The assessment is on its way."""

    status: ReadOnly[Literal["loading"]]


class ToolCallRiskAssessmentCompleteState(ToolCallRiskAssessmentBase):
    """The assessment; `safety` from 0 to 1."""

    status: ReadOnly[Literal["complete"]]
    reason: ReadOnly[StringOrMarkdown]
    safety: ReadOnly[float]


ToolCallRiskAssessment: TypeAlias = ToolCallRiskAssessmentLoadingState | ToolCallRiskAssessmentCompleteState


class ConfirmationOption(TypedDict):
    """One of the answers to choose from; options of one `group` belong together."""

    id: ReadOnly[str]
    label: ReadOnly[str]
    kind: ReadOnly[ConfirmationOptionKind]
    group: NotRequired[ReadOnly[int]]


class ToolCallClientContributor(TypedDict):
    """A client runs the tool."""

    kind: ReadOnly[Literal["client"]]
    clientId: ReadOnly[str]


class ToolCallMcpContributor(TypedDict):
    """The tool is an MCP server's."""

    kind: ReadOnly[Literal["mcp"]]
    customizationId: ReadOnly[str]


ToolCallContributor: TypeAlias = ToolCallClientContributor | ToolCallMcpContributor
"""Whose tool it is; absent: the host's own."""


class ToolCallIdentity(TypedDict):
    """What names a call and its tool."""

    toolCallId: ReadOnly[str]
    toolName: ReadOnly[str]
    displayName: ReadOnly[str]
    intention: NotRequired[ReadOnly[str]]
    _meta: NotRequired[ReadOnly[Meta]]


class ToolCallBase(ToolCallIdentity):
    """What every state of a call has."""

    contributor: NotRequired[ReadOnly[ToolCallContributor]]


class ToolCallParameterFields(TypedDict):
    """What a call has once its input is complete."""

    invocationMessage: ReadOnly[StringOrMarkdown]
    toolInput: NotRequired[ReadOnly[ToolInput]]


class ToolCallPostConfirmationFields(TypedDict):
    """How a call came to run."""

    confirmed: ReadOnly[ToolCallConfirmationReason]
    selectedOption: NotRequired[ReadOnly[ConfirmationOption]]


class ToolResultTextContent(TypedDict):
    """Text."""

    type: ReadOnly[Literal["text"]]
    text: ReadOnly[str]


class ToolResultEmbeddedResourceContent(TypedDict):
    """Content in place, base64."""

    type: ReadOnly[Literal["embeddedResource"]]
    data: ReadOnly[str]
    contentType: ReadOnly[str]


class ToolResultResourceContent(ContentRef):
    """Content by reference."""

    type: ReadOnly[Literal["resource"]]


class ToolResultFileEditContent(FileEdit):
    """A file was changed."""

    type: ReadOnly[Literal["fileEdit"]]


class TerminalCommandResult(TypedDict):
    """How a command in a terminal ended; `preview` is part of its output."""

    exitCode: NotRequired[ReadOnly[int]]
    preview: NotRequired[ReadOnly[str]]
    truncated: NotRequired[ReadOnly[bool]]


class ToolResultTerminalContent(TypedDict):
    """The call runs, or ran, in a terminal."""

    type: ReadOnly[Literal["terminal"]]
    resource: ReadOnly[URI]
    title: ReadOnly[str]
    isPty: NotRequired[ReadOnly[bool]]
    result: NotRequired[ReadOnly[TerminalCommandResult]]


class ToolResultSubagentContent(TypedDict):
    """The call runs, or ran, in a chat of its own."""

    type: ReadOnly[Literal["subagent"]]
    resource: ReadOnly[URI]
    title: ReadOnly[str]
    agentName: NotRequired[ReadOnly[str]]
    description: NotRequired[ReadOnly[str]]


ToolResultContent: TypeAlias = (
    ToolResultTextContent
    | ToolResultEmbeddedResourceContent
    | ToolResultResourceContent
    | ToolResultFileEditContent
    | ToolResultTerminalContent
    | ToolResultSubagentContent
)


class ToolCallError(TypedDict):
    """Why a call failed."""

    message: ReadOnly[str]
    code: NotRequired[ReadOnly[str]]


class ToolCallResult(TypedDict):
    """How a call ended."""

    success: ReadOnly[bool]
    pastTenseMessage: ReadOnly[StringOrMarkdown]
    content: NotRequired[ReadOnly[Sequence[ToolResultContent]]]
    structuredContent: NotRequired[ReadOnly[JsonObject]]
    error: NotRequired[ReadOnly[ToolCallError]]


class ToolCallStreamingState(ToolCallBase):
    """The model is still writing the input."""

    status: ReadOnly[Literal["streaming"]]
    partialInput: NotRequired[ReadOnly[str]]
    invocationMessage: NotRequired[ReadOnly[StringOrMarkdown]]


class ToolCallPendingConfirmationState(ToolCallBase, ToolCallParameterFields):
    """Waits for a person's approval; `options`, if any, replace a plain yes and no."""

    status: ReadOnly[Literal["pending-confirmation"]]
    confirmationTitle: NotRequired[ReadOnly[StringOrMarkdown]]
    riskAssessment: NotRequired[ReadOnly[ToolCallRiskAssessment]]
    edits: NotRequired[ReadOnly[FileEditCollection]]
    editable: NotRequired[ReadOnly[bool]]
    options: NotRequired[ReadOnly[Sequence[ConfirmationOption]]]


class ToolCallRunningState(ToolCallBase, ToolCallParameterFields, ToolCallPostConfirmationFields):
    """Runs; `content` is what it has so far."""

    status: ReadOnly[Literal["running"]]
    content: NotRequired[ReadOnly[Sequence[ToolResultContent]]]


class ToolCallAuthRequiredState(ToolCallIdentity, ToolCallParameterFields, ToolCallPostConfirmationFields):
    """Waits for a token; only an MCP server's call can."""

    status: ReadOnly[Literal["auth-required"]]
    contributor: ReadOnly[ToolCallMcpContributor]
    auth: ReadOnly[McpAuthRequirement]
    content: NotRequired[ReadOnly[Sequence[ToolResultContent]]]


class ToolCallPendingResultConfirmationState(
    ToolCallBase, ToolCallParameterFields, ToolCallResult, ToolCallPostConfirmationFields
):
    """Has ended; a person must approve that the model sees the result."""

    status: ReadOnly[Literal["pending-result-confirmation"]]


class ToolCallCompletedState(ToolCallBase, ToolCallParameterFields, ToolCallResult, ToolCallPostConfirmationFields):
    """Has ended, well or not (`success`)."""

    status: ReadOnly[Literal["completed"]]


class ToolCallCancelledState(ToolCallBase, ToolCallParameterFields):
    """Did not run, or its result was withheld."""

    status: ReadOnly[Literal["cancelled"]]
    reason: ReadOnly[ToolCallCancellationReason]
    reasonMessage: NotRequired[ReadOnly[StringOrMarkdown]]
    userSuggestion: NotRequired[ReadOnly[Message]]
    selectedOption: NotRequired[ReadOnly[ConfirmationOption]]


ToolCallState: TypeAlias = (
    ToolCallStreamingState
    | ToolCallPendingConfirmationState
    | ToolCallRunningState
    | ToolCallAuthRequiredState
    | ToolCallPendingResultConfirmationState
    | ToolCallCompletedState
    | ToolCallCancelledState
)

ToolCallConfirmationState: TypeAlias = ToolCallPendingConfirmationState | ToolCallPendingResultConfirmationState
"""The states that wait for a person."""
