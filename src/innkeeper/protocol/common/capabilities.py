"""What each side declares in `initialize` (AHP §2.1): presence means supported. Part of `common.commands`."""

from innkeeper.protocol.types import NotRequired, Presence, ReadOnly, TypedDict


class Implementation(TypedDict):
    """Name and version of a program: for logs, never for a test of features."""

    name: ReadOnly[str]
    version: NotRequired[ReadOnly[str]]
    title: NotRequired[ReadOnly[str]]


class ClientCapabilities(TypedDict):
    """What a client can do. `steeringMessages` is 1.1-dev (AHP §12.1)."""

    mcpApps: NotRequired[ReadOnly[Presence]]
    steeringMessages: NotRequired[ReadOnly[Presence]]


class AutomationCustomizationsCapability(TypedDict):
    """Automations may bring plugins of the client."""


class AutomationCreateCapability(TypedDict):
    """Automations may be created."""


class AutomationScheduleCapabilities(TypedDict):
    """Automations may run by the clock, at most this often."""

    minIntervalMinutes: NotRequired[ReadOnly[int]]


class AutomationRunCancellationCapability(TypedDict):
    """Runs may be cancelled."""


class AutomationCapabilities(TypedDict):
    """Automations exist, and what of them."""

    create: NotRequired[ReadOnly[AutomationCreateCapability]]
    schedules: NotRequired[ReadOnly[AutomationScheduleCapabilities]]
    runCancellation: NotRequired[ReadOnly[AutomationRunCancellationCapability]]
    runHistoryLimit: NotRequired[ReadOnly[int]]
    customizations: NotRequired[ReadOnly[AutomationCustomizationsCapability]]
