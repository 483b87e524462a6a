"""Actions of the catalogue of automations (AHP §7, §11). The two requests reduce to nothing."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.automation.state import (
    AutomationDefinition,
    AutomationDisableCondition,
    AutomationEntry,
    AutomationSessionTemplate,
    AutomationTrigger,
)
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.types import URI, Meta, NotRequired, ReadOnly, TypedDict


class AutomationDefinitionPatch(TypedDict):
    """Members of a definition to replace, each as a whole."""

    title: NotRequired[ReadOnly[str]]
    message: NotRequired[ReadOnly[Message]]
    session: NotRequired[ReadOnly[AutomationSessionTemplate]]
    enabled: NotRequired[ReadOnly[bool]]
    triggers: NotRequired[ReadOnly[Sequence[AutomationTrigger]]]
    disableConditions: NotRequired[ReadOnly[Sequence[AutomationDisableCondition]]]
    _meta: NotRequired[ReadOnly[Meta]]


class AutomationCreateRequestedAction(TypedDict):
    """A client wants an automation created under a URI it picked."""

    type: ReadOnly[Literal["automation/createRequested"]]
    resource: ReadOnly[URI]
    definition: ReadOnly[AutomationDefinition]


class AutomationUpdateRequestedAction(TypedDict):
    """A client wants an automation changed."""

    type: ReadOnly[Literal["automation/updateRequested"]]
    resource: ReadOnly[URI]
    changes: ReadOnly[AutomationDefinitionPatch]


class AutomationSetAction(TypedDict):
    """An automation was added or changed."""

    type: ReadOnly[Literal["automation/set"]]
    automation: ReadOnly[AutomationEntry]


class AutomationRemovedAction(TypedDict):
    """An automation is gone."""

    type: ReadOnly[Literal["automation/removed"]]
    resource: ReadOnly[URI]


AutomationAction: TypeAlias = (
    AutomationCreateRequestedAction | AutomationUpdateRequestedAction | AutomationSetAction | AutomationRemovedAction
)
