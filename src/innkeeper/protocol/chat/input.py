"""Questions to a person and the answers (AHP §9.8). Part of `chat.state`.

Numbers of a number question are the only ones of a chat that may have a fraction.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from innkeeper.protocol.types import URI, Closed, NotRequired, ReadOnly, TypedDict

ChatInputResponseKind: TypeAlias = Literal["accept", "decline", "cancel"]
ChatInputQuestionKind: TypeAlias = (
    Literal["text", "number", "integer", "boolean", "single-select", "multi-select"] | str
)
ChatInputAnswerValueKind: TypeAlias = Literal["text", "number", "boolean", "selected", "selected-many"] | str
ChatInputAnswerState: TypeAlias = Literal["draft", "submitted", "skipped"]


class ChatInputOption(TypedDict):
    """One answer to choose from."""

    id: ReadOnly[str]
    label: ReadOnly[str]
    description: NotRequired[ReadOnly[str]]
    recommended: NotRequired[ReadOnly[bool]]


class ChatInputQuestionBase(TypedDict):
    """What every question has."""

    id: ReadOnly[str]
    title: NotRequired[ReadOnly[str]]
    message: ReadOnly[str]
    required: NotRequired[ReadOnly[bool]]


class ChatInputTextQuestion(ChatInputQuestionBase):
    """Asks for text of `min` to `max` characters."""

    kind: ReadOnly[Literal["text"]]
    format: NotRequired[ReadOnly[str]]
    min: NotRequired[ReadOnly[int]]
    max: NotRequired[ReadOnly[int]]
    defaultValue: NotRequired[ReadOnly[str]]


class ChatInputNumberQuestion(ChatInputQuestionBase):
    """Asks for a number."""

    kind: ReadOnly[Literal["number", "integer"]]
    min: NotRequired[ReadOnly[float]]
    max: NotRequired[ReadOnly[float]]
    defaultValue: NotRequired[ReadOnly[float]]


class ChatInputBooleanQuestion(ChatInputQuestionBase):
    """Asks yes or no."""

    kind: ReadOnly[Literal["boolean"]]
    defaultValue: NotRequired[ReadOnly[bool]]


class ChatInputSingleSelectQuestion(ChatInputQuestionBase):
    """Asks for one of the options."""

    kind: ReadOnly[Literal["single-select"]]
    options: ReadOnly[Sequence[ChatInputOption]]
    allowFreeformInput: NotRequired[ReadOnly[bool]]


class ChatInputMultiSelectQuestion(ChatInputQuestionBase):
    """Asks for `min` to `max` of the options."""

    kind: ReadOnly[Literal["multi-select"]]
    options: ReadOnly[Sequence[ChatInputOption]]
    allowFreeformInput: NotRequired[ReadOnly[bool]]
    min: NotRequired[ReadOnly[int]]
    max: NotRequired[ReadOnly[int]]


ChatInputQuestion: TypeAlias = (
    ChatInputTextQuestion
    | ChatInputNumberQuestion
    | ChatInputBooleanQuestion
    | ChatInputSingleSelectQuestion
    | ChatInputMultiSelectQuestion
)


class ChatInputTextAnswerValue(TypedDict):
    """Text."""

    kind: ReadOnly[Literal["text"]]
    value: ReadOnly[str]


class ChatInputNumberAnswerValue(TypedDict):
    """A number."""

    kind: ReadOnly[Literal["number"]]
    value: ReadOnly[float]


class ChatInputBooleanAnswerValue(TypedDict):
    """Yes or no."""

    kind: ReadOnly[Literal["boolean"]]
    value: ReadOnly[bool]


class ChatInputSelectedAnswerValue(TypedDict):
    """The id of an option."""

    kind: ReadOnly[Literal["selected"]]
    value: ReadOnly[str]
    freeformValues: NotRequired[ReadOnly[Sequence[str]]]


class ChatInputSelectedManyAnswerValue(TypedDict):
    """The ids of options."""

    kind: ReadOnly[Literal["selected-many"]]
    value: ReadOnly[Sequence[str]]
    freeformValues: NotRequired[ReadOnly[Sequence[str]]]


ChatInputAnswerValue: TypeAlias = (
    ChatInputTextAnswerValue
    | ChatInputNumberAnswerValue
    | ChatInputBooleanAnswerValue
    | ChatInputSelectedAnswerValue
    | ChatInputSelectedManyAnswerValue
)


class ChatInputAnswered(TypedDict):
    """An answer, still being edited (`draft`) or given."""

    state: ReadOnly[Literal["draft", "submitted"]]
    value: ReadOnly[ChatInputAnswerValue]


class ChatInputSkipped(TypedDict):
    """A question left out."""

    state: ReadOnly[Literal["skipped"]]
    freeformValues: NotRequired[ReadOnly[Sequence[str]]]


ChatInputAnswer: TypeAlias = Annotated[ChatInputAnswered | ChatInputSkipped, Closed]


class ChatInputRequest(TypedDict):
    """Questions, or a link to open (`url`); `answers` by question id."""

    id: ReadOnly[str]
    message: NotRequired[ReadOnly[str]]
    url: NotRequired[ReadOnly[URI]]
    questions: NotRequired[ReadOnly[Sequence[ChatInputQuestion]]]
    answers: NotRequired[ReadOnly[Mapping[str, ChatInputAnswer]]]
