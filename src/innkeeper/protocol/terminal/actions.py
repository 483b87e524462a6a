"""Actions of a terminal channel (AHP §7). `terminal/input` reduces to nothing: terminal text is not predicted."""

from typing import Literal, TypeAlias

from innkeeper.protocol.terminal.state import TerminalClaim
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict


class TerminalDataAction(TypedDict):
    """Output arrived."""

    type: ReadOnly[Literal["terminal/data"]]
    data: ReadOnly[str]


class TerminalInputAction(TypedDict):
    """A client typed."""

    type: ReadOnly[Literal["terminal/input"]]
    data: ReadOnly[str]


class TerminalResizedAction(TypedDict):
    """The window has another size."""

    type: ReadOnly[Literal["terminal/resized"]]
    cols: ReadOnly[int]
    rows: ReadOnly[int]


class TerminalClaimedAction(TypedDict):
    """The owner changed."""

    type: ReadOnly[Literal["terminal/claimed"]]
    claim: ReadOnly[TerminalClaim]


class TerminalTitleChangedAction(TypedDict):
    """The title changed."""

    type: ReadOnly[Literal["terminal/titleChanged"]]
    title: ReadOnly[str]


class TerminalCwdChangedAction(TypedDict):
    """The shell moved to another directory."""

    type: ReadOnly[Literal["terminal/cwdChanged"]]
    cwd: ReadOnly[URI]


class TerminalExitedAction(TypedDict):
    """The process ended."""

    type: ReadOnly[Literal["terminal/exited"]]
    exitCode: NotRequired[ReadOnly[int]]


class TerminalClearedAction(TypedDict):
    """The scrollback is dropped."""

    type: ReadOnly[Literal["terminal/cleared"]]


class TerminalCommandDetectionAvailableAction(TypedDict):
    """From now on commands are told apart."""

    type: ReadOnly[Literal["terminal/commandDetectionAvailable"]]


class TerminalCommandExecutedAction(TypedDict):
    """A command began; `timestamp` in epoch milliseconds."""

    type: ReadOnly[Literal["terminal/commandExecuted"]]
    commandId: ReadOnly[str]
    commandLine: ReadOnly[str]
    timestamp: ReadOnly[int]


class TerminalCommandFinishedAction(TypedDict):
    """A command ended."""

    type: ReadOnly[Literal["terminal/commandFinished"]]
    commandId: ReadOnly[str]
    exitCode: NotRequired[ReadOnly[int]]
    durationMs: NotRequired[ReadOnly[int]]


TerminalAction: TypeAlias = (
    TerminalDataAction
    | TerminalInputAction
    | TerminalResizedAction
    | TerminalClaimedAction
    | TerminalTitleChangedAction
    | TerminalCwdChangedAction
    | TerminalExitedAction
    | TerminalClearedAction
    | TerminalCommandDetectionAvailableAction
    | TerminalCommandExecutedAction
    | TerminalCommandFinishedAction
)
