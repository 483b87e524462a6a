"""Claude Code, through the `claude-agent-sdk` package (extra `claude`)."""

from innkeeper.providers.spi import Provider, Surroundings


def provider(surroundings: Surroundings) -> Provider:
    """Cheap: nothing is started and nothing of the SDK is imported."""
    from innkeeper.providers.claude.agent import ClaudeProvider

    return ClaudeProvider(surroundings)
