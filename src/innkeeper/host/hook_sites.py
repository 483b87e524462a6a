"""The hooks that observe what left, and the services that contributions are given (K7, K11).

Rules
* `on_did_dispatch_action` comes before the host's own routing of the same action, `on_did_apply_client_action` after.
* A rejected action is seen by the first with its reason, by the second never. What a client sent without a type is no
  action and is seen by none.
"""

from collections.abc import Coroutine, Mapping
from typing import Any

from innkeeper.contributions.dispatch import Dispatcher
from innkeeper.contributions.spi import ClientAction, DispatchedAction
from innkeeper.engine.effects import Released
from innkeeper.host.agents import Agents
from innkeeper.host.core import Core, act
from innkeeper.host.steering import Steering
from innkeeper.host.views import effective_values
from innkeeper.protocol.root.state import AgentInfo


class HookSites:
    """Call sites of the two hooks."""

    def __init__(self, core: Core, hooks: Dispatcher) -> None:
        self._core = core
        self._hooks = hooks

    def dispatched(self, released: Released) -> None:
        action: Mapping[str, Any] = released.action
        type_ = action.get("type")
        if not isinstance(type_, str) or not self._hooks.watched(type_, released.kind):
            return
        client = None if released.origin is None else released.origin.client_id
        session = self._session(released)
        self._hooks.dispatched(
            DispatchedAction(session, released.channel, released.kind, action, client, released.rejection)
        )

    def applied(self, released: Released) -> None:
        if released.origin is not None and released.rejection is None:
            client = released.origin.client_id
            self._hooks.client_action(
                ClientAction(self._session(released), released.channel, released.kind, released.action, client)
            )

    def _session(self, released: Released) -> str:
        return self._core.owner(released.channel) or released.channel


class HostChannels:
    """The `Channels` service."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def head(self, channel: str) -> Mapping[str, Any] | None:
        return self._core.head(channel)

    async def load(self, channel: str) -> Mapping[str, Any] | None:
        return await self._core.load(channel)

    def session_of(self, chat: str) -> str | None:
        return self._core.owner(chat)

    def dispatch(self, channel: str, *actions: Mapping[str, Any]) -> bool:
        return act(self._core, channel, *actions)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._core.spawn(work, name)


class HostProviders:
    """The `Providers` service."""

    def __init__(self, core: Core, agents: Agents, steering: Steering) -> None:
        self._core = core
        self._agents = agents
        self._steering = steering

    def info(self, session: str) -> AgentInfo | None:
        provider = self._agents.providers.get(str((self._core.head(session) or {}).get("provider")))
        return None if provider is None else provider.info

    def steer(self, chat: str) -> None:
        self._steering.steer(chat)


class HostConfiguration:
    """The `Configuration` service."""

    def __init__(self, core: Core, options: Mapping[str, object]) -> None:
        self._core = core
        self._options = options

    def value(self, channel: str, name: str) -> object:
        session = self._core.head(self._core.owner(channel) or channel) or {}
        return effective_values(session, channel).get(name)

    def setting(self, name: str) -> object:
        found: object = self._options
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found
