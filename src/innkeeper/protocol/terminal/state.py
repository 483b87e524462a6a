"""State of a terminal channel (AHP Appendix A, `channels-terminal/state`)."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict

TerminalLifecycleStatus: TypeAlias = Literal["running", "exited"] | str
TerminalClaimKind: TypeAlias = Literal["client", "session"] | str


class TerminalRunningLifecycleState(TypedDict):
    """The process runs."""

    status: ReadOnly[Literal["running"]]


class TerminalExitedLifecycleState(TypedDict):
    """The process has ended; no `exitCode` when it is not known."""

    status: ReadOnly[Literal["exited"]]
    exitCode: NotRequired[ReadOnly[int]]


TerminalLifecycleState: TypeAlias = TerminalRunningLifecycleState | TerminalExitedLifecycleState


class TerminalClientClaim(TypedDict):
    """A client owns the terminal."""

    kind: ReadOnly[Literal["client"]]
    clientId: ReadOnly[str]


class TerminalSessionClaim(TypedDict):
    """A chat of a session owns the terminal, perhaps for one tool call."""

    kind: ReadOnly[Literal["session"]]
    session: ReadOnly[URI]
    chat: ReadOnly[URI]
    turnId: NotRequired[ReadOnly[str]]
    toolCallId: NotRequired[ReadOnly[str]]


TerminalClaim: TypeAlias = TerminalClientClaim | TerminalSessionClaim


class TerminalInfo(TypedDict):
    """A terminal in the list of the root channel."""

    resource: ReadOnly[URI]
    title: ReadOnly[str]
    claim: ReadOnly[TerminalClaim]
    lifecycle: ReadOnly[TerminalLifecycleState]


class TerminalUnclassifiedPart(TypedDict):
    """Output outside of any detected command."""

    type: ReadOnly[Literal["unclassified"]]
    value: ReadOnly[str]


class TerminalCommandPart(TypedDict):
    """One detected command with its output; `timestamp` in epoch milliseconds."""

    type: ReadOnly[Literal["command"]]
    commandId: ReadOnly[str]
    commandLine: ReadOnly[str]
    output: ReadOnly[str]
    timestamp: ReadOnly[int]
    isComplete: ReadOnly[bool]
    exitCode: NotRequired[ReadOnly[int]]
    durationMs: NotRequired[ReadOnly[int]]


TerminalContentPart: TypeAlias = TerminalUnclassifiedPart | TerminalCommandPart


class TerminalState(TypedDict):
    """What a subscriber of a terminal sees."""

    title: ReadOnly[str]
    cwd: NotRequired[ReadOnly[URI]]
    cols: NotRequired[ReadOnly[int]]
    rows: NotRequired[ReadOnly[int]]
    content: ReadOnly[Sequence[TerminalContentPart]]
    lifecycle: ReadOnly[TerminalLifecycleState]
    claim: ReadOnly[TerminalClaim]
    supportsCommandDetection: NotRequired[ReadOnly[bool]]
    isPty: NotRequired[ReadOnly[bool]]
