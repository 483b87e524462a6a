"""A host with the real Claude Code beside the console, and what of it a test may look at."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from innkeeper.providers.claude import provider as claude
from innkeeper.providers.claude.conversation import Conversation
from providers.agent_host import Rig, rig
from servers.fake_llm.anthropic import FakeAnthropic


def keys(llm: FakeAnthropic) -> dict[str, str]:
    """A login by environment keys, at a model of the test's own."""
    return {"ANTHROPIC_BASE_URL": llm.url, "ANTHROPIC_API_KEY": "sk-ant-made-up", "CLAUDE_CODE_MAX_RETRIES": "1"}


@asynccontextmanager
async def claude_host(root: Path, llm: FakeAnthropic, **changes: Any) -> AsyncIterator[Rig]:
    more = {**keys(llm), "HOST_SECRET": "host-secret-words", **changes.pop("more", {})}
    async with rig(root, claude, more=more, **changes) as found:
        yield found


def conversations(host: Rig) -> list[Conversation]:
    """The chats that have run here, in all sessions of the agent."""
    return [chat for agent in host.provider.sessions for chat in agent.chats]


def pids(host: Rig) -> list[int]:
    """Of the agents that run now."""
    return [chat.pid for chat in conversations(host) if chat.pid is not None]
