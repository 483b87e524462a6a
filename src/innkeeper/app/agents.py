"""Which agents a host has (issue 6 §5, M7.8).

Rules
* The console is built in. Every other agent that this version can drive is listed, whether its extra is installed or
  not: what is missing is said with the command that helps, never by its absence.
* Looking imports no SDK and starts nothing. An agent whose module cannot be imported is left out, and logged.
* Each has a folder of its own below `agents` in the data directory; the operator may switch it off, name its program,
  or let it use their own login (`[agents.NAME]`).
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.clock import Clock
from innkeeper.ports.endpoints import McpEndpoints
from innkeeper.ports.ids import Ids
from innkeeper.ports.mcp import McpGateway
from innkeeper.ports.processes import Processes
from innkeeper.providers.console import ConsoleProvider
from innkeeper.providers.spi import Provider, Surroundings
from innkeeper.settings.config import Settings
from innkeeper.settings.tables import AgentChoice

log = logging.getLogger(__name__)

AGENTS: Final = ("claude", "codex", "copilot", "acp")
"""In the order in which they are listed; one whose package this version does not have yet is passed over."""
FOLDER: Final = "agents"


class AgentSource:
    """The console, and what `settings` leave on. `folder` is where the agents' own folders are."""

    def __init__(self, folder: Path, settings: Settings, processes: Processes, clock: Clock) -> None:
        self._folder = folder
        self._settings = settings
        self._processes = processes
        self._clock = clock

    def providers(
        self, gateway: McpGateway, endpoints: McpEndpoints, ids: Ids, environment: Mapping[str, str]
    ) -> Sequence[Provider]:
        """`endpoints` are for agents in processes of their own; the console calls the gateway."""
        others = (
            self._surroundings(name, gateway, endpoints, ids, environment)
            for name in AGENTS
            if self._settings.agents.get(name, _CHOICE).enabled
        )
        return (ConsoleProvider(gateway, ids), *agents(others))

    def _surroundings(
        self,
        name: str,
        gateway: McpGateway,
        endpoints: McpEndpoints,
        ids: Ids,
        environment: Mapping[str, str],
    ) -> tuple[str, Surroundings]:
        chosen = self._settings.agents.get(name, _CHOICE)
        given = Surroundings(
            gateway=gateway,
            endpoints=endpoints,
            processes=self._processes,
            clock=self._clock,
            ids=ids,
            environment=environment,
            directory=self._folder / name,
            share_login=chosen.share_login,
            program=None if chosen.program is None else str(chosen.program),
            question_seconds=self._settings.gate_timeout,
        )
        return name, given


class QuietAgents(AgentSource):
    """The console alone: for tests, where no real agent may be started."""

    def __init__(self) -> None:
        return

    def providers(
        self, gateway: McpGateway, endpoints: McpEndpoints, ids: Ids, environment: Mapping[str, str]
    ) -> Sequence[Provider]:
        return (ConsoleProvider(gateway, ids),)


_CHOICE: Final = AgentChoice()


def looked_at(settings: Settings, folder: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, Provider]]:
    """The agents as `innkeeper doctor` sees them: without a host, so they can be asked about and not opened."""
    nothing: Any = None
    source = AgentSource(folder, settings, nothing, nothing)
    for provider in source.providers(nothing, nothing, nothing, environment)[1:]:
        yield provider.info["provider"], provider


def agents(given: Iterator[tuple[str, Surroundings]]) -> Iterator[Provider]:
    """The providers that this version has, for these names and surroundings. A package may drive several agents."""
    for name, surroundings in given:
        module = f"innkeeper.providers.{name}"
        if find_spec(module) is None:
            continue
        try:
            made: Provider | tuple[Provider, ...] = import_module(module).provider(surroundings)
        except Exception:
            log.exception("the agent %s is left out", name)
            continue
        yield from made if isinstance(made, tuple) else (made,)
