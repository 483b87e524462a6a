"""Agents that speak the Agent Client Protocol, through the official SDK (extra `acp`).

Each agent that is found on this machine is an agent of the host, under its own name; and one more that the operator
names. None found: one is listed that says how to get one.
"""

from innkeeper.providers.spi import Provider, Surroundings


def provider(surroundings: Surroundings) -> tuple[Provider, ...]:
    """Cheap: nothing is started and nothing of the SDK is imported."""
    from innkeeper.providers.acp.agent import AcpProvider
    from innkeeper.providers.acp.profiles import found

    profiles = found(surroundings.program, surroundings.environment)
    return tuple(AcpProvider(surroundings, profile) for profile in profiles)
