"""Commands on automations (AHP §4, §11)."""

from collections.abc import Sequence

from innkeeper.protocol.automation.state import AutomationTriggerDefinition
from innkeeper.protocol.common.params import AutomationsParams, RootParams
from innkeeper.protocol.types import URI, JsonObject, NotRequired, ReadOnly, TypedDict


class ListAutomationTriggerDefinitionsParams(RootParams):
    """Which event triggers exist for such a session."""

    provider: NotRequired[ReadOnly[str]]
    workingDirectories: NotRequired[ReadOnly[Sequence[URI]]]
    sessionConfig: NotRequired[ReadOnly[JsonObject]]


class ListAutomationTriggerDefinitionsResult(TypedDict):
    """The kinds of trigger."""

    items: ReadOnly[Sequence[AutomationTriggerDefinition]]


class RunAutomationParams(AutomationsParams):
    """Runs an automation now; the same `requestId` again gives the same run."""

    automation: ReadOnly[URI]
    requestId: ReadOnly[str]


class RunAutomationResult(TypedDict):
    """The run's channel."""

    resource: ReadOnly[URI]


class FetchAutomationRunsParams(AutomationsParams):
    """Asks for older runs; they arrive as `automation/set`."""

    automation: ReadOnly[URI]
    cursor: NotRequired[ReadOnly[str]]


class FetchAutomationRunsResult(TypedDict):
    """Nothing; the runs came as an action."""
