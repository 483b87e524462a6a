"""What discovery found, before anybody decided about it (C7, issue 4 item 2).

Rules
* These types carry no enablement: only resolution makes publishable items of them, so that handing one to a provider
  or to a session's state does not type-check.
* In a container a child's type and name are unique. A container is known by its URI and what it contains.
* A child that cannot be read is listed with its fault: the agent may find it all the same, so it can be switched off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from innkeeper.protocol.common.state import TextRange
from innkeeper.protocol.session.state import CustomizationLoadState

ChildType: TypeAlias = Literal["agent", "skill", "prompt", "rule", "hook", "mcpServer"]
Source: TypeAlias = Literal["workspace", "user", "host", "client"]
"""Whose it is: the session's directory, the person's home, a plugin the host was configured with, a client's plugin."""

Ecosystem: TypeAlias = Literal["copilot", "claude", "codex", "cursor", "gemini", "shared"]
"""Whose directory it is, that is, which agents look there by themselves; `shared` is of several."""

PluginFormatName: TypeAlias = Literal["agentPlugin", "openPlugin", "claude", "copilot"]
ChildKey: TypeAlias = tuple[ChildType, str]
ContainerKey: TypeAlias = tuple[str, str]

LOADED: Final[CustomizationLoadState] = {"kind": "loaded"}


def _loaded() -> CustomizationLoadState:
    return LOADED


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredAgent:
    """`model` is the first one that the definition names; `tools` None means that it names none."""

    uri: str
    name: str
    load: CustomizationLoadState = field(default_factory=_loaded)
    range: TextRange | None = None
    description: str | None = None
    model: str | None = None
    tools: Sequence[str] | None = None
    disable_model_invocation: bool | None = None
    disable_user_invocation: bool | None = None
    type: Literal["agent"] = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredSkill:
    """`uri` is that of its `SKILL.md`."""

    uri: str
    name: str
    load: CustomizationLoadState = field(default_factory=_loaded)
    range: TextRange | None = None
    description: str | None = None
    disable_model_invocation: bool | None = None
    disable_user_invocation: bool | None = None
    type: Literal["skill"] = "skill"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredPrompt:
    uri: str
    name: str
    load: CustomizationLoadState = field(default_factory=_loaded)
    range: TextRange | None = None
    description: str | None = None
    type: Literal["prompt"] = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredRule:
    """`always_apply` None: the file says nothing, and its place does not decide it."""

    uri: str
    name: str
    load: CustomizationLoadState = field(default_factory=_loaded)
    range: TextRange | None = None
    description: str | None = None
    always_apply: bool | None = None
    globs: Sequence[str] | None = None
    type: Literal["rule"] = "rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCommand:
    """What a hook runs: a command line for each platform (`default`, `linux`, `osx`, `windows`). Seconds; `cwd` as
    written. Root tokens are replaced."""

    commands: Mapping[str, str]
    timeout: float | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredHook:
    """All that one file runs at one event for one matcher; the name says both."""

    uri: str
    name: str
    event: str
    matcher: str | None = None
    runs: Sequence[HookCommand] = ()
    load: CustomizationLoadState = field(default_factory=_loaded)
    range: TextRange | None = None
    type: Literal["hook"] = "hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredServer:
    """That a plugin defines a server of this name, and where: `pointer` leads to it in the file. The configuration is
    the declarations loader's business."""

    uri: str
    name: str
    pointer: tuple[str, ...]
    load: CustomizationLoadState = field(default_factory=_loaded)
    range: TextRange | None = None
    type: Literal["mcpServer"] = "mcpServer"


DiscoveredChild: TypeAlias = (
    DiscoveredAgent | DiscoveredSkill | DiscoveredPrompt | DiscoveredRule | DiscoveredHook | DiscoveredServer
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredPlugin:
    """A plugin. `path` is its root on this machine, `uri` what is published; they differ for a client's."""

    uri: str
    name: str
    path: str
    format: PluginFormatName
    source: Source
    load: CustomizationLoadState
    children: Sequence[DiscoveredChild]
    version: str | None = None
    description: str | None = None
    type: Literal["plugin"] = "plugin"

    @property
    def key(self) -> ContainerKey:
        return (self.uri, "plugin")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredDirectory:
    """A directory that is looked into; it need not exist when it is `writable`. `name` is its path in its root, `.` for
    the root itself."""

    uri: str
    name: str
    contents: ChildType
    writable: bool
    source: Source
    ecosystem: Ecosystem
    load: CustomizationLoadState
    children: Sequence[DiscoveredChild]
    type: Literal["directory"] = "directory"

    @property
    def key(self) -> ContainerKey:
        return (self.uri, self.contents)


DiscoveredContainer: TypeAlias = DiscoveredPlugin | DiscoveredDirectory


def child_key(child: DiscoveredChild) -> ChildKey:
    """What tells a child from the others of its container."""
    return (child.type, child.name)
