"""Actions of the root channel (AHP §7)."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.terminal.state import TerminalInfo
from innkeeper.protocol.types import NotRequired, ReadOnly, TypedDict


class RootAgentsChangedAction(TypedDict):
    """The list of agents, whole."""

    type: ReadOnly[Literal["root/agentsChanged"]]
    agents: ReadOnly[Sequence[AgentInfo]]


class RootActiveSessionsChangedAction(TypedDict):
    """How many sessions are active."""

    type: ReadOnly[Literal["root/activeSessionsChanged"]]
    activeSessions: ReadOnly[int]


class RootTerminalsChangedAction(TypedDict):
    """The list of terminals, whole."""

    type: ReadOnly[Literal["root/terminalsChanged"]]
    terminals: ReadOnly[Sequence[TerminalInfo]]


class RootConfigChangedAction(TypedDict):
    """Values to merge into the host's settings, or, with `replace`, all of them."""

    type: ReadOnly[Literal["root/configChanged"]]
    config: ReadOnly[Mapping[str, object]]
    replace: NotRequired[ReadOnly[bool]]


RootAction: TypeAlias = (
    RootAgentsChangedAction | RootActiveSessionsChangedAction | RootTerminalsChangedAction | RootConfigChangedAction
)
