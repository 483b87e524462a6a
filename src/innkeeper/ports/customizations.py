"""What a provider may hand to its agent (C5.1, C6.1, architecture §3.7).

Rules
* `customizations.eligibility` alone builds an `Eligible`: everything in it is resolved, on, and in a container that is
  resolved and on. Nothing that is pending is in it. A test keeps other modules from building one.
* What is withheld is named with its reason, because an agent that finds files by itself has to be told (C6.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from innkeeper.protocol.session.state import ChildCustomization

LeafType = Literal["agent", "skill", "prompt", "rule", "hook"]
ItemType = Literal["plugin", "directory", "mcpServer", "agent", "skill", "prompt", "rule", "hook"]
WithheldReason = Literal["own", "container", "session", "workingDirectory", "discovery", "unreadable"]
"""Its own decision; its container's; pending for one of three reasons (C4.1); a container that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRun:
    """What a hook runs: a command line by platform (`default`, `linux`, `osx`, `windows`); `timeout` in seconds."""

    event: str
    matcher: str | None
    commands: Mapping[str, str]
    timeout: float | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EligiblePlugin:
    """A plugin; `path` is its root on this machine. Single children may be withheld."""

    id: str
    key: str
    uri: str
    name: str
    path: str
    client: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EligibleServer:
    """`owner` is the URI of the plugin that defines it; `pointer` leads to it in the file `uri`, where discovery knows
    that."""

    id: str
    key: str
    uri: str
    name: str
    owner: str | None = None
    pointer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EligibleLeaf:
    """An agent, skill, prompt, rule or hook. `definition` is the item as it is published; `ecosystem` says whose
    directory it is in, that is, which agents find it by themselves (None in a plugin)."""

    type: LeafType
    id: str
    key: str
    uri: str
    name: str
    container: str
    plugin: str | None
    ecosystem: str | None
    definition: ChildCustomization
    runs: tuple[HookRun, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """What is not handed over. `owner`: the URI of the plugin it is in."""

    type: ItemType
    id: str
    key: str | None
    uri: str
    name: str
    reason: WithheldReason
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligible:
    """The whole answer for a session. `complete`: nothing is pending and discovery has come to its end; a launch waits
    for that."""

    session: str
    plugins: tuple[EligiblePlugin, ...] = ()
    servers: tuple[EligibleServer, ...] = ()
    leaves: tuple[EligibleLeaf, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    complete: bool = True

    def names_off(self) -> tuple[str, ...]:
        """Names for an agent that switches servers by name: sorted, once each. Where several have one name, those count
        that have no plugin or one that is handed over, else all of them; one that is off puts the name off."""
        handed = {plugin.uri for plugin in self.plugins}
        off = [(one.name, one.owner) for one in self.withheld if one.type == "mcpServer"]
        seen = [*off, *((server.name, server.owner) for server in self.servers)]
        applied = {name for name, owner in seen if owner is None or owner in handed}
        return tuple(sorted({name for name, owner in off if owner is None or owner in handed or name not in applied}))

    def leaves_of(self, type: LeafType) -> tuple[EligibleLeaf, ...]:
        return tuple(leaf for leaf in self.leaves if leaf.type == type)
