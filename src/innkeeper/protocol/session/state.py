"""State of a session channel; every name of AHP Appendix A, `channels-session/state`, can be imported from here."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from innkeeper.protocol.annotations.state import AnnotationsSummary
from innkeeper.protocol.changeset.state import Changeset
from innkeeper.protocol.chat.state import (
    ChatInputRequest,
    ChatInteractivity,
    ChatOrigin,
    ChatSummary,
    ToolCallAuthRequiredState,
    ToolCallConfirmationState,
    ToolCallRunningState,
)
from innkeeper.protocol.common.state import ConfigPropertySchema, ErrorInfo
from innkeeper.protocol.session.customizations import (
    AgentCustomization,
    ChildCustomization,
    ChildCustomizationBase,
    ChildCustomizationType,
    ClientPluginCustomization,
    ContainerCustomizationBase,
    Customization,
    CustomizationBase,
    CustomizationDegradedState,
    CustomizationEnablement,
    CustomizationEnablementKind,
    CustomizationErrorState,
    CustomizationLoadedState,
    CustomizationLoadingState,
    CustomizationLoadState,
    CustomizationLoadStatus,
    CustomizationType,
    DirectoryCustomization,
    GlobalEnablement,
    HookCustomization,
    McpServerCustomization,
    PluginCustomization,
    PromptCustomization,
    RuleCustomization,
    SessionEnablement,
    SkillCustomization,
    WorkspaceEnablement,
)
from innkeeper.protocol.session.mcp import (
    AhpMcpUiHostCapabilities,
    ListChangedCapability,
    McpAuthRequiredReason,
    McpAuthRequirement,
    McpOAuthClient,
    McpServerAuthRequiredState,
    McpServerCustomizationApps,
    McpServerErrorState,
    McpServerReadyState,
    McpServerStartingState,
    McpServerState,
    McpServerStatus,
    McpServerStoppedState,
    SamplingCapability,
)
from innkeeper.protocol.session.values import (
    AgentSelection,
    Artifact,
    ArtifactKind,
    ArtifactRelation,
    ArtifactRelationKind,
    ChangesSummary,
    ProjectInfo,
    ResourceArtifact,
    ToolAnnotations,
    ToolDefinition,
    ToolObjectSchema,
)
from innkeeper.protocol.status import SessionStatus
from innkeeper.protocol.types import URI, Meta, NotRequired, Open, ReadOnly, TypedDict

__all__ = [
    "AgentCustomization",
    "AgentSelection",
    "AhpMcpUiHostCapabilities",
    "Artifact",
    "ArtifactKind",
    "ArtifactRelation",
    "ArtifactRelationKind",
    "AutomationSessionOrigin",
    "ChangesSummary",
    "ChildCustomization",
    "ChildCustomizationBase",
    "ChildCustomizationType",
    "ClientPluginCustomization",
    "ContainerCustomizationBase",
    "Customization",
    "CustomizationBase",
    "CustomizationDegradedState",
    "CustomizationEnablement",
    "CustomizationEnablementKind",
    "CustomizationErrorState",
    "CustomizationLoadState",
    "CustomizationLoadStatus",
    "CustomizationLoadedState",
    "CustomizationLoadingState",
    "CustomizationType",
    "DirectoryCustomization",
    "GlobalEnablement",
    "HookCustomization",
    "ListChangedCapability",
    "McpAuthRequiredReason",
    "McpAuthRequirement",
    "McpOAuthClient",
    "McpServerAuthRequiredState",
    "McpServerCustomization",
    "McpServerCustomizationApps",
    "McpServerErrorState",
    "McpServerReadyState",
    "McpServerStartingState",
    "McpServerState",
    "McpServerStatus",
    "McpServerStoppedState",
    "PartialSessionSummary",
    "PluginCustomization",
    "ProjectInfo",
    "PromptCustomization",
    "ResourceArtifact",
    "RuleCustomization",
    "SamplingCapability",
    "SessionActiveClient",
    "SessionChatInputRequest",
    "SessionChatSummary",
    "SessionConfigPropertySchema",
    "SessionConfigSchema",
    "SessionConfigState",
    "SessionEnablement",
    "SessionInputRequest",
    "SessionInputRequestBase",
    "SessionInputRequestKind",
    "SessionLifecycle",
    "SessionMetadata",
    "SessionOrigin",
    "SessionOriginKind",
    "SessionState",
    "SessionStatus",
    "SessionSummary",
    "SessionToolAuthenticationRequest",
    "SessionToolClientExecutionRequest",
    "SessionToolConfirmationRequest",
    "SkillCustomization",
    "ToolAnnotations",
    "ToolDefinition",
    "ToolObjectSchema",
    "WorkspaceEnablement",
]

SessionLifecycle: TypeAlias = Literal["creating", "ready", "failed"] | str
SessionOriginKind: TypeAlias = Literal["automation"] | str
SessionInputRequestKind: TypeAlias = (
    Literal["chatInput", "toolConfirmation", "toolClientExecution", "toolAuthentication"] | str
)


class AutomationSessionOrigin(TypedDict):
    """A run of an automation began the session."""

    kind: ReadOnly[Literal["automation"]]
    automation: ReadOnly[URI]
    run: ReadOnly[URI]


SessionOrigin: TypeAlias = Annotated[AutomationSessionOrigin, Open("kind")]


class SessionMetadata(TypedDict):
    """What a session's state and its summary have in common."""

    provider: ReadOnly[str]
    title: ReadOnly[str]
    status: ReadOnly[SessionStatus]
    activity: NotRequired[ReadOnly[str]]
    origin: NotRequired[ReadOnly[SessionOrigin]]
    project: NotRequired[ReadOnly[ProjectInfo]]
    workingDirectories: NotRequired[ReadOnly[Sequence[URI]]]
    annotations: NotRequired[ReadOnly[AnnotationsSummary]]


class SessionActiveClient(TypedDict):
    """A client that takes part, with the tools and plugins it brings."""

    clientId: ReadOnly[str]
    displayName: NotRequired[ReadOnly[str]]
    tools: ReadOnly[Sequence[ToolDefinition]]
    customizations: NotRequired[ReadOnly[Sequence[ClientPluginCustomization]]]


class SessionInputRequestBase(TypedDict):
    """Something in a chat waits; `id` is the host's."""

    id: ReadOnly[str]
    chat: ReadOnly[URI]


class SessionChatInputRequest(SessionInputRequestBase):
    """Questions to a person."""

    kind: ReadOnly[Literal["chatInput"]]
    request: ReadOnly[ChatInputRequest]


class SessionToolConfirmationRequest(SessionInputRequestBase):
    """A tool call, or its result, wants approval."""

    kind: ReadOnly[Literal["toolConfirmation"]]
    turnId: ReadOnly[str]
    toolCall: ReadOnly[ToolCallConfirmationState]


class SessionToolClientExecutionRequest(SessionInputRequestBase):
    """A client's tool has to be run by it; does not count as waiting for a person."""

    kind: ReadOnly[Literal["toolClientExecution"]]
    turnId: ReadOnly[str]
    clientId: ReadOnly[str]
    toolCall: ReadOnly[ToolCallRunningState]


class SessionToolAuthenticationRequest(SessionInputRequestBase):
    """A tool call wants a token."""

    kind: ReadOnly[Literal["toolAuthentication"]]
    turnId: ReadOnly[str]
    toolCall: ReadOnly[ToolCallAuthRequiredState]


SessionInputRequest: TypeAlias = (
    SessionChatInputRequest
    | SessionToolConfirmationRequest
    | SessionToolClientExecutionRequest
    | SessionToolAuthenticationRequest
)


class SessionConfigPropertySchema(ConfigPropertySchema):
    """A property of a session's configuration.

    `enumDynamic`: values come from `sessionConfigCompletions`. `sessionMutable`: may change after creation.
    """

    enumDynamic: NotRequired[ReadOnly[bool]]
    sessionMutable: NotRequired[ReadOnly[bool]]


class SessionConfigSchema(TypedDict):
    """The properties of a session's configuration."""

    type: ReadOnly[Literal["object"]]
    properties: ReadOnly[Mapping[str, SessionConfigPropertySchema]]
    required: NotRequired[ReadOnly[Sequence[str]]]


class SessionConfigState(TypedDict):
    """A session's configuration."""

    schema: ReadOnly[SessionConfigSchema]
    values: ReadOnly[Mapping[str, object]]


class SessionState(SessionMetadata):
    """What a subscriber of a session sees. `artifacts` is 1.1-dev (AHP §12.2)."""

    lifecycle: ReadOnly[SessionLifecycle]
    creationError: NotRequired[ReadOnly[ErrorInfo]]
    serverTools: NotRequired[ReadOnly[Sequence[ToolDefinition]]]
    activeClients: ReadOnly[Sequence[SessionActiveClient]]
    chats: ReadOnly[Sequence[ChatSummary]]
    defaultChat: NotRequired[ReadOnly[URI]]
    config: NotRequired[ReadOnly[SessionConfigState]]
    customizations: NotRequired[ReadOnly[Sequence[Customization]]]
    changesets: NotRequired[ReadOnly[Sequence[Changeset]]]
    inputNeeded: NotRequired[ReadOnly[Sequence[SessionInputRequest]]]
    artifacts: NotRequired[ReadOnly[Sequence[Artifact]]]
    _meta: NotRequired[ReadOnly[Meta]]


class SessionChatSummary(TypedDict):
    """A chat in the list that a session's summary carries."""

    resource: ReadOnly[URI]
    title: ReadOnly[str]
    origin: NotRequired[ReadOnly[ChatOrigin]]
    interactivity: NotRequired[ReadOnly[ChatInteractivity]]
    status: NotRequired[ReadOnly[SessionStatus]]
    changes: NotRequired[ReadOnly[ChangesSummary]]


class SessionSummary(SessionMetadata):
    """A session in the list of `listSessions`. `artifacts` is 1.1-dev (AHP §12.2)."""

    resource: ReadOnly[URI]
    createdAt: ReadOnly[str]
    modifiedAt: ReadOnly[str]
    changes: NotRequired[ReadOnly[ChangesSummary]]
    _meta: NotRequired[ReadOnly[Meta]]
    chats: NotRequired[ReadOnly[Sequence[SessionChatSummary]]]
    defaultChat: NotRequired[ReadOnly[URI]]
    artifacts: NotRequired[ReadOnly[Sequence[Artifact]]]


class PartialSessionSummary(TypedDict, total=False):
    """Members of a `SessionSummary` that changed; `chats` replaces the whole list."""

    provider: ReadOnly[str]
    title: ReadOnly[str]
    status: ReadOnly[SessionStatus]
    activity: ReadOnly[str]
    origin: ReadOnly[SessionOrigin]
    project: ReadOnly[ProjectInfo]
    workingDirectories: ReadOnly[Sequence[URI]]
    annotations: ReadOnly[AnnotationsSummary]
    resource: ReadOnly[URI]
    createdAt: ReadOnly[str]
    modifiedAt: ReadOnly[str]
    changes: ReadOnly[ChangesSummary]
    _meta: ReadOnly[Meta]
    chats: ReadOnly[Sequence[SessionChatSummary]]
    defaultChat: ReadOnly[URI]
    artifacts: ReadOnly[Sequence[Artifact]]
