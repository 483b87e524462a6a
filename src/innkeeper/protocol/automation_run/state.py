"""State of an automation's run (AHP Appendix A, `channels-automation-run/state`; experimental)."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from innkeeper.protocol.common.state import ErrorInfo, UsageInfo
from innkeeper.protocol.types import URI, Closed, JsonObject, Meta, NotRequired, ReadOnly, TypedDict

AutomationRunStatus: TypeAlias = Literal["pending", "running", "completed", "failed", "cancelled"]
AutomationRunOriginKind: TypeAlias = Literal["manual", "trigger"]


class AutomationManualRunOrigin(TypedDict):
    """A person asked for the run."""

    kind: ReadOnly[Literal["manual"]]


class AutomationTriggeredRunOrigin(TypedDict):
    """A trigger fired; `catchUp` when it was due earlier."""

    kind: ReadOnly[Literal["trigger"]]
    triggerId: ReadOnly[str]
    scheduledFor: NotRequired[ReadOnly[str]]
    catchUp: NotRequired[ReadOnly[bool]]
    event: NotRequired[ReadOnly[JsonObject]]


AutomationRunOrigin: TypeAlias = Annotated[AutomationManualRunOrigin | AutomationTriggeredRunOrigin, Closed]


class AutomationPendingRunLifecycle(TypedDict):
    """Recorded, not begun."""

    status: ReadOnly[Literal["pending"]]
    createdAt: ReadOnly[str]


class AutomationRunningRunLifecycle(TypedDict):
    """Begun."""

    status: ReadOnly[Literal["running"]]
    createdAt: ReadOnly[str]
    startedAt: ReadOnly[str]


class AutomationCompletedRunLifecycle(TypedDict):
    """Ended well."""

    status: ReadOnly[Literal["completed"]]
    createdAt: ReadOnly[str]
    startedAt: ReadOnly[str]
    completedAt: ReadOnly[str]
    usage: NotRequired[ReadOnly[UsageInfo]]


class AutomationFailedRunLifecycle(TypedDict):
    """Ended in an error, perhaps before it began."""

    status: ReadOnly[Literal["failed"]]
    createdAt: ReadOnly[str]
    startedAt: NotRequired[ReadOnly[str]]
    completedAt: ReadOnly[str]
    error: ReadOnly[ErrorInfo]


class AutomationCancelledRunLifecycle(TypedDict):
    """Stopped, perhaps before it began."""

    status: ReadOnly[Literal["cancelled"]]
    createdAt: ReadOnly[str]
    startedAt: NotRequired[ReadOnly[str]]
    completedAt: ReadOnly[str]


AutomationRunLifecycle: TypeAlias = Annotated[
    AutomationPendingRunLifecycle
    | AutomationRunningRunLifecycle
    | AutomationCompletedRunLifecycle
    | AutomationFailedRunLifecycle
    | AutomationCancelledRunLifecycle,
    Closed,
]


class AutomationRunSummary(TypedDict):
    """A run in the history of its automation."""

    resource: ReadOnly[URI]
    automation: ReadOnly[URI]
    origin: ReadOnly[AutomationRunOrigin]
    lifecycle: ReadOnly[AutomationRunLifecycle]
    primarySession: NotRequired[ReadOnly[URI]]
    sessionCount: ReadOnly[int]
    _meta: NotRequired[ReadOnly[Meta]]


class AutomationRunState(TypedDict):
    """What a subscriber of a run sees."""

    resource: ReadOnly[URI]
    automation: ReadOnly[URI]
    origin: ReadOnly[AutomationRunOrigin]
    lifecycle: ReadOnly[AutomationRunLifecycle]
    sessions: ReadOnly[Sequence[URI]]
    primarySession: NotRequired[ReadOnly[URI]]
    _meta: NotRequired[ReadOnly[Meta]]
