"""Actions of an automation's run (AHP §7, §11)."""

from typing import Literal, TypeAlias

from innkeeper.protocol.automation_run.state import AutomationRunLifecycle
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict


class AutomationRunLifecycleChangedAction(TypedDict):
    """The run moved on."""

    type: ReadOnly[Literal["automationRun/lifecycleChanged"]]
    lifecycle: ReadOnly[AutomationRunLifecycle]


class AutomationRunSessionSetAction(TypedDict):
    """The run has one more session."""

    type: ReadOnly[Literal["automationRun/sessionSet"]]
    session: ReadOnly[URI]


class AutomationRunSessionRemovedAction(TypedDict):
    """A session of the run is gone."""

    type: ReadOnly[Literal["automationRun/sessionRemoved"]]
    session: ReadOnly[URI]


class AutomationRunPrimarySessionChangedAction(TypedDict):
    """The session to show first; absent clears it."""

    type: ReadOnly[Literal["automationRun/primarySessionChanged"]]
    primarySession: NotRequired[ReadOnly[URI]]


class AutomationRunCancelRequestedAction(TypedDict):
    """A person wants the run stopped; reduces to nothing."""

    type: ReadOnly[Literal["automationRun/cancelRequested"]]


AutomationRunAction: TypeAlias = (
    AutomationRunLifecycleChangedAction
    | AutomationRunSessionSetAction
    | AutomationRunSessionRemovedAction
    | AutomationRunPrimarySessionChangedAction
    | AutomationRunCancelRequestedAction
)
