"""Turns and the parts of an answer (AHP §9.2, §9.7). Part of `chat.state`."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.chat.input import ChatInputRequest, ChatInputResponseKind
from innkeeper.protocol.chat.messages import Message
from innkeeper.protocol.chat.tools import ToolCallState
from innkeeper.protocol.common.state import ContentRef, ErrorInfo, StringOrMarkdown, UsageInfo
from innkeeper.protocol.types import Meta, NotRequired, ReadOnly, TypedDict

TurnState: TypeAlias = Literal["complete", "cancelled", "error"]
ResponsePartKind: TypeAlias = (
    Literal["markdown", "contentRef", "toolCall", "reasoning", "systemNotification", "inputRequest", "error"] | str
)


class MarkdownResponsePart(TypedDict):
    """Text of the answer; `chat/delta` appends to it by `id`."""

    kind: ReadOnly[Literal["markdown"]]
    id: ReadOnly[str]
    content: ReadOnly[str]


class ResourceResponsePart(ContentRef):
    """Content by reference."""

    kind: ReadOnly[Literal["contentRef"]]


class ToolCallResponsePart(TypedDict):
    """A tool call."""

    kind: ReadOnly[Literal["toolCall"]]
    toolCall: ReadOnly[ToolCallState]


class ReasoningResponsePart(TypedDict):
    """The model's reasoning; `chat/reasoning` appends to it by `id`."""

    kind: ReadOnly[Literal["reasoning"]]
    id: ReadOnly[str]
    content: ReadOnly[str]


class InputRequestResponsePart(TypedDict):
    """Questions to a person; no `response` while they are open."""

    kind: ReadOnly[Literal["inputRequest"]]
    request: ReadOnly[ChatInputRequest]
    response: NotRequired[ReadOnly[ChatInputResponseKind]]


class ErrorResponsePart(TypedDict):
    """The error a turn ended in; `resumable` allows `chat/turnResume`."""

    kind: ReadOnly[Literal["error"]]
    error: ReadOnly[ErrorInfo]
    resumable: NotRequired[ReadOnly[bool]]


class SystemNotificationResponsePart(TypedDict):
    """Something the host says in between."""

    kind: ReadOnly[Literal["systemNotification"]]
    content: ReadOnly[StringOrMarkdown]
    _meta: NotRequired[ReadOnly[Meta]]


ResponsePart: TypeAlias = (
    MarkdownResponsePart
    | ResourceResponsePart
    | ToolCallResponsePart
    | ReasoningResponsePart
    | SystemNotificationResponsePart
    | InputRequestResponsePart
    | ErrorResponsePart
)


class Turn(TypedDict):
    """A turn that has ended; `startedAt` ISO 8601, `duration` in milliseconds."""

    id: ReadOnly[str]
    startedAt: NotRequired[ReadOnly[str]]
    duration: NotRequired[ReadOnly[int]]
    message: ReadOnly[Message]
    responseParts: ReadOnly[Sequence[ResponsePart]]
    usage: NotRequired[ReadOnly[UsageInfo]]
    state: ReadOnly[TurnState]


class ActiveTurn(TypedDict):
    """The turn that runs."""

    id: ReadOnly[str]
    startedAt: ReadOnly[str]
    message: ReadOnly[Message]
    responseParts: ReadOnly[Sequence[ResponsePart]]
    usage: NotRequired[ReadOnly[UsageInfo]]
