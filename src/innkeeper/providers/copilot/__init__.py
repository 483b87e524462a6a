"""GitHub Copilot CLI, through the `github-copilot-sdk` package (extra `copilot`)."""

from innkeeper.providers.spi import Provider, Surroundings


def provider(surroundings: Surroundings) -> Provider:
    """Cheap: nothing is started and nothing of the SDK is imported."""
    from innkeeper.providers.copilot.agent import CopilotProvider

    return CopilotProvider(surroundings)
