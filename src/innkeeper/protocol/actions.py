"""Every action of AHP in one table (AHP §7): its channel, shape, first version, who may dispatch it.

106 types in 1.0.0, 47 of them for clients; 110 and 50 with the 1.1-dev additions. The table is data about the
standard and is never changed at run time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from innkeeper.protocol.annotations.actions import (
    AnnotationsAction,
    AnnotationsEntryRemovedAction,
    AnnotationsEntrySetAction,
    AnnotationsRemovedAction,
    AnnotationsSetAction,
    AnnotationsUpdatedAction,
)
from innkeeper.protocol.automation.actions import (
    AutomationAction,
    AutomationCreateRequestedAction,
    AutomationRemovedAction,
    AutomationSetAction,
    AutomationUpdateRequestedAction,
)
from innkeeper.protocol.automation_run.actions import (
    AutomationRunAction,
    AutomationRunCancelRequestedAction,
    AutomationRunLifecycleChangedAction,
    AutomationRunPrimarySessionChangedAction,
    AutomationRunSessionRemovedAction,
    AutomationRunSessionSetAction,
)
from innkeeper.protocol.canvas.actions import CanvasAction, CanvasStateChangedAction
from innkeeper.protocol.changeset.actions import (
    ChangesetAction,
    ChangesetClearedAction,
    ChangesetContentChangedAction,
    ChangesetFileRemovedAction,
    ChangesetFileSetAction,
    ChangesetFilesReviewChangedAction,
    ChangesetOperationsChangedAction,
    ChangesetOperationStatusChangedAction,
    ChangesetStatusChangedAction,
)
from innkeeper.protocol.channels import ChannelKind
from innkeeper.protocol.chat.actions import (
    ChatAction,
    ChatActivityChangedAction,
    ChatBackgroundWorkRemovedAction,
    ChatBackgroundWorkSetAction,
    ChatCanvasesChangedAction,
    ChatChangesetsChangedAction,
    ChatDeltaAction,
    ChatDraftChangedAction,
    ChatErrorAction,
    ChatInputAnswerChangedAction,
    ChatInputCompletedAction,
    ChatInputRequestedAction,
    ChatIsArchivedChangedAction,
    ChatIsReadChangedAction,
    ChatMovableChangedAction,
    ChatPendingMessageRemovedAction,
    ChatPendingMessageSetAction,
    ChatQueuedMessagesReorderedAction,
    ChatReasoningAction,
    ChatResponsePartAction,
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
    ChatTruncatedAction,
    ChatTurnCancelledAction,
    ChatTurnCompleteAction,
    ChatTurnResumeAction,
    ChatTurnsLoadedAction,
    ChatTurnStartedAction,
    ChatUsageAction,
    ChatWorkingDirectoryRemovedAction,
    ChatWorkingDirectorySetAction,
)
from innkeeper.protocol.resource_watch.actions import ResourceWatchAction, ResourceWatchChangedAction
from innkeeper.protocol.root.actions import (
    RootAction,
    RootActiveSessionsChangedAction,
    RootAgentsChangedAction,
    RootConfigChangedAction,
    RootTerminalsChangedAction,
)
from innkeeper.protocol.session.actions import (
    SessionAction,
    SessionActiveClientRemovedAction,
    SessionActiveClientSetAction,
    SessionActivityChangedAction,
    SessionArtifactRemovedAction,
    SessionArtifactSetAction,
    SessionChangesetsChangedAction,
    SessionChatAddedAction,
    SessionChatRemovedAction,
    SessionChatsReorderedAction,
    SessionChatUpdatedAction,
    SessionConfigChangedAction,
    SessionCreationFailedAction,
    SessionCustomizationRemovedAction,
    SessionCustomizationsChangedAction,
    SessionCustomizationToggledAction,
    SessionCustomizationUpdatedAction,
    SessionDefaultChatChangedAction,
    SessionInputNeededRemovedAction,
    SessionInputNeededSetAction,
    SessionIsArchivedChangedAction,
    SessionIsReadChangedAction,
    SessionMcpServerBackgroundRequestedAction,
    SessionMcpServerStartRequestedAction,
    SessionMcpServerStateChangedAction,
    SessionMcpServerStopRequestedAction,
    SessionMetaChangedAction,
    SessionReadyAction,
    SessionServerToolsChangedAction,
    SessionTitleChangedAction,
    SessionWorkingDirectoryRemovedAction,
    SessionWorkingDirectoryReplacedAction,
    SessionWorkingDirectorySetAction,
)
from innkeeper.protocol.terminal.actions import (
    TerminalAction,
    TerminalClaimedAction,
    TerminalClearedAction,
    TerminalCommandDetectionAvailableAction,
    TerminalCommandExecutedAction,
    TerminalCommandFinishedAction,
    TerminalCwdChangedAction,
    TerminalDataAction,
    TerminalExitedAction,
    TerminalInputAction,
    TerminalResizedAction,
    TerminalTitleChangedAction,
)

__all__ = [
    "ACTIONS",
    "ActionSpec",
    "AnnotationsAction",
    "AutomationAction",
    "AutomationRunAction",
    "CanvasAction",
    "ChangesetAction",
    "ChatAction",
    "ResourceWatchAction",
    "RootAction",
    "SessionAction",
    "StateAction",
    "TerminalAction",
]

StateAction: TypeAlias = (
    RootAction
    | SessionAction
    | ChatAction
    | TerminalAction
    | ChangesetAction
    | AnnotationsAction
    | ResourceWatchAction
    | CanvasAction
    | AutomationAction
    | AutomationRunAction
)
"""Any action. At run time others pass too: a newer peer's, or an extension's (`x-`)."""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """What the standard says about one type of action.

    `shape` is its declaration, for `check.check`. `since` is the version that introduced it. `capability` names what
    both sides must have declared. `volatile` marks streaming actions, which may leave before they are durable and may
    be joined or dropped in favour of the state (architecture §3, principle 13).
    """

    type: str
    channel: ChannelKind
    shape: object
    since: str
    client_dispatchable: bool = False
    volatile: bool = False
    capability: str | None = None


_SPECS: Final = (
    ActionSpec("root/agentsChanged", "root", RootAgentsChangedAction, "0.1.0"),
    ActionSpec("root/activeSessionsChanged", "root", RootActiveSessionsChangedAction, "0.1.0"),
    ActionSpec("root/terminalsChanged", "root", RootTerminalsChangedAction, "0.1.0"),
    ActionSpec("root/configChanged", "root", RootConfigChangedAction, "0.1.0", client_dispatchable=True),
    ActionSpec("session/ready", "session", SessionReadyAction, "0.1.0"),
    ActionSpec("session/creationFailed", "session", SessionCreationFailedAction, "0.1.0"),
    ActionSpec("session/chatAdded", "session", SessionChatAddedAction, "0.4.0"),
    ActionSpec("session/chatRemoved", "session", SessionChatRemovedAction, "0.4.0"),
    ActionSpec("session/chatUpdated", "session", SessionChatUpdatedAction, "0.4.0"),
    ActionSpec("session/chatsReordered", "session", SessionChatsReorderedAction, "0.9.0"),
    ActionSpec("session/defaultChatChanged", "session", SessionDefaultChatChangedAction, "0.4.0"),
    ActionSpec("session/titleChanged", "session", SessionTitleChangedAction, "0.1.0", client_dispatchable=True),
    ActionSpec("session/isReadChanged", "session", SessionIsReadChangedAction, "0.1.0", client_dispatchable=True),
    ActionSpec(
        "session/isArchivedChanged", "session", SessionIsArchivedChangedAction, "0.1.0", client_dispatchable=True
    ),
    ActionSpec("session/activityChanged", "session", SessionActivityChangedAction, "0.1.0", volatile=True),
    ActionSpec("session/changesetsChanged", "session", SessionChangesetsChangedAction, "0.2.0"),
    ActionSpec("session/serverToolsChanged", "session", SessionServerToolsChangedAction, "0.1.0"),
    ActionSpec("session/activeClientSet", "session", SessionActiveClientSetAction, "0.5.0", client_dispatchable=True),
    ActionSpec(
        "session/activeClientRemoved", "session", SessionActiveClientRemovedAction, "0.5.0", client_dispatchable=True
    ),
    ActionSpec(
        "session/workingDirectorySet", "session", SessionWorkingDirectorySetAction, "0.7.0", client_dispatchable=True
    ),
    ActionSpec(
        "session/workingDirectoryRemoved",
        "session",
        SessionWorkingDirectoryRemovedAction,
        "0.7.0",
        client_dispatchable=True,
    ),
    ActionSpec(
        "session/workingDirectoryReplaced",
        "session",
        SessionWorkingDirectoryReplacedAction,
        "0.8.0",
        client_dispatchable=True,
    ),
    ActionSpec("session/inputNeededSet", "session", SessionInputNeededSetAction, "0.5.1"),
    ActionSpec("session/inputNeededRemoved", "session", SessionInputNeededRemovedAction, "0.5.1"),
    ActionSpec("session/customizationsChanged", "session", SessionCustomizationsChangedAction, "0.1.0"),
    ActionSpec(
        "session/customizationToggled", "session", SessionCustomizationToggledAction, "0.1.0", client_dispatchable=True
    ),
    ActionSpec("session/customizationUpdated", "session", SessionCustomizationUpdatedAction, "0.1.0"),
    ActionSpec("session/customizationRemoved", "session", SessionCustomizationRemovedAction, "0.2.0"),
    ActionSpec("session/mcpServerStateChanged", "session", SessionMcpServerStateChangedAction, "0.3.0"),
    ActionSpec(
        "session/mcpServerStartRequested",
        "session",
        SessionMcpServerStartRequestedAction,
        "0.5.2",
        client_dispatchable=True,
    ),
    ActionSpec(
        "session/mcpServerBackgroundRequested",
        "session",
        SessionMcpServerBackgroundRequestedAction,
        "0.9.0",
        client_dispatchable=True,
    ),
    ActionSpec(
        "session/mcpServerStopRequested",
        "session",
        SessionMcpServerStopRequestedAction,
        "0.5.2",
        client_dispatchable=True,
    ),
    ActionSpec("session/configChanged", "session", SessionConfigChangedAction, "0.1.0", client_dispatchable=True),
    ActionSpec("session/metaChanged", "session", SessionMetaChangedAction, "0.1.0"),
    ActionSpec("session/artifactSet", "session", SessionArtifactSetAction, "1.1.0"),
    ActionSpec("session/artifactRemoved", "session", SessionArtifactRemovedAction, "1.1.0", client_dispatchable=True),
    ActionSpec("chat/turnStarted", "chat", ChatTurnStartedAction, "0.4.0", client_dispatchable=True),
    ActionSpec("chat/delta", "chat", ChatDeltaAction, "0.4.0", volatile=True),
    ActionSpec("chat/reasoning", "chat", ChatReasoningAction, "0.4.0", volatile=True),
    ActionSpec("chat/responsePart", "chat", ChatResponsePartAction, "0.4.0"),
    ActionSpec("chat/toolCallStart", "chat", ChatToolCallStartAction, "0.4.0"),
    ActionSpec("chat/toolCallDelta", "chat", ChatToolCallDeltaAction, "0.4.0", volatile=True),
    ActionSpec("chat/toolCallReady", "chat", ChatToolCallReadyAction, "0.4.0"),
    ActionSpec("chat/toolCallConfirmed", "chat", ChatToolCallConfirmedAction, "0.4.0", client_dispatchable=True),
    ActionSpec("chat/toolCallComplete", "chat", ChatToolCallCompleteAction, "0.4.0", client_dispatchable=True),
    ActionSpec(
        "chat/toolCallResultConfirmed", "chat", ChatToolCallResultConfirmedAction, "0.4.0", client_dispatchable=True
    ),
    ActionSpec(
        "chat/toolCallContentChanged",
        "chat",
        ChatToolCallContentChangedAction,
        "0.4.0",
        client_dispatchable=True,
        volatile=True,
    ),
    ActionSpec("chat/toolCallAuthRequired", "chat", ChatToolCallAuthRequiredAction, "0.6.0"),
    ActionSpec("chat/toolCallAuthResolved", "chat", ChatToolCallAuthResolvedAction, "0.6.0"),
    ActionSpec("chat/turnComplete", "chat", ChatTurnCompleteAction, "0.4.0"),
    ActionSpec("chat/turnCancelled", "chat", ChatTurnCancelledAction, "0.4.0", client_dispatchable=True),
    ActionSpec("chat/error", "chat", ChatErrorAction, "0.4.0"),
    ActionSpec("chat/turnResume", "chat", ChatTurnResumeAction, "0.9.0", client_dispatchable=True),
    ActionSpec("chat/activityChanged", "chat", ChatActivityChangedAction, "0.5.0", volatile=True),
    ActionSpec("chat/backgroundWorkSet", "chat", ChatBackgroundWorkSetAction, "0.9.0"),
    ActionSpec("chat/backgroundWorkRemoved", "chat", ChatBackgroundWorkRemovedAction, "0.9.0"),
    ActionSpec("chat/movableChanged", "chat", ChatMovableChangedAction, "0.9.0"),
    ActionSpec("chat/changesetsChanged", "chat", ChatChangesetsChangedAction, "0.9.0"),
    ActionSpec("chat/canvasesChanged", "chat", ChatCanvasesChangedAction, "0.10.0"),
    ActionSpec("chat/workingDirectorySet", "chat", ChatWorkingDirectorySetAction, "0.7.0", client_dispatchable=True),
    ActionSpec(
        "chat/workingDirectoryRemoved", "chat", ChatWorkingDirectoryRemovedAction, "0.7.0", client_dispatchable=True
    ),
    ActionSpec("chat/usage", "chat", ChatUsageAction, "0.4.0"),
    ActionSpec("chat/truncated", "chat", ChatTruncatedAction, "0.4.0", client_dispatchable=True),
    ActionSpec("chat/turnsLoaded", "chat", ChatTurnsLoadedAction, "0.5.1"),
    ActionSpec("chat/pendingMessageSet", "chat", ChatPendingMessageSetAction, "0.4.0", client_dispatchable=True),
    ActionSpec(
        "chat/pendingMessageRemoved", "chat", ChatPendingMessageRemovedAction, "0.4.0", client_dispatchable=True
    ),
    ActionSpec(
        "chat/queuedMessagesReordered", "chat", ChatQueuedMessagesReorderedAction, "0.4.0", client_dispatchable=True
    ),
    ActionSpec(
        "chat/steeringMessageSet",
        "chat",
        ChatSteeringMessageSetAction,
        "1.1.0",
        client_dispatchable=True,
        capability="steeringMessages",
    ),
    ActionSpec(
        "chat/steeringMessageRemoved",
        "chat",
        ChatSteeringMessageRemovedAction,
        "1.1.0",
        client_dispatchable=True,
        capability="steeringMessages",
    ),
    ActionSpec("chat/draftChanged", "chat", ChatDraftChangedAction, "0.5.0", client_dispatchable=True),
    ActionSpec("chat/isReadChanged", "chat", ChatIsReadChangedAction, "0.9.0", client_dispatchable=True),
    ActionSpec("chat/isArchivedChanged", "chat", ChatIsArchivedChangedAction, "0.9.0", client_dispatchable=True),
    ActionSpec("chat/inputRequested", "chat", ChatInputRequestedAction, "0.4.0"),
    ActionSpec("chat/inputAnswerChanged", "chat", ChatInputAnswerChangedAction, "0.4.0", client_dispatchable=True),
    ActionSpec("chat/inputCompleted", "chat", ChatInputCompletedAction, "0.4.0", client_dispatchable=True),
    ActionSpec("terminal/data", "terminal", TerminalDataAction, "0.1.0", volatile=True),
    ActionSpec("terminal/input", "terminal", TerminalInputAction, "0.1.0", client_dispatchable=True),
    ActionSpec("terminal/resized", "terminal", TerminalResizedAction, "0.1.0", client_dispatchable=True),
    ActionSpec("terminal/claimed", "terminal", TerminalClaimedAction, "0.1.0", client_dispatchable=True),
    ActionSpec("terminal/titleChanged", "terminal", TerminalTitleChangedAction, "0.1.0", client_dispatchable=True),
    ActionSpec("terminal/cwdChanged", "terminal", TerminalCwdChangedAction, "0.1.0"),
    ActionSpec("terminal/exited", "terminal", TerminalExitedAction, "0.1.0"),
    ActionSpec("terminal/cleared", "terminal", TerminalClearedAction, "0.1.0", client_dispatchable=True),
    ActionSpec("terminal/commandDetectionAvailable", "terminal", TerminalCommandDetectionAvailableAction, "0.1.0"),
    ActionSpec("terminal/commandExecuted", "terminal", TerminalCommandExecutedAction, "0.1.0"),
    ActionSpec("terminal/commandFinished", "terminal", TerminalCommandFinishedAction, "0.1.0"),
    ActionSpec("changeset/statusChanged", "changeset", ChangesetStatusChangedAction, "0.2.0"),
    ActionSpec("changeset/fileSet", "changeset", ChangesetFileSetAction, "0.2.0"),
    ActionSpec("changeset/fileRemoved", "changeset", ChangesetFileRemovedAction, "0.2.0"),
    ActionSpec(
        "changeset/filesReviewChanged",
        "changeset",
        ChangesetFilesReviewChangedAction,
        "0.6.0",
        client_dispatchable=True,
    ),
    ActionSpec("changeset/contentChanged", "changeset", ChangesetContentChangedAction, "0.2.0"),
    ActionSpec("changeset/operationsChanged", "changeset", ChangesetOperationsChangedAction, "0.2.0"),
    ActionSpec("changeset/operationStatusChanged", "changeset", ChangesetOperationStatusChangedAction, "0.2.0"),
    ActionSpec("changeset/cleared", "changeset", ChangesetClearedAction, "0.2.0"),
    ActionSpec("annotations/set", "annotations", AnnotationsSetAction, "0.4.0", client_dispatchable=True),
    ActionSpec("annotations/updated", "annotations", AnnotationsUpdatedAction, "0.4.0", client_dispatchable=True),
    ActionSpec("annotations/removed", "annotations", AnnotationsRemovedAction, "0.4.0", client_dispatchable=True),
    ActionSpec("annotations/entrySet", "annotations", AnnotationsEntrySetAction, "0.4.0", client_dispatchable=True),
    ActionSpec(
        "annotations/entryRemoved", "annotations", AnnotationsEntryRemovedAction, "0.4.0", client_dispatchable=True
    ),
    ActionSpec("resourceWatch/changed", "resourceWatch", ResourceWatchChangedAction, "0.2.0"),
    ActionSpec("canvas/stateChanged", "canvas", CanvasStateChangedAction, "0.10.0"),
    ActionSpec(
        "automation/createRequested", "automations", AutomationCreateRequestedAction, "0.8.0", client_dispatchable=True
    ),
    ActionSpec(
        "automation/updateRequested", "automations", AutomationUpdateRequestedAction, "0.8.0", client_dispatchable=True
    ),
    ActionSpec("automation/set", "automations", AutomationSetAction, "0.8.0"),
    ActionSpec("automation/removed", "automations", AutomationRemovedAction, "0.8.0", client_dispatchable=True),
    ActionSpec("automationRun/lifecycleChanged", "automationRun", AutomationRunLifecycleChangedAction, "0.8.0"),
    ActionSpec("automationRun/sessionSet", "automationRun", AutomationRunSessionSetAction, "0.8.0"),
    ActionSpec("automationRun/sessionRemoved", "automationRun", AutomationRunSessionRemovedAction, "0.8.0"),
    ActionSpec(
        "automationRun/primarySessionChanged", "automationRun", AutomationRunPrimarySessionChangedAction, "0.8.0"
    ),
    ActionSpec(
        "automationRun/cancelRequested",
        "automationRun",
        AutomationRunCancelRequestedAction,
        "0.8.0",
        client_dispatchable=True,
    ),
)

ACTIONS: Final[Mapping[str, ActionSpec]] = MappingProxyType({spec.type: spec for spec in _SPECS})
"""The table, by type tag."""
