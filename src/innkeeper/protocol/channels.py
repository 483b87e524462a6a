"""The kinds of channel (AHP §3). The host knows a channel's kind by record: its URI says nothing about it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from innkeeper.protocol.annotations.state import AnnotationsState
from innkeeper.protocol.automation.state import AutomationState
from innkeeper.protocol.automation_run.state import AutomationRunState
from innkeeper.protocol.canvas.state import CanvasState
from innkeeper.protocol.changeset.state import ChangesetState
from innkeeper.protocol.chat.state import ChatState
from innkeeper.protocol.resource_watch.state import ResourceWatchState
from innkeeper.protocol.root.state import RootState
from innkeeper.protocol.session.state import SessionState
from innkeeper.protocol.terminal.state import TerminalState

ChannelKind: TypeAlias = Literal[
    "root",
    "session",
    "chat",
    "terminal",
    "changeset",
    "annotations",
    "resourceWatch",
    "canvas",
    "automations",
    "automationRun",
]
"""Kinds that have a state."""

StatelessKind: TypeAlias = Literal["otlp", "mcp", "tcp"]
"""Kinds without one; `tcp` is 1.1-dev (AHP §12.4)."""

STATES: Final[Mapping[ChannelKind, object]] = MappingProxyType(
    {
        "root": RootState,
        "session": SessionState,
        "chat": ChatState,
        "terminal": TerminalState,
        "changeset": ChangesetState,
        "annotations": AnnotationsState,
        "resourceWatch": ResourceWatchState,
        "canvas": CanvasState,
        "automations": AutomationState,
        "automationRun": AutomationRunState,
    }
)
"""The declaration of each kind's state, for `check.check`."""
