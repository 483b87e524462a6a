"""The agents as the root channel lists them (AHP §3, §13.9; issue 6).

Rules
* An agent that cannot be had is listed all the same, with the reason and what helps: in its description, for every
  client, and under `UNAVAILABLE` in `_meta`. It offers no models, so that nobody is led to choose one.
* What a provider says later (models that the agent reported, a login) is published when it is different. A person may
  also sign in without the host's knowing, so it is looked at again when a session was opened, or could not be.
* Where an agent that takes tokens fails for want of a login, the clients are asked for one (AHP §8): `required`
  where it has no login, `expired` where the one that it has is not taken any more.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.engine.effects import Released
from innkeeper.host.core import Core, act
from innkeeper.protocol.uris import ROOT
from innkeeper.providers.spi import Provider
from innkeeper.texts import text

log = logging.getLogger(__name__)

UNAVAILABLE: Final = "x-innkeeper/unavailable"
LOGIN_MISSING: Final = "AGENT_LOGIN_MISSING"


class Agents:
    """The providers of a host by name."""

    def __init__(self, core: Core, providers: Sequence[Provider]) -> None:
        self._core = core
        self.providers: Mapping[str, Provider] = {provider.info["provider"]: provider for provider in providers}
        for provider in providers:
            provider.watch(self.changed)

    def listed(self) -> list[Mapping[str, Any]]:
        return [listed(provider) for provider in self.providers.values()]

    def changed(self) -> None:
        """Something about an agent may be different: tell whoever sees the root channel."""
        state = self._core.head(ROOT)
        now = self.listed()
        if state is not None and list(state.get("agents") or ()) != now:
            act(self._core, ROOT, {"type": "root/agentsChanged", "agents": now})

    def released(self, released: Released) -> None:
        """An action on a session or chat has left."""
        match released.action:
            case {"type": "session/ready"}:
                self.changed()
            case {"type": "session/creationFailed", "error": error} | {"type": "chat/error", "part": {"error": error}}:
                self.changed()
                if error["errorType"] == LOGIN_MISSING:
                    self._ask_for_token(released.channel)

    def _ask_for_token(self, channel: str) -> None:
        session = self._core.owner(channel) or channel
        provider = self.providers.get(str((self._core.head(session) or {}).get("provider")))
        if provider is None:
            return
        reason = "expired" if provider.unavailable is None else "required"
        for resource in provider.info.get("protectedResources") or ():
            self._core.notify(ROOT, "auth/required", {"resource": resource, "reason": reason})

    async def close(self, seconds: float) -> None:
        """End what sessions share, each within the time; the sessions are closed before."""
        await asyncio.gather(*(self._close(name, provider, seconds) for name, provider in self.providers.items()))

    async def _close(self, name: str, provider: Provider, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await provider.close()
        except TimeoutError:
            log.warning("the agent %s did not close in %g s", name, seconds)
        except Exception:
            log.exception("the agent %s failed to close", name)


def listed(provider: Provider) -> Mapping[str, Any]:
    """The `AgentInfo` of a provider, with the reason why it cannot be had."""
    info: Mapping[str, Any] = provider.info
    missing = provider.unavailable
    if missing is None:
        return info
    why = text("agent.unavailable", reason=missing.reason, remedy=missing.remedy)
    return {
        **info,
        "description": f"{why} {info['description']}".strip(),
        "models": [],
        "_meta": {**(info.get("_meta") or {}), UNAVAILABLE: missing._asdict()},
    }
