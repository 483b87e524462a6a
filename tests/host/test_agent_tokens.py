"""Tokens that clients give for agents (AHP §8, issue 6 §6)."""

from typing import Any

import pytest

from innkeeper.host.agent_tokens import AgentTokens
from innkeeper.ports.authentication import TokenRefused
from innkeeper.providers.spi import ProviderError
from scripted.provider import ScriptedProvider

pytestmark = pytest.mark.anyio

RESOURCE = {"resource": "https://models.example", "required": False}


class Taking(ScriptedProvider):
    def __init__(self) -> None:
        super().__init__()
        self.taken: list[str | None] = []

    @property
    def info(self) -> Any:
        return {**super().info, "protectedResources": [RESOURCE]}

    async def take_token(self, resource: str, token: str | None) -> None:
        if token == "bad":
            raise ProviderError("AGENT_REFUSED", "It is of no use.")
        self.taken.append(token)


class Servers:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def accept(self, client_id: str, resource: str, *rest: object) -> None:
        self.asked.append(("accept", resource))

    async def revoke(self, client_id: str, resource: str) -> None:
        self.asked.append(("revoke", resource))


async def test_a_token_for_an_agent_goes_to_it_and_others_to_the_servers() -> None:
    agent, servers = Taking(), Servers()
    tokens = AgentTokens([ScriptedProvider("plain"), agent], servers)  # type: ignore[arg-type]  # two of its methods
    await tokens.accept("c", "https://models.example", "t1", None, None)
    await tokens.revoke("c", "https://models.example")
    await tokens.accept("c", "https://elsewhere.example", "t2", None, None)
    await tokens.revoke("c", "https://elsewhere.example")
    assert agent.taken == ["t1", None]
    assert servers.asked == [("accept", "https://elsewhere.example"), ("revoke", "https://elsewhere.example")]


async def test_a_token_that_is_of_no_use_is_refused_with_the_resource() -> None:
    tokens = AgentTokens([Taking()], Servers())  # type: ignore[arg-type]  # two of its methods
    with pytest.raises(TokenRefused) as refused:
        await tokens.accept("c", "https://models.example", "bad", None, None)
    assert list(refused.value.resources) == [RESOURCE] and "bad" not in str(refused.value)
