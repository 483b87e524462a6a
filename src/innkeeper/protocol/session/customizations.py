"""Customizations and the decisions about them (AHP §10.1). Part of `session.state`.

`plugin` and `mcpServer` carry scoped decisions (`enablement`), a directory a required `enabled`, leaves an optional
one.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from innkeeper.protocol.common.state import Icon, TextRange
from innkeeper.protocol.session.mcp import McpServerCustomizationApps, McpServerState
from innkeeper.protocol.types import URI, Closed, Meta, NotRequired, ReadOnly, TypedDict

CustomizationType: TypeAlias = (
    Literal["plugin", "directory", "agent", "skill", "prompt", "rule", "hook", "mcpServer"] | str
)
ChildCustomizationType: TypeAlias = Literal["agent", "skill", "prompt", "rule", "hook", "mcpServer"] | str
CustomizationEnablementKind: TypeAlias = Literal["global", "workspace", "session"] | str
CustomizationLoadStatus: TypeAlias = Literal["loading", "loaded", "degraded", "error"]


class GlobalEnablement(TypedDict):
    """A decision for everywhere."""

    kind: ReadOnly[Literal["global"]]
    enabled: ReadOnly[bool]


class WorkspaceEnablement(TypedDict):
    """A decision for one directory."""

    kind: ReadOnly[Literal["workspace"]]
    uri: ReadOnly[URI]
    enabled: ReadOnly[bool]


class SessionEnablement(TypedDict):
    """A decision for this session."""

    kind: ReadOnly[Literal["session"]]
    enabled: ReadOnly[bool]


CustomizationEnablement: TypeAlias = GlobalEnablement | WorkspaceEnablement | SessionEnablement
"""One decision; a list of them is sorted by the publisher: session, workspace, global, at most one each."""


class CustomizationBase(TypedDict):
    """`id` is unique in the session and names the entry in actions; `uri` is what lasts."""

    id: ReadOnly[str]
    uri: ReadOnly[URI]
    name: ReadOnly[str]
    icons: NotRequired[ReadOnly[Sequence[Icon]]]
    range: NotRequired[ReadOnly[TextRange]]
    _meta: NotRequired[ReadOnly[Meta]]


class CustomizationLoadingState(TypedDict):
    """Being read."""

    kind: ReadOnly[Literal["loading"]]


class CustomizationLoadedState(TypedDict):
    """Read in full."""

    kind: ReadOnly[Literal["loaded"]]


class CustomizationDegradedState(TypedDict):
    """Read in part."""

    kind: ReadOnly[Literal["degraded"]]
    message: ReadOnly[str]


class CustomizationErrorState(TypedDict):
    """Not readable."""

    kind: ReadOnly[Literal["error"]]
    message: ReadOnly[str]


CustomizationLoadState: TypeAlias = Annotated[
    CustomizationLoadingState | CustomizationLoadedState | CustomizationDegradedState | CustomizationErrorState,
    Closed,
]


class ChildCustomizationBase(CustomizationBase):
    """A leaf; no `enabled` means on."""

    enabled: NotRequired[ReadOnly[bool]]


class AgentCustomization(ChildCustomizationBase):
    """An agent definition."""

    type: ReadOnly[Literal["agent"]]
    description: NotRequired[ReadOnly[str]]
    model: NotRequired[ReadOnly[str]]
    tools: NotRequired[ReadOnly[Sequence[str]]]
    disableModelInvocation: NotRequired[ReadOnly[bool]]
    disableUserInvocation: NotRequired[ReadOnly[bool]]


class SkillCustomization(ChildCustomizationBase):
    """A skill."""

    type: ReadOnly[Literal["skill"]]
    description: NotRequired[ReadOnly[str]]
    disableModelInvocation: NotRequired[ReadOnly[bool]]
    disableUserInvocation: NotRequired[ReadOnly[bool]]


class PromptCustomization(ChildCustomizationBase):
    """A prompt that a person can start."""

    type: ReadOnly[Literal["prompt"]]
    description: NotRequired[ReadOnly[str]]


class RuleCustomization(ChildCustomizationBase):
    """An instruction, always on or for files that match `globs`."""

    type: ReadOnly[Literal["rule"]]
    description: NotRequired[ReadOnly[str]]
    alwaysApply: NotRequired[ReadOnly[bool]]
    globs: NotRequired[ReadOnly[Sequence[str]]]


class HookCustomization(ChildCustomizationBase):
    """A command run at certain moments."""

    type: ReadOnly[Literal["hook"]]


class McpServerCustomization(CustomizationBase):
    """An MCP server: a person's decisions (`enablement`) beside the host's view (`state`).

    `channel` is present while MCP can be spoken to it by the side channel (AHP §10.3).
    """

    type: ReadOnly[Literal["mcpServer"]]
    enablement: NotRequired[ReadOnly[Sequence[CustomizationEnablement]]]
    state: ReadOnly[McpServerState]
    channel: NotRequired[ReadOnly[URI]]
    mcpApp: NotRequired[ReadOnly[McpServerCustomizationApps]]


ChildCustomization: TypeAlias = (
    AgentCustomization
    | SkillCustomization
    | PromptCustomization
    | RuleCustomization
    | HookCustomization
    | McpServerCustomization
)


class ContainerCustomizationBase(CustomizationBase):
    """Has children: absent is "not read yet", empty is "nothing found". `clientId` names the client it came from."""

    clientId: NotRequired[ReadOnly[str]]
    load: NotRequired[ReadOnly[CustomizationLoadState]]
    children: NotRequired[ReadOnly[Sequence[ChildCustomization]]]


class PluginCustomization(ContainerCustomizationBase):
    """A plugin."""

    type: ReadOnly[Literal["plugin"]]
    enablement: NotRequired[ReadOnly[Sequence[CustomizationEnablement]]]
    version: NotRequired[ReadOnly[str]]


class ClientPluginCustomization(PluginCustomization):
    """A plugin as a client publishes it; `childEnablement` is keyed by the name of a child."""

    nonce: NotRequired[ReadOnly[str]]
    childEnablement: NotRequired[ReadOnly[Mapping[str, Sequence[CustomizationEnablement]]]]


class DirectoryCustomization(ContainerCustomizationBase):
    """A directory that holds customizations of one type; new ones are written to it when it is `writable`."""

    type: ReadOnly[Literal["directory"]]
    enabled: ReadOnly[bool]
    contents: ReadOnly[ChildCustomizationType]
    writable: ReadOnly[bool]


Customization: TypeAlias = PluginCustomization | DirectoryCustomization | McpServerCustomization
