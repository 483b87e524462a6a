"""Claude Code: the extra `claude`."""

from innkeeper.providers.claude.provider import ClaudeProvider
from innkeeper.providers.spi import Surroundings

__all__ = ["ClaudeProvider", "provider"]


def provider(given: Surroundings) -> ClaudeProvider:
    """The provider of a host."""
    return ClaudeProvider(given)
