"""A channel's state at a number (AHP §2.3)."""

from typing import TypeAlias

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
from innkeeper.protocol.types import URI, ReadOnly, TypedDict

ChannelState: TypeAlias = (
    RootState
    | SessionState
    | ChatState
    | TerminalState
    | ChangesetState
    | AnnotationsState
    | ResourceWatchState
    | CanvasState
    | AutomationState
    | AutomationRunState
)
"""The state of any channel. Nothing in it says which: the URI's owner knows (AHP §15)."""


class Snapshot(TypedDict):
    """Envelopes of the channel with a number above `fromSeq` apply on top."""

    resource: ReadOnly[URI]
    state: ReadOnly[ChannelState]
    fromSeq: ReadOnly[int]
