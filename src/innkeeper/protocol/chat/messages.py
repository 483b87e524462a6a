"""Messages and their attachments (AHP §9.7). Part of `chat.state`."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.common.state import ContentRef, TextRange, TextSelection
from innkeeper.protocol.root.state import ModelSelection
from innkeeper.protocol.session.values import AgentSelection
from innkeeper.protocol.types import URI, Meta, NotRequired, ReadOnly, TypedDict

MessageAttachmentKind: TypeAlias = Literal["simple", "embeddedResource", "resource", "annotations", "chat"] | str
MessageKind: TypeAlias = Literal["user", "agent", "tool", "automation", "systemNotification"] | str
PendingMessageKind: TypeAlias = Literal["steering", "queued"]


class MessageOrigin(TypedDict):
    """Who wrote a message; clients may send `user` only."""

    kind: ReadOnly[MessageKind]


class MessageAttachmentBase(TypedDict):
    """What every attachment has; `range` is where the text of the message mentions it, in UTF-16 code units."""

    label: ReadOnly[str]
    range: NotRequired[ReadOnly[TextRange]]
    displayKind: NotRequired[ReadOnly[str]]
    _meta: NotRequired[ReadOnly[Meta]]


class SimpleMessageAttachment(MessageAttachmentBase):
    """Text for the model alone; clients must give `modelRepresentation`."""

    type: ReadOnly[Literal["simple"]]
    modelRepresentation: NotRequired[ReadOnly[str]]


class MessageEmbeddedResourceAttachment(MessageAttachmentBase):
    """Content in the message itself, base64."""

    type: ReadOnly[Literal["embeddedResource"]]
    data: ReadOnly[str]
    contentType: ReadOnly[str]
    selection: NotRequired[ReadOnly[TextSelection]]


class MessageResourceAttachment(MessageAttachmentBase, ContentRef):
    """A file by reference."""

    type: ReadOnly[Literal["resource"]]
    selection: NotRequired[ReadOnly[TextSelection]]


class MessageAnnotationsAttachment(MessageAttachmentBase):
    """Threads of comments; no `annotationIds` means all."""

    type: ReadOnly[Literal["annotations"]]
    resource: ReadOnly[URI]
    annotationIds: NotRequired[ReadOnly[Sequence[str]]]


class MessageChatAttachment(MessageAttachmentBase):
    """Another chat up to `endTurn`, which the host fills in when it is absent."""

    type: ReadOnly[Literal["chat"]]
    resource: ReadOnly[URI]
    endTurn: NotRequired[ReadOnly[str]]


MessageAttachment: TypeAlias = (
    SimpleMessageAttachment
    | MessageEmbeddedResourceAttachment
    | MessageResourceAttachment
    | MessageAnnotationsAttachment
    | MessageChatAttachment
)


class Message(TypedDict):
    """What is said to an agent, with the model and agent to answer it."""

    text: ReadOnly[str]
    origin: ReadOnly[MessageOrigin]
    attachments: NotRequired[ReadOnly[Sequence[MessageAttachment]]]
    model: NotRequired[ReadOnly[ModelSelection]]
    agent: NotRequired[ReadOnly[AgentSelection]]
    _meta: NotRequired[ReadOnly[Meta]]


class PendingMessage(TypedDict):
    """A message that waits: in the queue, or to steer the running turn."""

    id: ReadOnly[str]
    message: ReadOnly[Message]
