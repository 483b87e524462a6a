"""State of the root channel (AHP Appendix A, `channels-root/state`)."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.common.state import ConfigSchema, ProtectedResourceMetadata
from innkeeper.protocol.session.customizations import Customization
from innkeeper.protocol.terminal.state import TerminalInfo
from innkeeper.protocol.types import JsonPrimitive, Meta, NotRequired, ReadOnly, TypedDict

PolicyState: TypeAlias = Literal["enabled", "disabled", "unconfigured"] | str


class MultipleChatsCapability(TypedDict):
    """A session of the agent may hold more chats than its default one; how new ones may begin."""

    fork: NotRequired[ReadOnly[bool]]
    sideChat: NotRequired[ReadOnly[bool]]


class MultipleWorkingDirectoriesCapability(TypedDict):
    """A session of the agent may have more than one directory; what may happen to the first (AHP §9.6)."""

    immutablePrimary: NotRequired[ReadOnly[bool]]
    primaryReplacement: NotRequired[ReadOnly[bool]]


class AgentCapabilities(TypedDict):
    """What an agent can do beyond the minimum."""

    multipleChats: NotRequired[ReadOnly[MultipleChatsCapability]]
    multipleWorkingDirectories: NotRequired[ReadOnly[MultipleWorkingDirectoriesCapability]]


class SessionModelInfo(TypedDict):
    """A model that an agent offers. `vendor` (who serves it) is 1.1-dev."""

    id: ReadOnly[str]
    provider: ReadOnly[str]
    name: ReadOnly[str]
    maxContextWindow: NotRequired[ReadOnly[int]]
    maxOutputTokens: NotRequired[ReadOnly[int]]
    maxPromptTokens: NotRequired[ReadOnly[int]]
    supportsVision: NotRequired[ReadOnly[bool]]
    policyState: NotRequired[ReadOnly[PolicyState]]
    configSchema: NotRequired[ReadOnly[ConfigSchema]]
    vendor: NotRequired[ReadOnly[str]]
    _meta: NotRequired[ReadOnly[Meta]]


class ModelSelection(TypedDict):
    """A model with the settings chosen for it."""

    id: ReadOnly[str]
    config: NotRequired[ReadOnly[Mapping[str, JsonPrimitive]]]


class AgentInfo(TypedDict):
    """An agent that the host can run; `provider` is the name sessions use."""

    provider: ReadOnly[str]
    displayName: ReadOnly[str]
    description: ReadOnly[str]
    models: ReadOnly[Sequence[SessionModelInfo]]
    protectedResources: NotRequired[ReadOnly[Sequence[ProtectedResourceMetadata]]]
    customizations: NotRequired[ReadOnly[Sequence[Customization]]]
    capabilities: NotRequired[ReadOnly[AgentCapabilities]]


class RootConfigState(TypedDict):
    """The host's settings as clients see them."""

    schema: ReadOnly[ConfigSchema]
    values: ReadOnly[Mapping[str, object]]


class RootState(TypedDict):
    """What a subscriber of the root channel sees."""

    agents: ReadOnly[Sequence[AgentInfo]]
    activeSessions: NotRequired[ReadOnly[int]]
    terminals: NotRequired[ReadOnly[Sequence[TerminalInfo]]]
    config: NotRequired[ReadOnly[RootConfigState]]
    _meta: NotRequired[ReadOnly[Meta]]
