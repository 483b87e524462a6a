"""OpenAI's Codex, through the app-server of the `openai-codex` package (extra `codex`)."""

from innkeeper.providers.spi import Provider, Surroundings


def provider(surroundings: Surroundings) -> Provider:
    """Cheap: nothing is started and nothing of the SDK is imported."""
    from innkeeper.providers.codex.agent import CodexProvider

    return CodexProvider(surroundings)
