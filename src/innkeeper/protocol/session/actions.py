"""Actions of a session channel (AHP §7)."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.changeset.state import Changeset
from innkeeper.protocol.chat.state import ChatSummary, PartialChatSummary
from innkeeper.protocol.common.state import ErrorInfo
from innkeeper.protocol.session.state import (
    Artifact,
    Customization,
    CustomizationEnablement,
    McpServerState,
    SessionActiveClient,
    SessionInputRequest,
    ToolDefinition,
)
from innkeeper.protocol.types import URI, Meta, NotRequired, ReadOnly, TypedDict


class SessionReadyAction(TypedDict):
    """The backend is up; the status stays as it is."""

    type: ReadOnly[Literal["session/ready"]]


class SessionCreationFailedAction(TypedDict):
    """The backend could not be started."""

    type: ReadOnly[Literal["session/creationFailed"]]
    error: ReadOnly[ErrorInfo]


class SessionChatAddedAction(TypedDict):
    """A chat was added, or its summary replaced."""

    type: ReadOnly[Literal["session/chatAdded"]]
    summary: ReadOnly[ChatSummary]


class SessionChatRemovedAction(TypedDict):
    """A chat is gone."""

    type: ReadOnly[Literal["session/chatRemoved"]]
    chat: ReadOnly[URI]


class SessionChatUpdatedAction(TypedDict):
    """Members of a chat's summary changed; `resource` among them is ignored."""

    type: ReadOnly[Literal["session/chatUpdated"]]
    chat: ReadOnly[URI]
    changes: ReadOnly[PartialChatSummary]


class SessionChatsReorderedAction(TypedDict):
    """The order of all chats."""

    type: ReadOnly[Literal["session/chatsReordered"]]
    chats: ReadOnly[Sequence[URI]]


class SessionDefaultChatChangedAction(TypedDict):
    """The chat that turns go to by default; absent clears it."""

    type: ReadOnly[Literal["session/defaultChatChanged"]]
    defaultChat: NotRequired[ReadOnly[URI]]


class SessionTitleChangedAction(TypedDict):
    """The title."""

    type: ReadOnly[Literal["session/titleChanged"]]
    title: ReadOnly[str]


class SessionIsReadChangedAction(TypedDict):
    """Whether the session was read."""

    type: ReadOnly[Literal["session/isReadChanged"]]
    isRead: ReadOnly[bool]


class SessionIsArchivedChangedAction(TypedDict):
    """Whether the session is archived."""

    type: ReadOnly[Literal["session/isArchivedChanged"]]
    isArchived: ReadOnly[bool]


class SessionActivityChangedAction(TypedDict):
    """A line on what goes on; absent clears it."""

    type: ReadOnly[Literal["session/activityChanged"]]
    activity: NotRequired[ReadOnly[str]]


class SessionChangesetsChangedAction(TypedDict):
    """The changesets, whole; absent clears them."""

    type: ReadOnly[Literal["session/changesetsChanged"]]
    changesets: NotRequired[ReadOnly[Sequence[Changeset]]]


class SessionServerToolsChangedAction(TypedDict):
    """The tools that the host offers, whole."""

    type: ReadOnly[Literal["session/serverToolsChanged"]]
    tools: ReadOnly[Sequence[ToolDefinition]]


class SessionActiveClientSetAction(TypedDict):
    """A client joins, or replaces its entry."""

    type: ReadOnly[Literal["session/activeClientSet"]]
    activeClient: ReadOnly[SessionActiveClient]


class SessionActiveClientRemovedAction(TypedDict):
    """A client left."""

    type: ReadOnly[Literal["session/activeClientRemoved"]]
    clientId: ReadOnly[str]


class SessionWorkingDirectorySetAction(TypedDict):
    """Adds a directory."""

    type: ReadOnly[Literal["session/workingDirectorySet"]]
    directory: ReadOnly[URI]


class SessionWorkingDirectoryRemovedAction(TypedDict):
    """Takes a directory away."""

    type: ReadOnly[Literal["session/workingDirectoryRemoved"]]
    directory: ReadOnly[URI]


class SessionWorkingDirectoryReplacedAction(TypedDict):
    """Puts `replacement` in the place of `directory`."""

    type: ReadOnly[Literal["session/workingDirectoryReplaced"]]
    directory: ReadOnly[URI]
    replacement: ReadOnly[URI]


class SessionInputNeededSetAction(TypedDict):
    """Something waits, or changed while waiting."""

    type: ReadOnly[Literal["session/inputNeededSet"]]
    request: ReadOnly[SessionInputRequest]


class SessionInputNeededRemovedAction(TypedDict):
    """Something waits no more."""

    type: ReadOnly[Literal["session/inputNeededRemoved"]]
    id: ReadOnly[str]


class SessionCustomizationsChangedAction(TypedDict):
    """The customizations, whole."""

    type: ReadOnly[Literal["session/customizationsChanged"]]
    customizations: ReadOnly[Sequence[Customization]]


class SessionCustomizationToggledAction(TypedDict):
    """All decisions of one entry (AHP §10.1). Clients before 0.8 send `enabled` instead (`check.TOLERATED`)."""

    type: ReadOnly[Literal["session/customizationToggled"]]
    id: ReadOnly[str]
    enablement: ReadOnly[Sequence[CustomizationEnablement]]


class SessionCustomizationUpdatedAction(TypedDict):
    """A top-level entry, with its children."""

    type: ReadOnly[Literal["session/customizationUpdated"]]
    customization: ReadOnly[Customization]


class SessionCustomizationRemovedAction(TypedDict):
    """An entry is gone, wherever it was."""

    type: ReadOnly[Literal["session/customizationRemoved"]]
    id: ReadOnly[str]


class SessionMcpServerStateChangedAction(TypedDict):
    """A server's state and channel; no `channel` clears it."""

    type: ReadOnly[Literal["session/mcpServerStateChanged"]]
    id: ReadOnly[str]
    state: ReadOnly[McpServerState]
    channel: NotRequired[ReadOnly[URI]]


class SessionMcpServerStartRequestedAction(TypedDict):
    """A person wants a server started."""

    type: ReadOnly[Literal["session/mcpServerStartRequested"]]
    id: ReadOnly[str]


class SessionMcpServerBackgroundRequestedAction(TypedDict):
    """A person does not want to wait for a server."""

    type: ReadOnly[Literal["session/mcpServerBackgroundRequested"]]
    id: ReadOnly[str]


class SessionMcpServerStopRequestedAction(TypedDict):
    """A person wants a server stopped."""

    type: ReadOnly[Literal["session/mcpServerStopRequested"]]
    id: ReadOnly[str]


class SessionConfigChangedAction(TypedDict):
    """Values to merge into the configuration, or, with `replace`, all of them."""

    type: ReadOnly[Literal["session/configChanged"]]
    config: ReadOnly[Mapping[str, object]]
    replace: NotRequired[ReadOnly[bool]]


class SessionMetaChangedAction(TypedDict):
    """The session's `_meta`, whole; absent clears it."""

    type: ReadOnly[Literal["session/metaChanged"]]
    _meta: NotRequired[ReadOnly[Meta]]


class SessionArtifactSetAction(TypedDict):
    """Adds an artifact, or replaces the one with its `uri`. 1.1-dev (AHP §12.2)."""

    type: ReadOnly[Literal["session/artifactSet"]]
    artifact: ReadOnly[Artifact]


class SessionArtifactRemovedAction(TypedDict):
    """Removes an artifact; from a client it is a wish. 1.1-dev (AHP §12.2)."""

    type: ReadOnly[Literal["session/artifactRemoved"]]
    uri: ReadOnly[URI]


SessionAction: TypeAlias = (
    SessionReadyAction
    | SessionCreationFailedAction
    | SessionChatAddedAction
    | SessionChatRemovedAction
    | SessionChatUpdatedAction
    | SessionChatsReorderedAction
    | SessionDefaultChatChangedAction
    | SessionTitleChangedAction
    | SessionIsReadChangedAction
    | SessionIsArchivedChangedAction
    | SessionActivityChangedAction
    | SessionChangesetsChangedAction
    | SessionServerToolsChangedAction
    | SessionActiveClientSetAction
    | SessionActiveClientRemovedAction
    | SessionWorkingDirectorySetAction
    | SessionWorkingDirectoryRemovedAction
    | SessionWorkingDirectoryReplacedAction
    | SessionInputNeededSetAction
    | SessionInputNeededRemovedAction
    | SessionCustomizationsChangedAction
    | SessionCustomizationToggledAction
    | SessionCustomizationUpdatedAction
    | SessionCustomizationRemovedAction
    | SessionMcpServerStateChangedAction
    | SessionMcpServerStartRequestedAction
    | SessionMcpServerBackgroundRequestedAction
    | SessionMcpServerStopRequestedAction
    | SessionConfigChangedAction
    | SessionMetaChangedAction
    | SessionArtifactSetAction
    | SessionArtifactRemovedAction
)
