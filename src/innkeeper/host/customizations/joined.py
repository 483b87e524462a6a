"""The host's part of customizations, joined."""

from collections.abc import Callable
from dataclasses import dataclass

from innkeeper.host.core import Core
from innkeeper.host.customizations.commands import CustomizationCommands
from innkeeper.host.customizations.handover import Handover
from innkeeper.host.customizations.service import Customizations, Ground
from innkeeper.host.customizations.toggles import Toggles
from innkeeper.ports.clock import Clock
from innkeeper.ports.decisions import Decisions
from innkeeper.ports.mcp import McpGateway
from innkeeper.ports.records import Records


@dataclass(frozen=True, slots=True)
class Joined:
    all: Customizations
    toggles: Toggles
    handover: Handover
    commands: CustomizationCommands


def join(
    core: Core, ground: Ground, records: Records, gateway: McpGateway, decisions: Callable[[], Decisions], clock: Clock
) -> Joined:
    """`decisions` gives the present value."""
    customizations = Customizations(core, ground, decisions, clock)
    handover = Handover(core, customizations, gateway, records, clock)
    toggles = Toggles(core, customizations, clock)
    return Joined(customizations, toggles, handover, CustomizationCommands(core, customizations, handover))
