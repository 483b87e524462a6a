"""Commands on chats (AHP §4, §9.3, §9.4)."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.chat.state import Message, SideChatSelection
from innkeeper.protocol.common.params import BaseParams
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict

ChatSourceKind: TypeAlias = Literal["fork", "sideChat"] | str
ChatMoveDestinationKind: TypeAlias = Literal["session", "newSession"] | str


class ForkChatSource(TypedDict):
    """Copies a chat up to an ended turn."""

    kind: ReadOnly[Literal["fork"]]
    chat: ReadOnly[URI]
    turnId: ReadOnly[str]


class SideChatSource(TypedDict):
    """Begins beside a chat, with its history up to a turn as context."""

    kind: ReadOnly[Literal["sideChat"]]
    chat: ReadOnly[URI]
    turnId: ReadOnly[str]
    selection: NotRequired[ReadOnly[SideChatSelection]]


ChatSource: TypeAlias = ForkChatSource | SideChatSource


class CreateChatParams(BaseParams):
    """Adds the chat `chat`, a URI the client picks, to the session `channel`; answers `null`."""

    chat: ReadOnly[URI]
    initialMessage: NotRequired[ReadOnly[Message]]
    source: NotRequired[ReadOnly[ChatSource]]
    workingDirectories: NotRequired[ReadOnly[Sequence[URI]]]


class ChatMoveToSessionDestination(TypedDict):
    """Behind the chat `after` of a session, or first."""

    kind: ReadOnly[Literal["session"]]
    session: ReadOnly[URI]
    after: NotRequired[ReadOnly[URI]]


class ChatMoveToNewSessionDestination(TypedDict):
    """Into a session of its own."""

    kind: ReadOnly[Literal["newSession"]]


ChatMoveDestination: TypeAlias = ChatMoveToSessionDestination | ChatMoveToNewSessionDestination


class MoveChatParams(BaseParams):
    """Moves the chat `channel`."""

    destination: ReadOnly[ChatMoveDestination]


class MoveChatResult(TypedDict):
    """The session that owns the chat now."""

    session: ReadOnly[URI]


class DisposeChatParams(BaseParams):
    """Removes the chat `channel`; answers `null`."""
