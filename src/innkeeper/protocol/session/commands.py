"""Commands on sessions and what clients ask while writing in them (AHP §4)."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.chat.state import MessageAttachment
from innkeeper.protocol.common.params import BaseParams
from innkeeper.protocol.session.state import SessionActiveClient
from innkeeper.protocol.types import URI, JsonObject, NotRequired, ReadOnly, TypedDict

CompletionItemKind: TypeAlias = Literal["userMessage"] | str


class CreateSessionParams(BaseParams):
    """Creates the session `channel`, a URI the client picks; answers `null` at once, the start is reported as actions.

    `progressToken` asks for `root/progress`.
    """

    provider: NotRequired[ReadOnly[str]]
    workingDirectories: NotRequired[ReadOnly[Sequence[URI]]]
    config: NotRequired[ReadOnly[JsonObject]]
    activeClient: NotRequired[ReadOnly[SessionActiveClient]]
    progressToken: NotRequired[ReadOnly[str]]


class DisposeSessionParams(BaseParams):
    """Removes the session `channel` with its chats; answers `null`."""


class FetchTurnsParams(BaseParams):
    """Asks for older turns of the chat `channel`; they arrive as `chat/turnsLoaded` before the answer."""

    cursor: NotRequired[ReadOnly[str]]


class FetchTurnsResult(TypedDict):
    """Nothing; the turns came as an action."""


class CompletionsParams(BaseParams):
    """What could be inserted at `offset` (UTF-16 code units) of `text` in the chat `channel`."""

    kind: ReadOnly[CompletionItemKind]
    text: ReadOnly[str]
    offset: ReadOnly[int]


class CompletionItem(TypedDict):
    """One proposal: text for the range, and the attachment that comes with it."""

    insertText: ReadOnly[str]
    rangeStart: NotRequired[ReadOnly[int]]
    rangeEnd: NotRequired[ReadOnly[int]]
    attachment: ReadOnly[MessageAttachment]


class CompletionsResult(TypedDict):
    """The proposals, best first."""

    items: ReadOnly[Sequence[CompletionItem]]
