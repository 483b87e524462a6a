"""State of the catalogue of automations (AHP Appendix A, `channels-automation/state`; experimental)."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from innkeeper.protocol.automation_run.state import AutomationRunSummary
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.common.state import ConfigSchema
from innkeeper.protocol.root.state import ModelSelection
from innkeeper.protocol.session.customizations import ClientPluginCustomization, PluginCustomization
from innkeeper.protocol.session.values import AgentSelection
from innkeeper.protocol.types import URI, Closed, JsonObject, Meta, NotRequired, ReadOnly, TypedDict

AutomationOperation: TypeAlias = Literal["update", "remove", "run"] | str
AutomationMisfirePolicy: TypeAlias = Literal["skip", "runOnce"] | str
AutomationTriggerKind: TypeAlias = Literal["schedule", "event"]
AutomationDisableConditionKind: TypeAlias = Literal["afterRuns", "afterDate"]


class AutomationSchedule(TypedDict):
    """Five cron fields, read in an IANA time zone (AHP §11)."""

    expression: ReadOnly[str]
    timeZone: ReadOnly[str]


class AutomationScheduleTrigger(TypedDict):
    """Fires by the clock; `misfirePolicy` says what happens after downtime, `runOnce` when absent."""

    id: ReadOnly[str]
    kind: ReadOnly[Literal["schedule"]]
    schedule: ReadOnly[AutomationSchedule]
    misfirePolicy: NotRequired[ReadOnly[AutomationMisfirePolicy]]


class AutomationTriggerEventDefinition(TypedDict):
    """An event that a trigger can wait for."""

    id: ReadOnly[str]
    title: ReadOnly[str]
    description: NotRequired[ReadOnly[str]]


class AutomationEventTrigger(TypedDict):
    """Fires on events of a host-defined `type`, kept with the labels it had."""

    id: ReadOnly[str]
    kind: ReadOnly[Literal["event"]]
    type: ReadOnly[str]
    title: ReadOnly[str]
    description: NotRequired[ReadOnly[str]]
    events: ReadOnly[Sequence[AutomationTriggerEventDefinition]]
    config: NotRequired[ReadOnly[JsonObject]]


AutomationTrigger: TypeAlias = Annotated[AutomationScheduleTrigger | AutomationEventTrigger, Closed]


class AutomationAfterRunsCondition(TypedDict):
    """Ends after `max` scheduled runs."""

    kind: ReadOnly[Literal["afterRuns"]]
    max: ReadOnly[int]


class AutomationAfterDateCondition(TypedDict):
    """Ends after a date."""

    kind: ReadOnly[Literal["afterDate"]]
    date: ReadOnly[str]


AutomationDisableCondition: TypeAlias = Annotated[AutomationAfterRunsCondition | AutomationAfterDateCondition, Closed]


class AutomationTriggerDefinition(TypedDict):
    """A kind of event trigger that the host offers."""

    type: ReadOnly[str]
    title: ReadOnly[str]
    description: NotRequired[ReadOnly[str]]
    events: ReadOnly[Sequence[AutomationTriggerEventDefinition]]
    configSchema: NotRequired[ReadOnly[ConfigSchema]]


class AutomationSessionTemplate(TypedDict):
    """How the sessions of runs are created."""

    provider: NotRequired[ReadOnly[str]]
    model: NotRequired[ReadOnly[ModelSelection]]
    agent: NotRequired[ReadOnly[AgentSelection]]
    workingDirectories: NotRequired[ReadOnly[Sequence[URI]]]
    config: NotRequired[ReadOnly[JsonObject]]
    customizations: NotRequired[ReadOnly[Sequence[ClientPluginCustomization]]]


class AutomationDefinition(TypedDict):
    """What to do and when; ends with the first disable condition that holds."""

    title: ReadOnly[str]
    message: ReadOnly[Message]
    session: ReadOnly[AutomationSessionTemplate]
    enabled: ReadOnly[bool]
    triggers: ReadOnly[Sequence[AutomationTrigger]]
    disableConditions: NotRequired[ReadOnly[Sequence[AutomationDisableCondition]]]
    _meta: NotRequired[ReadOnly[Meta]]


class AutomationEntry(TypedDict):
    """An automation with its history, newest run first; `operations` is what may be done now."""

    resource: ReadOnly[URI]
    definition: ReadOnly[AutomationDefinition]
    nextRunAt: NotRequired[ReadOnly[str]]
    runCount: NotRequired[ReadOnly[int]]
    runs: ReadOnly[Sequence[AutomationRunSummary]]
    runsNextCursor: NotRequired[ReadOnly[str]]
    operations: ReadOnly[Sequence[AutomationOperation]]
    customizations: NotRequired[ReadOnly[Sequence[PluginCustomization]]]
    createdAt: ReadOnly[str]
    modifiedAt: ReadOnly[str]
    _meta: NotRequired[ReadOnly[Meta]]


class AutomationState(TypedDict):
    """What a subscriber of the catalogue sees."""

    entries: ReadOnly[Sequence[AutomationEntry]]
    _meta: NotRequired[ReadOnly[Meta]]
